"""What all operations of the graph dialect share: constraints, the base class, broadcasting.

The type of an operation's result is computed by `infer_type`, which both its constructor and its
verifier call. It raises `VerifyException` with all shapes concerned where they do not fit.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeAlias, TypeGuard

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    BoolAttr,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
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
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, SSAValues
from xdsl.irdl import (
    AnyOf,
    AttrConstraint,
    EqAttrConstraint,
    IRDLOperation,
    ParsePropInAttrDict,
    PropertyDef,
    VarConstraint,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

Tensor: TypeAlias = TensorType[Attribute]
"""The type of a tensor with any of the element types below."""
Value: TypeAlias = SSAValue | Operation
"""What constructors take for an operand: a value, or an operation with one result."""
Number: TypeAlias = float | int | bool
"""What constructors take for a scalar: an attribute of the right type is made of it."""
Property: TypeAlias = Attribute | Sequence[int] | Number | str | None
"""What constructors take for a property; None for one that is left out."""

ELEMENT_TYPES = (f64, f32, f16, bf16, i64, i32, i16, i8, i1)
"""The element types of tensors; `i1` is torch.bool."""
TENSOR: AttrConstraint[Tensor] = TensorType.constr(
    AnyOf.get(*(EqAttrConstraint(t) for t in ELEMENT_TYPES))
)
"""Constraint of every operand and result."""
INTS = DenseArrayBase.constr(i64)
"""Constraint of a property that lists dimensions, sizes or offsets."""
INT = IntegerAttr.constr(EqAttrConstraint(i64))
"""Constraint of a property that is one dimension, size or offset."""
FLOAT64 = FloatAttr.constr(EqAttrConstraint(f64))
"""Constraint of a property that is a real number."""
NUMBER = FloatAttr.constr() | IntegerAttr.constr()
"""Constraint of a property that is one element of a tensor."""
FALSE = BoolAttr.from_bool(False)
TRUE = BoolAttr.from_bool(True)

_FLOATS = (Float64Type, Float32Type, Float16Type, BFloat16Type)


def tensor_type(value: Value) -> Tensor:
    """Give the type of a value that must be a tensor."""
    found = SSAValue.get(value).type
    if not isinstance(found, TensorType):
        raise VerifyException(f"a tensor is needed here, got a value of type {found}")
    return found  # pyright: ignore[reportUnknownVariableType]


def shape_of(value: Value) -> tuple[int, ...]:
    """Give the shape of a value that must be a tensor."""
    return tensor_type(value).get_shape()


def element_type(value: Value) -> Attribute:
    """Give the element type of a value that must be a tensor."""
    return tensor_type(value).element_type


def is_float(element: Attribute) -> TypeGuard[AnyFloat]:
    """Tell whether an element type is one of the floating-point types."""
    return isinstance(element, _FLOATS)


def is_integer(element: Attribute) -> TypeGuard[IntegerType]:
    """Tell whether an element type is an integer of more than one bit."""
    return isinstance(element, IntegerType) and element != i1


def computation_type(element: Attribute) -> Attribute:
    """Give the type that elements of a type are computed in: f32 for f16 and bf16, else the same.

    What is between the steps of one operator has this type, too, and so have sums.
    """
    return f32 if element in (f16, bf16) else element


def ints(values: Iterable[int]) -> DenseArrayBase[IntegerType]:
    """Make the property that lists the given dimensions, sizes or offsets."""
    return DenseArrayBase.from_list(i64, tuple(values))


def integer(value: int) -> IntegerAttr:
    """Make the property that is one dimension, size or offset."""
    return IntegerAttr(value, i64)


def number(value: Number, element: Attribute) -> FloatAttr | IntegerAttr:
    """Make the attribute of a scalar of the given element type.

    Raises:
        VerifyException: the value does not fit the type; a fraction never fits an integer.
    """
    if is_float(element):
        return FloatAttr(float(value), element)
    if element == i1:
        return BoolAttr.from_bool(bool(value))
    if not is_integer(element):
        raise VerifyException(f"{element} is no element type of a tensor")
    limit = 1 << (element.width.data - 1)
    whole = isinstance(value, int) or value.is_integer()
    if not whole or not -limit <= value < limit:
        raise VerifyException(f"{value} is no value of type {element}")
    return IntegerAttr(int(value), element)


def _attribute(value: Property, field: PropertyDef) -> Attribute | None:
    """Return the attribute of a property; what is a real number may be given as a whole one."""
    match value:
        case None | Attribute():
            return value
        case int() if field.constr is FLOAT64:
            return FloatAttr(float(value), f64)
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return integer(value)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case _:
            return ints(value)


def python_number(attribute: FloatAttr | IntegerAttr) -> Number:
    """Give the Python value of a scalar attribute; a bool for `i1`."""
    value = attribute.value.data
    return bool(value) if attribute.type == i1 else value


def normalized_axis(axis: int, rank: int) -> int:
    """Count an axis from the front; constructors take negative ones, properties never hold them.

    Raises:
        VerifyException: the axis is outside [-rank, rank).
    """
    if not -rank <= axis < rank:
        raise VerifyException(f"axis {axis} is out of range for a tensor of rank {rank}")
    return axis % rank


def normalized_axes(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """Count several axes from the front, sorted; see `normalized_axis`."""
    return tuple(sorted(normalized_axis(axis, rank) for axis in axes))


def check_axes(axes: Sequence[int], rank: int) -> None:
    """Raise `VerifyException` unless all axes are different and in [0, rank)."""
    if len(set(axes)) != len(axes) or any(not 0 <= axis < rank for axis in axes):
        raise VerifyException(
            f"axes {list(axes)} must be different and in [0, {rank}) for a tensor of rank {rank}"
        )


def check_same_element(name: str, *types: Tensor) -> None:
    """Raise `VerifyException` unless all the types have one element type."""
    if any(t.element_type != types[0].element_type for t in types):
        found = ", ".join(map(str, types))
        raise VerifyException(f"{name}: operands must have one element type, got {found}")


def check_float(name: str, *types: Tensor) -> None:
    """Raise `VerifyException` unless all the types have a floating-point element type."""
    for found in types:
        if not is_float(found.element_type):
            raise VerifyException(f"{name}: needs floating-point elements, got {found}")


def check_not_float(name: str, *types: Tensor) -> None:
    """Raise `VerifyException` unless all the types have integer or `i1` elements."""
    for found in types:
        if is_float(found.element_type):
            raise VerifyException(f"{name}: needs integer or i1 elements, got {found}")


def check_sum_element(name: str, found: Tensor, element: Attribute) -> None:
    """Raise `VerifyException` unless sums of products of a tensor's elements can have a type.

    That is the elements' own type, or a wider floating-point type: f32 for f16.
    """
    own = found.element_type
    if element == own or (is_float(own) and is_float(element) and element.bitwidth > own.bitwidth):
        return
    raise VerifyException(f"{name}: {element} cannot hold a sum of products of {found}")


def broadcast_shapes(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Give the shape that all the shapes broadcast to, by the rule of numpy.

    Raises:
        VerifyException: two sizes of a dimension differ and neither is 1.
    """
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


