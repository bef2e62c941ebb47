"""Converts types and constants of the IR to those of plans."""

import struct
from collections.abc import Callable, Sequence
from ctypes import c_float
from functools import partial
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, MemRefType
from xdsl.ir import Attribute

from hidet.dialects.cuda.tensor_map import TensorMapType
from hidet.errors import LegalityError, UnsupportedDtypeError
from hidet.runtime.specs import ITEM_SIZES, WORD, DtypeName, Scalar, TensorMapSpec, TensorSpec


def dtype_name(kind: Attribute) -> DtypeName:
    """Return the name of an element type.

    Raises:
        UnsupportedDtypeError: torch has no such data type.
    """
    name = str(kind)
    if name not in ITEM_SIZES:
        raise UnsupportedDtypeError(f"torch has no tensors of {name}")
    return name


def tensor_spec(kind: Attribute) -> TensorSpec:
    """Return shape and element type of a memref.

    Raises:
        LegalityError: it is not a memref.
        UnsupportedDtypeError: torch has no such data type.
    """
    if not isinstance(kind, MemRefType):
        raise LegalityError(f"a host function passes {kind}, which is not a memref")
    memref = cast("MemRefType[Attribute]", kind)
    return TensorSpec(memref.get_shape(), dtype_name(memref.element_type))


def tensor_map_spec(kind: TensorMapType, strides: Sequence[int]) -> TensorMapSpec:
    """Return the parameters of a tensor map for a tensor with these strides, in elements."""
    return TensorMapSpec(
        dtype=dtype_name(kind.tensor.get_element_type()),
        shape=kind.tensor.get_shape(),
        strides=tuple(stride * kind.element_bytes for stride in strides[:-1]),
        box=kind.box_extents,
        swizzle=kind.swizzle.data,
        pixels=tuple(kind.pixels or ()),
        tf32=kind.rounds,
    )


def scalar(op: arith.ConstantOp) -> Scalar:
    """Return a constant as a scalar argument.

    Raises:
        LegalityError: it is not a number of a supported type.
    """
    kind, value = op.result.type, op.value
    if isinstance(value, IntegerAttr | FloatAttr) and str(kind) in ITEM_SIZES:
        data = packer_of(kind)(value.value.data)
        return Scalar(dtype_name(kind), int.from_bytes(data, "little"))
    raise LegalityError(f"a launch passes the constant {value}, which is not a number")


def packer_of(kind: Attribute) -> Callable[[int | float], bytes]:
    """Return a function that packs a number of a type into the low bytes of a word."""
    if isinstance(kind, IntegerType):
        mask = (1 << kind.bitwidth) - 1
        return lambda value: (int(value) & mask).to_bytes(WORD, "little")
    return _FLOATS[str(kind)]


def _short(dtype: str, value: int | float) -> bytes:
    """Round to a 16-bit type by torch, which is imported lazily."""
    import torch

    bits = int(torch.tensor(value, dtype=getattr(torch, dtype)).view(torch.int16)) & 0xFFFF
    return bits.to_bytes(WORD, "little")


_FLOATS: dict[str, Callable[[int | float], bytes]] = {
    "f64": struct.Struct("<d").pack,
    "f32": lambda value: struct.pack("<f4x", c_float(value).value),  # overflow gives infinity
    "f16": partial(_short, "float16"),
    "bf16": partial(_short, "bfloat16"),
}
