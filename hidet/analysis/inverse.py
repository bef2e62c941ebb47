"""The inverse of an index map: where an element of the result goes, not where it comes from.

An epilogue is a grid that loads its anchor at some function of its own indices. A kernel that has
computed an element of the anchor must know which element of the grid that is. Two rules find it,
for each group of indices and variables that depend on each other:

* every index is a number whose digits are digits of variables (permutations, splits of heads,
  flattening, and what they are composed of): the digits are read off and put in their places;
* the row-major number of the element is a number whose digits are the variables (reshapes that do
  not keep digits, 6 x 4 to 8 x 3): the number is taken apart.

Both demand that digits are complete, so that the map is a bijection between the two domains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from xdsl.ir import SSAValue

from hidet.analysis.algebra import FormAlgebra
from hidet.analysis.forms import ANY, ZERO, LinearForm, Quotient, Range, Remainder, Variable
from hidet.analysis.grids import loads_of
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.materialize import Materializer
from hidet.dialects.compute import GridOp
from hidet.dialects.shaped import shape_of

if TYPE_CHECKING:
    from xdsl.builder import Builder


@dataclass(frozen=True)
class Inverse:
    """The indices of a grid as functions of the indices of its anchor.

    Attributes:
        variables: stand for the indices of the anchor, one for each of its dimensions.
        forms: the indices of the grid over these variables.
    """

    variables: tuple[Variable, ...]
    forms: tuple[LinearForm, ...]

    def materialize(self, builder: Builder, indices: Sequence[SSAValue]) -> list[SSAValue]:
        """Compute the indices of the grid by ops at the builder's insertion point."""
        materializer = Materializer(dict(zip(self.variables, indices, strict=True)))
        algebra = FormAlgebra()
        return [materializer.value(form, builder.insert, algebra) for form in self.forms]


class Digit(NamedTuple):
    """`(variable floordiv weight) mod extent`."""

    variable: SSAValue
    weight: int
    extent: int


def invert(
    indices: Sequence[LinearForm],
    variables: Sequence[SSAValue],
    extents: Sequence[int],
    target_extents: Sequence[int],
) -> Inverse | None:
    """Invert an index map; return None where it is no bijection that the rules above find.

    Args:
        indices: the place in the anchor that the grid loads, forms over the variables.
        variables: the indices of the grid.
        extents: the shape of the grid.
        target_extents: the shape of the anchor.
    """
    if prod(extents) != prod(target_extents) or prod(extents) == 0:
        return None
    extent_of = dict(zip(variables, extents, strict=True))
    places = tuple(Variable(f"a{dim}", extent) for dim, extent in enumerate(target_extents))
    found: dict[SSAValue, LinearForm] = {v: ZERO for v in variables if extent_of[v] == 1}
    indices = [
        LinearForm({a: k for a, k in form.terms.items() if a not in found}, form.constant)
        for form in indices
    ]
    for members, numbers in _components(indices, variables):
        if not all(member in extent_of for member in members):
            return None
        forms = [indices[number] for number in numbers]
        targets = [places[number] for number in numbers]
        sizes = {member: extent_of[member] for member in members}
        if prod(sizes.values()) != prod(target.extent for target in targets):
            return None
        solved = _invert_digits(forms, sizes, targets) or _invert_number(forms, sizes, targets)
        if solved is None:
            return None
        found |= solved
    if len(found) < len(variables):
        return None
    return Inverse(places, tuple(found[variable] for variable in variables))


def _components(
    indices: Sequence[LinearForm], variables: Sequence[SSAValue]
) -> list[tuple[list[SSAValue], list[int]]]:
    """Group variables and the numbers of indices that depend on each other."""
    groups: list[tuple[dict[SSAValue, None], list[int]]] = []
    order = {variable: number for number, variable in enumerate(variables)}
    for number, form in enumerate(indices):
        members = dict.fromkeys(leaf for leaf in form.leaves() if isinstance(leaf, SSAValue))
        numbers = [number]
        apart: list[tuple[dict[SSAValue, None], list[int]]] = []
        for group in groups:
            if group[0].keys() & members.keys():
                members, numbers = group[0] | members, group[1] + numbers
            else:
                apart.append(group)
        groups = [*apart, (members, sorted(numbers))]
    return [
        (sorted(members, key=lambda member: order.get(member, len(order))), numbers)
        for members, numbers in groups
    ]


