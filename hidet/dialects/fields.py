"""Operations that are constructed from their fields, as dataclasses are; enumerations; dialects."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import isclass
from itertools import accumulate, pairwise
from pkgutil import iter_modules
from struct import iter_unpack
from types import new_class
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar, cast

from xdsl import irdl
from xdsl.dialects.builtin import (
    I64,
    UNKNOWN_LOC,
    AnyFloatConstr,
    BoolAttr,
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    f64,
    i32,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    BlockArgument,
    Dialect,
    Operation,
    OpResult,
    Region,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.dialects.constants import integer
from hidet.dialects.shaped import shaped_type

_SEGMENTS = irdl.AttrSizedOperandSegments.attribute_name


class Element(NamedTuple):
    """An element of a memref, or the first of several."""

    memref: SSAValue
    indices: Sequence[SSAValue]


Values: TypeAlias = SSAValue | Operation | Sequence[SSAValue | Operation] | None
Field: TypeAlias = (
    Element | Values | Attribute | Sequence[Attribute] | Sequence[int] | Region | str | float
)
"""A constructor argument for a field, or for a memref with its indices."""

FLOAT64 = FloatAttr.constr(irdl.EqAttrConstraint(f64))
"""The constraint of a real number."""

INT64: TypeAlias = IntegerAttr[I64]
"""The type of a whole number."""

SCALAR = irdl.BaseAttr(IntegerType) | AnyFloatConstr
"""The constraint of an integer or a floating-point type."""

SEGMENTED = (irdl.AttrSizedOperandSegments(as_property=True),)
"""The option of operations with several variadic operands."""


def element_def(
    memref: irdl.IRDLAttrConstraint = MemRefType,
) -> tuple[irdl.Operand, irdl.VarOperand]:
    """Return the fields of an indexed memref: the memref and its indices."""
    return irdl.operand_def(memref), irdl.var_operand_def(IndexType)


@dataclass(frozen=True)
class _OneOf(irdl.IntConstraint):
    values: Container[int]
    error: str

    def verify(self, i: int, constraint_context: irdl.VerificationContext) -> None:
        if i not in self.values:
            raise VerifyException(self.error.format(i))

    def mapping_type_vars(self, type_var_mapping: object) -> irdl.IntConstraint:
        return self


def one_of(values: Container[int], error: str) -> irdl.AttrConstraint[IntegerAttr[I64]]:
    """Return the constraint of an i64; the error has `{}` for an integer that does not meet it."""
    found = IntegerAttr.constr(irdl.EqAttrConstraint(i64), value=_OneOf(values, error))
    return cast("irdl.AttrConstraint[IntegerAttr[I64]]", found)


class FieldsOp(irdl.IRDLOperation):
    """An operation whose constructor takes its fields in the order of declaration.

    Fields are properties, operands, regions, and results (by type). A memref and its indices are
    one argument, an `Element`. Properties are given as attributes or as Python values; unit
    attributes as a bool, a list of equal numbers as one of them if it is as long as the default.
    Optional fields may be omitted, and so may results whose type can be inferred.
    """

    def __init__(self, *fields: Field, **named: Field) -> None:
        # What xDSL's constructor does, without its generality, which takes most of the time.
        definition, given = self.get_irdl_definition(), _given(type(self), fields, named)
        operands = [_values(given.get(name)) for name, _ in definition.operands]
        for (name, each), values in zip(definition.operands, operands, strict=True):
            if len(values) != 1 and not isinstance(each, irdl.VarOperandDef):
                raise TypeError(f"{type(self).__name__} takes one value as '{name}'")
        result_types: list[Attribute] = []
        for name, each in definition.results:
            kinds = cast("Attribute | Sequence[Attribute] | None", given.get(name))
            if isinstance(kinds, Attribute):
                result_types.append(kinds)
            elif kinds is not None:
                result_types += kinds
            elif not isinstance(each, irdl.VarResultDef):
                result_types.append(_inferred(definition, operands))
        properties = {
            name: attribute
            for field, (name, _) in definition.accessor_names.items()
            if field in given
            and (attribute := _attribute(given[field], definition.properties[name])) is not None
        }
        if _has_segments(type(self)):
            properties[_SEGMENTS] = _sizes(*map(len, operands))
        Operation.__init__(
            self,
            operands=[value for values in operands for value in values],
            result_types=result_types,
            properties=properties,
            location=UNKNOWN_LOC,
            regions=[cast("Region", given[name]) for name, _ in definition.regions],
        )

    @classmethod
    @cache
    def element_fields(cls) -> Mapping[str, str]:
        """Return the names of indexed memrefs, each with the name of its indices."""
        names = [name for name, _ in cls.get_irdl_definition().operands]
        return {
            name: following
            for name, following in pairwise(names)
            if following in ("indices", f"{name}_indices")
        }

    def element(self, name: str) -> Element:
        """Return the element of an indexed memref, by name."""
        return Element(getattr(self, name), getattr(self, self.element_fields()[name]))

    def move(self, name: str, target: Element) -> None:
        """Replace the element of an indexed memref, by name."""
        new = {name: (target.memref,), self.element_fields()[name]: target.indices}
        segments = [new.get(each, values) for each, values in self.operand_segments()]
        self.operands = [value for segment in segments for value in segment]
        if _SEGMENTS in self.properties:
            self.properties[_SEGMENTS] = _sizes(*map(len, segments))

    def verify_(self) -> None:
        """Check that every indexed memref or tensor has one index per dimension."""
        for array, indices in map(self.element, self.element_fields()):
            kind = shaped_type(array)
            if len(indices) != (rank := kind.get_num_dims()):
                raise VerifyException(
                    f"{self.name} has {len(indices)} indices for {kind} of rank {rank}"
                )

    def operand_segments(self) -> list[tuple[str, Sequence[SSAValue]]]:
        """Return the operands by field."""
        found: list[tuple[str, Sequence[SSAValue]]] = []
        for name, _ in self.get_irdl_definition().operands:
            value = cast("SSAValue | Sequence[SSAValue] | None", getattr(self, name))
            found.append((name, (value,) if isinstance(value, SSAValue) else value or ()))
        return found


Op = TypeVar("Op", bound=FieldsOp)


def define(base: type[Op], name: str, summary: str, **fields: object) -> type[Op]:
    """Return an operation that differs from its base class in its name, docstring and fields.

    Fields in upper case are constants.
    """
    title = "".join(word.capitalize() for word in name.partition(".")[2].split("_"))
    body = {"__doc__": summary, "__module__": base.__module__, "name": name, **fields}
    body["__annotations__"] = {field: ClassVar for field in fields if field.isupper()}
    return irdl.irdl_op_definition(cast("type[Op]", type(f"{title}Op", (base,), body)))


def cache_segments(op: type[Operation]) -> None:
    """Replace the accessors of operand segments of a class: xDSL's decode the sizes every time."""
    for name, accessor in list(vars(op).items()):
        if isinstance(accessor, irdl.BaseAttrAccessor):
            setattr(op, name, _OperandSegment(accessor))