class GraphOp(IRDLOperation, ABC):
    """An operator on whole tensors: pure, with one result, and the semantics of torch's operator.

    It is made of its operands and properties, in the order in which they are declared or by name.
    The text is `graph.name operands {properties} : (operand types) -> result type`; properties
    that have their default are not printed.
    """

    result = result_def(TENSOR)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "operands attr-dict `:` functional-type(operands, results)"

    def __init__(
        self, *fields: Value | Sequence[Value] | Property, result: Attribute = i1, **named: Property
    ) -> None:
        definition = self.get_irdl_definition()
        names = [*(name for name, _ in definition.operands), *definition.properties]
        given: dict[str, Any] = {**dict(zip(names, fields, strict=False)), **named}
        if len(given) < len(fields) + len(named) or not given.keys() <= {*names}:
            raise TypeError(f"{self.name} takes {', '.join(names)}")
        super().__init__(
            operands=[given.get(name) for name, _ in definition.operands],
            properties={
                name: _attribute(given[name], each) if name in given else each.default_value
                for name, each in definition.properties.items()
            },
            result_types=[result],
        )
        self.results = SSAValues((OpResult(self.infer_type(), self, 0),))

    @abstractmethod
    def infer_type(self) -> Tensor:
        """Compute the type of the result from operands and properties.

        Where it does not follow from these alone, `result` holds what the constructor was given.

        Raises:
            VerifyException: operands and properties do not fit together.
        """

    @property
    def result_type(self) -> Tensor:
        """The type of the result."""
        return tensor_type(self.result)

    def verify_(self) -> None:
        """Check operands against each other, and the result against what they give."""
        for value in (*self.operands, *self.results):
            if any(size < 0 for size in shape_of(value)):
                raise VerifyException(f"{self.name}: shapes must be static, got {value.type}")
        inferred = self.infer_type()
        if inferred != self.result_type:
            raise VerifyException(
                f"{self.name}: the result should be {inferred}, but is {self.result_type}"
            )


class OneOperandOp(GraphOp, ABC):
    """An operator on one tensor."""

    x = operand_def(TENSOR)

    @property
    def x_type(self) -> Tensor:
        """The type of the operand."""
        return tensor_type(self.x)


class SameTypeOp(OneOperandOp, ABC):
    """An operator whose only operand has the type of the result; printed with one type."""

    T: ClassVar = VarConstraint("T", TENSOR)

    x = operand_def(T)
    result = result_def(T)

    assembly_format = "$x attr-dict `:` type($result)"

    def infer_type(self) -> Tensor:
        """Give the type of the operand."""
        return self.x_type
