"""The pass `simplify-index`: canonicalizes index arithmetic by its linear forms."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp, i1
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove

from hidet.analysis.form_rules import FORM_RULES, IdVariable, is_proven
from hidet.analysis.forms import LinearForm
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.materialize import Materializer
from hidet.dialects.constants import known_condition
from hidet.dialects.cuda.arithmetic import FloorModOp
from hidet.dialects.cuda.checks import CheckedIndexOp
from hidet.lowering.cuda.hoisting import hoist_checks, hoist_index_arithmetic
from hidet.rewriting.dead_code import drop_dead_code
from hidet.rewriting.regions import inline_region


@dataclass(frozen=True)
class SimplifyIndexPass(ModulePass):
    """Rewrite all index arithmetic from its linear forms.

    Every index with a non-arithmetic user is materialized from its linear form: the terms of outer
    loops first and hoisted out of inner ones, with common subexpressions shared. Casts of constants
    and comparisons decided by ranges become constants, and control flow is simplified accordingly:
    known branches and loops with one iteration are replaced by their bodies. Index checks are
    removed where ranges prove them, and otherwise hoisted out of loops. Dead code is dropped.

    Expects any program; unknown ops only get new index operands. Leaves the same kinds of ops, and
    no avoidable division.
    """

    name = "simplify-index"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run on a module."""
        simplify_index(op)


def simplify_index(op: Operation) -> None:
    """Simplify the index arithmetic nested in an op."""
    simplifier = _Simplifier(op)
    for region in op.regions:
        simplifier.visit_region(region)
    drop_dead_code(op)
    hoist_index_arithmetic(op)
    hoist_checks(op)


_TOWARDS_ZERO: dict[type[Operation], type[Operation]] = {
    arith.FloorDivSIOp: arith.DivSIOp,
    FloorModOp: arith.RemSIOp,
}
"""Rounding-down divisions and their equivalents for non-negative operands."""


