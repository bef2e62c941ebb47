"""Collective ops are reached by all threads of their group: under uniform control flow only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from hidet.arch.limits import WARP
from hidet.dialects.compute import LoadOp
from hidet.dialects.cuda import KernelOp, ShflOp, SyncWarpOp, ThreadIdOp, VoteOp
from hidet.dialects.cuda.attributes import Dimension, Space
from hidet.dialects.cuda.instructions import Collective, WarpCollective
from hidet.dialects.cuda.marks import EXPLICIT
from hidet.dialects.task import CombineOp, CopyOp, ForeachOp, GroupOp, MatmulOp
from hidet.lowering.cuda.expressions import is_variable
from hidet.lowering.legality.memory_types import is_in
from hidet.lowering.legality.report import illegal


class Varies(IntEnum):
    """Among which threads of a block a value may differ."""

    NOWHERE = 0
    BETWEEN_WARPS = 1
    BETWEEN_LANES = 2


def check_uniformity(kernel: KernelOp) -> None:
    """Check that no collective op of a kernel stands where only some of its threads come by.

    Task ops and barriers of the block need all threads; shuffles, votes, barriers and products of
    a warp all lanes. In a kernel marked `cuda.explicit` a `task.foreach` is a loop of each thread.
    """
    explicit = EXPLICIT in kernel.attributes
    if not any(_group_of(op, explicit) is not None for op in kernel.body.walk()):
        return
    variation = variation_of(kernel)
    _check_block(kernel.body.block, variation, explicit, None, Varies.NOWHERE)


def _group_of(op: Operation, explicit: bool) -> Varies | None:
    """Return among whom control flow must not vary around an op: the least that is too much."""
    if explicit and isinstance(op, ForeachOp):
        return None
    if isinstance(op, ShflOp | SyncWarpOp | VoteOp) or op.has_trait(WarpCollective):
        return Varies.BETWEEN_LANES
    if isinstance(op, ForeachOp | CopyOp | MatmulOp | CombineOp | GroupOp) or op.has_trait(
        Collective
    ):
        return Varies.BETWEEN_WARPS
    return None


def _check_block(
    block: Block, variation: Variation, explicit: bool, cause: Operation | None, varies: Varies
) -> None:
    """Check the ops of a block, given the op around it that makes the control flow vary."""
    for op in block.ops:
        group = _group_of(op, explicit)
        if group is not None and varies >= group:
            assert cause is not None, "what varies has a cause"
            raise illegal(
                op,
                f"{op.name} is collective, but not all threads come by: {cause.name} around it "
                "depends on cuda.thread_id",
                "take it out of there, or make the condition the same for all threads",
            )
        inside = variation.of_flow(op)
        for region in op.regions:
            for inner in region.blocks:
                if inside > varies:
                    _check_block(inner, variation, explicit, op, inside)
                else:
                    _check_block(inner, variation, explicit, cause, varies)


def divergence_around(op: Operation, variation: Variation) -> Operation | None:
    """Return an op around another which not all threads of the block enter together."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, KernelOp):
        if variation.of_flow(parent) is not Varies.NOWHERE:
            return parent
        parent = parent.parent_op()
    return None


@dataclass
class Variation:
    """The values of a kernel that may differ between threads; others are the same for all.

    Attributes:
        whole_warps: whether the threads of a warp follow each other along x.
        values: the values that vary.
    """

    whole_warps: bool
    values: dict[SSAValue, Varies] = field(default_factory=dict[SSAValue, Varies])

    def of(self, values: Iterable[SSAValue]) -> Varies:
        """Return how values vary together."""
        return max((self.values.get(value, Varies.NOWHERE) for value in values), default=Varies(0))

    def of_flow(self, op: Operation) -> Varies:
        """Return how it varies whether and how often the regions of an op run."""
        if isinstance(op, ForeachOp):
            is_cut = op.bound is not None and op.extents != op.tasks.shape
            return self.of([op.worker]) if is_cut else Varies.NOWHERE
        if isinstance(op, scf.ForOp):
            return self.of(op.operands[:3])
        if isinstance(op, scf.WhileOp):
            condition = op.before_region.block.last_op
            return self.of(condition.operands[:1]) if condition is not None else Varies.NOWHERE
        return self.of(op.operands)

    def around(self, op: Operation, outer: Operation) -> Varies:
        """Return how it varies whether and how often an op runs, for each run of another one."""
        varies = Varies.NOWHERE
        parent = op.parent_op()
        while parent is not None and parent is not outer.parent_op():
            varies = max(varies, self.of_flow(parent))
            parent = parent.parent_op()
        return varies

    def spread(self, start: Iterable[SSAValue], varies: Varies) -> None:
        """Mark values, and all that are computed from them."""
        worklist = list(start)
        while worklist:
            value = worklist.pop()
            if self.values.get(value, Varies.NOWHERE) >= varies:
                continue
            self.values[value] = varies
            for use in value.uses:
                if not (self.whole_warps and _is_uniform_in_warps(use.operation)):
                    worklist.extend(_influenced(use.operation, use.index))


