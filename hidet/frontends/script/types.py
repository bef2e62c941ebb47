"""The types of a script: scalars, vectors, tensors, pointers; and type promotion."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from operator import attrgetter
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_origin

import numpy as np
from xdsl.dialects import builtin
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Attribute

from hidet.errors import ScriptError
from hidet.frontends.script.messages import describe
from hidet.mapping import SwizzledLayout, TaskMap

if TYPE_CHECKING:
    from hidet.frontends.script.scalars import Scalar
    from hidet.frontends.script.vectors import Vector


class Answer(int):
    """A boolean that may be called, for both `kind.is_float` and `kind.is_float()`."""

    def __call__(self) -> bool:
        """Return it as a bool."""
        return bool(self)

    def __repr__(self) -> str:
        return repr(bool(self))


def _is_kind(*kinds: str, bits: int | None = None) -> Callable[[DataTypeNames], bool]:
    """Return the predicate whether a type has one of some kinds, and a width."""

    def test(self: DataTypeNames) -> bool:
        return getattr(self, "kind", "vector") in kinds and bits in (None, self.bits)

    return test


class DataTypeNames:
    """The queries that scalar and vector types share."""

    bits: int

    is_boolean = _is_kind("bool")
    is_vector = _is_kind("vector")
    is_signed_integer = _is_kind("signed")
    is_unsigned_integer = _is_kind("unsigned")
    is_any_float16 = _is_kind("float", bits=16)
    is_complex = _is_kind("complex")
    is_subbyte = is_integer_subbyte = is_float_subbyte = _is_kind()

    @property
    def nbits(self) -> int:
        """The width in bits."""
        return self.bits

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return max(self.bits // 8, 1)

    @property
    def storage(self) -> DataTypeNames:
        """The type that memory holds: itself."""
        return self

    def __getitem__(self, shape: int | Sequence[int]) -> TensorType:
        return TensorType(self, shape)

    def __invert__(self) -> PointerType:
        return PointerType(cast("ElementType", self))


Kind = Literal["bool", "signed", "unsigned", "index", "float", "complex"]
"""The kind of arithmetic of a scalar type."""


@dataclass(frozen=True)
class ScalarType(DataTypeNames):
    """A scalar type: `f32`; makes tensor types, `f32[m, n]`, and pointer types, `~f32`.

    Calling it converts a number or a value: `f32(i)`. `str` gives its public name,
    `hidet.float32`, and messages show the short one.

    Attributes:
        short_name: the name in scripts and messages, `f16`.
        name: torch's name, `float16`.
        kind: the kind of arithmetic.
        bits: the width; the compiler chooses that of an index.
        ir: the type in the IR, whose integers are signless.
    """

    short_name: str
    name: str
    kind: Kind
    bits: int
    ir: Attribute

    @property
    def element(self) -> ScalarType:
        """The type itself; of a vector type it is the element type."""
        return self

    @property
    def lanes(self) -> int:
        """1, as it is no vector."""
        return 1

    @property
    def is_float(self) -> Answer:
        """Whether it is a floating-point type."""
        return Answer(self.kind == "float")

    @property
    def is_integer(self) -> Answer:
        """Whether it is an integer type or index."""
        return Answer(self.kind in ("signed", "unsigned", "index"))

    @property
    def is_unsigned(self) -> bool:
        """Whether it is an unsigned integer type."""
        return self.kind == "unsigned"

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest value of an integer type."""
        if self.kind in ("unsigned", "bool"):
            return 0, (1 << self.bits) - 1
        return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1

    @property
    def min_value(self) -> float:
        """The smallest finite value."""
        return -FLOAT_LIMITS[self.short_name] if self.is_float else self.limits[0]

    @property
    def max_value(self) -> float:
        """The largest finite value."""
        return FLOAT_LIMITS[self.short_name] if self.is_float else self.limits[1]

    @property
    def zero(self) -> float:
        """Zero."""
        return 0.0 if self.is_float else 0

    @property
    def one(self) -> float:
        """One."""
        return 1.0 if self.is_float else 1

    def __call__(self, value: object) -> Scalar:
        """Convert a value to this type, inside a script."""
        from hidet.frontends.script.scalars import convert

        return convert(value, self)

    def constant(self, value: float) -> Scalar:
        """Return a constant of this type, inside a script."""
        return self(value)

    def __repr__(self) -> str:
        return self.short_name

    def __str__(self) -> str:
        return f"hidet.{self.name}"

    def __format__(self, spec: str) -> str:
        return format(self.short_name, spec)


