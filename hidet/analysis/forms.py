"""Linear forms: symbolic index expressions that can be compared, added and divided.

A form is `c1 * a1 + ... + cn * an + c`. Its atoms are SSA values, symbolic variables without an SSA
value, and quotients and remainders of other forms by positive constants. Division rounds down, so
`x == c * (x floordiv c) + x mod c` holds for negative `x` too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from typing_extensions import override
from xdsl.ir import SSAValue


class Range(NamedTuple):
    """An interval of integers, with inclusive limits."""

    lo: int
    hi: int

    @classmethod
    def signed(cls, bits: int) -> Range:
        """Return the range of signed integers of a width."""
        half = 1 << (bits - 1)
        return cls(-half, half - 1)

    def scaled(self, factor: int) -> Range:
        """Return the range of `factor * x` for `x` in this range."""
        start, end = self.lo * factor, self.hi * factor
        return Range(start, end) if factor >= 0 else Range(end, start)

    def intersect(self, other: Range) -> Range:
        """Return the intersection, or only its lower limit if it is empty.

        Disjoint ranges occur in unreachable code.
        """
        lo = max(self.lo, other.lo)
        return Range(lo, max(lo, min(self.hi, other.hi)))

    def includes(self, other: Range) -> bool:
        """Return whether the range contains another one."""
        return self.lo <= other.lo and other.hi <= self.hi

    def union(self, other: Range) -> Range:
        """Return the smallest range that contains both."""
        return Range(min(self.lo, other.lo), max(self.hi, other.hi))


ANY = Range.signed(64)
"""The range of an unknown index."""


@dataclass(frozen=True)
class Variable:
    """A symbolic index from 0 to `extent - 1` without an SSA value, identified by its name."""

    name: str
    extent: int

    @override
    def __hash__(self) -> int:
        return hash(self.name)


class LinearForm:
    """`c1 * a1 + ... + cn * an + c`; immutable, with structural equality.

    Args:
        terms: the nonzero coefficient of each atom; must not be mutated afterwards.
        constant: the constant term.
    """

    __slots__ = ("_hash", "constant", "depth", "terms", "weight")

    _hash: int | None

    terms: Mapping[Atom, int]
    constant: int
    weight: int
    """The number of divisions in the form."""
    depth: int
    """The nesting depth of divisions."""

    def __init__(self, terms: Mapping[Atom, int], constant: int = 0) -> None:
        self.terms = terms
        self.constant = constant
        self._hash = None
        weight = depth = 0
        for atom in terms:
            if isinstance(atom, Division):
                inner = atom.form
                weight += 1 + inner.weight
                if inner.depth >= depth:
                    depth = 1 + inner.depth
        self.weight, self.depth = weight, depth

    @override
    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((frozenset(self.terms.items()), self.constant))
        return self._hash

    @override
    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, LinearForm)
            and self.constant == other.constant
            and self.terms == other.terms
        )

    @classmethod
    def of(cls, atom: Atom, coefficient: int = 1) -> LinearForm:
        """Return `coefficient * atom`."""
        return cls({atom: coefficient} if coefficient else {})

    @classmethod
    def number(cls, value: int) -> LinearForm:
        """Return a form without atoms."""
        return cls({}, value)

    # Arithmetic without simplification; `FormAlgebra` simplifies results.

    def __add__(self, other: LinearForm | int) -> LinearForm:
        return self.plus(other, 1)

    def __sub__(self, other: LinearForm | int) -> LinearForm:
        return self.plus(other, -1)

    def __neg__(self) -> LinearForm:
        return self * -1

    def __mul__(self, factor: int) -> LinearForm:
        if factor == 1:
            return self
        if factor == 0:
            return ZERO
        return LinearForm({a: k * factor for a, k in self.terms.items()}, self.constant * factor)

    def plus(self, other: LinearForm | int, factor: int) -> LinearForm:
        """Return `self + factor * other`."""
        if isinstance(other, int):
            return LinearForm(self.terms, self.constant + factor * other) if other else self
        if not factor:
            return self
        if not other.terms:
            return self.plus(other.constant, factor)
        terms = dict(self.terms)
        for atom, coefficient in other.terms.items():
            total = terms.get(atom, 0) + factor * coefficient
            if total:
                terms[atom] = total
            else:
                del terms[atom]
        return LinearForm(terms, self.constant + factor * other.constant)

    # Queries.

    @property
    def is_number(self) -> bool:
        """Whether the form has no atoms."""
        return not self.terms

    @property
    def without_constant(self) -> LinearForm:
        """The form minus its constant term."""
        return LinearForm(self.terms) if self.constant else self

    @property
    def atom(self) -> Atom | None:
        """The atom, if the form is a single atom, else None."""
        if self.constant or len(self.terms) != 1:
            return None
        ((atom, coefficient),) = self.terms.items()
        return atom if coefficient == 1 else None

    @property
    def divisions(self) -> list[tuple[Quotient | Remainder, int]]:
        """The terms that are divisions."""
        return [(atom, k) for atom, k in self.terms.items() if isinstance(atom, Division)]

    def coefficient_of(self, atom: Atom) -> int:
        """Return the coefficient of an atom; 0 if the form has no such term."""
        return self.terms.get(atom, 0)

    def depends_on(self, atom: Atom) -> bool:
        """Return whether an atom occurs in the form, including inside of divisions."""
        return any(leaf is atom or leaf == atom for leaf in self.leaves())

    def leaves(self) -> Iterator[SSAValue | Variable]:
        """Yield the SSA values and variables in the form, possibly with repetitions."""
        for atom in self.terms:
            if isinstance(atom, Division):
                yield from atom.form.leaves()
            else:
                yield atom

    def evaluate(self, values: Mapping[SSAValue | Variable, int]) -> int:
        """Evaluate the form for given values of its leaves."""
        total = self.constant
        for atom, coefficient in self.terms.items():
            if isinstance(atom, Division):
                divided = divmod(atom.form.evaluate(values), atom.divisor)
                total += coefficient * divided[isinstance(atom, Remainder)]
            else:
                total += coefficient * values[atom]
        return total

    @override
    def __repr__(self) -> str:
        terms = [
            _atom_name(atom) if coefficient == 1 else f"{coefficient} * {_atom_name(atom)}"
            for atom, coefficient in self.terms.items()
        ]
        if self.constant or not terms:
            terms.append(str(self.constant))
        return " + ".join(terms)


@dataclass(frozen=True)
class Division:
    """A division of a form by a positive constant."""

    form: LinearForm
    divisor: int

    @cached_property
    def _hash(self) -> int:
        return hash((self.form, self.divisor))

    @override
    def __hash__(self) -> int:
        return self._hash


class Quotient(Division):
    """`form floordiv divisor`."""


class Remainder(Division):
    """`form mod divisor`, in `[0, divisor)`."""


Atom: TypeAlias = SSAValue | Variable | Quotient | Remainder
"""An operand of a linear form."""

ZERO = LinearForm({})


def _atom_name(atom: Atom) -> str:
    """Return a short description of an atom, for messages and tests."""
    match atom:
        case Quotient(form, divisor):
            return f"({form!r}) floordiv {divisor}"
        case Remainder(form, divisor):
            return f"({form!r}) mod {divisor}"
        case Variable(name):
            return name
        case _:
            return f"%{atom.name_hint or hex(id(atom))}"
