"""Checks of task maps: the number of workers, and ownership of tile elements."""

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from hidet.analysis.form_rules import IdVariable
from hidet.analysis.forms import LinearForm
from hidet.analysis.index_forms import IndexForms
from hidet.dialects.compute import LoadOp, StoreOp
from hidet.dialects.cuda import Dimension, KernelOp, ThreadIdOp
from hidet.dialects.effects import element_accesses
from hidet.dialects.task import CombineOp, CopyOp, ForeachOp, MatmulOp, TaskMapAttr
from hidet.dialects.task.group import group_around
from hidet.dialects.task.layout import known_map_of
from hidet.legality.report import illegal
from hidet.mapping import TaskMap


def check_workers(kernel: KernelOp) -> None:
    """Check the task maps of a kernel against its workers; maps that are `?` are skipped.

    The number of workers follows from the range of `on %worker`: `thread_id x` are the threads of a
    block, `block_id x * threads + thread_id x` those of the grid.
    """
    forms = IndexForms()
    for op in kernel.body.walk():
        match op:
            case ForeachOp() | CopyOp() | MatmulOp() | CombineOp():
                check_task_op(op, kernel, forms)
            case LoadOp() | StoreOp() | memref.LoadOp() | memref.StoreOp():
                for element, _, _ in element_accesses(op):
                    _check_owner(op, *element)
            case _:
                pass


def check_task_op(
    op: ForeachOp | CopyOp | MatmulOp | CombineOp, kernel: KernelOp, forms: IndexForms
) -> None:
    """Check the map of one op of a kernel against its workers."""
    tasks = _known_map(op)
    if tasks is not None:
        _check_count(op, tasks, forms)
        if isinstance(op, CombineOp):
            _check_combine(op, tasks, kernel, forms)


def _known_map(op: ForeachOp | CopyOp | MatmulOp | CombineOp) -> TaskMap | None:
    match op:
        case ForeachOp(map=TaskMapAttr() as tasks) | CopyOp(map=TaskMapAttr() as tasks):
            return tasks.data
        case ForeachOp() | CopyOp():
            return None if op.tile is None else known_map_of(op.tile)
        case MatmulOp():
            return known_map_of(op.accumulator)
        case CombineOp():
            return known_map_of(op.tile)


def _check_count(
    op: ForeachOp | CopyOp | MatmulOp | CombineOp, tasks: TaskMap, forms: IndexForms
) -> None:
    """Check that every worker of the map exists, and no others."""
    limits = forms.range(op.worker, op.parent)
    if isinstance(op, ForeachOp) and are_served(op, forms):
        return
    if limits is None or limits.lo != 0:
        raise illegal(
            op,
            "the range of its worker is not known",
            "a worker is computed from cuda.thread_id and cuda.block_id",
        )
    if tasks.workers != limits.hi + 1:
        raise illegal(op, f"the map {tasks} is for {tasks.workers} workers, not {limits.hi + 1}")


def are_served(op: ForeachOp, forms: IndexForms) -> bool | None:
    """Return whether each worker of a loop has tasks, None if the workers are unknown.

    A branch or an offset may leave some workers of the map without a thread; the whole block has
    all of them.
    """
    limits, count = forms.range(op.worker, op.parent), op.tasks.workers
    if limits is None or limits.lo < 0:
        return None
    if limits.hi >= count:
        return False
    if limits.lo > 0 or limits.hi + 1 == count:
        return True
    everywhere = forms.range(forms.form(op.worker)) or limits
    return everywhere.hi + 1 >= count


def _check_combine(op: CombineOp, tasks: TaskMap, kernel: KernelOp, forms: IndexForms) -> None:
    """Check that the owners of an element are in one block, at thread indices that can be paired.

    The lowering of `task.combine` pairs threads by the bits of the thread index, which must be
    those of the worker.
    """
    farthest = max((d.weight * d.extent for d in tasks.replicate_digits), default=1)
    group = group_around(op)
    if farthest > kernel.threads:
        raise illegal(op, f"the owners of an element of {tasks} are in several blocks")
    if group is not None and op.worker is group.worker:
        return
    if forms.divisibility(without_thread_index(op.worker, kernel, forms)) % farthest:
        raise illegal(
            op,
            f"owners of an element of {tasks} are not adjacent in the block",
            f"worker and thread must be equal modulo {farthest}",
        )


def without_thread_index(worker: SSAValue, kernel: KernelOp, forms: IndexForms) -> LinearForm:
    """Return the form of a worker minus the linear thread index of the block."""
    x, y, _ = kernel.block_dims
    weights = {Dimension.X: 1, Dimension.Y: x, Dimension.Z: x * y}
    rest = forms.form(worker)
    for atom in list(rest.terms):
        if isinstance(atom, IdVariable) and atom.op_type is ThreadIdOp:
            rest = rest.plus(LinearForm.of(atom), -weights[atom.dimension])
    return rest


def _check_owner(op: Operation, tile: SSAValue, indices: Sequence[SSAValue]) -> None:
    """Check that a worker accesses its own registers, if the indices tell.

    If all indices are arguments of one foreach, its map, projected to these dimensions, must have
    the owners of the tile's map.
    """
    tile_map = known_map_of(tile)
    if tile_map is None or not indices:
        return
    loop = _common_foreach(indices)
    tasks = None if loop is None else _known_map(loop)
    if tasks is None:
        return
    dims = [index.index for index in indices if isinstance(index, BlockArgument)]
    if dims != sorted(set(dims)):
        return
    kept = tasks.project(dim for dim in range(tasks.rank) if dim not in dims)
    if (kept.workers, kept.spatial_digits) != (tile_map.workers, tile_map.spatial_digits):
        raise illegal(
            op,
            f"a worker of {tasks} does not own the elements of {tile.type} that it touches",
            "the loop over the tile's own elements is task.foreach of the tile",
        )


def _common_foreach(indices: Sequence[SSAValue]) -> ForeachOp | None:
    owners = {index.owner for index in indices}
    owner = owners.pop()
    parent = owner.parent_op() if isinstance(owner, Block) and not owners else None
    return parent if isinstance(parent, ForeachOp) else None