class _OperandSegment:
    """An accessor of operands that decodes the segment sizes once."""

    def __init__(self, accessor: irdl.BaseAttrAccessor) -> None:
        assert accessor.construct is irdl.VarIRConstruct.OPERAND
        self._number = accessor.idx
        self._is_variadic = isinstance(accessor, irdl.VariadicAttrAccessor)

    def __get__(
        self, op: Operation, owner: type[Operation]
    ) -> SSAValue | Sequence[SSAValue] | None:
        sizes: Any = op.properties[_SEGMENTS]
        start, stop = _segments(sizes.data.data)[self._number]
        operands = op._operands  # pyright: ignore[reportPrivateUsage]  # without a view of them
        if self._is_variadic:
            return operands[start:stop]
        return _item(operands, start) if start < stop else None


_item: Callable[..., Any] = cast("Any", tuple).__getitem__
"""Takes a value out of xDSL's tuple of them, whose own operator does more."""


@cache
def _segments(sizes: bytes) -> list[tuple[int, int]]:
    """Return the start and end of each segment, from the data of the array of sizes."""
    ends = list(accumulate(size for (size,) in iter_unpack("<i", sizes)))
    return list(zip([0, *ends], ends, strict=False))


@cache
def _sizes(*sizes: int) -> Attribute:
    return DenseArrayBase.from_list(i32, sizes)


def _values(given: Field) -> Sequence[SSAValue]:
    is_one = type(given) in _VALUES or isinstance(given, Operation | SSAValue)
    values: Any = (given,) if is_one else given or ()
    return [each if type(each) in _VALUES else SSAValue.get(each) for each in values]


_VALUES = (OpResult, BlockArgument)


