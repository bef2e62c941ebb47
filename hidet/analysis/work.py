"""What a fusion computes in products of matrices, and how many bytes it has to move."""

from collections.abc import Iterable, Iterator
from math import prod
from typing import cast

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, SSAValue

from hidet.analysis.forms import Range
from hidet.analysis.grids import loads_of
from hidet.analysis.index_forms import IndexForms
from hidet.arch.roofline import Work
from hidet.dialects.compute import FusionOp, GridOp, IndexedOp, LoadOp, ReduceOp
from hidet.dialects.graph import MatmulOp, ScaledDotProductAttentionOp
from hidet.dialects.shaped import bytes_of, element_of, shape_of, size_of

Product = MatmulOp | ScaledDotProductAttentionOp
"""The operators that multiply matrices."""


def work_of(fusion: FusionOp) -> Work:
    """Return what a fusion computes in products, and moves if each element is moved once."""
    products = [op for op in fusion.body.block.ops if isinstance(op, Product)]
    kind = _kind(products[0]) if products else "f32"
    return Work(sum(map(_operations, products)), _moved(fusion), kind)


def _kind(op: Product) -> str:
    """Return the type of the factors, as rates are known by."""
    match op.precision.data:
        case "tf32":
            return "tf32"
        case "fma":
            return "f32"
        case _:
            return str(element_of(op.operands[0]))


def _operations(op: Product) -> int:
    """Return the multiplications and additions of an operator."""
    if isinstance(op, MatmulOp):
        return 2 * size_of(op.result) * shape_of(op.lhs)[-1]
    *batch, queries, values = shape_of(op.result)
    keys, width = shape_of(op.key)[-2:]
    scores = queries * keys
    if op.causal:
        scores = sum(min(query + 1, keys) for query in range(queries))
    return 2 * prod(batch) * scores * (width + values)


def _moved(fusion: FusionOp) -> int | None:
    """Return the bytes that a fusion reads and writes; None where they depend on data."""
    forms = IndexForms(fusion)
    moved = sum(size_of(each) * bytes_of(element_of(each)) for each in fusion.results_)
    for argument in fusion.body.block.args:
        elements = _elements_read(fusion, argument, forms)
        if elements is None:
            return None
        moved += elements * bytes_of(element_of(argument))
    return moved


def _elements_read(fusion: FusionOp, argument: SSAValue, forms: IndexForms) -> int | None:
    """Return how many elements of an input are read; None where that depends on data.

    These are all between the first and the last position that is read along each dimension, and
    not more than there are reads.
    """
    if any(not isinstance(use.operation, LoadOp) for use in argument.uses):
        return size_of(argument)
    grids = [op for op in fusion.body.block.ops if isinstance(op, GridOp)]
    loads = [load for grid in grids for load in loads_of(grid, argument)]
    reads = [_reads(load) for load in loads]
    if any(each is None for each in reads):
        return None
    sides = [
        [_positions(load, number, forms) for load in loads]
        for number in range(len(shape_of(argument)))
    ]
    box = prod(max(r.hi for r in side) - min(r.lo for r in side) + 1 for side in sides if side)
    return min(box, sum(each for each in reads if each is not None))


def _positions(load: LoadOp, dimension: int, forms: IndexForms) -> Range:
    """Return the positions along a dimension that a load may be at."""
    whole = Range(0, max(shape_of(load.source)[dimension], 1) - 1)
    known = forms.range(load.indices[dimension], load.parent)
    return whole if known is None else whole.intersect(known)


def _reads(load: LoadOp) -> int | None:
    """Return for how many values of the variables in its indices a load is done.

    None where an index, or whether it is done at all, is computed from data.
    """
    variables = _variables(load.indices)
    if variables is None or _variables(_conditions(load)) is None:
        return None
    return prod(map(_extent, variables))


def _conditions(load: LoadOp) -> Iterator[SSAValue]:
    """Give what decides whether a load is done, but for the domain of its grid."""
    op = load.parent_op()
    while isinstance(op, scf.IfOp | ReduceOp):
        if isinstance(op, scf.IfOp):
            yield op.cond
        op = op.parent_op()


def _variables(values: Iterable[SSAValue]) -> set[BlockArgument] | None:
    """Return the variables that values are computed from; None where data are among them."""
    variables: set[BlockArgument] = set()
    seen: set[SSAValue] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, BlockArgument):
            variables.add(value)
        elif isinstance(value.owner, LoadOp) or cast("Operation", value.owner).regions:
            return None
        else:
            waiting.extend(cast("Operation", value.owner).operands)
    return variables


def _extent(variable: BlockArgument) -> int:
    """Return how many values a variable of a grid or of a reduction has."""
    owner = variable.block.parent_op()
    assert isinstance(owner, IndexedOp), "what has variables in a fusion"
    return owner.shape[variable.index]
