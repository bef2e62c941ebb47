"""The pass `simplify-index`: canonicalizes index arithmetic by its linear forms."""

from collections.abc import Callable, Iterator

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerType, ModuleOp, i1
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove

from hidet.analysis.form_rules import FORM_RULES, IdVariable, is_proven
from hidet.analysis.forms import LinearForm
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.materialize import Materializer
from hidet.dialects import cuda
from hidet.dialects.constants import known_condition, known_index
from hidet.dialects.walking import blocks_in, ops_in, ops_of_block, ops_of_class
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.dead_code import drop_dead_code
from hidet.rewriting.inlining import inline_region


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
        _Simplifier().visit_region(op.body)
        drop_dead_code(op)
        hoist_index_arithmetic(op)
        hoist_checks(op)


_TOWARDS_ZERO: dict[type[Operation], type[Operation]] = {
    arith.FloorDivSIOp: arith.DivSIOp,
    cuda.FloorModOp: arith.RemSIOp,
}
"""Rounding-down divisions and their equivalents for non-negative operands."""


class _Simplifier:
    """Visits a program once, in execution order."""

    def __init__(self) -> None:
        self._forms = IndexForms()
        self._materializer = Materializer()

    def visit_region(self, region: Region) -> None:
        for block in region.blocks:
            with self._materializer.scope():
                op = block.first_op
                while op is not None:
                    op = self._visit(op, block)

    def _visit(self, op: Operation, block: Block) -> Operation | None:
        """Simplify an op and its regions; return the op to continue with."""
        if len(op.results) == 1 and self._simplify_result(op, op.results[0], block):
            following = op.next_op
            if type(op) is cuda.CheckedIndexOp and is_proven(self._forms, op):
                # uses in arithmetic that is yet to be visited
                op.results[0].replace_all_uses_with(op.operands[0])
                block.erase_op(op)
            return following
        self._rebuild_operands(op, block)
        if op.regions:
            body = self._region_to_inline(op)
            if body is not None:
                return inline_region(op, *body)
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
        if type(result.type) is IndexType:
            form = self._forms.form(result)
            if form.atom is result:
                return False
            self._simplify_index(op, result, form, block)
            return True
        if type(op) not in _SIMPLIFIED:
            return False
        simpler = _simpler_value(op, self._forms)
        if simpler is None:
            return False
        if isinstance(simpler, int):
            simpler = KernelBuilder.like(op).scalar(simpler, result.type)
        result.replace_all_uses_with(simpler)
        return True

    def _simplify_index(
        self, op: Operation, result: SSAValue, form: LinearForm, block: Block
    ) -> None:
        """Materialize an index from its linear form if it has a non-arithmetic user.

        Arithmetic in the same block is rebuilt from forms itself.
        """
        value = self._materializer.lookup(form)
        if value is None and (computed := self._as_computed(op, result, form, block)) is not None:
            self._materializer.remember(form, computed)
            return
        if value is None and all(
            use.operation.parent is block and type(use.operation) in FORM_RULES
            for use in result.uses
        ):
            return
        result.replace_all_uses_with(value or self._value(form, op, block))

    def _as_computed(
        self, op: Operation, result: SSAValue, form: LinearForm, block: Block
    ) -> SSAValue | None:
        """Return the result of an op that computes a form as the materializer would, else None.

        A division is replaced by one towards zero if that is equivalent.
        """
        kind, atom = type(op), form.atom
        if form.is_number:
            return result if kind is arith.ConstantOp else None
        if isinstance(atom, IdVariable):
            return result if kind is atom.op_type else None
        op_type, *parts = self._materializer.expression(form, self._forms.algebra(block))
        if op_type not in (kind, _TOWARDS_ZERO.get(kind)) or not all(
            self._materializer.lookup(part) is operand
            for part, operand in zip(parts, op.operands, strict=True)
        ):
            return None
        if op_type is kind:
            return result
        new = op_type.create(operands=op.operands, result_types=[result.type])
        (value,) = KernelBuilder.like(op).insert(new).results
        value.name_hint = result.name_hint
        result.replace_all_uses_with(value)
        return value

    def _rebuild_operands(self, op: Operation, block: Block) -> None:
        """Replace the index operands of an op by materialized ones."""
        operands = op._operands  # pyright: ignore[reportPrivateUsage]  # without a view of them
        for number, operand in enumerate(operands):
            if type(operand.type) is IndexType:
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
                case 1 if not cuda.leaves_loop(op):
                    return op.body, [op.lb, *op.iter_args]
                case _:
                    return None
        return None


