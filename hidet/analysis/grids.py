"""The cost, the access patterns, linear indices and rows of grids, for fusion heuristics."""

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from hidet.analysis.forms import ZERO, LinearForm
from hidet.analysis.index_forms import IndexForms
from hidet.dialects.compute import FusionOp, GridOp, LoadOp, ReduceOp, YieldOp
from hidet.dialects.cuda.checks import CheckedIndexOp
from hidet.dialects.graph import ConstantOp
from hidet.dialects.shaped import bytes_of, element_of, shape_of, size_of
from hidet.dialects.walking import ops_in, ops_of_class


def linear_index(
    forms: IndexForms, indices: Sequence[SSAValue], shape: Sequence[int], at: Block | None
) -> LinearForm:
    """Return the form of the linear index of an element of a tensor."""
    algebra = forms.algebra(at)
    found = ZERO
    for index, extent in zip(indices, shape, strict=True):
        found = algebra.add(forms.form(index), found, extent)
    return found


def linear_index_of_load(forms: IndexForms, load: LoadOp) -> LinearForm:
    """Return the form of the linear index of the element that a load reads."""
    return linear_index(forms, load.indices, shape_of(load.source), load.parent)


_ARITHMETIC = (
    arith.AddfOp,
    arith.SubfOp,
    arith.MulfOp,
    arith.NegfOp,
    arith.MaximumfOp,
    arith.MinimumfOp,
)
_MOVES = (arith.ConstantOp, arith.SelectOp, arith.ExtFOp, LoadOp, YieldOp, scf.IfOp, scf.YieldOp)

_CONJUNCTIONS = (arith.AndIOp, arith.OrIOp)

_INDEX_CONVERSIONS = (arith.IndexCastOp, arith.TruncIOp, CheckedIndexOp)
"""Ops that convert integer elements to indices of a tensor."""

MAX_COPIED = 10
"""The largest number of ops, without constants, of a view that is inlined into several loads."""

MAX_MOVED = 128
"""The largest number of ops, without constants, of a view that is inlined into one load."""


def loads_of(grid: GridOp, source: SSAValue | None = None) -> list[LoadOp]:
    """Return the loads in a grid's body, or only those from one source."""
    loads = ops_of_class(grid.body, LoadOp)
    return [load for load in loads if source is None or load.source is source]


def is_view(grid: GridOp) -> bool:
    """Return whether a grid only moves elements of one tensor: no arithmetic except on indices.

    Constants, padding, and casts to a wider float count as moves. Casts to a narrower float do not,
    because the wide source would be stored. Grids marked as stored are not views. Integers that the
    launch checks ahead of the kernel are moved, too, and so are positions where nothing is loaded.
    """
    if grid.is_stored:
        return False
    ops, moves = ops_in(grid.body), _MOVES
    if any(type(op) is CheckedIndexOp and op.ahead for op in ops):
        moves = (*_MOVES, *_INDEX_CONVERSIONS)
    sources = {op.operands[0] for op in ops if type(op) is LoadOp}
    if not sources:
        moves = (*moves, arith.IndexCastOp, arith.TruncIOp)
    return len(sources) <= 1 and all(type(op) in moves or _is_index_arithmetic(op) for op in ops)


def is_cheap_to_inline(grid: GridOp, copies: int) -> bool:
    """Return whether a view is small enough to inline into a number of loads.

    A single copy replaces the view; several are made only of short views. This avoids exponential
    growth for a chain of views that each load the previous one several times.
    """
    size = sum(type(op) is not arith.ConstantOp for op in ops_in(grid.body))
    return size - 1 <= (MAX_COPIED if copies > 1 else MAX_MOVED)


def is_weight_vector(grid: GridOp) -> bool:
    """Return whether a grid is a vector computed only from constants."""
    return (
        max(grid.shape, default=1) == prod(grid.shape)
        and not has_reduction(grid)
        and all(isinstance(load.source.owner, ConstantOp) for load in loads_of(grid))
    )


def is_cheap(grid: GridOp) -> bool:
    """Return whether recomputing an element is cheaper than storing it: a few simple ops.

    Index checks count as simple, since they cost less than a load. Casts to a narrower float do
    not.
    """
    return _consists_of(grid, (*_MOVES, *_INDEX_CONVERSIONS))


