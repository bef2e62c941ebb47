"""Arithmetic on linear forms that uses the ranges, divisibility and conditions of their atoms."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import gcd
from typing import TypeAlias, TypeVar

from xdsl.ir import SSAValue

from hidet.analysis.forms import ANY, ZERO, Atom, LinearForm, Quotient, Range, Remainder, Variable

Condition: TypeAlias = tuple[LinearForm, Range]
"""A form without constant term, and its known range."""


K = TypeVar("K")
V = TypeVar("V")


class Memo(dict[K, V]):
    """The known values of a function; `functools.cache` takes ten times as long to construct."""

    def __init__(self, compute: Callable[[K], V]) -> None:
        self._compute = compute

    def __missing__(self, key: K) -> V:
        found = self[key] = self._compute(key)
        return found


class FormAlgebra:
    """Adds, divides and compares forms, and simplifies the results.

    Results are memoized. An algebra is valid in one block of a program: more conditions hold inside
    an `scf.if` than outside.

    Args:
        range_of_value: returns the range of a value of the program.
        divisibility_of_value: returns a number that always divides the value.
        conditions: known ranges of other forms.
    """

    def __init__(
        self,
        range_of_value: Callable[[SSAValue], Range] = lambda _: ANY,
        divisibility_of_value: Callable[[SSAValue], int] = lambda _: 1,
        conditions: Sequence[Condition] = (),
    ) -> None:
        self._range_of_value = range_of_value
        self._divisibility_of_value = divisibility_of_value
        self.conditions = tuple(conditions)
        self.range: Callable[[LinearForm], Range] = Memo(self._range).__getitem__
        self._divide = Memo(self._compute_division).__getitem__
        self._shortest = Memo(self._compute_shortest).__getitem__

    def under(self, conditions: Sequence[Condition]) -> "FormAlgebra":
        """Return an algebra with additional conditions."""
        return FormAlgebra(
            self._range_of_value, self._divisibility_of_value, (*self.conditions, *conditions)
        )

    # Ranges.

    def is_nonnegative(self, form: LinearForm) -> bool:
        """Return whether a form is known to be nonnegative."""
        return self.range(form).lo >= 0

    def _range(self, form: LinearForm) -> Range:
        lo = hi = form.constant
        for atom, coefficient in form.terms.items():
            term = self._range_of_atom(atom).scaled(coefficient)
            lo, hi = lo + term.lo, hi + term.hi
        limits = Range(lo, hi)
        for condition, known in self.conditions:
            factor = _common_factor(form, condition)
            if factor:
                rest = self.range(form.plus(condition, -factor))
                scaled = self._round_inwards(condition, known).scaled(factor)
                limits = limits.intersect(Range(rest.lo + scaled.lo, rest.hi + scaled.hi))
                limits = self._round_inwards(form, limits)
        return limits

    def _round_inwards(self, form: LinearForm, limits: Range) -> Range:
        """Tighten limits to the nearest values that the form can take."""
        step = self.divisibility(form.without_constant)
        if step <= 1:
            return limits
        lo = limits.lo + (form.constant - limits.lo) % step
        hi = limits.hi - (limits.hi - form.constant) % step
        return Range(lo, max(lo, hi))

    def _range_of_atom(self, atom: Atom) -> Range:
        match atom:
            case Variable(_, extent):
                return Range(0, max(extent, 1) - 1)
            case Quotient(form, divisor):
                lo, hi = self.range(form)
                return Range(lo // divisor, hi // divisor)
            case Remainder(form, divisor):
                limit = divisor - gcd(divisor, self.divisibility(form))
                lo, hi = self.range(form)
                return Range(0, min(limit, hi) if lo >= 0 else limit)
            case _:
                return self._range_of_value(atom)

    # Divisibility.

    def divisibility(self, form: LinearForm) -> int:
        """Return a number that always divides the form; 0 for the form 0."""
        common = form.constant
        for atom, coefficient in form.terms.items():
            if common == 1:
                break
            common = gcd(common, coefficient * self._divisibility_of_atom(atom))
        return abs(common)

    def _divisibility_of_atom(self, atom: Atom) -> int:
        match atom:
            case Variable():
                return 1
            case Quotient(form, divisor):
                common = self.divisibility(form)
                return common // divisor if common % divisor == 0 else 1
            case Remainder(form, divisor):
                return gcd(self.divisibility(form), divisor)
            case _:
                return self._divisibility_of_value(atom)

    # Division.

    def floordiv(self, form: LinearForm, divisor: int) -> LinearForm:
        """Return the form of `form floordiv divisor`, for a positive divisor."""
        return self._divide((form, divisor))[0]

    def mod(self, form: LinearForm, divisor: int) -> LinearForm:
        """Return the form of `form mod divisor`, for a positive divisor."""
        return self._divide((form, divisor))[1]

    def is_simple(self, form: LinearForm) -> bool:
        """Return whether no division in a form can be simplified."""
        return all(
            self._divide((atom.form, atom.divisor))[isinstance(atom, Remainder)].atom == atom
            and self.is_simple(atom.form)
            for atom, _ in form.divisions
        )

    def _compute_division(self, operands: tuple[LinearForm, int]) -> tuple[LinearForm, LinearForm]:
        """Return the quotient and the remainder."""
        form, divisor = operands
        single = self._single_quotient(form, divisor)
        if single is not None:
            return LinearForm.number(single), form - single * divisor
        if self.range(form).hi <= 0:
            # Divide a nonnegative number, which is cheaper: n // d = -ceil(-n / d).
            quotient, remainder = self._divide((-form + (divisor - 1), divisor))
            return -quotient, -remainder + (divisor - 1)
        whole, rest = self._split(form, divisor)
        # Multiples of the divisor have no remainder; they are divided separately only if the
        # remaining terms then need no division.
        exact = self._multiples(rest, divisor)
        inexact = rest - exact if exact.terms else rest
        for more, short in self._reductions(inexact, divisor):
            single = self._single_quotient(short, divisor)
            if single is not None:
                for atom, coefficient in exact.terms.items():
                    common = gcd(coefficient, divisor)
                    quotient = self._quotient(LinearForm.of(atom), divisor // common)
                    whole += quotient * (coefficient // common)
                return whole + more + single, short - single * divisor
        big, _, scale = self._drop_small(rest, divisor)
        quotient = whole + self._quotient(_exactly_divided(big, scale), divisor // scale)
        if exact.terms and (self.is_nonnegative(inexact) or not self.is_nonnegative(rest)):
            rest = inexact
        big, small, scale = self._drop_small(rest, divisor)
        remainder = self._remainder(_exactly_divided(big, scale), divisor // scale)
        return quotient, remainder * scale + small

    def _single_quotient(self, form: LinearForm, divisor: int) -> int | None:
        """Return the quotient if it is constant over the range of the form."""
        lo, hi = self.range(form)
        return lo // divisor if lo // divisor == hi // divisor else None

    def _split(self, form: LinearForm, divisor: int) -> tuple[LinearForm, LinearForm]:
        """Return (whole, rest): the form is `divisor * whole + rest`.

        No coefficient of the rest is a multiple of the divisor. Unsigned divisions are cheaper, so
        a nonnegative form is not split if its rest may be negative.
        """
        whole: dict[Atom, int] = {}
        rest: dict[Atom, int] = {}
        for atom, coefficient in form.terms.items():
            factor, left = divmod(coefficient, divisor)
            if left:
                rest[atom] = coefficient
            else:
                whole[atom] = factor
        quotient, constant = divmod(form.constant, divisor)
        short = LinearForm(rest, constant)
        if self.is_nonnegative(form) and not self.is_nonnegative(short):
            return ZERO, form
        return LinearForm(whole, quotient), short

    @staticmethod
    def _reductions(form: LinearForm, divisor: int) -> Iterator[tuple[LinearForm, LinearForm]]:
        """Yield (whole, rest): the form is `divisor * whole + rest`, with coefficients split.

        For example `5 * x` becomes `4 * x + x` for the divisor 4. This helps only if the quotient
        of the rest is constant.
        """
        yield ZERO, form
        for towards_zero in (True, False):
            whole: dict[Atom, int] = {}
            rest: dict[Atom, int] = {}
            for atom, coefficient in form.terms.items():
                factor, left = divmod(coefficient, divisor)
                if towards_zero and coefficient < 0 and left:
                    factor, left = factor + 1, left - divisor
                if factor:
                    whole[atom] = factor
                if left:
                    rest[atom] = left
            if whole:
                yield LinearForm(whole), LinearForm(rest, form.constant)

    def _drop_small(self, form: LinearForm, divisor: int) -> tuple[LinearForm, LinearForm, int]:
        """Return (big, small, scale): the form is `big + small`, with the same quotient as big.

        This holds if some g divides both big and the divisor, and `0 <= small < g`. The scale is a
        common factor of the divisor and of all coefficients of big.
        """
        big, small = form, ZERO
        steps = {
            gcd(coefficient * self._divisibility_of_atom(atom), divisor)
            for atom, coefficient in form.terms.items()
        }
        for step in sorted(steps - {1}, reverse=True):
            multiple = self._multiples(form, step) + (form.constant - form.constant % step)
            others = form - multiple
            lo, hi = self.range(others)
            if lo >= 0 and hi < step:
                big, small = multiple, others
                break
        scale = gcd(divisor, big.constant, *big.terms.values())
        return big, small, scale

    def _multiples(self, form: LinearForm, step: int) -> LinearForm:
        """Return the terms of a form that are multiples of a number."""
        terms = form.terms.items()
        return LinearForm({a: k for a, k in terms if k * self._divisibility_of_atom(a) % step == 0})

    def _quotient(self, form: LinearForm, divisor: int) -> LinearForm:
        """Return the quotient as an atom; that of a quotient or a remainder is simplified."""
        if divisor == 1:
            return form
        joined = self._joined_quotient(form, divisor) if len(form.terms) == 1 else None
        if joined is not None:
            return joined
        atom = form.atom
        if isinstance(atom, Remainder):
            count, rest = divmod(atom.divisor, divisor)
            if rest == 0:
                return self.mod(self.floordiv(atom.form, divisor), count)
        return LinearForm.of(Quotient(form, divisor))

    def _joined_quotient(self, form: LinearForm, divisor: int) -> LinearForm | None:
        """Return the quotient of `x + y floordiv c` as a single division of `c * x + y`."""
        for atom, coefficient in form.terms.items():
            if coefficient == 1 and isinstance(atom, Quotient):
                others = form - LinearForm.of(atom)
                return self.floordiv(atom.form.plus(others, atom.divisor), atom.divisor * divisor)
        return None

    def _remainder(self, form: LinearForm, divisor: int) -> LinearForm:
        """Return the remainder as an atom; that of a single remainder is simplified.

        A remainder in a longer sum is kept, since the quotient of the sum, which needs it, is
        likely to be computed too.
        """
        if divisor == 1:
            return ZERO
        if len(form.terms) == 1:
            (atom, coefficient) = next(iter(form.terms.items()))
            if isinstance(atom, Remainder) and coefficient * atom.divisor % divisor == 0:
                inner = form + (atom.form - LinearForm.of(atom)) * coefficient
                if self.is_nonnegative(inner) or not self.is_nonnegative(form):
                    return self.mod(inner, divisor)
        return LinearForm.of(Remainder(form, divisor))

    # Sums: quotients and remainders are recombined.

    def add(self, lhs: LinearForm, rhs: LinearForm, factor: int = 1) -> LinearForm:
        """Return `lhs + factor * rhs`, with quotients and remainders recombined."""
        return self.merge(lhs.plus(rhs, factor))

    def merge(self, form: LinearForm) -> LinearForm:
        """Recombine quotients and remainders of the same form where that simplifies the sum.

        The rules, for `q = x floordiv c` and `r = x mod c`, with any common factor:
        `c * q + r = x`; and with `y = x floordiv b`: `b * (y mod c) + x mod b = x mod (b * c)`.
        A single term has none to be recombined with.
        """
        return self._shortest(form) if form.weight and len(form.terms) > 1 else form

    def _compute_shortest(self, form: LinearForm) -> LinearForm:
        while (shorter := self._shorten(form)) is not None:
            form = shorter
        return form

    def _shorten(self, form: LinearForm) -> LinearForm | None:
        for atom, coefficient in form.divisions:
            for other in self._other_forms(atom, coefficient, form):
                candidate = form + (other - LinearForm.of(atom, coefficient))
                if self._is_simpler(candidate, form):
                    return candidate
        return None

    def _is_simpler(self, candidate: LinearForm, form: LinearForm) -> bool:
        """Return whether an equal form is simpler.

        It is shorter, its range is no wider, and each division that is rewritten disappears:
        `12 * (x floordiv 3) + x mod 3` is not rewritten as `4 * x - 3 * (x mod 3)`.
        """
        if (candidate.weight, len(candidate.terms)) >= (form.weight, len(form.terms)):
            return False
        if any(
            candidate.coefficient_of(atom) not in (0, coefficient)
            for atom, coefficient in form.divisions
        ):
            return False
        limits = self.range(candidate)
        return limits.intersect(self.range(form)) == limits

    def _other_forms(
        self, atom: Quotient | Remainder, coefficient: int, form: LinearForm
    ) -> list[LinearForm]:
        """Return forms equal to `coefficient * atom` that may simplify the sum."""
        inner, divisor = atom.form, atom.divisor
        others: list[LinearForm] = []
        if isinstance(atom, Quotient):
            factor, rest = divmod(coefficient, divisor)
            if rest == 0:
                remainder = self.mod(inner, divisor)
                if _shares_terms(form, remainder) or _shares_terms(form, inner):
                    others.append((inner - remainder) * factor)
            return others
        quotients = self.floordiv(inner, divisor), self._joined_quotient(inner, divisor)
        others += [
            inner.plus(quotient, -divisor) * coefficient
            for quotient in quotients
            if quotient is not None
            and (_shares_terms(form, quotient) or _shares_terms(form, inner))
        ]
        digit = inner.atom
        if isinstance(digit, Quotient):
            factor, rest = divmod(coefficient, digit.divisor)
            lower = self.mod(digit.form, digit.divisor)
            if rest == 0 and _shares_terms(form, lower):
                upper = self.mod(digit.form, digit.divisor * divisor)
                others.append((upper - lower) * factor)
        return others


def bounded_algebra(extents: Mapping[SSAValue, int]) -> FormAlgebra:
    """Return the algebra of variables with given extents; other values are unbounded."""
    return FormAlgebra(lambda v: Range(0, extents[v] - 1) if v in extents else ANY)


def _shares_terms(form: LinearForm, other: LinearForm) -> bool:
    """Return whether all atoms of the other form are terms of the form."""
    return all(atom in form.terms for atom in other.terms)


def _exactly_divided(form: LinearForm, divisor: int) -> LinearForm:
    """Return a form divided by a common factor of its coefficients."""
    if divisor == 1:
        return form
    return LinearForm(
        {atom: coefficient // divisor for atom, coefficient in form.terms.items()},
        form.constant // divisor,
    )


def _common_factor(form: LinearForm, part: LinearForm) -> int:
    """Return k such that the form contains the terms of `k * part`, or 0."""
    factor = 0
    for atom, coefficient in part.terms.items():
        found, rest = divmod(form.terms.get(atom, 0), coefficient)
        if rest or not found or (factor and found != factor):
            return 0
        factor = found
    return factor
