"""Vectors of scripts: a few scalars of one type that are computed and moved together.

`f32x4` is four scalars of the thread; operators work on each. What makes them one is the access to
memory: `load(~x[i], dtype=f32x4)` is one load of 16 bytes. Those of 16-bit floats are computed in
pairs, by the instructions that the machine has for two halves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

from xdsl.dialects import memref
from xdsl.dialects.builtin import VectorType as BuiltinVectorType
from xdsl.ir import Attribute, SSAValue

from hidet.dialects.cuda.arithmetic import JoinOp, PackedFunction, PackedOp, PartOp, word_bits
from hidet.errors import ScriptError
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import ScalarType, VectorType, common_type
from hidet.frontends.script.values import (
    Arithmetic,
    Scalar,
    Variable,
    describe,
    is_number,
    operators,
)

if TYPE_CHECKING:
    from hidet.frontends.script.emitter import Emitter


class Vector:
    """A vector that is known when the kernel runs; operators work on each element.

    Attributes:
        emitter: what writes the IR.
        type: its type.
    """

    __slots__ = ("_elements", "emitter", "type")

    def __init__(self, emitter: Arithmetic, kind: VectorType, elements: tuple[Scalar, ...]) -> None:
        self.emitter = emitter
        self.type = kind
        self._elements = elements

    @property
    def elements(self) -> tuple[Scalar, ...]:
        """The elements."""
        return self._elements

    @property
    def x(self) -> Scalar:
        """The first element."""
        return self[0]

    @property
    def y(self) -> Scalar:
        """The second element."""
        return self[1]

    @property
    def z(self) -> Scalar:
        """The third element."""
        return self[2]

    @property
    def w(self) -> Scalar:
        """The fourth element."""
        return self[3]

    def __getitem__(self, number: object) -> Scalar:
        return self.elements[self.lane(number)]

    def lane(self, number: object) -> int:
        """Return the number of an element.

        Raises:
            ScriptError: there is none, or the number is known only when the kernel runs.
        """
        if not isinstance(number, int) or not 0 <= number < self.type.lanes:
            raise ScriptError(
                f"{self.type} has no element {number!r}",
                hint=f"it has 0 to {self.type.lanes - 1}, by a number that the script knows",
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
        pairs = packed(self.emitter, "-x", self)
        return self.map(lambda each: -each) if pairs is None else pairs

    def __abs__(self) -> Vector:
        pairs = packed(self.emitter, "abs", self)
        return self.map(abs) if pairs is None else pairs

    def map(self, function: Callable[[Scalar], Scalar]) -> Vector:
        """Return the vector of what a function gives for each element."""
        elements = tuple(map(function, self.elements))
        return Vector(self.emitter, VectorType(elements[0].type, len(elements)), elements)

    def __bool__(self) -> NoReturn:
        raise ScriptError(
            f"a vector of type {self.type} is no condition", hint="compare its elements: v[0] > 0"
        )

    def __repr__(self) -> str:
        return f"of type {self.type}"


class VectorVariable(Vector):
    """A vector that is assigned several times: a variable of the thread for each element."""

    __slots__ = ("_variables",)

    def __init__(
        self, emitter: Arithmetic, kind: VectorType, variables: tuple[Variable, ...]
    ) -> None:
        super().__init__(emitter, kind, ())
        self._variables = variables

    @property
    def elements(self) -> tuple[Scalar, ...]:
        """What the variables hold now."""
        return tuple(self.emitter.read(variable) for variable in self._variables)

    def read(self) -> Vector:
        """Return what it holds now, as a value."""
        return Vector(self.emitter, self.type, self.elements)

    def write(self, value: object) -> None:
        """Give it another value, or one value for all elements."""
        for variable, each in zip(self._variables, self.type(value), strict=True):
            self.emitter.write(each, variable)

    def write_lane(self, number: object, value: object) -> None:
        """Give one of its elements another value."""
        self.emitter.write(value, self._variables[self.lane(number)])


class PairVariable(VectorVariable):
    """A vector of 16-bit floats that is assigned several times: a variable for each pair."""

    __slots__ = ("_pairs",)

    def __init__(self, emitter: Arithmetic, kind: VectorType, pairs: tuple[SSAValue, ...]) -> None:
        super().__init__(emitter, kind, ())
        self._pairs = pairs

    @property
    def elements(self) -> tuple[Scalar, ...]:
        """What the variables hold now."""
        loads = [self.emitter.insert(memref.LoadOp.get(pair, [])) for pair in self._pairs]
        return of_pairs(self.emitter, self.type.element, [load.res for load in loads]).elements

    def write(self, value: object) -> None:
        """Give it another value, or one value for all elements."""
        for pair, word in zip(self._pairs, pairs_of(self.type(value)), strict=True):
            self.emitter.insert(memref.StoreOp.get(word, pair, []))

    def write_lane(self, number: object, value: object) -> None:
        """Give one of its elements another value."""
        elements: list[object] = list(self.elements)
        elements[self.lane(number)] = value
        self.write(self.type(*elements))


def vector_variable(emitter: Emitter, name: str, value: Vector) -> VectorVariable:
    """Return a variable that holds a vector."""
    if not is_paired(value.type):
        variables = tuple(emitter.variable(name, each) for each in value)
        return VectorVariable(emitter, value.type, variables)
    kind = pair_type(value.type.element)
    pairs = tuple(emitter.local_array(kind, []) for _ in range(value.type.lanes // 2))
    for pair in pairs:
        pair.name_hint = name
    variable = PairVariable(emitter, value.type, pairs)
    variable.write(value)
    return variable


def vector_of(kind: VectorType, values: tuple[object, ...]) -> Vector:
    """Make a vector: of one value, of another vector, or of a value for each element.

    Raises:
        ScriptError: there are more values, or fewer.
    """
    emitter = current(str(kind))
    elements: tuple[object, ...] = values
    if len(values) == 1:
        (value,) = values
        elements = value.elements if isinstance(value, Vector) else values * kind.lanes
    if len(elements) != kind.lanes:
        raise ScriptError(
            f"{kind} has {kind.lanes} elements, and got {len(elements)}",
            hint=f"{kind}(x) for {kind.lanes} times the same, or one value for each",
        )
    scalars = (
        emitter.cast(emitter.scalar_of(each, kind.element), kind.element) for each in elements
    )
    return Vector(emitter, kind, tuple(scalars))


def elementwise(emitter: Arithmetic, name: str, lhs: object, rhs: object) -> Vector:
    """Compute an operator of two vectors, or of a vector and a scalar, for each element.

    Raises:
        ScriptError: one is neither, or they have different numbers of elements.
    """
    lanes = {each.type.lanes for each in (lhs, rhs) if isinstance(each, Vector)}
    are_fit = all(isinstance(each, Vector | Scalar) or is_number(each) for each in (lhs, rhs))
    if len(lanes) != 1 or not are_fit:
        raise ScriptError(
            f"'{name}' of {describe(lhs)} and {describe(rhs)}",
            hint="both are vectors with the same number of elements, or one is a scalar",
        )
    if (halves := packed(emitter, name, lhs, rhs)) is not None:
        return halves
    (count,) = lanes
    left, right = (
        each.elements if isinstance(each, Vector) else (each,) * count for each in (lhs, rhs)
    )
    scalars = [emitter.binary(name, a, b) for a, b in zip(left, right, strict=True)]
    return Vector(emitter, VectorType(scalars[0].type, count), tuple(scalars))


# Pairs.

_PACKED = {
    "+": PackedFunction.ADD,
    "-": PackedFunction.SUB,
    "*": PackedFunction.MUL,
    "fma": PackedFunction.FMA,
    "min": PackedFunction.MIN,
    "max": PackedFunction.MAX,
    "-x": PackedFunction.NEG,
    "abs": PackedFunction.ABS,
}


def is_paired(kind: VectorType) -> bool:
    """Return whether vectors of a type are computed in pairs of elements."""
    return bool(kind.element.is_float) and kind.element.bits == 16 and kind.lanes % 2 == 0


def pair_type(element: ScalarType) -> BuiltinVectorType[Attribute]:
    """Return the type of a pair in the IR."""
    return BuiltinVectorType(element.ir, [2])


def packed(emitter: Arithmetic, name: str, *operands: object) -> Vector | None:
    """Compute an operator of vectors of 16-bit floats in pairs; None where it is none of those.

    A scalar of the same type, an integer or a number stands for a vector of it.
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
        emitter.insert(PackedOp(_PACKED[name], list(words))).result
        for words in zip(*rows, strict=True)
    ]
    return of_pairs(emitter, kind.element, words)


