"""Element types for torch's data types."""

import torch
from xdsl.dialects import builtin
from xdsl.dialects.builtin import TensorType, i16
from xdsl.ir import Attribute

from hidet.dialects.graph.base import Tensor
from hidet.errors import UnsupportedDtypeError, UnsupportedOperatorError
from hidet.runtime.tensors import DTYPES

ELEMENTS: dict[torch.dtype, Attribute] = {
    dtype: getattr(builtin, name) for name, dtype in DTYPES.items()
}
"""The element type of each data type."""


def element_of(dtype: torch.dtype) -> Attribute:
    """Return the element type of a data type; unsigned bytes are i16, see `unsigned_bytes`.

    Raises:
        UnsupportedDtypeError: the graph dialect has none.
    """
    if dtype is torch.uint8:
        return i16
    if dtype not in ELEMENTS:
        known = (*ELEMENTS, torch.uint8)
        names = ", ".join(str(each).removeprefix("torch.") for each in known)
        raise UnsupportedDtypeError(
            f"data type {dtype} is not supported", hint=f"supported are {names}"
        )
    return ELEMENTS[dtype]


def type_of(tensor: torch.Tensor) -> Tensor:
    """Return the type of a tensor's value.

    Raises:
        UnsupportedDtypeError: the data type, or a layout such as sparse, is not supported.
        UnsupportedOperatorError: a size depends on data.
    """
    if tensor.layout is not torch.strided:
        raise UnsupportedDtypeError(f"layout {tensor.layout} is not supported")
    if not all(type(size) is int for size in tensor.shape):
        raise UnsupportedOperatorError(f"shape {list(tensor.shape)} depends on data")
    return TensorType(element_of(tensor.dtype), tuple(tensor.shape))