def _given(
    op: type[FieldsOp], fields: Sequence[Field], named: Mapping[str, Field]
) -> dict[str, Field]:
    """Return the given fields by name; raise TypeError for unknown ones."""
    indices, known = op.element_fields(), _field_names(op)
    names, given = iter(known), dict[str, Field]()

    def take(name: str | None, value: Field) -> None:
        if name is None or name in given or name not in known:
            raise TypeError(f"{op.__name__} takes {', '.join(known)}")
        if isinstance(value, Element):
            given[name], given[indices[name]] = value
            if name not in named:
                next(names)
        else:
            given[name] = value

    for value in fields:
        take(next(names, None), value)
    for name, value in named.items():
        take(name, value)
    return given


@cache
def _has_segments(op: type[FieldsOp]) -> bool:
    options = op.get_irdl_definition().options
    return any(isinstance(option, irdl.AttrSizedOperandSegments) for option in options)


@cache
def _field_names(op: type[FieldsOp]) -> tuple[str, ...]:
    definition = op.get_irdl_definition()
    parts = (*definition.operands, *definition.results, *definition.regions)
    fields = {name for name, _ in parts}
    fields.update(definition.accessor_names)
    classes = [each for each in reversed(op.mro()) if issubclass(each, FieldsOp)]
    return tuple(dict.fromkeys(name for each in classes for name in vars(each) if name in fields))


def _attribute(value: Field, field: irdl.PropertyDef) -> Attribute | None:
    match value:
        case None | Attribute():
            return value
        case StrEnum():
            assert isinstance(field.constr, irdl.BaseAttr)
            kind = cast("type[EnumAttribute[StrEnum]]", field.constr.attr)
            return kind(value)
        case bool() if isinstance(field, irdl.OptPropertyDef):
            return UnitAttr() if value else None
        case bool():
            return BoolAttr.from_bool(value)
        case float() | int() if field.constr is FLOAT64:
            return FloatAttr(float(value), f64)
        case int() if isinstance(field.default_value, DenseArrayBase):
            default = cast("DenseArrayBase[IntegerType]", field.default_value)
            return DenseArrayBase.from_list(i64, [value] * len(default))
        case int():
            return integer(value, i64)
        case str():
            is_symbol = field.constr is FlatSymbolRefAttrConstr
            return SymbolRefAttr(value) if is_symbol else StringAttr(value)
        case _ if not value and isinstance(field, irdl.OptPropertyDef):
            return None
        case _:
            return DenseArrayBase.from_list(i64, cast("Sequence[int]", value))


def _inferred(definition: irdl.OpDef, operands: Sequence[Sequence[SSAValue]]) -> Attribute:
    """Return the type of the only result, inferred from the operands."""
    ((_, result),) = definition.results
    context = irdl.VerificationContext()
    if not result.constr.can_infer(set(), length_known=True):
        for (_, each), values in zip(definition.operands, operands, strict=True):
            each.constr.verify([value.type for value in values], context)
    (kind,) = result.constr.infer(context, length=1)
    return kind


Kind = TypeVar("Kind", bound=StrEnum)


def enum_attribute(name: str, kinds: type[Kind]) -> type[EnumAttribute[Kind]]:
    """Return the attribute of an enumeration, printed as a bare keyword."""
    words = ", ".join(f"`{kind.value}`" for kind in kinds)

    def fill(body: dict[str, Any]) -> None:
        body |= {"name": name, "__module__": kinds.__module__, "__doc__": f"One of {words}."}

    bases = EnumAttribute[kinds], SpacedOpaqueSyntaxAttribute
    made = new_class(f"{kinds.__name__}Attr", bases, exec_body=fill)
    return irdl.irdl_attr_definition(cast("type[EnumAttribute[Kind]]", made))


def _classes(package: str) -> Iterator[Any]:
    path = import_module(package).__path__
    for info in sorted(iter_modules(path, f"{package}."), key=lambda info: info.name):
        for found in vars(import_module(info.name)).values():
            # Base classes have no name.
            if isclass(found) and found.__module__ == info.name and getattr(found, "name", ""):
                yield found


def dialect_of(package: str) -> Dialect:
    """Return the dialect of all ops, their enumerations, attributes and types in a package."""
    found = list(_classes(package))
    # faster than `issubclass`, which queries ABCs
    ops = [each for each in found if Operation in each.__mro__]
    for op in ops:
        cache_segments(op)
    attributes = [each for each in found if Attribute in each.__mro__]
    fields = (field for op in ops for field in op.get_irdl_definition().properties.values())
    kinds: list[Any] = [getattr(field.constr, "attr", Attribute) for field in fields]
    own = [kind for kind in kinds if kind.__module__.startswith(f"{package}.")]
    return Dialect(package.rpartition(".")[2], ops, list(dict.fromkeys(attributes + own)))
