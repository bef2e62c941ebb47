"""Values of ONNX as those of torch: data types, and tensors that are known ahead of all calls."""

from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from onnx import TensorProto, numpy_helper

from hidet.errors import HidetError, UnsupportedDtypeError

DTYPES: dict[int, torch.dtype] = {
    TensorProto.FLOAT: torch.float32,
    TensorProto.UINT8: torch.uint8,
    TensorProto.INT8: torch.int8,
    TensorProto.UINT16: torch.uint16,
    TensorProto.INT16: torch.int16,
    TensorProto.INT32: torch.int32,
    TensorProto.INT64: torch.int64,
    TensorProto.BOOL: torch.bool,
    TensorProto.FLOAT16: torch.float16,
    TensorProto.DOUBLE: torch.float64,
    TensorProto.UINT32: torch.uint32,
    TensorProto.UINT64: torch.uint64,
    TensorProto.BFLOAT16: torch.bfloat16,
}
"""torch's data types by the numbers of ONNX."""


class Known(NamedTuple):
    """A tensor that is known: on the CPU, and the name of the buffer of the module that has it."""

    tensor: torch.Tensor
    buffer: str | None = None


def dtype_of(number: int) -> torch.dtype:
    """Return torch's type for the number of one of ONNX.

    Raises:
        UnsupportedDtypeError: torch has none.
    """
    if number not in DTYPES:
        name = TensorProto.DataType.Name(number) if number in TensorProto.DataType.values() else ""
        raise UnsupportedDtypeError(f"the type {name or number} of ONNX is not there")
    return DTYPES[number]


def number_of(dtype: torch.dtype) -> int:
    """Return the number that ONNX has for a type."""
    return next(number for number, found in DTYPES.items() if found == dtype)


def tensor_of(proto: TensorProto, folder: str = "") -> torch.Tensor:
    """Return a tensor of ONNX, in memory of its own.

    Args:
        proto: the tensor.
        folder: where files with data outside of the model are.

    Raises:
        HidetError: the tensor contradicts itself, or its data are not there.
    """
    dtype = dtype_of(proto.data_type)
    try:
        array = numpy_helper.to_array(proto, folder)
    except (ValueError, TypeError, OSError, onnx.checker.ValidationError) as error:
        raise HidetError(f"the tensor '{proto.name}' cannot be read: {error}") from error
    array = np.array(array)  # of its own, and not read-only
    if dtype == torch.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(dtype)
    return torch.from_numpy(array)


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    """Return the attributes of a node: numbers, text, lists, tensors and graphs."""
    found: dict[str, Any] = {}
    for attribute in node.attribute:
        value: Any = onnx.helper.get_attribute_value(attribute)
        if isinstance(value, TensorProto):
            value = tensor_of(value)
        elif isinstance(value, bytes):
            value = value.decode()
        elif attribute.type in (attribute.INTS, attribute.FLOATS):
            value = list(value)
        found[attribute.name] = value
    return found
