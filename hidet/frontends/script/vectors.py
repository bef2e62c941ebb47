"""Vectors of scripts: a few scalars of one type that are computed and moved together.

`f32x4` is four scalars of the thread; operators work on each. What makes them one is the access to
memory: `load(~x[i], dtype=f32x4)` is one load of 16 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from hidet.errors import ScriptError
from hidet.frontends.script.data_types import DataTypeNames
from hidet.frontends.script.types import SCALAR_TYPES, ScalarType
from hidet.frontends.script.values import Arithmetic, Scalar, Variable, describe, is_number

_NAME = re.compile(r"([a-z]+\d+)x(\d+)")


@dataclass(frozen=True)
class VectorType(DataTypeNames):
    """The type of a vector: `f32x4`. Called with one or several values it makes a vector of them.

    Attributes:
        element: the type of an element.
        lanes: how many there are.
    """

    element: ScalarType
    lanes: int

    @property
    def bits(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The width of all elements together."""
        return self.element.bits * self.lanes

    @property
    def name(self) -> str:
        """The long name: `float16x2`."""
        return f"{self.element.name}x{self.lanes}"

    @property
    def lane_type(self) -> ScalarType:
        """The type of an element."""
        return self.element

    def __call__(self, *values: object) -> Vector:
        """Make a vector: of one value, of another vector, or of a value for each element.

        Raises:
            ScriptError: there are more values, or fewer.
        """
        from hidet.frontends.script.tracing import current

        emitter = current(str(self))
        elements: Sequence[object] = values
        if len(values) == 1:
            (value,) = values
            elements = value.elements if isinstance(value, Vector) else values * self.lanes
        if len(elements) != self.lanes:
            raise ScriptError(
                f"{self} has {self.lanes} elements, and got {len(elements)}",
                hint=f"{self}(x) for {self.lanes} times the same, or one value for each",
            )
        scalars = (
            emitter.cast(emitter.scalar_of(each, self.element), self.element) for each in elements
        )
        return Vector(emitter, self, tuple(scalars))

    def __str__(self) -> str:
        return f"{self.element}x{self.lanes}"

    __repr__ = __str__


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

    def __getitem__(self, number: int) -> Scalar:
        if not 0 <= number < self.type.lanes:
            raise ScriptError(
                f"{self.type} has no element {number!r}",
                hint=f"it has 0 to {self.type.lanes - 1}, by a number that the script knows",
            )
        return self.elements[number]

    def __iter__(self) -> Iterator[Scalar]:
        return iter(self.elements)

    def __len__(self) -> int:
        return self.type.lanes

    def __add__(self, other: object) -> object:
        return self.emitter.binary("+", self, other)

    def __radd__(self, other: object) -> object:
        return self.emitter.binary("+", other, self)

    def __sub__(self, other: object) -> object:
        return self.emitter.binary("-", self, other)

    def __rsub__(self, other: object) -> object:
        return self.emitter.binary("-", other, self)

    def __mul__(self, other: object) -> object:
        return self.emitter.binary("*", self, other)

    def __rmul__(self, other: object) -> object:
        return self.emitter.binary("*", other, self)

    def __truediv__(self, other: object) -> object:
        return self.emitter.binary("/", self, other)

    def __rtruediv__(self, other: object) -> object:
        return self.emitter.binary("/", other, self)

    def __neg__(self) -> Vector:
        return Vector(self.emitter, self.type, tuple(-each for each in self.elements))

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
    def variables(self) -> tuple[Variable, ...]:
        """The variables."""
        return self._variables

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
    (count,) = lanes
    left, right = (
        each.elements if isinstance(each, Vector) else (each,) * count for each in (lhs, rhs)
    )
    scalars = [emitter.binary(name, a, b) for a, b in zip(left, right, strict=True)]
    return Vector(emitter, VectorType(scalars[0].type, count), tuple(scalars))


def vector_type(name: object) -> VectorType | None:
    """Return the vector type that a user names: a type, or `'f32x4'`; None where it is none."""
    if isinstance(name, VectorType):
        return name
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None or match[1] not in SCALAR_TYPES:
        return None
    return VectorType(SCALAR_TYPES[match[1]], int(match[2]))
