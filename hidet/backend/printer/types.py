"""C++ types of values and of elements in memory."""

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, SSAValue

from hidet.dialects.cuda import KernelOp, TensorMapType
from hidet.dialects.cuda.kernel import is_unsigned
from hidet.dialects.cuda.marks import LONG
from hidet.dialects.shaped import memref_type
from hidet.errors import UnsupportedDtypeError

INT, LONG_LONG, BOOL = "int", "long long", "bool"

_SCALARS: dict[Attribute, str] = {
    i1: BOOL,
    i8: "signed char",
    i16: "short",
    i32: INT,
    i64: LONG_LONG,
    f16: "hidet::half",
    bf16: "hidet::bfloat16",
    f32: "float",
    f64: "double",
    VectorType(f16, [2]): "hidet::half2",
    VectorType(bf16, [2]): "hidet::bfloat162",
}

UNSIGNED: dict[str, str] = {
    BOOL: BOOL,
    "signed char": "unsigned char",
    "short": "unsigned short",
    INT: "unsigned",
    LONG_LONG: "unsigned long long",
}
"""The unsigned type of the same width."""

WORDS = frozenset({"unsigned", "unsigned long long"})
"""The unsigned types of C++ arithmetic; smaller ones are promoted to `int`."""

STORAGE_ONLY = frozenset({"hidet::half", "hidet::bfloat16"})
"""Types without arithmetic."""

INT_LIMIT = 1 << 31


def scalar_type(kind: Attribute) -> str:
    """Return the C++ type of a scalar type other than `index`.

    Raises:
        UnsupportedDtypeError: there is none.
    """
    found = _SCALARS.get(kind)
    if found is None:
        raise UnsupportedDtypeError(
            f"CUDA C++ has no type for {kind}", hint=f"there is {', '.join(map(str, _SCALARS))}"
        )
    return found


def element_type(memref: SSAValue) -> str:
    """Return the C++ type of a memref's elements; an index has 64 bits in memory."""
    kind = memref_type(memref).get_element_type()
    if isinstance(kind, IndexType):
        return LONG_LONG
    element = scalar_type(kind)
    return UNSIGNED[element] if is_unsigned(memref) else element


def value_type(value: SSAValue) -> str:
    """Return the C++ type of a scalar value, or of a tensor map.

    An `index` is an `int` unless its operation (or its loop) is marked `cuda.long`; as an argument
    of a kernel it has 64 bits.
    """
    if not isinstance(value.type, IndexType):
        is_map = isinstance(value.type, TensorMapType)
        return "hidet::TensorMap" if is_map else scalar_type(value.type)
    owner = value.owner
    if isinstance(owner, Block):
        owner = owner.parent_op()
        assert owner is not None
        if isinstance(owner, KernelOp):
            return LONG_LONG
    if type(owner) is ConstantOp:
        number = owner.properties["value"]
        assert isinstance(number, IntegerAttr)
        return INT if -INT_LIMIT <= number.value.data < INT_LIMIT else LONG_LONG
    return LONG_LONG if LONG in owner.attributes else INT