def _algebra(sizes: Mapping[SSAValue, int]) -> FormAlgebra:
    """Return the arithmetic on variables with these extents."""
    return FormAlgebra(
        lambda value: Range(0, sizes[value] - 1) if value in sizes else ANY, lambda _: 1
    )


def _is_complete(digits: Iterable[tuple[int, int]], extent: int) -> bool:
    """Return whether digits, each (weight, extent), make up all numbers below an extent."""
    weight = 1
    for digit_weight, digit_extent in sorted(digits):
        if digit_weight != weight:
            return False
        weight *= digit_extent
    return weight == extent


# First rule: digits of variables are digits of indices.


def _invert_digits(
    forms: Sequence[LinearForm], sizes: Mapping[SSAValue, int], targets: Sequence[Variable]
) -> dict[SSAValue, LinearForm] | None:
    algebra = FormAlgebra()
    digits: dict[SSAValue, list[Digit]] = {variable: [] for variable in sizes}
    found = dict.fromkeys(sizes, ZERO)
    for form, target in zip(forms, targets, strict=True):
        parts = digits_of(form, sizes)
        if parts is None or not _is_complete(
            ((place, digit.extent) for place, digit in parts), target.extent
        ):
            return None
        for place, digit in parts:
            digits[digit.variable].append(digit)
            value = algebra.mod(algebra.floordiv(LinearForm.of(target), place), digit.extent)
            found[digit.variable] = algebra.add(found[digit.variable], value, digit.weight)
    complete = all(
        _is_complete(((digit.weight, digit.extent) for digit in digits[variable]), extent)
        for variable, extent in sizes.items()
    )
    return found if complete else None


def digits_of(form: LinearForm, sizes: Mapping[SSAValue, int]) -> list[tuple[int, Digit]] | None:
    """Return an index as digits of variables, each with its weight in the index."""
    if form.constant:
        return None
    parts: list[tuple[int, Digit]] = []
    for atom, coefficient in form.terms.items():
        digit = None
        match atom:
            case SSAValue():
                digit = Digit(atom, 1, sizes[atom])
            case Quotient(LinearForm(atom=SSAValue() as variable), divisor):
                digit = Digit(variable, divisor, -(-sizes[variable] // divisor))
            case Remainder(LinearForm(atom=SSAValue() as variable), divisor):
                digit = Digit(variable, 1, divisor)
            case Remainder(
                LinearForm(atom=Quotient(LinearForm(atom=SSAValue() as variable), weight)), divisor
            ):
                digit = Digit(variable, weight, divisor)
            case _:
                return None
        parts.append((coefficient, digit))
    return parts


# Second rule: variables are digits of the element's number.


def _invert_number(
    forms: Sequence[LinearForm], sizes: Mapping[SSAValue, int], targets: Sequence[Variable]
) -> dict[SSAValue, LinearForm] | None:
    algebra, number, element = _algebra(sizes), ZERO, ZERO
    for form, target in zip(forms, targets, strict=True):
        lo, hi = algebra.range(form)
        if lo < 0 or hi >= target.extent:
            return None
        number = algebra.add(form, number, target.extent)
        element = algebra.add(LinearForm.of(target), element, target.extent)
    if number.constant or number.terms.keys() != sizes.keys():
        return None
    weights = {variable: number.coefficient_of(variable) for variable in sizes}
    total = prod(sizes.values())
    if not _is_complete(((weights[variable], size) for variable, size in sizes.items()), total):
        return None
    return {
        variable: algebra.merge(algebra.mod(algebra.floordiv(element, weights[variable]), size))
        for variable, size in sizes.items()
    }


def inverse_of(grid: GridOp, *anchors: SSAValue) -> Inverse | None:
    """Return which element of a grid follows from an element of its anchor, or of several.

    That is known where the grid loads anchors of one shape, always at the same place and not in a
    branch or a reduction, at indices that `invert` can solve; else None is returned.
    """
    loads = [load for load in loads_of(grid) if load.source in anchors]
    shapes = {shape_of(load.source) for load in loads}
    if len(shapes) != 1:
        return None
    forms = IndexForms()
    places = {tuple(forms.form(index) for index in load.indices) for load in loads}
    if len(places) != 1 or any(load.parent is not grid.body.block for load in loads):
        return None
    return invert(places.pop(), grid.indices, grid.shape, shapes.pop())