def _simpler_value(op: Operation, forms: IndexForms) -> SSAValue | int | None:
    """Return the simplified result of an op, a value or a number; None means no change.

    These are comparisons decided by ranges, what depends on them, and casts of constants.
    """
    match op:
        case arith.CmpiOp() if isinstance(op.lhs.type, IndexType):
            return forms.decide(op)
        case arith.AndIOp() | arith.OrIOp() if op.result.type == i1:
            neutral = isinstance(op, arith.AndIOp)
            for side, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                known = known_condition(side)
                if known is not None:
                    return other if known == neutral else known
            return None
        case arith.SelectOp():
            known = known_condition(op.cond)
            return None if known is None else op.lhs if known else op.rhs
        case arith.IndexCastOp() if isinstance(op.result.type, IntegerType):
            form, limit = forms.form(op.input), 1 << (op.result.type.width.data - 1)
            is_known = form.is_number and -limit <= form.constant < limit
            return form.constant if is_known else None
        case _:
            return None


_SIMPLIFIED = (arith.CmpiOp, arith.AndIOp, arith.OrIOp, arith.SelectOp, arith.IndexCastOp)


_DIVISIONS = frozenset({arith.DivSIOp, arith.FloorDivSIOp, arith.RemSIOp, cuda.FloorModOp})
_HOISTED = _DIVISIONS | {
    *(arith.ConstantOp, arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MinSIOp, arith.MaxSIOp),
    *(arith.AndIOp, arith.OrIOp, arith.XOrIOp),
    *(cuda.BlockDimOp, cuda.BlockIdOp, cuda.GridDimOp, cuda.ThreadIdOp),
}


def hoist_index_arithmetic(op: Operation) -> None:
    """Hoist loop-invariant index arithmetic out of loops.

    It is also hoisted out of branches, since it is cheap and speculatable. Divisions are hoisted if
    the divisor is a positive constant.
    """
    for loop in _loops(op):
        _hoist(loop.body.block, loop, set(), _is_index_arithmetic, from_branches=True)


def hoist_checks(op: Operation) -> None:
    """Hoist checks, with the loads of the checked values, out of loops.

    The index of the lookup is then loop-invariant, so `vectorize` can load vectors. The loop must
    have an iteration; checks in branches stay. Only read-only kernel arguments are loaded.
    """
    if not ops_of_class(op, cuda.FaultCheckOp):
        return
    for loop in _loops(op):
        if _is_run(loop):
            needed = _needed_by_checks(loop.body.block)
            _hoist(loop.body.block, loop, set(), needed.__contains__, from_branches=False)


def _loops(op: Operation) -> Iterator[scf.ForOp]:
    """Yield the loops in an op, inner ones first."""
    ops = ops_in(op, inner_first=True)
    return (each for each in ops if type(each) is scf.ForOp and each is not op)


def _hoist(
    block: Block,
    loop: scf.ForOp,
    inside: set[SSAValue],
    may_move: Callable[[Operation], bool],
    *,
    from_branches: bool,
) -> None:
    """Hoist ops out of a block of a loop; `inside` are the values defined in the loop."""
    inside.update(block.args)
    for op in ops_of_block(block):
        if may_move(op) and inside.isdisjoint(op.operands):
            op.detach()
            assert loop.parent is not None
            loop.parent.insert_op_before(op, loop)
            continue
        inside.update(op.results)
        if from_branches and type(op) is scf.IfOp:
            for branch in blocks_in(op):
                _hoist(branch, loop, inside, may_move, from_branches=True)


def _is_index_arithmetic(op: Operation) -> bool:
    """Return whether an op is speculatable index arithmetic."""
    if type(op) not in _HOISTED or type(op.results[0].type) is not IndexType:
        return False
    return type(op) not in _DIVISIONS or (known_index(op.operands[1]) or 0) > 0


def _needed_by_checks(block: Block) -> set[Operation]:
    """Return the checks of a block and the ops that can be hoisted along with them."""
    found = set[Operation]()
    for op in reversed(block.ops):
        is_source = isinstance(op, arith.IndexCastOp) or _reads_input(op)
        if isinstance(op, cuda.FaultCheckOp) or (
            is_source and any(use.operation in found for use in op.results[0].uses)
        ):
            found.add(op)
    return found


def _reads_input(op: Operation) -> bool:
    """Return whether an op loads from a read-only kernel argument."""
    if not isinstance(op, memref.LoadOp) or not isinstance(op.memref, BlockArgument):
        return False
    if not isinstance(op.memref.block.parent_op(), cuda.KernelOp):
        return False
    return all(isinstance(use.operation, memref.LoadOp) for use in op.memref.uses)


def _is_run(loop: scf.ForOp) -> bool:
    """Return whether the bounds of a loop are constants with at least one iteration."""
    start, stop = (known_index(bound) for bound in (loop.lb, loop.ub))
    return start is not None and stop is not None and start < stop
