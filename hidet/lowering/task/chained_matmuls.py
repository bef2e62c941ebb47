"""Software pipelining of two chained matmuls, the second of which uses the result of the first.

In attention, scores are a matmul, and the weights computed from them are operand A of another one.
The computation in between overlaps with the second matmul of the previous iteration:

    for k { scores = q @ key[k]   weights = f(scores)   acc += weights @ value[k] }

becomes

    scores = q @ key[0]   weights = f(scores)
    for k from the second iteration on {
      scores = q @ key[k] async   acc += weights @ value[k - 1] async
      wait for scores   the part of f that needs neither weights nor acc
      wait for acc      the rest of f
    }
    acc += weights @ value[last]

(Shah et al., FlashAttention-3, 2024, overlap the matmuls of two iterations, too.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Operation, SSAValue

from hidet.analysis.index_forms import IndexForms
from hidet.dialects.constants import known_index
from hidet.dialects.cuda import Space, space_of
from hidet.dialects.shaped import memref_type
from hidet.dialects.task import CopyOp, ForeachOp, MatmulOp
from hidet.dialects.walking import ops_in
from hidet.lowering.task.matmul_loops import MatmulLoop
from hidet.lowering.task.tensor_cores import wait_for_wgmma
from hidet.rewriting.builder import Index, KernelBuilder

FEW_TRIPS = 2
"""The trip count of which a loop of one iteration remains: it is unrolled, and ptxas spills."""

Build = Callable[[KernelBuilder, MatmulOp, SSAValue], None]
"""Issues a matmul of iteration k once its tile has arrived, or releases the tile."""


@dataclass
class ChainedMatmuls:
    """A loop with two chained matmuls.

    Attributes:
        between: the ops on scores that do not depend on the previous second matmul.
        late: the ops after these, before the second matmul.
        trips: the trip count; 0 if unknown, but then at least one.
    """

    loop: MatmulLoop
    scores: MatmulOp
    values: MatmulOp
    between: Sequence[Operation]
    late: Sequence[Operation]
    trips: int

    @staticmethod
    def of(loop: MatmulLoop) -> ChainedMatmuls | None:
        """Return the chained matmuls of a loop, None if it does not match or is too short."""
        if len(loop.matmuls) != 2:
            return None
        first, second = loop.matmuls
        is_chain = (
            space_of(memref_type(second.lhs)) is Space.REGISTER
            and space_of(memref_type(first.lhs)) is Space.SHARED
            and zero_fill_of(first) is not None
            and second.next_op is loop.op.body.block.last_op
        )
        ops = [op for op in loop.op.body.block.ops if not isinstance(op, CopyOp)]
        limits = IndexForms().range(loop.op.ub, loop.op.parent)
        start = known_index(loop.op.lb)
        if not is_chain or start is None or limits is None or limits.lo <= start:
            return None
        at, end = ops.index(first), ops.index(second)
        if not all(op in loop.offsets for op in ops[: at - 1]):
            return None
        needed = {second.accumulator, second.lhs}
        touched = [{v for each in ops_in(op) for v in each.operands} for op in ops]
        late = next((n for n in range(at + 1, end) if needed & touched[n]), end)
        trips = IndexForms().trip_count(loop.op) or 0
        if trips == FEW_TRIPS:
            return None
        return ChainedMatmuls(loop, first, second, ops[at + 1 : late], ops[late:end], trips)

    def build(self, builder: KernelBuilder, multiply: Build, free: Build, *, loads: bool) -> None:
        """Build the pipelined loop before the old one; `loads`: whether `free` loads a tile."""
        b, op, step = builder, self.loop.op, self.loop.step
        start = known_index(op.lb) or 0
        multiply(b, self.scores, op.lb)
        wait_for_wgmma(b, self.scores.accumulator)
        free(b, self.scores, op.lb)
        _clone(b, [*self.between, *self.late], self.loop.at(b, op.lb))
        first = b.index(start + step)
        with b.loop_like(op, {}, first=first, attributes=op.attributes) as k:
            self._build_step(b, k, multiply, free, loads=loads)
        if self.trips:
            last: Index = start + (self.trips - 1) * step
        else:
            past = b.index(b.subtract(op.ub, start + 1))
            last = b.add(b.mul(b.index(b.div(past, step)), step), start)
        multiply(b, self.values, b.index(last))
        wait_for_wgmma(b, self.values.accumulator)

    def _build_step(
        self, b: KernelBuilder, k: SSAValue, multiply: Build, free: Build, *, loads: bool
    ) -> None:
        """Build an iteration: its scores, and the second matmul of the previous iteration."""
        last = b.index(b.subtract(k, self.loop.step))
        multiply(b, self.scores, k)
        multiply(b, self.values, last)
        wait_for_wgmma(b, self.scores.accumulator, 1)
        if not loads:
            free(b, self.scores, k)
        values = self.loop.at(b, k)
        _clone(b, self.between, values)
        if loads:  # ptxas moves the next wait ahead of these ops, but not ahead of a branch
            free(b, self.scores, k)
        wait_for_wgmma(b, self.values.accumulator)
        free(b, self.values, last)
        _clone(b, self.late, values)


def _clone(
    builder: KernelBuilder, ops: Sequence[Operation], values: dict[SSAValue, SSAValue]
) -> None:
    """Clone ops, except offset arithmetic that `values` has already."""
    for op in ops:
        if not all(result in values for result in op.results) or not op.results:
            builder.insert(op.clone(values))


def zero_fill_of(product: MatmulOp) -> ForeachOp | None:
    """Return the op ahead of a matmul that does nothing but zero its accumulator, if there is one.

    Then the matmul may overwrite it instead.
    """
    op = product.prev_op
    if not isinstance(op, ForeachOp) or op.tile is not product.accumulator:
        return None
    match [*op.body.block.ops][:2]:
        case [ConstantOp(value=FloatAttr() as zero), memref.StoreOp() as store]:
            is_zero = zero.value.data == 0 and store.value.owner is op.body.block.first_op
            return op if is_zero and store.memref is op.tile else None
        case _:
            return None