def is_cheap_again(grid: GridOp) -> bool:
    """Return whether a grid is cheap; allow narrowing casts unless it loads wider elements."""
    size = bytes_of(element_of(grid.result))
    if any(bytes_of(element_of(load.source)) > size for load in loads_of(grid)):
        return is_cheap(grid)
    return _consists_of(grid, (*_MOVES, *_INDEX_CONVERSIONS, arith.TruncFOp))


def _consists_of(grid: GridOp, moves: tuple[type[Operation], ...]) -> bool:
    """Return whether a grid consists of moves, index arithmetic and at most 4 arithmetic ops."""
    others = [op for op in ops_in(grid.body) if type(op) not in moves]
    arithmetic = [op for op in others if type(op) in _ARITHMETIC]
    return len(arithmetic) <= 4 and all(
        type(op) in _ARITHMETIC or _is_index_arithmetic(op) for op in others
    )


def is_in_order(grid: GridOp, source: SSAValue) -> bool:
    """Return whether each element depends only on the element of a source with its linear index.

    The load must be unconditional, and the source must have no further elements.
    """
    if size_of(source) != size_of(grid.result):
        return False
    forms = IndexForms()
    block = grid.body.block
    own = linear_index(forms, grid.indices, grid.shape, block)
    loads = loads_of(grid, source)
    return bool(loads) and all(
        load.parent is block and linear_index_of_load(forms, load) == own for load in loads
    )


def has_coalesced_loads(grid: GridOp) -> bool:
    """Return whether adjacent elements load adjacent elements, or the same one."""
    forms = IndexForms()
    block = grid.body.block
    own = linear_index(forms, grid.indices, grid.shape, block)
    dims = [n for n, extent in enumerate(grid.shape) if extent > 1]
    if not dims:
        return True
    innermost = grid.indices[dims[-1]]
    return all(
        index == own
        or (
            index.coefficient_of(innermost) == 1
            and not (index - LinearForm.of(innermost)).depends_on(innermost)
        )
        or not index.depends_on(innermost)
        for index in (linear_index_of_load(forms, load) for load in loads_of(grid))
    )


def may_ignore(grid: GridOp, source: SSAValue) -> bool:
    """Return whether some elements may not depend on what is loaded from a source.

    This is the case if an independent condition selects between it and another value.
    """
    depending = {load.result for load in loads_of(grid, source)}
    for op in ops_in(grid.body):
        if not depending.isdisjoint(op.operands):
            if isinstance(op, arith.SelectOp) and op.cond not in depending:
                return True
            depending.update(op.results)
        elif isinstance(op, scf.IfOp) and any(
            not depending.isdisjoint(inner.operands) for inner in ops_in(op)
        ):
            return True
    return False


MAX_SMALL = 1 << 14
"""The largest number of cheap elements that one core computes sooner than other cores wake up."""


def is_small(fusion: FusionOp) -> bool:
    """Return whether a fusion is only a few elements of cheap grids."""
    *ops, _ = fusion.body.block.ops
    grids = [op for op in ops if isinstance(op, GridOp) and is_cheap_again(op)]
    return len(grids) == len(ops) and sum(prod(grid.shape) for grid in grids) <= MAX_SMALL


def is_elementwise(fusion: FusionOp) -> bool:
    """Return whether a fusion consists of grids without reductions that load adjacent elements."""
    *grids, _ = fusion.body.block.ops
    return all(
        isinstance(grid, GridOp) and has_coalesced_loads(grid) and not has_reduction(grid)
        for grid in grids
    )


def has_reduction(grid: GridOp) -> bool:
    """Return whether the grid contains a reduction."""
    return bool(ops_of_class(grid.body, ReduceOp))


def _is_index_arithmetic(op: Operation) -> bool:
    """Return whether an op computes or compares indices."""
    if not op.results or type(op) is CheckedIndexOp:
        return False
    if type(op) is arith.CmpiOp:
        return type(op.operands[0].type) is IndexType
    if type(op) in _CONJUNCTIONS:
        return all(type(operand.owner) in (arith.CmpiOp, *_CONJUNCTIONS) for operand in op.operands)
    return all(type(value.type) is IndexType for value in (*op.results, *op.operands))
