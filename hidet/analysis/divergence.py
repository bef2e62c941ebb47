"""Divergence analysis: values and branches of a kernel that are not uniform in a block."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import takewhile

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from hidet.analysis.conditions import predicate_of
from hidet.analysis.memory import memory_space
from hidet.arch.limits import WARP
from hidet.dialects.compute import LoadOp
from hidet.dialects.constants import known_index
from hidet.dialects.cuda import ActiveMaskOp, KernelOp, ThreadIdOp
from hidet.dialects.cuda.attributes import Dimension, Space, is_variable
from hidet.dialects.task import ForeachOp, GroupOp
from hidet.dialects.walking import blocks_in, ops_in, ops_of_class, parents_of


class Divergence(IntEnum):
    """The threads of a block between which a value may differ."""

    NOWHERE = 0
    BETWEEN_WARPS = 1
    BETWEEN_LANES = 2


@dataclass
class DivergenceAnalysis:
    """The divergent values of a kernel; all other values are uniform.

    With `whole_warps`, the threads of a warp are consecutive along x.
    """

    whole_warps: bool
    values: dict[SSAValue, Divergence] = field(default_factory=dict[SSAValue, Divergence])

    def of(self, values: Iterable[SSAValue]) -> Divergence:
        """Return the maximum divergence of values."""
        return max(
            (self.values.get(value, Divergence.NOWHERE) for value in values), default=Divergence(0)
        )

    def of_flow(self, op: Operation) -> Divergence:
        """Return the divergence of whether and how often the regions of an op run."""
        if isinstance(op, ForeachOp):
            is_partial = op.bound is not None and op.extents != op.tasks.shape
            return self.of([op.worker]) if is_partial else Divergence.NOWHERE
        if isinstance(op, scf.ForOp):
            return self.of(op.operands[:3])
        if isinstance(op, scf.WhileOp):
            condition = op.before_region.block.last_op
            return self.of(condition.operands[:1]) if condition is not None else Divergence.NOWHERE
        return self.of(op.operands)

    def around(self, op: Operation, outer: Operation) -> Divergence:
        """Return the divergence of the control flow between an op and an enclosing one."""
        end = outer.parent_op()
        inside = takewhile(lambda parent: parent is not end, parents_of(op))
        return max(map(self.of_flow, inside), default=Divergence.NOWHERE)

    def spread(self, start: Iterable[SSAValue], how: Divergence) -> None:
        """Mark values and all values that depend on them."""
        worklist = list(start)
        while worklist:
            value = worklist.pop()
            if self.values.get(value, Divergence.NOWHERE) >= how:
                continue
            self.values[value] = how
            for use in value.uses:
                if not (self.whole_warps and _is_uniform_in_warps(use.operation)):
                    worklist.extend(_dependents(use.operation, use.index))


def divergent_op_around(op: Operation, divergence: DivergenceAnalysis) -> Operation | None:
    """Return the enclosing op with the most divergent control flow, None if all is uniform."""
    inside = [*takewhile(lambda parent: not isinstance(parent, KernelOp), parents_of(op))]
    found = max(reversed(inside), key=divergence.of_flow, default=None)
    return found if found is not None and divergence.of_flow(found) else None


def analyse_divergence(kernel: KernelOp) -> DivergenceAnalysis:
    """Return the divergence of the values of a kernel.

    Thread ids and elements of thread-private arrays diverge, and so do the values computed from
    them. A variable diverges if a divergent value is stored to it, or if a store to it is under
    divergent control flow. The quotient of the thread id by a multiple of 32, and its comparison
    with one, diverge only between warps.
    """
    lanes: list[SSAValue] = []
    warps: list[SSAValue] = []
    divergence = DivergenceAnalysis(whole_warps=kernel.block_dims[0] % WARP == 0)
    for op in ops_in(kernel.body):
        if type(op) is ThreadIdOp:
            is_row = op.dimension.data is not Dimension.X and divergence.whole_warps
            (warps if is_row else lanes).append(op.result)
        elif type(op) is GroupOp:
            lanes.append(op.worker)
        elif type(op) is ActiveMaskOp:
            lanes.append(op.result)
        elif type(op) in (LoadOp, memref.LoadOp):
            source = op.operands[0]
            is_private = memory_space(source) in (Space.REGISTER, Space.LOCAL)
            if is_private and not (type(op) is memref.LoadOp and is_variable(source)):
                lanes.extend(op.results)
        elif divergence.whole_warps and _is_uniform_in_warps(op):
            warps.extend(op.results)
    divergence.spread(warps, Divergence.BETWEEN_WARPS)
    divergence.spread(lanes, Divergence.BETWEEN_LANES)
    _spread_variables(kernel, divergence)
    return divergence


def _spread_variables(kernel: KernelOp, divergence: DivergenceAnalysis) -> None:
    """Mark the loads from divergent variables, up to a fixed point."""
    variables = [op for op in ops_of_class(kernel.body, memref.AllocaOp) if is_variable(op.memref)]
    worklist = variables
    while worklist:
        worklist = []
        for variable in variables:
            users = [use.operation for use in variable.memref.uses]
            loads = [user.res for user in users if isinstance(user, memref.LoadOp)]
            stores = [user for user in users if isinstance(user, memref.StoreOp)]
            if not stores or len(loads) + len(stores) < len(users):
                how = Divergence.BETWEEN_LANES  # uninitialized, or written by an instruction
            else:
                how = divergence.of(store.value for store in stores)
                how = max(how, *(divergence.around(store, variable) for store in stores))
            if any(divergence.of([load]) < how for load in loads):
                divergence.spread(loads, how)
                worklist.append(variable)


_QUOTIENTS = (arith.DivSIOp, arith.DivUIOp, arith.FloorDivSIOp)


def _is_uniform_in_warps(op: Operation) -> bool:
    """Return whether an op divides threadIdx.x by a multiple of 32, or compares it with one."""
    if type(op) not in _QUOTIENTS and not (
        type(op) is arith.CmpiOp and predicate_of(op) in ("slt", "sge", "ult", "uge")
    ):
        return False
    thread, number = op.operands[0].owner, known_index(op.operands[1])
    is_row = isinstance(thread, ThreadIdOp) and thread.dimension.data is Dimension.X
    return is_row and number is not None and number % WARP == 0


def _dependents(op: Operation, operand: int) -> Iterator[SSAValue]:
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
        for block in blocks_in(op):
            yield from block.args
