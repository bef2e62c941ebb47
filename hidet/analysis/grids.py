"""What a grid costs and how it reads: the questions that fusion asks."""

from math import prod

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FixedBitwidthType, IndexType
from xdsl.ir import Operation, SSAValue

from hidet.analysis.forms import LinearForm
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.linear_index import linear_index, linear_index_of_load
from hidet.dialects.compute import GridOp, LoadOp, ReduceOp, YieldOp
from hidet.dialects.cuda.checks import CheckedIndexOp
from hidet.dialects.graph import ConstantOp
from hidet.dialects.shaped import element_of

_ARITHMETIC = (
    arith.AddfOp,
    arith.SubfOp,
    arith.MulfOp,
    arith.NegfOp,
    arith.MaximumfOp,
    arith.MinimumfOp,
)
_MOVES = (arith.ConstantOp, arith.SelectOp, arith.ExtFOp, LoadOp, YieldOp, scf.IfOp, scf.YieldOp)

_POSITIONS = (arith.IndexCastOp, CheckedIndexOp)
"""What is done with integers that are positions in a tensor."""


MAX_COPIED = 10
"""Operations, without constants, of a view that is worth a copy for each of its readers."""

MAX_MOVED = 128
"""Operations of a view that is worth evaluating where it is read, be it at one place."""


def loads_of(grid: GridOp, source: SSAValue | None = None) -> list[LoadOp]:
    """Return the loads in a grid's body, of one source where it is given."""
    return [
        op
        for op in grid.body.walk()
        if isinstance(op, LoadOp) and (source is None or op.source is source)
    ]


def is_view(grid: GridOp) -> bool:
    """Whether a grid only moves what one tensor holds: no arithmetic but that of indices.

    Constants, padding, and casts to a wider float are moves; a cast to a narrower one is not,
    because a view of it would be stored wide. A grid may say that it is to be stored.
    """
    sources = {load.source for load in loads_of(grid)}
    return (
        len(sources) <= 1
        and not grid.is_stored
        and all(isinstance(op, _MOVES) or _is_index_arithmetic(op) for op in grid.body.walk())
    )


def stays_small(grid: GridOp, copies: int) -> bool:
    """Whether evaluating a view where it is read, at some number of places, costs little.

    One copy takes the place of the view itself; several are for short views alone. So a chain of
    views, each of which reads the one before at several places, does not cost a power of that.
    """
    size = sum(not isinstance(op, arith.ConstantOp) for op in grid.body.block.walk())
    return size - 1 <= (MAX_COPIED if copies > 1 else MAX_MOVED)


def is_weight_vector(grid: GridOp) -> bool:
    """Whether a grid is a vector, and its elements are computed from those of weights alone."""
    return (
        max(grid.shape, default=1) == prod(grid.shape)
        and not has_reduction(grid)
        and all(isinstance(load.source.owner, ConstantOp) for load in loads_of(grid))
    )


def is_cheap(grid: GridOp) -> bool:
    """Whether evaluating an element twice is better than storing it: a few plain operations.

    The check of an index is one: it costs less than to read what it gave before. Casts to a
    narrower float are none.
    """
    return _consists_of(grid, (*_MOVES, *_POSITIONS))


def is_cheap_again(grid: GridOp) -> bool:
    """Whether an element is cheap, with casts to a narrower float, and reads no wider elements."""
    if any(_bits(load.source) > _bits(grid.result) for load in loads_of(grid)):
        return is_cheap(grid)
    return _consists_of(grid, (*_MOVES, *_POSITIONS, arith.TruncFOp))


def _consists_of(grid: GridOp, moves: tuple[type[Operation], ...]) -> bool:
    """Whether a grid does little but moves and the arithmetic of indices."""
    costs = [op for op in grid.body.walk() if isinstance(op, _ARITHMETIC)]
    return len(costs) <= 4 and all(
        isinstance(op, (*moves, *_ARITHMETIC)) or _is_index_arithmetic(op)
        for op in grid.body.walk()
    )


def _bits(value: SSAValue) -> int:
    """Return the bits of an element."""
    element = element_of(value)
    assert isinstance(element, FixedBitwidthType)
    return element.bitwidth


def is_in_order(grid: GridOp, source: SSAValue) -> bool:
    """Whether an element is computed from the element of a tensor with the same number.

    That one is loaded in any case, not in a branch.
    """
    forms = IndexForms()
    block = grid.body.block
    own = linear_index(forms, grid.indices, grid.shape, block)
    loads = loads_of(grid, source)
    return bool(loads) and all(
        load.parent is block and linear_index_of_load(forms, load) == own for load in loads
    )


def reads_neighbours(grid: GridOp) -> bool:
    """Whether neighbouring elements are computed from neighbouring ones, or from the same."""
    forms = IndexForms()
    block = grid.body.block
    own = linear_index(forms, grid.indices, grid.shape, block)
    along = [n for n, extent in enumerate(grid.shape) if extent > 1]
    if not along:
        return True
    index = grid.indices[along[-1]]
    return all(
        number == own
        or (
            number.coefficient_of(index) == 1
            and not (number - LinearForm.of(index)).depends_on(index)
        )
        or not number.depends_on(index)
        for number in (linear_index_of_load(forms, load) for load in loads_of(grid))
    )


def chooses_without(grid: GridOp, source: SSAValue) -> bool:
    """Whether an element may not depend on the element of a tensor that is loaded for it.

    So it is where a condition, computed of something else, decides between that and another value.
    """
    depending = {load.result for load in loads_of(grid, source)}
    for op in grid.body.walk():
        if not depending.isdisjoint(op.operands):
            if isinstance(op, arith.SelectOp) and op.cond not in depending:
                return True
            depending.update(op.results)
        elif isinstance(op, scf.IfOp) and any(
            not depending.isdisjoint(inner.operands) for inner in op.walk()
        ):
            return True
    return False


def has_reduction(grid: GridOp) -> bool:
    """Whether an element of the grid combines many values."""
    return any(isinstance(op, ReduceOp) for op in grid.body.walk())


def _is_index_arithmetic(op: Operation) -> bool:
    """Whether an op computes an index or compares some."""
    if not op.results or isinstance(op, CheckedIndexOp):
        return False
    if isinstance(op, arith.CmpiOp):
        return isinstance(op.lhs.type, IndexType)
    if isinstance(op, arith.AndIOp | arith.OrIOp):
        return all(
            isinstance(operand.owner, arith.CmpiOp | arith.AndIOp | arith.OrIOp)
            for operand in op.operands
        )
    return all(isinstance(value.type, IndexType) for value in (*op.results, *op.operands))