def of_pairs(emitter: Arithmetic, element: ScalarType, words: Sequence[SSAValue]) -> Vector:
    """Return the vector of the elements of pairs."""
    parts = (
        Scalar(emitter, emitter.insert(PartOp(word, number, element.ir)).result, element)
        for word in words
        for number in range(2)
    )
    return Vector(emitter, VectorType(element, 2 * len(words)), tuple(parts))


def pairs_of(vector: Vector) -> list[SSAValue]:
    """Return the pairs that a vector consists of: those that it has been made of, or new ones."""
    elements = [each.ssa for each in vector.elements]
    kind = pair_type(vector.type.element)
    found: list[SSAValue] = []
    for low, high in zip(elements[::2], elements[1::2], strict=True):
        known = whole_of([low, high])
        if known is None or known.type != kind:
            known = vector.emitter.insert(JoinOp([low, high], kind)).result
        found.append(known)
    return found


def whole_of(parts: Sequence[SSAValue]) -> SSAValue | None:
    """Return the value whose parts some values are, all of them and in order; else None."""
    wholes: set[SSAValue] = set()
    for number, part in enumerate(parts):
        op = part.owner
        if not isinstance(op, PartOp) or op.number.value.data != number:
            return None
        wholes.add(op.whole)
    (whole, *others) = wholes
    is_all = word_bits(whole.type) == sum(word_bits(part.type) for part in parts)
    return whole if is_all and not others else None
