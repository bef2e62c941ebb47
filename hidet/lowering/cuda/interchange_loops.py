"""The pass `interchange-loops`: moves unrolled loops into reduction loops, for vectorization."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.dialects import memref, scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from hidet.analysis.index_forms import IndexForms
from hidet.analysis.memory import accesses_of, is_arithmetic, may_alias
from hidet.dialects.cuda import KernelOp, is_variable, leaves_loop
from hidet.dialects.cuda.marks import UNROLL
from hidet.dialects.shaped import element_of
from hidet.dialects.walking import ops_in, ops_of_class, reached
from hidet.lowering.cuda.vector_accesses import VectorLoop
from hidet.lowering.single_walk import rewrite_once
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.dead_code import drop_dead_code
from hidet.rewriting.kernel_pass import KernelPass


def interchange_loop(op: scf.ForOp, rewriter: PatternRewriter) -> None:
    """An unrolled loop over adjacent elements moves inside the reduction loops in its body.

        for v in 0..8 { total = 0   for r { total += x[r, 8 * i + v] }   y[8 * i + v] = total }

    becomes

        for v in 0..8 { total[v] = 0 }
        for r { for v in 0..8 { total[v] += x[r, 8 * i + v] } }
        for v in 0..8 { y[8 * i + v] = total[v] }

    so that `vectorize` finds a vector load in each iteration of r.
    """
    parts = _Fission.of(op)
    if parts is not None:
        parts.build()
        rewriter.erase(op)


@dataclass(frozen=True)
class _Fission:
    """The distribution of a loop over adjacent elements into its parts.

    The parts are loop nests, and sequences of other ops. `shared` is loop-invariant arithmetic,
    `own` other arithmetic, cloned into each part; `totals` are the accumulator variables.
    """

    loop: scf.ForOp
    count: int
    shared: Sequence[Operation]
    own: Sequence[Operation]
    parts: Sequence[Sequence[Operation]]
    totals: Sequence[memref.AllocaOp]

    @staticmethod
    def of(loop: scf.ForOp) -> _Fission | None:
        """Return the distribution of a loop, None if it is not legal."""
        ops = _without_end(loop.body.block)
        nests = [op for op in ops if isinstance(op, scf.ForOp)]
        if not nests or UNROLL not in loop.attributes or loop.iter_args:
            return None
        vectors = VectorLoop(loop, IndexForms())
        if not vectors.is_candidate:
            return None
        variable = loop.body.block.args[0]
        dependent = reached(_users([variable]), lambda op: _users(op.results))
        varying = {variable.block, *dependent}
        arithmetic = _plain_arithmetic(loop.body.block)
        totals = [op for op in ops if isinstance(op, memref.AllocaOp)]
        parts: list[list[Operation]] = [[]]
        for op in ops:
            if op in nests:
                parts += [[op], []]
            elif op not in arithmetic and op not in totals:
                parts[-1].append(op)
        found = _Fission(
            loop,
            vectors.count,
            [op for op in arithmetic if op not in varying],
            [op for op in arithmetic if op in varying],
            [part for part in parts if part],
            totals,
        )
        is_possible = (
            not leaves_loop(loop)
            and all(map(_is_plain, totals))
            and all(_is_nest(nest, varying) for nest in nests)
            and all(_has_total(nest, totals) for nest in nests)
            and found._is_independent()
        )
        return found if is_possible else None

    def _is_independent(self) -> bool:
        """Return whether parts share only variables, and are free of other dependences."""
        variables = {op.memref for op in self.totals}
        part_of = {
            each: n for n, part in enumerate(self.parts) for op in part for each in ops_in(op)
        }
        touched: list[tuple[int, SSAValue, bool]] = []
        for op, number in part_of.items():
            accesses = accesses_of(op)
            if accesses is None or any(
                part_of.get(use.operation, number) != number for v in op.results for use in v.uses
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
        """Build the parts before the loop."""
        builder = KernelBuilder.like(self.loop)
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
        """Build a loop nest with the loop over elements innermost."""
        values, inner = dict(outside), _loop_in(nest)
        with builder.loop_like(nest, values, attributes=nest.attributes):
            if inner is None:
                self._build_loop(builder, _without_end(nest.body.block), values)
                return
            for op in _without_end(nest.body.block):
                if op is inner:
                    self._build_nest(builder, inner, values)
                else:
                    builder.insert(op.clone(values))

    def _build_loop(
        self, builder: KernelBuilder, ops: Sequence[Operation], outside: dict[SSAValue, SSAValue]
    ) -> None:
        """Build a loop over elements with some ops."""
        values = dict(outside)
        with builder.loop_like(self.loop, values, attributes=self.loop.attributes) as variable:
            copies = [builder.insert(op.clone(values)) for op in (*self.own, *ops)]
        arrays = {values[total.memref] for total in self.totals}
        for op in [each for copy in copies for each in ops_in(copy)]:
            if isinstance(op, memref.LoadOp | memref.StoreOp) and op.memref in arrays:
                op.operands = [*op.operands, variable]


def _is_plain(op: memref.AllocaOp) -> bool:
    """Return whether an array is a variable that is only loaded and stored."""
    users = [use.operation for use in op.memref.uses]
    accesses = memref.LoadOp | memref.StoreOp
    return is_variable(op.memref) and all(isinstance(user, accesses) for user in users)


def _has_total(nest: scf.ForOp, totals: Sequence[memref.AllocaOp]) -> bool:
    return any(op.memref.owner in totals for op in ops_of_class(nest, memref.StoreOp))


def _is_nest(loop: scf.ForOp, varying: AbstractSet[Operation | Block]) -> bool:
    """Return whether loops are perfectly nested up to arithmetic, with uniform bounds.

    What the `varying` ops and blocks define differs between elements.
    """
    if loop.iter_args or any(each.owner in varying for each in (loop.lb, loop.ub, loop.step)):
        return False
    inner = _loop_in(loop)
    if inner is None:
        return not ops_of_class(loop.body, scf.ForOp, scf.WhileOp)
    others = [op for op in _without_end(loop.body.block) if op is not inner]
    return all(is_arithmetic(op) and op not in varying for op in others) and _is_nest(
        inner, varying
    )


def _loop_in(loop: scf.ForOp) -> scf.ForOp | None:
    """Return the first loop directly in the body of another one."""
    return next((op for op in loop.body.block.ops if isinstance(op, scf.ForOp)), None)


def _without_end(block: Block) -> list[Operation]:
    return [op for op in block.ops if not isinstance(op, scf.YieldOp)]


def _plain_arithmetic(block: Block) -> list[Operation]:
    """Return the arithmetic of a block that depends on nothing else in it."""
    found: list[Operation] = []
    for op in block.ops:
        owners = [value.owner for value in op.operands if isinstance(value.owner, Operation)]
        needed = [owner for owner in owners if owner.parent is block]
        if is_arithmetic(op) and all(owner in found for owner in needed):
            found.append(op)
    return found


def _users(values: Iterable[SSAValue]) -> list[Operation]:
    return [use.operation for value in values for use in value.uses]


class InterchangeLoopsPass(KernelPass):
    """Move unrolled loops over 2, 4, 8 or 16 adjacent elements into the reductions inside them.

    Expects kernels of one thread, whose reductions have an accumulator variable each. Pooling
    windows and depthwise filters over channels are then read by vectors. Loops stay if their
    reductions have different trip counts, or if one part writes what another one accesses.
    """

    name = "interchange-loops"

    def run(self, kernel: KernelOp) -> None:
        """Interchange the loops of one kernel."""
        if rewrite_once(kernel.body, {scf.ForOp: interchange_loop}):
            drop_dead_code(kernel)
