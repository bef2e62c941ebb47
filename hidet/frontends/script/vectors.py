"""Vectors of scripts: a few scalars of one type.

Operators on `f32x4` work elementwise. Memory accesses are vectorized: `load(~x[i], dtype=f32x4)` is
one load of 16 bytes. Vectors of 16-bit floats are computed in pairs, by packed instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import NoReturn

from xdsl.dialects import memref
from xdsl.dialects.builtin import VectorType as BuiltinVectorType
from xdsl.ir import Attribute, SSAValue

from hidet.dialects.cuda.arithmetic import JoinOp, PackedFunction, PackedOp, PartOp, word_bits
from hidet.dialects.cuda.names import hint_of
from hidet.errors import ScriptError
from hidet.frontends.script.messages import Value, describe
from hidet.frontends.script.scalars import Scalar, convert, is_number, operators
from hidet.frontends.script.tracing import current, insert
from hidet.frontends.script.types import ElementType, ScalarType, VectorType, common_type
from hidet.frontends.script.variables import mark_sign


class Vector(Value):
    """A vector value of the kernel; operators work elementwise."""

    __slots__ = ("_elements", "type")

    def __init__(self, kind: VectorType, elements: tuple[Scalar, ...]) -> None:
        self.type = kind
        self._elements = elements

    @property
    def elements(self) -> tuple[Scalar, ...]:
        """The elements."""
        return self._elements

    x, y, z, w = (property(itemgetter(lane)) for lane in range(4))

    def __getitem__(self, number: object) -> Scalar:
        return self.elements[self.lane(number)]

    def lane(self, number: object) -> int:
        """Return the index of an element."""
        if not isinstance(number, int) or not 0 <= number < self.type.lanes:
            raise ScriptError(
                f"{self.type} has no element {number!r}",
                hint=f"it has 0 to {self.type.lanes - 1}, a compile-time index",
            )
        return number

    def __iter__(self) -> Iterator[Scalar]:
        return iter(self.elements)

    def __len__(self) -> int:
        return self.type.lanes

    __add__, __radd__ = operators("+")
    __sub__, __rsub__ = operators("-")
    __mul__, __rmul__ = operators("*")
    __truediv__, __rtruediv__ = operators("/")

    def __neg__(self) -> Vector:
        return elementwise("-x", Scalar.__neg__, self)

    def __abs__(self) -> Vector:
        return elementwise("abs", Scalar.__abs__, self)

    def __bool__(self) -> NoReturn:
        raise ScriptError(
            f"a vector of type {self.type} is no condition", hint="compare its elements: v[0] > 0"
        )

    def __repr__(self) -> str:
        return f"a vector of type {self.type}"


class VectorVariable(Vector):
    """A vector that is assigned several times: local variables for its elements or pairs."""

    __slots__ = ("_parts",)

    def __init__(self, name: str, value: Vector) -> None:
        super().__init__(value.type, ())
        self._parts: list[SSAValue] = []
        for part in _parts_of(value):
            memory = current().local_array(part.type, [])
            memory.name_hint = hint_of(name)
            self._parts.append(mark_sign(memory, value.type.element))
        self.write(value)

    @property
    def elements(self) -> tuple[Scalar, ...]:
        """The current elements."""
        loads = list(map(current().load, self._parts))
        if is_paired(self.type):
            return of_pairs(self.type.element, loads).elements
        return tuple(Scalar(load, self.type.element) for load in loads)

    def read(self) -> Vector:
        """Return the current value."""
        return Vector(self.type, self.elements)

    def write(self, value: object) -> None:
        """Assign a vector, or broadcast a scalar."""
        for memory, part in zip(self._parts, _parts_of(self.type(value)), strict=True):
            insert(memref.StoreOp.get(part, memory, []))

    def write_lane(self, number: object, value: object) -> None:
        """Assign one element."""
        lane = self.lane(number)
        if is_paired(self.type):
            elements: list[object] = list(self.elements)
            elements[lane] = value
            self.write(self.type(*elements))
        else:
            scalar = convert(value, self.type.element)
            insert(memref.StoreOp.get(scalar.ssa, self._parts[lane], []))


def _parts_of(vector: Vector) -> list[SSAValue]:
    """Return the elements of a vector, or the pairs that it is computed in."""
    return pairs_of(vector) if is_paired(vector.type) else [each.ssa for each in vector]


def vector_of(kind: VectorType, values: tuple[object, ...]) -> Vector:
    """Make a vector of one value (broadcast), another vector, or one value per element."""
    elements: tuple[object, ...] = values
    if len(values) == 1:
        (value,) = values
        elements = value.elements if isinstance(value, Vector) else values * kind.lanes
    if len(elements) != kind.lanes:
        raise ScriptError(
            f"{kind} has {kind.lanes} elements, and got {len(elements)}",
            hint=f"{kind}(x) broadcasts x; or pass one value per element",
        )
    return Vector(kind, tuple(convert(each, kind.element) for each in elements))


def elementwise(name: str, function: Callable[..., Scalar], *operands: object) -> Vector:
    """Compute a function of vectors and scalars, which are broadcast."""
    lanes = {each.type.lanes for each in operands if isinstance(each, Vector)}
    are_fit = all(isinstance(each, Vector | Scalar) or is_number(each) for each in operands)
    if len(lanes) != 1 or not are_fit:
        *others, last = map(describe, operands)
        raise ScriptError(
            f"'{name}' of {', '.join(others)} and {last}",
            hint="the vectors have the same number of elements, and the others are scalars",
        )
    if (halves := packed(name, *operands)) is not None:
        return halves
    (count,) = lanes
    rows = (each.elements if isinstance(each, Vector) else (each,) * count for each in operands)
    scalars = [function(*each) for each in zip(*rows, strict=True)]
    return Vector(VectorType(scalars[0].type, count), tuple(scalars))


# Pairs.

_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "neg": "-x"}
_PACKED = {_SYMBOLS.get(str(kind), str(kind)): kind for kind in PackedFunction}


def is_paired(kind: ElementType) -> bool:
    """Return whether vectors of a type are computed in pairs."""
    return bool(kind.element.is_float) and kind.element.bits == 16 and kind.lanes % 2 == 0


def pair_type(element: ScalarType) -> BuiltinVectorType[Attribute]:
    """Return the IR type of a pair."""
    return BuiltinVectorType(element.ir, [2])


def packed(name: str, *operands: object) -> Vector | None:
    """Compute an operator of 16-bit float vectors in pairs; None if that does not apply.

    Scalars of the element type and numbers are broadcast.
    """
    kinds = {each.type for each in operands if isinstance(each, Vector)}
    if name not in _PACKED or len(kinds) != 1:
        return None
    (kind,) = kinds
    if not is_paired(kind):
        return None
    for each in operands:
        if isinstance(each, Scalar) and common_type(each.type, kind.element) != kind.element:
            return None
    rows = [pairs_of(kind(each)) for each in operands]
    words = [
        insert(PackedOp(_PACKED[name], list(words))).result for words in zip(*rows, strict=True)
    ]
    return of_pairs(kind.element, words)


def of_pairs(element: ScalarType, words: Sequence[SSAValue]) -> Vector:
    """Return the vector with the elements of some pairs."""
    parts = (
        Scalar(insert(PartOp(word, number, element.ir)).result, element)
        for word in words
        for number in range(2)
    )
    return Vector(VectorType(element, 2 * len(words)), tuple(parts))


def pairs_of(vector: Vector) -> list[SSAValue]:
    """Return the pairs of a vector: those that its elements were extracted from, or new ones."""
    elements = [each.ssa for each in vector.elements]
    kind = pair_type(vector.type.element)
    found: list[SSAValue] = []
    for low, high in zip(elements[::2], elements[1::2], strict=True):
        known = joined_value([low, high])
        if known is None or known.type != kind:
            known = insert(JoinOp([low, high], kind)).result
        found.append(known)
    return found


def joined_value(parts: Sequence[SSAValue]) -> SSAValue | None:
    """Return the value whose parts, all of them and in order, some values are; else None."""
    wholes: set[SSAValue] = set()
    for number, part in enumerate(parts):
        op = part.owner
        if not isinstance(op, PartOp) or op.number.value.data != number:
            return None
        wholes.add(op.whole)
    (whole, *others) = wholes
    is_all = word_bits(whole.type) == sum(word_bits(part.type) for part in parts)
    return whole if is_all and not others else None
