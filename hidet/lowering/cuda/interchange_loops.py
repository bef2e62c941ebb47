"""The pass `interchange-loops`: reductions of neighbouring elements take their steps together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.dialects import memref, scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.index_forms import IndexForms
from hidet.analysis.memory import accesses_of, is_arithmetic, may_alias
from hidet.dialects.cuda import KernelOp
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.marks import UNROLL
from hidet.dialects.shaped import element_of, shape_of
from hidet.lowering.cuda.vector_accesses import VectorLoop
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.dead_code import drop_dead_code
from hidet.rewriting.kernel_pass import KernelPass


class InterchangeLoop(RewritePattern):
    """An unrolled loop over neighbours goes inside of the loops of their reductions.

        for v in 0..8 { total = 0   for r { total += x[r, 8 * i + v] }   y[8 * i + v] = total }

    becomes

        for v in 0..8 { total[v] = 0 }
        for r { for v in 0..8 { total[v] += x[r, 8 * i + v] } }
        for v in 0..8 { y[8 * i + v] = total[v] }

    where `vectorize` finds a vector in each step.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter) -> None:
        """Rewrite one loop."""
        parts = _Parts.of(op)
        if parts is not None:
            parts.build()
            rewriter.erase(op)


@dataclass(frozen=True)
class _Parts:
    """What a loop over neighbours does, one after the other.

    Attributes:
        loop: the loop.
        count: how many neighbours there are.
        shared: the arithmetic that is the same for all neighbours.
        own: other arithmetic of no part, of which each has a copy.
        parts: nests of loops, and runs of other ops.
        totals: the variables of a neighbour.
    """

    loop: scf.ForOp
    count: int
    shared: Sequence[Operation]
    own: Sequence[Operation]
    parts: Sequence[Sequence[Operation]]
    totals: Sequence[memref.AllocaOp]

    @staticmethod
    def of(loop: scf.ForOp) -> _Parts | None:
        """Return the parts of a loop, None where neighbours cannot take the same steps."""
        ops = [op for op in loop.body.block.ops if not isinstance(op, scf.YieldOp)]
        nests = [op for op in ops if isinstance(op, scf.ForOp)]
        vectors = VectorLoop(loop, IndexForms())
        if UNROLL not in loop.attributes or not vectors.is_candidate or loop.iter_args:
            return None
        neighbour = loop.body.block.args[0]
        varying = {neighbour.block, *_dependent(neighbour)}
        arithmetic = _plain_arithmetic(loop.body.block)
        totals = [op for op in ops if isinstance(op, memref.AllocaOp)]
        parts: list[list[Operation]] = [[]]
        for op in ops:
            if op in nests:
                parts += [[op], []]
            elif op not in arithmetic and op not in totals:
                parts[-1].append(op)
        found = _Parts(
            loop,
            vectors.count,
            [op for op in arithmetic if op not in varying],
            [op for op in arithmetic if op in varying],
            [part for part in parts if part],
            totals,
        )
        is_possible = (
            bool(nests)
            and all(shape_of(op.memref) == () and _is_variable(op) for op in totals)
            and all(_is_nest(nest, varying) and _adds_up(nest, totals) for nest in nests)
            and found._is_independent()
        )
        return found if is_possible else None

    def _is_independent(self) -> bool:
        """Return whether parts meet in variables alone, and what one writes no other accesses."""
        variables = {op.memref for op in self.totals}
        places = {each: n for n, part in enumerate(self.parts) for op in part for each in op.walk()}
        touched: list[tuple[int, SSAValue, bool]] = []
        for op, number in places.items():
            accesses = accesses_of(op)
            if accesses is None or any(
                places.get(use.operation, number) != number for v in op.results for use in v.uses
            ):
                return False
            touched += [(number, v, True) for v in accesses.writes if v not in variables]
            touched += [(number, v, False) for v in accesses.reads if v not in variables]
        return not any(
            number != other and may_alias(value, memory)
            for number, value, is_written in touched
            for other, memory, _ in touched
            if is_written
        )

    def build(self) -> None:
        """Build the parts ahead of the loop."""
        builder = KernelBuilder.like(self.loop, InsertPoint.before(self.loop))
        for op in self.shared:
            op.detach()
            builder.insert(op)
        values: dict[SSAValue, SSAValue] = {}
        for total in self.totals:
            array = builder.local_array(element_of(total.memref), [self.count])
            array.name_hint = total.memref.name_hint
            values[total.memref] = array
        for part in self.parts:
            match part:
                case [scf.ForOp() as nest]:
                    self._build_nest(builder, nest, values)
                case _:
                    self._build_loop(builder, part, values)

    def _build_nest(
        self, builder: KernelBuilder, nest: scf.ForOp, outside: dict[SSAValue, SSAValue]
    ) -> None:
        """Build loops with the loop over neighbours inside of the innermost one."""
        body, values = Block(arg_types=[nest.body.block.args[0].type]), dict(outside)
        body.args[0].name_hint = nest.body.block.args[0].name_hint
        values[nest.body.block.args[0]] = body.args[0]
        with builder.inside(body):
            inner = _loop_in(nest)
            if inner is None:
                self._build_loop(builder, _without_end(nest.body.block), values)
            else:
                for op in _without_end(nest.body.block):
                    if op is inner:
                        self._build_nest(builder, inner, values)
                    else:
                        builder.insert(op.clone(values))
            builder.insert(scf.YieldOp())
        copy = builder.insert(scf.ForOp(nest.lb, nest.ub, nest.step, [], body))
        copy.attributes |= nest.attributes

    def _build_loop(
        self,
        builder: KernelBuilder,
        ops: Sequence[Operation],
        outside: dict[SSAValue, SSAValue],
    ) -> None:
        """Build a loop over neighbours of some ops."""
        loop, values = self.loop, dict(outside)
        body = Block(arg_types=[loop.body.block.args[0].type])
        values[loop.body.block.args[0]] = body.args[0]
        with builder.inside(body):
            for op in (*self.own, *ops):
                builder.insert(op.clone(values))
            builder.insert(scf.YieldOp())
        copy = builder.insert(scf.ForOp(loop.lb, loop.ub, loop.step, [], body))
        copy.attributes |= loop.attributes
        arrays = {values[total.memref] for total in self.totals}
        for op in list(copy.walk()):
            if isinstance(op, memref.LoadOp | memref.StoreOp) and op.memref in arrays:
                _index(op, body.args[0])


