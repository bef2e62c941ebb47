"""Inverts index maps: computes the destination of an element instead of its source.

An epilogue is a grid that loads its anchor at a function of its own indices. A kernel that has
computed an element of the anchor needs the index of the corresponding element of the grid. For each
group of interdependent indices and variables, two rules apply:

* each index is a mixed-radix number whose digits are digits of variables (permutations, splits of
  heads, flattening, and their compositions): each variable is reassembled from its digits;
* the linear index of the element is a mixed-radix number whose digits are the variables (reshapes
  that do not preserve digits, such as 6 x 4 to 8 x 3): the linear index is delinearized.

Both require complete digits, so that the map is a bijection between the two domains.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.builder import Builder
from xdsl.ir import SSAValue

from hidet.analysis.algebra import FormAlgebra, bounded_algebra
from hidet.analysis.forms import ZERO, LinearForm, Quotient, Remainder, Variable
from hidet.analysis.grids import loads_of
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.materialize import Materializer
from hidet.dialects.compute import GridOp
from hidet.dialects.shaped import shape_of


@dataclass(frozen=True)
class Inverse:
    """The indices of a grid as forms over variables, the indices of its anchor."""

    variables: tuple[Variable, ...]
    forms: tuple[LinearForm, ...]

    def materialize(self, builder: Builder, indices: Sequence[SSAValue]) -> list[SSAValue]:
        """Emit ops that compute the indices of the grid at the builder's insertion point."""
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
    """Invert an index map; return None if the rules above do not apply.

    The map has the indices of the loaded element of the anchor, whose shape are the target extents,
    as forms over the variables, the indices of the grid, whose shape are the extents.
    """
    if prod(extents) != prod(target_extents) or prod(extents) == 0:
        return None
    extent_of = dict(zip(variables, extents, strict=True))
    anchors = tuple(Variable(f"a{dim}", extent) for dim, extent in enumerate(target_extents))
    found: dict[SSAValue, LinearForm] = {v: ZERO for v in variables if extent_of[v] == 1}
    indices = [
        LinearForm({a: k for a, k in form.terms.items() if a not in found}, form.constant)
        for form in indices
    ]
    for members, numbers in _components(indices, variables):
        if not all(member in extent_of for member in members):
            return None
        forms = [indices[number] for number in numbers]
        targets = [anchors[number] for number in numbers]
        sizes = {member: extent_of[member] for member in members}
        if prod(sizes.values()) != prod(target.extent for target in targets):
            return None
        solved = _invert_digits(forms, sizes, targets) or _invert_number(forms, sizes, targets)
        if solved is None:
            return None
        found |= solved
    if len(found) < len(variables):
        return None
    return Inverse(anchors, tuple(found[variable] for variable in variables))


def _components(
    indices: Sequence[LinearForm], variables: Sequence[SSAValue]
) -> list[tuple[list[SSAValue], list[int]]]:
    """Return the groups of interdependent variables and index numbers."""
    groups: list[tuple[dict[SSAValue, None], list[int]]] = []
    order = {variable: number for number, variable in enumerate(variables)}
    for number, form in enumerate(indices):
        members = dict.fromkeys(leaf for leaf in form.leaves() if isinstance(leaf, SSAValue))
        numbers = [number]
        disjoint: list[tuple[dict[SSAValue, None], list[int]]] = []
        for group in groups:
            if group[0].keys() & members.keys():
                members, numbers = group[0] | members, group[1] + numbers
            else:
                disjoint.append(group)
        groups = [*disjoint, (members, sorted(numbers))]
    return [
        (sorted(members, key=lambda member: order.get(member, len(order))), numbers)
        for members, numbers in groups
    ]


def _is_complete(digits: Iterable[tuple[int, int]], extent: int) -> bool:
    """Return whether digits (weight, extent) represent exactly the numbers below an extent."""
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
            ((weight, digit.extent) for weight, digit in parts), target.extent
        ):
            return None
        for weight, digit in parts:
            digits[digit.variable].append(digit)
            value = algebra.mod(algebra.floordiv(LinearForm.of(target), weight), digit.extent)
            found[digit.variable] = algebra.add(found[digit.variable], value, digit.weight)
    complete = all(
        _is_complete(((digit.weight, digit.extent) for digit in digits[variable]), extent)
        for variable, extent in sizes.items()
    )
    return found if complete else None


def digits_of(form: LinearForm, sizes: Mapping[SSAValue, int]) -> list[tuple[int, Digit]] | None:
    """Return an index as digits of variables, each with its weight; None if it has another form."""
    if form.constant:
        return None
    parts: list[tuple[int, Digit]] = []
    for atom, coefficient in form.terms.items():
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


# Second rule: variables are digits of the linear index.


def _invert_number(
    forms: Sequence[LinearForm], sizes: Mapping[SSAValue, int], targets: Sequence[Variable]
) -> dict[SSAValue, LinearForm] | None:
    algebra, linear, element = bounded_algebra(sizes), ZERO, ZERO
    for form, target in zip(forms, targets, strict=True):
        lo, hi = algebra.range(form)
        if lo < 0 or hi >= target.extent:
            return None
        linear = algebra.add(form, linear, target.extent)
        element = algebra.add(LinearForm.of(target), element, target.extent)
    if linear.constant or linear.terms.keys() != sizes.keys():
        return None
    weights = {variable: linear.coefficient_of(variable) for variable in sizes}
    total = prod(sizes.values())
    if not _is_complete(((weights[variable], size) for variable, size in sizes.items()), total):
        return None
    return {
        variable: algebra.merge(algebra.mod(algebra.floordiv(element, weights[variable]), size))
        for variable, size in sizes.items()
    }


def inverse_of(grid: GridOp, *anchors: SSAValue) -> Inverse | None:
    """Return the inverse of the map from a grid to the elements of its anchors that it loads.

    The grid must load anchors of one shape, always at the same indices, which `invert` can solve,
    and not in a branch or a reduction; else None is returned.
    """
    loads = [load for load in loads_of(grid) if load.source in anchors]
    shapes = {shape_of(load.source) for load in loads}
    if len(shapes) != 1:
        return None
    forms = IndexForms()
    maps = {tuple(forms.form(index) for index in load.indices) for load in loads}
    if len(maps) != 1 or any(load.parent is not grid.body.block for load in loads):
        return None
    return invert(maps.pop(), grid.indices, grid.shape, shapes.pop())
