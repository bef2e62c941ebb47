"""The base of graph operations: element types, constraints, result type inference, broadcasting.

`_infer_type` computes the type of the result, for both constructors and verifiers. It raises
`VerifyException` with the operand types if they do not match.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple, TypeAlias, TypeGuard, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
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
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue, SSAValues
from xdsl.irdl import (
    AnyOf,
    AttrConstraint,
    EqAttrConstraint,
    ParsePropInAttrDict,
    VarConstraint,
    operand_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.effects import PureOp
from hidet.dialects.fields import FLOAT64 as FLOAT64
from hidet.dialects.fields import Field
from hidet.dialects.shaped import holds_sums

Tensor: TypeAlias = TensorType[Attribute]
"""The type of a tensor with any of the element types below."""
Value: TypeAlias = SSAValue | Operation
"""A constructor argument for an operand: a value, or an op with one result."""
Number: TypeAlias = float | int | bool
"""A constructor argument for a scalar."""

ELEMENT_TYPES = (f64, f32, f16, bf16, i64, i32, i16, i8, i1)
"""The element types of tensors; `i1` is torch.bool."""
TENSOR: AttrConstraint[Tensor] = TensorType.constr(
    AnyOf.get(*(EqAttrConstraint(t) for t in ELEMENT_TYPES))
)
"""The constraint of every operand and result."""
INTS = DenseArrayBase.constr(i64)
"""The constraint of a list of dimensions, sizes or offsets."""
INT = IntegerAttr.constr(EqAttrConstraint(i64))
"""The constraint of a dimension, size or offset."""
NUMBER = FloatAttr.constr() | IntegerAttr.constr()
"""The constraint of a tensor element."""
FALSE = BoolAttr.from_bool(False)


def tensor_type(value: Value) -> Tensor:
    """Return the type of a tensor."""
    known = type(value) in (OpResult, BlockArgument)
    found = (cast("SSAValue", value) if known else SSAValue.get(value)).type
    if type(found) is not TensorType:
        raise VerifyException(f"a tensor is needed here, got a value of type {found}")
    return found  # pyright: ignore[reportUnknownVariableType]


def shape_of(value: Value) -> tuple[int, ...]:
    """Return the shape of a tensor."""
    return tensor_type(value).get_shape()


def element_type(value: Value) -> Attribute:
    """Return the element type of a tensor."""
    return tensor_type(value).element_type


def is_float(element: Attribute) -> TypeGuard[AnyFloat]:
    """Return whether an element type is a floating-point type."""
    return isinstance(element, AnyFloat)


def is_integer(element: Attribute) -> TypeGuard[IntegerType]:
    """Return whether an element type is an integer wider than one bit."""
    return isinstance(element, IntegerType) and element != i1


def computation_type(element: Attribute) -> Attribute:
    """Return the type in which elements are computed: f32 for f16 and bf16, else their own.

    Intermediate values of an operator and sums have this type.
    """
    return f32 if element in (f16, bf16) else element


def ints(values: Iterable[int]) -> DenseArrayBase[IntegerType]:
    """Return an integer list as a property."""
    return DenseArrayBase.from_list(i64, tuple(values))


def integer(value: int) -> IntegerAttr:
    """Return an integer as a property."""
    return IntegerAttr(value, i64)


def number(value: Number, element: Attribute) -> FloatAttr | IntegerAttr:
    """Return a scalar as an attribute of an element type."""
    if is_float(element):
        return FloatAttr(float(value), element)
    if element == i1:
        return BoolAttr.from_bool(bool(value))
    if not is_integer(element):
        raise VerifyException(f"{element} is not an element type of tensors")
    limit = 1 << (element.width.data - 1)
    whole = isinstance(value, int) or value.is_integer()
    if not whole or not -limit <= value < limit:
        raise VerifyException(f"{value} is no value of type {element}")
    return IntegerAttr(int(value), element)


def python_number(attribute: FloatAttr | IntegerAttr) -> Number:
    """Return the Python value of a scalar attribute; a bool for `i1`."""
    value = attribute.value.data
    return bool(value) if attribute.type == i1 else value


def normalized_axis(axis: int, rank: int) -> int:
    """Return a non-negative axis; constructors accept negative ones."""
    if not -rank <= axis < rank:
        raise VerifyException(f"axis {axis} is out of range for a tensor of rank {rank}")
    return axis % rank


def check_axes(axes: Sequence[int], rank: int) -> None:
    """Raise `VerifyException` unless all axes are distinct and in [0, rank)."""
    if len(set(axes)) != len(axes) or any(not 0 <= axis < rank for axis in axes):
        raise VerifyException(
            f"axes {list(axes)} must be different and in [0, {rank}) for a tensor of rank {rank}"
        )


class Elements(NamedTuple):
    """A set of element types, with its name in messages."""

    types: tuple[Attribute, ...]
    text: str

    def check(self, name: str, *types: Tensor) -> None:
        """Raise `VerifyException` unless all tensors have such elements."""
        for found in types:
            if found.element_type not in self.types:
                raise VerifyException(f"{name}: needs {self.text}, got {found}")


FLOATS = Elements((f64, f32, f16, bf16), "floating-point elements")
INTEGERS = Elements((i64, i32, i16, i8), "integers")
NUMBERS = Elements((*FLOATS.types, *INTEGERS.types), "elements that are numbers")
BITS = Elements((*INTEGERS.types, i1), "integer or i1 elements")


def broadcast_shapes(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the broadcast shape, by the rules of numpy."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result: list[int] = []
    for sizes in zip(*padded, strict=True):
        different = set(sizes) - {1}
        if len(different) > 1:
            found = " and ".join(str(list(shape)) for shape in shapes)
            raise VerifyException(f"{name}: shapes {found} do not broadcast")
        result.append(different.pop() if different else 1)
    return tuple(result)


class GraphOp(PureOp, ABC):
    """An operator on whole tensors: pure, with one result, and the semantics of torch's operator.

    Constructors take operands and properties in the order of declaration, or by name. The assembly
    is `graph.name operands {properties} : (operand types) -> result type`, without default
    properties. All operands have one of the types of `ELEMENTS`.
    """

    ELEMENTS: ClassVar[Elements | None] = None

    result = result_def(TENSOR)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "operands attr-dict `:` functional-type(operands, results)"

    def __init__(self, *fields: Field, result: Attribute = i1, **named: Field) -> None:
        super().__init__(result, *fields, **named)
        self.results = SSAValues((OpResult(self._checked_type(), self, 0),))

    @abstractmethod
    def _infer_type(self) -> Tensor:
        """Return the type of the result, inferred from operands and properties.

        If these do not determine it, `result` has the type given to the constructor.
        """

    def _checked_type(self) -> Tensor:
        """Return the inferred type, after a check of the operands' elements."""
        if self.ELEMENTS is not None:
            self.ELEMENTS.check(self.name, *map(tensor_type, self.operands))
        return self._infer_type()

    def invalid(self, message: str) -> VerifyException:
        """Return the error of operands or properties that do not fit."""
        return VerifyException(f"{self.name}: {message}")

    def check_same_element(self, *types: Tensor) -> None:
        """Raise `VerifyException` unless all types have the same element type."""
        if any(t.element_type != types[0].element_type for t in types):
            found = ", ".join(map(str, types))
            raise self.invalid(f"operands must have one element type, got {found}")

    def check_sum_element(self, found: Tensor, element: Attribute) -> None:
        """Raise `VerifyException` unless a type can accumulate products of a tensor's elements."""
        if not holds_sums(element, found.element_type):
            raise self.invalid(f"{element} cannot hold a sum of products of {found}")

    @property
    def result_type(self) -> Tensor:
        """The type of the result."""
        return tensor_type(self.result)

    def verify_(self) -> None:
        """Check that shapes are static, and the result against the inferred type."""
        for value in (*self.operands, *self.results):
            if any(size < 0 for size in shape_of(value)):
                raise self.invalid(f"shapes must be static, got {value.type}")
        inferred = self._checked_type()
        if inferred != self.result_type:
            raise self.invalid(f"the result should be {inferred}, but is {self.result_type}")


class OneOperandOp(GraphOp, ABC):
    """An operator on one tensor."""

    x = operand_def(TENSOR)

    @property
    def x_type(self) -> Tensor:
        """The type of the operand."""
        return tensor_type(self.x)


class SameTypeOp(OneOperandOp, ABC):
    """An operator whose result has the type of its only operand; printed with one type."""

    T: ClassVar = VarConstraint("T", TENSOR)

    x = operand_def(T)
    result = result_def(T)

    assembly_format = "$x attr-dict `:` type($result)"

    def _infer_type(self) -> Tensor:
        return self.x_type
