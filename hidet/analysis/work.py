"""The work of a fusion for the roofline model: operations of products, and bytes moved."""

from collections.abc import Iterable, Iterator, Sequence
from math import ceil, prod

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from hidet.analysis.forms import Range
from hidet.analysis.index_forms import IndexForms
from hidet.arch.roofline import Work
from hidet.dialects.compute import FusionOp, IndexedOp, LoadOp, ReduceOp
from hidet.dialects.graph import (
    AttentionKeyValueGradientsOp,
    AttentionLogsumexpOp,
    AttentionQueryGradientOp,
    GroupedConv2dOp,
    GroupedFilterGradientOp,
    GroupedMatmulOp,
    MatmulOp,
    ScaledDotProductAttentionOp,
)
from hidet.dialects.graph.attention import ScoresOp
from hidet.dialects.shaped import bytes_of, element_of, shape_of, size_of
from hidet.dialects.walking import reached

_Stencil = GroupedConv2dOp | GroupedFilterGradientOp
"""The operators that are computed without tensor cores."""

_Product = MatmulOp | GroupedMatmulOp | _Stencil | ScoresOp
"""The operators that sum products."""

FACTORS: dict[type[Operation], Sequence[str]] = {
    ScaledDotProductAttentionOp: ("key", "value"),
    AttentionLogsumexpOp: ("key",),
    AttentionQueryGradientOp: ("key", "value", "key"),
    AttentionKeyValueGradientsOp: ("key", "value", "gradient", "query"),
}
"""The operands with which scores, or their gradients, are computed or multiplied."""


def work_of(fusion: FusionOp) -> Work:
    """Return the operations of a fusion's products, and its bytes if elements are moved once."""
    products = [op for op in fusion.body.block.ops if isinstance(op, _Product)]
    kind = _kind(products[0]) if products else "f32"
    return Work(sum(map(_operations, products)), _moved(fusion), kind)


def terms_of(op: Operation) -> int:
    """Return how many products an element of the result of a product sums, 0 of other operators."""
    match op:
        case MatmulOp() | GroupedMatmulOp():
            return shape_of(op.lhs)[-1]
        case GroupedConv2dOp():
            return prod(shape_of(op.weight)[:3])
        case GroupedFilterGradientOp():
            return ceil(prod(shape_of(op.grad)[:3]) / op.parts.value.data)
        case _:
            return 0


def _kind(op: _Product) -> str:
    """Return the operand type, by its name in `Arch.rates`."""
    if isinstance(op, _Stencil):
        return "f32"
    named = {"tf32": "tf32", "fma": "f32"}
    return named.get(op.precision.data) or str(element_of(op.operands[0]))


def _operations(op: _Product) -> int:
    """Return the number of multiplications and additions of an operator."""
    if not isinstance(op, ScoresOp):
        return 2 * size_of(op.result) * terms_of(op)
    (*_, queries, _), (*_, keys, _) = shape_of(op.query), shape_of(op.key)
    scores = queries * keys
    if op.causal:
        scores = sum(min(query + 1, keys) for query in range(queries))
    columns = sum(shape_of(getattr(op, name))[-1] for name in FACTORS[type(op)])
    return 2 * prod(op.batch) * scores * columns


def _moved(fusion: FusionOp) -> int | None:
    """Return the bytes that a fusion reads and writes; None if data-dependent."""
    forms = IndexForms()
    moved = sum(size_of(each) * bytes_of(element_of(each)) for each in fusion.results_)
    for argument in fusion.body.block.args:
        elements = _elements_read(argument, forms)
        if elements is None:
            return None
        moved += elements * bytes_of(element_of(argument))
    return moved


def _elements_read(argument: SSAValue, forms: IndexForms) -> int | None:
    """Return the number of elements of an input that are read; None if data-dependent.

    It is estimated as the size of the bounding box of the loaded indices, or the number of loads if
    that is smaller.
    """
    users = [use.operation for use in argument.uses]
    loads = [user for user in users if isinstance(user, LoadOp)]
    if len(loads) < len(users):
        return size_of(argument)
    reads = [_reads(load) for load in loads]
    if any(each is None for each in reads):
        return None
    ranges = [
        [_index_range(load, dim, forms) for load in loads] for dim in range(len(shape_of(argument)))
    ]
    box = prod(max(r.hi for r in rs) - min(r.lo for r in rs) + 1 for rs in ranges if rs)
    return min(box, sum(each for each in reads if each is not None))


def _index_range(load: LoadOp, dimension: int, forms: IndexForms) -> Range:
    """Return the range of an index of a load."""
    whole = Range(0, max(shape_of(load.source)[dimension], 1) - 1)
    known = forms.range(load.indices[dimension], load.parent)
    return whole if known is None else whole.intersect(known)


def _reads(load: LoadOp) -> int | None:
    """Return the size of the iteration domain of the variables in the indices of a load.

    None if an index, or the condition of the load, is data-dependent.
    """
    variables = _variables(load.indices)
    if variables is None or _variables(_conditions(load)) is None:
        return None
    return prod(map(_extent, variables))


def _conditions(load: LoadOp) -> Iterator[SSAValue]:
    """Yield the conditions of the branches around a load."""
    op = load.parent_op()
    while isinstance(op, scf.IfOp | ReduceOp):
        if isinstance(op, scf.IfOp):
            yield op.cond
        op = op.parent_op()


def _variables(values: Iterable[SSAValue]) -> set[BlockArgument] | None:
    """Return the variables that values are computed from; None if data-dependent."""

    def operands(value: SSAValue) -> Sequence[SSAValue]:
        return value.op.operands if isinstance(value, OpResult) else ()

    found = list(reached(values, operands))
    ops = [value.op for value in found if isinstance(value, OpResult)]
    if any(isinstance(op, LoadOp) or op.regions for op in ops):
        return None
    return {value for value in found if isinstance(value, BlockArgument)}


def _extent(variable: BlockArgument) -> int:
    """Return the extent of a variable of a grid or a reduction."""
    owner = variable.block.parent_op()
    assert isinstance(owner, IndexedOp), "only grids and reductions have indices in a fusion"
    return owner.shape[variable.index]
