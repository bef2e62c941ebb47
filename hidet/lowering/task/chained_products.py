"""Two products in a loop, of which the second multiplies what is computed of the first.

So it is in attention: scores are a product, their weights are the left factor of another one. What
is computed in between runs beside the second product of the step before:

    for k { scores = q @ key[k]   weights = f(scores)   acc += weights @ value[k] }

becomes

    scores = q @ key[0]   weights = f(scores)
    for k but the first one {
      scores = q @ key[k] async   acc += weights @ value[k - 1] async
      wait for scores   f(scores), as far as it needs neither weights nor acc
      wait for acc      the rest of f
    }
    acc += weights @ value[last]

(Shah et al., FlashAttention-3, 2024, have the products of two steps overlap, too.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref, scf
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Block, Operation, SSAValue

from hidet.analysis.index_forms import IndexForms
from hidet.dialects.constants import known_index
from hidet.dialects.cuda import WgmmaWaitOp
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.shaped import memref_type
from hidet.dialects.task import CopyOp, ForeachOp, MatmulOp
from hidet.lowering.task.lower_wgmma import fence_accumulator
from hidet.lowering.task.product_loops import ProductLoop
from hidet.rewriting.builder import Index, KernelBuilder

Multiply = Callable[[KernelBuilder, MatmulOp, SSAValue], None]
"""Begins a product of the step of a variable, once its tile has come."""

Free = Callable[[KernelBuilder, MatmulOp, SSAValue], None]
"""Says that the tile of a product has been multiplied in the step of a variable."""


@dataclass
class ChainedProducts:
    """A loop with two such products.

    Attributes:
        loop: the loop.
        scores: the first product.
        values: the second one.
        between: what is done with scores before the product of the step before is needed.
        late: what is done after that, ahead of the second product.
        trips: how often the loop runs; 0 where it is not known, but then at least once.
    """

    loop: ProductLoop
    scores: MatmulOp
    values: MatmulOp
    between: Sequence[Operation]
    late: Sequence[Operation]
    trips: int

    @staticmethod
    def of(loop: ProductLoop) -> ChainedProducts | None:
        """Return how the products of a loop are chained, None where they are not."""
        if len(loop.products) != 2:
            return None
        first, second = loop.products
        is_chain = (
            space_of(memref_type(second.lhs)) is Space.REGISTER
            and space_of(memref_type(first.lhs)) is Space.SHARED
            and isinstance(fill := first.prev_op, ForeachOp)
            and _fills_with_zero(fill, first.accumulator)
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
        late = next((n for n in range(at + 1, end) if needed & _touched(ops[n])), end)
        trips = IndexForms().trip_count(loop.op) or 0
        return ChainedProducts(loop, first, second, ops[at + 1 : late], ops[late:end], trips)

    def build(self, builder: KernelBuilder, multiply: Multiply, free: Free) -> None:
        """Build the loop anew where a builder stands, ahead of the old one."""
        b, op, step = builder, self.loop.op, self.loop.step
        start = known_index(op.lb) or 0
        multiply(b, self.scores, op.lb)
        self._wait(b, 0, self.scores)
        free(b, self.scores, op.lb)
        _clone(b, [*self.between, *self.late], self.loop.at(b, op.lb))
        k = Block(arg_types=[op.body.block.args[0].type])
        with b.inside(k):
            self._build_step(b, k.args[0], multiply, free)
            b.insert(scf.YieldOp())
        k.args[0].name_hint = op.body.block.args[0].name_hint
        loop = b.insert(scf.ForOp(b.index(start + step), op.ub, op.step, [], k))
        loop.attributes |= op.attributes
        if self.trips:
            last: Index = start + (self.trips - 1) * step
        else:
            past = b.index(b.subtract(op.ub, start + 1))
            last = b.add(b.mul(b.index(b.div(past, step)), step), start)
        multiply(b, self.values, b.index(last))
        self._wait(b, 0, self.values)

    def _build_step(self, b: KernelBuilder, k: SSAValue, multiply: Multiply, free: Free) -> None:
        """Build a step, which makes scores of its own and multiplies the weights of the last."""
        last = b.index(b.subtract(k, self.loop.step))
        multiply(b, self.scores, k)
        multiply(b, self.values, last)
        self._wait(b, 1, self.scores)
        free(b, self.scores, k)
        values = self.loop.at(b, k)
        _clone(b, self.between, values)
        self._wait(b, 0, self.values)
        free(b, self.values, last)
        _clone(b, self.late, values)

    @staticmethod
    def _wait(b: KernelBuilder, pending: int, product: MatmulOp) -> None:
        """Build the wait for a product, behind which so many others are under way."""
        b.insert(WgmmaWaitOp(pending))
        fence_accumulator(b, product.accumulator)


def _clone(
    builder: KernelBuilder, ops: Sequence[Operation], values: dict[SSAValue, SSAValue]
) -> None:
    """Insert copies of ops; those that compute offsets are there already."""
    for op in ops:
        if not all(result in values for result in op.results) or not op.results:
            builder.insert(op.clone(values))


def _fills_with_zero(op: ForeachOp, tile: SSAValue) -> bool:
    """Return whether a loop over all of a tile does nothing but to store zeros to it."""
    match [*op.body.block.ops][:2]:
        case [ConstantOp(value=FloatAttr() as zero), memref.StoreOp() as store]:
            is_zero = zero.value.data == 0 and store.value.owner is op.body.block.first_op
            return is_zero and op.tile is tile and store.memref is tile
        case _:
            return False


def _touched(op: Operation) -> set[SSAValue]:
    """Return what an op and all that it contains use."""
    return {operand for each in op.walk() for operand in each.operands}