def variation_of(kernel: KernelOp) -> Variation:
    """Return how the values of a kernel vary.

    Ids of threads vary, and what is in arrays of one thread; what is computed from something that
    varies does too. A variable varies if it is given something that does, or if it varies whether
    it is given something. A quotient of the thread's id by a multiple of 32, and its comparison
    with one, vary between warps only.
    """
    lanes: list[SSAValue] = []
    warps: list[SSAValue] = []
    variation = Variation(whole_warps=kernel.block_dims[0] % WARP == 0)
    for op in kernel.body.walk():
        if isinstance(op, ThreadIdOp):
            is_row = op.dimension.data is not Dimension.X and variation.whole_warps
            (warps if is_row else lanes).append(op.result)
        elif isinstance(op, GroupOp):
            lanes.append(op.worker)
        elif _reads_own_memory(op):
            lanes.extend(op.results)
        elif variation.whole_warps and _is_uniform_in_warps(op):
            warps.extend(op.results)
    variation.spread(warps, Varies.BETWEEN_WARPS)
    variation.spread(lanes, Varies.BETWEEN_LANES)
    _spread_variables(kernel, variation)
    return variation


def _spread_variables(kernel: KernelOp, variation: Variation) -> None:
    """Mark what is read from variables that vary, until there are no more of them."""
    variables = [
        op
        for op in kernel.body.walk()
        if isinstance(op, memref.AllocaOp) and is_variable(op.memref)
    ]
    worklist = variables
    while worklist:
        worklist = []
        for variable in variables:
            users = [use.operation for use in variable.memref.uses]
            loads = [user.res for user in users if isinstance(user, memref.LoadOp)]
            stores = [user for user in users if isinstance(user, memref.StoreOp)]
            ways = [variation.of([store.value]) for store in stores]
            ways += [variation.around(store, variable) for store in stores]
            if not stores or len(loads) + len(stores) < len(users):
                ways.append(Varies.BETWEEN_LANES)  # it holds anything, or an instruction writes it
            varies = max(ways)
            if any(variation.of([load]) < varies for load in loads):
                variation.spread(loads, varies)
                worklist.append(variable)


def _reads_own_memory(op: Operation) -> bool:
    """Return whether an op reads memory in which every thread has values of its own."""
    match op:
        case LoadOp():
            source = op.source
        case memref.LoadOp():
            source = op.memref
            if is_variable(source):
                return False
        case _:
            return False
    return is_in(source, Space.REGISTER) or is_in(source, Space.LOCAL)


def _is_uniform_in_warps(op: Operation) -> bool:
    """Return whether an op divides a thread's x by a multiple of 32, or compares it with one."""
    match op:
        case arith.DivSIOp() | arith.DivUIOp() | arith.FloorDivSIOp():
            pass
        case arith.CmpiOp() if op.predicate.value.data in _BELOW_OR_NOT:
            pass
        case _:
            return False
    thread, number = (operand.owner for operand in op.operands)
    return (
        isinstance(thread, ThreadIdOp)
        and thread.dimension.data is Dimension.X
        and isinstance(number, arith.ConstantOp)
        and isinstance(number.value, IntegerAttr)
        and number.value.value.data % WARP == 0
    )


_BELOW_OR_NOT = frozenset(
    number
    for number, name in enumerate(arith.CMPI_COMPARISON_OPERATIONS)
    if name in ("slt", "sge", "ult", "uge")
)


def _influenced(op: Operation, operand: int) -> Iterator[SSAValue]:
    """Give the values that depend on an operand of an op."""
    yield from op.results
    parent = op.parent_op()
    if isinstance(op, scf.ForOp):
        arguments = op.body.block.args
        yield from arguments if operand < 3 else arguments[operand - 2 : operand - 1]
    elif op.has_trait(IsTerminator) and parent is not None:
        yield from parent.results
        if isinstance(parent, scf.ForOp):
            yield parent.body.block.args[operand + 1]
        elif isinstance(parent, scf.WhileOp):
            yield from parent.before_region.block.args
            yield from parent.after_region.block.args
    else:
        for region in op.regions:
            for block in region.blocks:
                yield from block.args
