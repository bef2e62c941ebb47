"""Linear forms: index arithmetic as values, to be compared, added and divided.

A form is `c1 * a1 + ... + cn * an + c`. Its atoms are values of the program, variables that stand
for no value yet, and quotients and remainders of other forms by positive numbers. Division rounds
down, so that `x == c * (x floordiv c) + x mod c` holds for negative `x` too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from typing_extensions import override
from xdsl.ir import SSAValue


class Range(NamedTuple):
    """The inclusive limits of an index."""

    lo: int
    hi: int

    def scaled(self, factor: int) -> Range:
        """Return the range of `factor * x` for an x of this range."""
        ends = self.lo * factor, self.hi * factor
        return Range(min(ends), max(ends))

    def intersect(self, other: Range) -> Range:
        """Return the indices of both ranges; the lower limit alone where there are none.

        Ranges without a common index belong to code that is never reached.
        """
        lo = max(self.lo, other.lo)
        return Range(lo, max(lo, min(self.hi, other.hi)))

    def union(self, other: Range) -> Range:
        """Return the smallest range around both."""
        return Range(min(self.lo, other.lo), max(self.hi, other.hi))

    @property
    def is_bounded(self) -> bool:
        """Whether anything is known: one of the limits is not that of 64 bits."""
        return self.lo > ANY.lo or self.hi < ANY.hi


ANY = Range(-(1 << 63), (1 << 63) - 1)
"""The range of an index of which nothing is known: 64 bits."""


@dataclass(frozen=True)
class Variable:
    """An index from 0 to `extent - 1` that is not (yet) a value of the program.

    Attributes:
        name: tells variables apart.
        extent: the number of values that it takes.
    """

    name: str
    extent: int


class LinearForm:
    """`c1 * a1 + ... + cn * an + c`; immutable, and equal to every form with the same terms.

    Args:
        terms: the coefficient of each atom; none is 0. Not to be changed afterwards.
        constant: the constant term.
    """

    __slots__ = ("_hash", "constant", "depth", "terms", "weight")

    terms: Mapping[Atom, int]
    constant: int
    weight: int
    """The number of divisions that it takes to compute the form."""
    depth: int
    """How deeply divisions are nested."""

    def __init__(self, terms: Mapping[Atom, int], constant: int = 0) -> None:
        self.terms = terms
        self.constant = constant
        self.weight = self.depth = 0
        for atom in terms:
            if isinstance(atom, Quotient | Remainder):
                self.weight += 1 + atom.form.weight
                self.depth = max(self.depth, 1 + atom.form.depth)
        self._hash = hash((frozenset(terms.items()), constant))

    @override
    def __hash__(self) -> int:
        return self._hash

    @override
    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, LinearForm)
            and self._hash == other._hash
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

    # Arithmetic that needs no knowledge; `FormAlgebra` simplifies what comes out.

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

    # Questions.

    @property
    def is_number(self) -> bool:
        """Whether the form has no atoms."""
        return not self.terms

    @property
    def without_constant(self) -> LinearForm:
        """The form less its constant term."""
        return LinearForm(self.terms) if self.constant else self

    @property
    def atom(self) -> Atom | None:
        """The atom that the form consists of, if it is nothing else."""
        if self.constant == 0 and len(self.terms) == 1:
            (atom, coefficient) = next(iter(self.terms.items()))
            if coefficient == 1:
                return atom
        return None

    def coefficient_of(self, atom: Atom) -> int:
        """Return the coefficient of an atom, 0 where it is no term of the form."""
        return self.terms.get(atom, 0)

    def depends_on(self, atom: Atom) -> bool:
        """Return whether an atom is a term of the form or lies in one of its divisions."""
        return any(leaf is atom or leaf == atom for leaf in self.leaves())

    def leaves(self) -> Iterator[SSAValue | Variable]:
        """Give the values and variables that the form is computed from, some more than once."""
        for atom in self.terms:
            if isinstance(atom, Quotient | Remainder):
                yield from atom.form.leaves()
            else:
                yield atom

    def evaluate(self, values: Mapping[SSAValue | Variable, int]) -> int:
        """Return the number that the form is for given values of its leaves."""
        total = self.constant
        for atom, coefficient in self.terms.items():
            match atom:
                case Quotient(form, divisor):
                    total += coefficient * (form.evaluate(values) // divisor)
                case Remainder(form, divisor):
                    total += coefficient * (form.evaluate(values) % divisor)
                case _:
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
class Quotient:
    """`form floordiv divisor`, for a positive divisor."""

    form: LinearForm
    divisor: int


@dataclass(frozen=True)
class Remainder:
    """`form mod divisor`, from 0 to `divisor - 1`."""

    form: LinearForm
    divisor: int


Atom: TypeAlias = SSAValue | Variable | Quotient | Remainder
"""What a linear form is a combination of."""

ZERO = LinearForm({})
"""The form of the number 0."""


def _atom_name(atom: Atom) -> str:
    """Return a short text for an atom, for messages and tests."""
    match atom:
        case Quotient(form, divisor):
            return f"({form!r}) floordiv {divisor}"
        case Remainder(form, divisor):
            return f"({form!r}) mod {divisor}"
        case Variable(name):
            return name
        case _:
            return f"%{atom.name_hint or hex(id(atom))}"