class _Simplifier:
    """Visits a program once, in execution order."""

    def __init__(self, root: Operation) -> None:
        self._forms = IndexForms(root)
        self._materializer = Materializer()

    def visit_region(self, region: Region) -> None:
        """Simplify the ops of a region."""
        for block in region.blocks:
            with self._materializer.scope():
                op = block.first_op
                while op is not None:
                    op = self._visit(op, block)

    def _visit(self, op: Operation, block: Block) -> Operation | None:
        """Simplify an op and its regions; return the op to continue with."""
        if len(op.results) == 1 and self._simplify_result(op, op.results[0], block):
            following = op.next_op
            if isinstance(op, CheckedIndexOp) and is_proven(self._forms, op):
                op.result.replace_all_uses_with(
                    op.index
                )  # uses in arithmetic that is yet to be visited
                block.erase_op(op)
            return following
        self._rebuild_operands(op, block)
        body = self._region_to_inline(op)
        if body is not None:
            return inline_region(op, *body)
        if op.regions:
            outer = self._materializer
            if op.has_trait(IsolatedFromAbove):
                # The order of terms depends on earlier ones, but not on those of other kernels.
                self._materializer = Materializer()
            with self._materializer.scope():
                for region in op.regions:
                    self.visit_region(region)
            self._materializer = outer
        return op.next_op

    # Values.

    def _simplify_result(self, op: Operation, result: SSAValue, block: Block) -> bool:
        """Replace the uses of a result by a simpler value; return whether the op is done."""
        if isinstance(result.type, IndexType):
            form = self._forms.form(result)
            if form.atom is result:
                return False
            self._simplify_index(op, result, form, block)
            return True
        simpler = _simpler_value(op, self._forms)
        if isinstance(simpler, IntegerAttr):
            constant = arith.ConstantOp(simpler)
            constant.location = op.location
            block.insert_op_before(constant, op)
            simpler = constant.result
        if simpler is None:
            return False
        result.replace_all_uses_with(simpler)
        return True

    def _simplify_index(
        self, op: Operation, result: SSAValue, form: LinearForm, block: Block
    ) -> None:
        """Materialize an index from its linear form if it has a non-arithmetic user.

        Arithmetic in the same block is rebuilt from forms itself.
        """
        value = self._materializer.lookup(form)
        if value is None and self._is_as_computed(op, form, block):
            self._materializer.remember(form, self._divided_towards_zero(op, form, block))
            return
        if value is None and all(
            use.operation.parent is block and type(use.operation) in FORM_RULES
            for use in result.uses
        ):
            return
        result.replace_all_uses_with(value or self._value(form, op, block))

    def _is_as_computed(self, op: Operation, form: LinearForm, block: Block) -> bool:
        """Return whether an op already computes a form as the materializer would."""
        if form.is_number:
            return isinstance(op, arith.ConstantOp)
        if isinstance(form.atom, IdVariable):
            return type(op) is form.atom.op_type
        op_type, *parts = self._materializer.expression(form, self._forms.algebra(block))
        return op_type in (type(op), _TOWARDS_ZERO.get(type(op))) and all(
            self._materializer.lookup(part) is operand
            for part, operand in zip(parts, op.operands, strict=True)
        )

    def _divided_towards_zero(self, op: Operation, form: LinearForm, block: Block) -> SSAValue:
        """Return the result of an op, replaced by a division towards zero if equivalent."""
        result = op.results[0]
        if form.is_number or isinstance(form.atom, IdVariable):
            return result
        op_type = self._materializer.expression(form, self._forms.algebra(block))[0]
        if op_type is type(op):
            return result
        lhs, rhs = op.operands
        new = op_type(lhs, rhs)
        new.location, new.result.name_hint = op.location, result.name_hint
        block.insert_op_before(new, op)
        result.replace_all_uses_with(new.result)
        return new.result

    def _rebuild_operands(self, op: Operation, block: Block) -> None:
        """Replace the index operands of an op by materialized ones."""
        for number, operand in enumerate(op.operands):
            if isinstance(operand.type, IndexType):
                value = self._value(self._forms.form(operand), op, block)
                if value is not operand:
                    op.operands[number] = value
                    if value.name_hint is None:
                        value.name_hint = operand.name_hint

    def _value(self, form: LinearForm, user: Operation, block: Block) -> SSAValue:

        def insert(op: Operation) -> None:
            op.location = user.location
            block.insert_op_before(op, user)

        return self._materializer.value(form, insert, self._forms.algebra(block))

    # Control flow.

    def _region_to_inline(self, op: Operation) -> tuple[Region | None, list[SSAValue]] | None:
        """Return the region that an op can be replaced by, and the values of its arguments.

        No region means that the values are the results.
        """
        if isinstance(op, scf.IfOp) and (known := known_condition(op.cond)) is not None:
            return op.true_region if known else op.false_region, []
        if isinstance(op, scf.ForOp):
            match self._forms.trip_count(op):
                case 0:
                    return None, list(op.iter_args)
                case 1:
                    return op.body, [op.lb, *op.iter_args]
                case _:
                    return None
        return None


def _simpler_value(op: Operation, forms: IndexForms) -> SSAValue | IntegerAttr | None:
    """Return the simplified result of an op, a value or a constant; None means no change.

    These are comparisons decided by ranges, what depends on them, and casts of constants.
    """
    match op:
        case arith.CmpiOp() if isinstance(op.lhs.type, IndexType):
            return _boolean(forms.decide(op))
        case arith.AndIOp() | arith.OrIOp() if op.result.type == i1:
            neutral = isinstance(op, arith.AndIOp)
            for side, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                known = known_condition(side)
                if known is not None:
                    return other if known == neutral else _boolean(known)
            return None
        case arith.SelectOp():
            known = known_condition(op.cond)
            return None if known is None else op.lhs if known else op.rhs
        case arith.IndexCastOp() if isinstance(op.result.type, IntegerType):
            form, limit = forms.form(op.input), 1 << (op.result.type.width.data - 1)
            is_known = form.is_number and -limit <= form.constant < limit
            return IntegerAttr(form.constant, op.result.type) if is_known else None
        case _:
            return None


def _boolean(value: bool | None) -> IntegerAttr | None:
    """Return a constant of type i1; None where it is not known."""
    return None if value is None else IntegerAttr(int(value), i1)
