"""Element types for torch's data types."""

import torch
from xdsl.dialects.builtin import TensorType, bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute

from hidet.dialects.graph.base import Tensor
from hidet.errors import UnsupportedDtypeError, UnsupportedOperatorError

ELEMENTS: dict[torch.dtype, Attribute] = {
    torch.float64: f64,
    torch.float32: f32,
    torch.float16: f16,
    torch.bfloat16: bf16,
    torch.int64: i64,
    torch.int32: i32,
    torch.int16: i16,
    torch.int8: i8,
    torch.bool: i1,
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