@dataclass(frozen=True)
class VectorType(DataTypeNames):
    """A vector type: `f32x4`; makes tensor types, `f32x4[m, n]`, and pointer types, `~f32x4`.

    Calling it makes a vector of one or more values.
    """

    element: ScalarType
    lanes: int

    @property
    def bits(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The width of the vector."""
        return self.element.bits * self.lanes

    @property
    def name(self) -> str:
        """The long name: `float16x2`."""
        return f"{self.element.name}x{self.lanes}"

    @property
    def lane_type(self) -> ScalarType:
        """The element type."""
        return self.element

    def __call__(self, *values: object) -> Vector:
        """Make a vector of one value (broadcast), another vector, or one value per element."""
        from hidet.frontends.script.vectors import vector_of

        return vector_of(self, values)

    def __repr__(self) -> str:
        return f"{self.element}x{self.lanes}"


ElementType: TypeAlias = ScalarType | VectorType


class OfElements:
    """Base class of what has elements of a type."""

    dtype: ElementType

    @property
    def element(self) -> ScalarType:
        """The scalar type of the elements; of vectors that of their elements."""
        return self.dtype.element

    @property
    def lanes(self) -> int:
        """The lanes of a vector element; 1 for scalars."""
        return self.dtype.lanes


@dataclass(frozen=True, init=False)
class TensorType(OfElements):
    """A tensor in global memory, `f32[m, n]`: the type of a parameter.

    Attributes:
        dtype: the element type.
        shape: the extents, by default those of the layout.
        layout: the layout in memory; None is row-major.

    Raises:
        ScriptError: shape and layout are both missing or do not match.
    """

    dtype: ElementType
    shape: tuple[int, ...]
    layout: TaskMap | SwizzledLayout | None

    def __init__(self, dtype: object, shape: object = None, layout: object = None) -> None:
        if layout is not None and not isinstance(layout, TaskMap | SwizzledLayout):
            raise ScriptError(
                f"{describe(layout)} is no layout",
                hint="compose row_major(..), column_major(..) and local_layout(..) with *",
            )
        if shape is None:
            if layout is None:
                raise ScriptError("a tensor without a shape and without a layout")
            shape = layout.shape
        extents = check_shape(shape)
        if layout is not None and extents != layout.shape:
            raise ScriptError(
                f"the shape is {list(extents)}, but the layout is for {list(layout.shape)}"
            )
        object.__setattr__(self, "dtype", element_type(dtype))
        object.__setattr__(self, "shape", extents)
        object.__setattr__(self, "layout", layout)

    @property
    def is_spread(self) -> bool:
        """Whether the layout distributes elements over threads, as that of a register tile."""
        base = self.layout.base if isinstance(self.layout, SwizzledLayout) else self.layout
        return base is not None and base.workers > 1

    @property
    def ir(self) -> Attribute:
        """The parameter type in the IR; a memref of rank 1 if there is a layout."""
        if self.layout is not None:
            return MemRefType(self.element.ir, (prod(self.shape) * self.lanes,))
        return MemRefType(self.element.ir, self.scalar_shape)

    @property
    def scalar_shape(self) -> tuple[int, ...]:
        """The shape in scalars: the lanes of a vector are one more dimension."""
        return self.shape if self.lanes == 1 else (*self.shape, self.lanes)

    @property
    def accepted_shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes that callers may pass: vectors lie along the last dimension."""
        if self.lanes == 1 or not self.shape:
            return (self.scalar_shape,)
        *outer, last = self.shape
        return (self.scalar_shape, (*outer, last * self.lanes))

    def __repr__(self) -> str:
        extents = ", ".join(map(str, self.shape))
        return f"{self.dtype}[{extents}]"


@dataclass(frozen=True)
class PointerType(OfElements):
    """A pointer into global memory, `~f32` or `void_p`: the type of a parameter.

    Attributes:
        dtype: the element type; of `void_p` the one that its first use implies.
        is_void: whether it is `void_p`, which accepts elements of any type.
    """

    dtype: ElementType
    is_void: bool = False

    @property
    def ir(self) -> Attribute:
        """The parameter type in the IR."""
        return MemRefType(self.element.ir, [DYNAMIC_INDEX])

    def __call__(self, address: object) -> object:
        """Cast an address or 0 to this type."""
        from hidet.frontends.script.pointers import cast_pointer

        return cast_pointer(address, self)

    def __repr__(self) -> str:
        return "void_p" if self.is_void else f"~{self.dtype}"


def as_tuple(value: object) -> tuple[Any, ...]:
    """Return a list as a tuple, and a single value as a tuple of it."""
    return tuple(cast("Sequence[Any]", value)) if isinstance(value, list | tuple) else (value,)


def check_shape(value: object) -> tuple[int, ...]:
    """Return a shape, or a single extent, of compile-time integers.

    Raises:
        ScriptError: an extent is no integer, or is negative.
    """
    shape, extents = as_tuple(value), list[int]()
    for extent in map(plain_number, shape):
        if isinstance(extent, bool) or not isinstance(extent, int) or extent < 0:
            raise ScriptError(
                f"the shape {shape} has the extent {extent!r}",
                hint="extents are compile-time integers",
            )
        extents.append(extent)
    return tuple(extents)


BOOL = ScalarType("bool", "bool", "bool", 1, builtin.i1)
INDEX = ScalarType("index", "index", "index", 64, builtin.IndexType())
I8 = ScalarType("i8", "int8", "signed", 8, builtin.i8)
I16 = ScalarType("i16", "int16", "signed", 16, builtin.i16)
I32 = ScalarType("i32", "int32", "signed", 32, builtin.i32)
I64 = ScalarType("i64", "int64", "signed", 64, builtin.i64)
U8 = ScalarType("u8", "uint8", "unsigned", 8, builtin.IntegerType(8))
U16 = ScalarType("u16", "uint16", "unsigned", 16, builtin.IntegerType(16))
U32 = ScalarType("u32", "uint32", "unsigned", 32, builtin.IntegerType(32))
U64 = ScalarType("u64", "uint64", "unsigned", 64, builtin.IntegerType(64))
VOID_POINTER = PointerType(U8, is_void=True)
F16 = ScalarType("f16", "float16", "float", 16, builtin.f16)
BF16 = ScalarType("bf16", "bfloat16", "float", 16, builtin.bf16)
F32 = ScalarType("f32", "float32", "float", 32, builtin.f32)


# Tensor cores ignore the lower 13 bits of a tf32; everything else treats it as f32.
TF32 = ScalarType("tf32", "tfloat32", "float", 32, builtin.f32)
F64 = ScalarType("f64", "float64", "float", 64, builtin.f64)

COMPLEX_TYPES = {
    each.name: each
    for each in (
        ScalarType("c64", "complex64", "complex", 64, builtin.ComplexType(builtin.f32)),
        ScalarType("c128", "complex128", "complex", 128, builtin.ComplexType(builtin.f64)),
    )
}
"""The types of complex tensors, by name; scripts have no complex values."""

FLOAT_LIMITS = {
    "f16": 65504.0,
    "bf16": (2 - 2.0**-7) * 2.0**127,
    "f32": (2 - 2.0**-23) * 2.0**127,
    "tf32": (2 - 2.0**-10) * 2.0**127,
    "f64": (2 - 2.0**-52) * 2.0**1023,
}
"""The largest finite value of each floating-point type."""

SCALAR_TYPES = {
    name: each
    for each in (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, TF32)
    for name in (each.short_name, each.name)
}
"""The nameable types, by short and long name; index has no name."""

_TYPES_OF_IR = {each.ir: each for each in (BOOL, INDEX, I8, I16, I32, I64, F16, BF16, F32, F64)}


def type_of_ir(kind: Attribute) -> ScalarType:
    """Return the scalar type of an IR type; integers count as signed."""
    return _TYPES_OF_IR[kind]


PYTHON_TYPES: dict[type, ScalarType] = {int: I32, float: F32, bool: BOOL}
"""The scalar types of annotations with Python types."""


def is_of_python(kind: object) -> bool:
    """Return whether an annotation names a Python type of compile-time values.

    `TaskMap`, `Sequence[int]`, `str | None` are such types; `int`, `float` and `bool` are scalars.
    """
    is_type = isinstance(kind, type | UnionType) or get_origin(kind) is not None
    return is_type and kind not in PYTHON_TYPES


def scalar_type(dtype: object) -> ScalarType:
    """Return the scalar type of a user's name: a type, `'float32'`, or `int`, `float`, `bool`."""
    if isinstance(dtype, ScalarType):
        return dtype
    if isinstance(dtype, str) and dtype in SCALAR_TYPES:
        return SCALAR_TYPES[dtype]
    if isinstance(dtype, type) and dtype in PYTHON_TYPES:
        return PYTHON_TYPES[dtype]
    raise ScriptError(
        f"{dtype!r} is no scalar type", hint=f"the types are {', '.join(SCALAR_TYPES)}"
    )


def tensor_dtype(dtype: object) -> ScalarType:
    """Return the type of a tensor's elements, which may be complex; see `scalar_type`."""
    found = COMPLEX_TYPES.get(dtype) if isinstance(dtype, str) else None
    return found or scalar_type(dtype)


def vector_type(name: object) -> VectorType | None:
    """Return the vector type of a user's name: a type, or `'f32x4'`; None if it is none."""
    if isinstance(name, VectorType):
        return name
    match = _VECTOR_NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None or match[1] not in SCALAR_TYPES or int(match[2]) < 2:
        return None
    return VectorType(SCALAR_TYPES[match[1]], int(match[2]))


_VECTOR_NAME = re.compile(r"([a-z]+\d+)x(\d+)")


def element_type(name: object) -> ElementType:
    """Return the scalar or vector type of a user's name."""
    return vector_type(name) or scalar_type(name)


def common_type(one: ScalarType, other: ScalarType) -> ScalarType:
    """Return the type that two operands are promoted to.

    Floats win over integers, wider types over narrower ones; `f16` and `bf16` promote to `f32`.
    An index with at most 32 bits gives an index. Of equal widths unsigned wins, as in C.
    """
    if one == other:
        return one
    if one.is_float or other.is_float:
        if one.is_float and other.is_float:
            return max(one, other, key=attrgetter("bits")) if one.bits != other.bits else F32
        return one if one.is_float else other
    if "bool" in (one.kind, other.kind):
        return other if one.kind == "bool" else one
    if "index" in (one.kind, other.kind):
        number = other if one.kind == "index" else one
        return number if number.bits == 64 else INDEX
    if one.bits == other.bits:
        return one if one.kind == "unsigned" else other
    return max(one, other, key=attrgetter("bits"))


def plain_number(value: object) -> object:
    """Return a numpy number as a Python number, also inside a tuple; other values unchanged."""
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return cast("object", value.item())
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        if any(isinstance(item, np.generic) for item in items):
            return tuple(map(plain_number, items))
    return cast("object", value)