def _is_variable(op: memref.AllocaOp) -> bool:
    """Return whether memory is a variable that is loaded and stored, and nothing else."""
    users = [use.operation for use in op.memref.uses]
    is_plain = all(isinstance(user, memref.LoadOp | memref.StoreOp) for user in users)
    return is_plain and space_of(op.memref.type) is Space.LOCAL


def _adds_up(nest: scf.ForOp, totals: Sequence[memref.AllocaOp]) -> bool:
    """Return whether a nest stores to a variable from outside of it."""
    variables = [op.memref for op in totals]
    return any(isinstance(op, memref.StoreOp) and op.memref in variables for op in nest.walk())


def _is_nest(loop: scf.ForOp, varying: AbstractSet[Operation | Block]) -> bool:
    """Return whether loops stand in each other alone, and count the same for all neighbours.

    Args:
        loop: the outermost one.
        varying: what defines values that differ between neighbours.
    """
    if loop.iter_args or any(each.owner in varying for each in (loop.lb, loop.ub, loop.step)):
        return False
    inner = _loop_in(loop)
    if inner is None:
        return not any(isinstance(op, scf.ForOp | scf.WhileOp) for op in _inside(loop))
    others = [op for op in _without_end(loop.body.block) if op is not inner]
    return all(is_arithmetic(op) and op not in varying for op in others) and _is_nest(
        inner, varying
    )


def _loop_in(loop: scf.ForOp) -> scf.ForOp | None:
    """Return the first loop that stands in the body of another one itself."""
    return next((op for op in loop.body.block.ops if isinstance(op, scf.ForOp)), None)


def _inside(op: Operation) -> Iterator[Operation]:
    """Give what stands in an op."""
    return (each for each in op.walk() if each is not op)


def _without_end(block: Block) -> list[Operation]:
    """Return the ops of a block but its terminator."""
    return [op for op in block.ops if not isinstance(op, scf.YieldOp)]


def _plain_arithmetic(block: Block) -> list[Operation]:
    """Return the arithmetic of a block that needs nothing else of it."""
    found: list[Operation] = []
    for op in block.ops:
        owners = [value.owner for value in op.operands if isinstance(value.owner, Operation)]
        needed = [owner for owner in owners if owner.parent is block]
        if is_arithmetic(op) and all(owner in found for owner in needed):
            found.append(op)
    return found


def _dependent(value: SSAValue) -> set[Operation]:
    """Return the ops that use a value, or a result of one that does."""
    found: set[Operation] = set()
    pending: list[SSAValue] = [value]
    while pending:
        for use in pending.pop().uses:
            if use.operation not in found:
                found.add(use.operation)
                pending += use.operation.results
    return found


def _index(op: memref.LoadOp | memref.StoreOp, neighbour: SSAValue) -> None:
    """Have an access of a variable be to that of a neighbour."""
    builder = KernelBuilder.like(op, InsertPoint.before(op))
    if isinstance(op, memref.LoadOp):
        op.res.replace_all_uses_with(builder.load(op.memref, [neighbour]))
    else:
        builder.store(op.value, op.memref, [neighbour])
    Rewriter.erase_op(op)


@dataclass(frozen=True)
class InterchangeLoopsPass(KernelPass):
    """Move unrolled loops over 2, 4, 8 or 16 neighbours into the reductions that are in them.

    Expects kernels of one thread, whose reductions have a variable each. Windows of a pooling and
    depthwise filters over channels are read by vectors then. A loop stays where its reductions
    count differently, or where one of its parts writes what another one accesses.
    """

    name = "interchange-loops"

    def run(self, kernel: KernelOp) -> None:
        """Interchange the loops of one kernel."""
        walker = PatternRewriteWalker(InterchangeLoop(), apply_recursively=False)
        if walker.rewrite_region(kernel.body):
            drop_dead_code(kernel)
