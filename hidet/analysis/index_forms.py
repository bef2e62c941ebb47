"""`IndexForms`: the linear form, the range and the divisibility of every index of a program.

The only analysis of index arithmetic; simplification, vectorization, guards, index widths and the
inversion of epilogues all use it. Index arithmetic is assumed not to overflow.
"""

from collections.abc import Callable
from functools import partial

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, BlockArgument, OpResult, SSAValue
from xdsl.traits import IsolatedFromAbove

from hidet.analysis.algebra import FormAlgebra, Memo
from hidet.analysis.conditions import conditions_of, decide, predicate_of
from hidet.analysis.form_rules import FORM_RULES
from hidet.analysis.forms import ANY, LinearForm, Range
from hidet.analysis.value_ranges import divisibility_of_value, range_of_value
from hidet.dialects.effects import has_trait

MAX_TERMS = 32
"""The largest number of terms of a form; it keeps the analysis linear."""

MAX_DEPTH = 8
"""The largest nesting depth of divisions."""


class IndexForms:
    """The forms of the values of type index, computed lazily and memoized.

    Results remain valid while a pass rewrites the program if the queried values keep their meaning.
    """

    def __init__(self) -> None:
        self.form: Callable[[SSAValue], LinearForm] = Memo(self._form).__getitem__
        self.algebra: Callable[[Block | None], FormAlgebra] = Memo(self._algebra).__getitem__
        self._range_of_leaf = Memo(partial(range_of_value, self)).__getitem__
        self._outermost = FormAlgebra(
            self._range_of_leaf, Memo(partial(divisibility_of_value, self)).__getitem__
        )

    # Queries, besides `form` and `algebra`.

    def range(self, index: SSAValue | LinearForm, at: Block | None = None) -> Range | None:
        """Return the range of an index, or None if it is unbounded.

        The conditions of each `scf.if` around a block apply: that of the definition of a value, or
        `at` if given. An unknown limit is that of 64-bit integers.
        """
        limits = self._algebra_for(index, at).range(self._form_of(index))
        return limits if limits.lo > ANY.lo or limits.hi < ANY.hi else None

    def divisibility(self, index: SSAValue | LinearForm) -> int:
        """Return a number that always divides an index; 0 for the index 0."""
        return self._outermost.divisibility(self._form_of(index))

    def is_nonnegative(self, index: SSAValue | LinearForm, at: Block | None = None) -> bool:
        """Return whether an index is known to be nonnegative."""
        return self._algebra_for(index, at).is_nonnegative(self._form_of(index))

    def decide(self, comparison: arith.CmpiOp) -> bool | None:
        """Return the result of a comparison of indices if it is statically known, else None."""
        lhs, rhs = map(self.form, comparison.operands)
        return decide(predicate_of(comparison), lhs, rhs, self.algebra(comparison.parent))

    def trip_limits(self, loop: scf.ForOp) -> tuple[int, int | None]:
        """Return the minimum and the maximum trip count of a loop; None if there is no maximum."""
        lower, upper, by, *_ = loop.operands
        step = self.form(by) if type(lower.type) is IndexType else None
        if step is None or not step.is_number or step.constant < 1:
            return 0, None
        algebra = self.algebra(loop.parent)
        distance = algebra.range(algebra.add(self.form(upper), self.form(lower), -1))
        least, most = (max(0, -(-limit // step.constant)) for limit in distance)
        return least, most

    def trip_count(self, loop: scf.ForOp) -> int | None:
        """Return the trip count of a loop if it is statically known, else None."""
        least, most = self.trip_limits(loop)
        return least if least == most else None

    # Computation.

    def _form_of(self, index: SSAValue | LinearForm) -> LinearForm:
        return index if isinstance(index, LinearForm) else self.form(index)

    def _algebra_for(self, index: SSAValue | LinearForm, at: Block | None) -> FormAlgebra:
        if at is None and not isinstance(index, LinearForm):
            owner = index.owner
            at = owner if isinstance(owner, Block) else owner.parent
        return self.algebra(at)

    def _form(self, value: SSAValue) -> LinearForm:
        form = None
        if type(value.type) is IndexType:
            if type(value) is OpResult:
                op = value.op
                if (rule := FORM_RULES.get(type(op))) is not None:
                    form = rule(self, op, self.algebra(op.parent))
            elif type(value) is BlockArgument:
                form = self._form_of_argument(value)
        if form is None or len(form.terms) > MAX_TERMS or form.depth > MAX_DEPTH:
            lo, hi = self._range_of_leaf(value)
            return LinearForm.number(lo) if lo == hi else LinearForm.of(value)
        return form

    def _form_of_argument(self, argument: BlockArgument) -> LinearForm | None:
        """Return the lower bound for the induction variable of a loop of at most one iteration."""
        loop = argument.block.parent_op()
        if argument.index == 0 and isinstance(loop, scf.ForOp):
            most = self.trip_limits(loop)[1]
            if most is not None and most <= 1:
                return self.form(loop.lb)
        return None

    def _algebra(self, block: Block | None) -> FormAlgebra:
        """Return the algebra of a block, under the conditions of the branches around it."""
        op = None if block is None else block.parent_op()
        if op is None or has_trait(type(op), IsolatedFromAbove):
            return self._outermost
        outer = self.algebra(op.parent)
        if isinstance(op, scf.IfOp) and block is not None:
            conditions = conditions_of(self, op.cond, block.parent is op.true_region)
            if conditions:
                return outer.under(conditions)
        return outer
