"""Loop unswitching, for `vectorize`: a vector is accessed as a whole or not at all.

for v in 0..4: if (4 * i + v < 100) { ... }     becomes     if (4 * i < 100) { for v ... }
"""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import MemoryEffectKind, only_has_effect

from hidet.analysis.conditions import predicate_of
from hidet.analysis.forms import LinearForm
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.materialize import Materializer
from hidet.dialects.walking import ops_in
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.inlining import inline_region
from hidet.rewriting.locations import locate


def unswitch(loop: scf.ForOp, count: int, forms: IndexForms) -> list[scf.ForOp] | None:
    """Move the first branch with a uniform condition out of a loop.

    The loop counts from 0 by 1. Forms of values in the loop are invalidated. Return the new loops,
    one per arm that does something; None if no branch could be moved.
    """
    for op in loop.body.block.ops:
        if isinstance(op, scf.IfOp):
            hoisted = ConditionHoister(loop, count, forms).condition(op.cond)
            if hoisted is not None:
                return _split(loop, op, hoisted())
    return None


def _split(loop: scf.ForOp, branch: scf.IfOp, condition: SSAValue) -> list[scf.ForOp]:
    """Put a copy of a loop into both arms of a branch that was inside it."""
    block = loop.parent
    assert block is not None
    otherwise: list[scf.ForOp] = []
    others = (op for op in loop.body.block.ops if op is not branch)
    if branch.false_region.blocks or any(
        not only_has_effect(op, MemoryEffectKind.READ) for op in others
    ):
        copied = loop.clone()
        copies = dict(zip(ops_in(loop), ops_in(copied), strict=True))
        copied_branch = copies[branch]
        assert isinstance(copied_branch, scf.IfOp)
        inline_region(copied_branch, copied_branch.false_region)
        otherwise.append(copied)
    split = scf.IfOp(condition, [], Region(Block()), Region(Block()) if otherwise else None)
    block.insert_op_before(split, loop)
    block.detach_op(loop)
    inline_region(branch, branch.true_region)
    split.true_region.block.add_ops([loop, scf.YieldOp()])
    if otherwise:
        split.false_region.block.add_ops([*otherwise, scf.YieldOp()])
    locate(split, loop.location)
    return [loop, *otherwise]


@dataclass
class ConditionHoister:
    """Computes conditions that are uniform in a loop before the loop."""

    loop: scf.ForOp
    count: int
    forms: IndexForms

    def condition(self, value: SSAValue) -> Callable[[], SSAValue] | None:
        """Return a function that computes a condition before the loop, None if it varies."""
        if not self.loop.is_ancestor(value.owner):
            return lambda: value
        op = value.owner
        if isinstance(op, arith.AndIOp | arith.OrIOp):
            lhs, rhs = self.condition(op.lhs), self.condition(op.rhs)
            if lhs is None or rhs is None:
                return None
            combine, left, right = type(op), lhs, rhs
            return lambda: self._insert(combine(left(), right()))
        if isinstance(op, arith.CmpiOp) and isinstance(op.lhs.type, IndexType):
            return self._comparison(op)
        return None

    def _comparison(self, op: arith.CmpiOp) -> Callable[[], SSAValue] | None:
        """Return a function that computes a comparison of indices for the first iteration."""
        lhs, rhs = self.forms.form(op.lhs), self.forms.form(op.rhs)
        predicate, variable = predicate_of(op), self.loop.body.block.args[0]
        if not self._is_uniform(predicate, lhs, rhs, op.parent):
            return None
        first = [
            form.plus(LinearForm.of(variable), -form.coefficient_of(variable))
            for form in (lhs, rhs)
        ]
        if any(
            self.loop.is_ancestor(leaf.owner)
            for form in first
            for leaf in form.leaves()
            if isinstance(leaf, SSAValue)
        ):
            return None

        def compute() -> SSAValue:
            materializer = Materializer.before(self.loop, self.forms)
            algebra = self.forms.algebra(self.loop.parent)
            left, right = (materializer.value(form, self._insert, algebra) for form in first)
            return self._insert(arith.CmpiOp(left, right, predicate))

        return compute

    def _insert(self, op: Operation) -> SSAValue:
        return KernelBuilder.like(self.loop).insert(op).results[0]

    def _is_uniform(
        self, predicate: str, lhs: LinearForm, rhs: LinearForm, at: Block | None
    ) -> bool:
        """Return whether a comparison has the same result in all iterations.

        With `v` the induction variable, it tests the sign of `d + k * v`. That is uniform if no
        multiple of the divisor of `d` lies in the range, as for `d = 4 * i - 100` and `v < 4`.
        """
        variable = self.loop.body.block.args[0]
        if predicate.startswith("u") and not all(
            self.forms.is_nonnegative(side, at) for side in (lhs, rhs)
        ):
            return False
        if predicate[1:] in ("gt", "ge"):
            lhs, rhs = rhs, lhs
        difference = lhs - rhs
        if predicate[1:] in ("le", "ge"):
            difference = difference - 1
        # The comparison is now `difference < 0` or `difference == 0`.
        factor = difference.coefficient_of(variable)
        rest = difference.plus(LinearForm.of(variable), -factor)
        if rest.depends_on(variable):
            return False
        if factor == 0:
            return True
        if predicate in ("eq", "ne"):
            return False
        step = self.forms.divisibility(rest if factor > 0 else rest + 1)
        return step == 0 or step > abs(factor) * (self.count - 1)
