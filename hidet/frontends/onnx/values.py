"""Conversion of ONNX values to torch: data types, tensors and attributes."""

from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from onnx import TensorProto, numpy_helper

from hidet.errors import HidetError, UnsupportedDtypeError

_NAMES = "BFLOAT16 BOOL DOUBLE FLOAT FLOAT16 INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64"

DTYPES: dict[int, torch.dtype] = {
    TensorProto.DataType.Value(name): getattr(torch, name.lower()) for name in _NAMES.split()
}
"""torch's data types by ONNX's numbers."""


class Known(NamedTuple):
    """A constant: its value on the CPU, and the name of the module's buffer with it."""

    tensor: torch.Tensor
    buffer: str | None = None


def dtype_of(number: int) -> torch.dtype:
    """Return the torch type of an ONNX type.

    Raises:
        UnsupportedDtypeError: there is none.
    """
    if number not in DTYPES:
        name = TensorProto.DataType.Name(number) if number in TensorProto.DataType.values() else ""
        raise UnsupportedDtypeError(f"the type {name or number} of ONNX is not there")
    return DTYPES[number]


def tensor_of(proto: TensorProto) -> torch.Tensor:
    """Return a copy of an ONNX tensor.

    Raises:
        HidetError: the tensor is malformed, or its data are missing.
    """
    dtype = dtype_of(proto.data_type)
    try:
        array = np.array(numpy_helper.to_array(proto))  # a writable copy
    except (ValueError, TypeError, OSError, onnx.checker.ValidationError) as error:
        raise HidetError(f"the tensor '{proto.name}' cannot be read: {error}") from error
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
        found[attribute.name] = value
    return found
