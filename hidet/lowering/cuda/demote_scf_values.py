"""The pass `demote-scf-values`: replaces results of loops and branches by variables."""

from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.memory import is_arithmetic
from hidet.analysis.value_ranges import terminators_of
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.walking import blocks_in, ops_of_block
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.kernel_pass import KernelPass


class DemoteScfValuesPass(KernelPass):
    """Replace iteration arguments and results of `scf.for` and results of `scf.if` by variables.

    A variable is a rank-0 memref in `#cuda.space<local>`: stored before the loop, loaded at the top
    of the body, stored at its end, and loaded after the loop. A branch stores at the end of both
    arms. The loads at the top precede all stores of the body, so permutations in a yield are
    parallel assignments:

        %r:2 = scf.for ... iter_args(%a = %x, %b = %y) { scf.yield %b, %a }
        // becomes
        scf.for ... { %0 = load %va   %1 = load %vb   store %1, %va   store %0, %vb }

    A result that is only stored to the variable of an outer loop uses that variable. An `scf.if`
    that can be printed as `c ? a : b` keeps its result.

    Expects: kernels at the `cuda` level. Leaves: `scf.for` without values; `scf.if` without values,
    except conditional expressions.
    """

    name = "demote-scf-values"

    def run(self, kernel: KernelOp) -> None:
        """Demote the values of one kernel."""
        _Demotion().block(kernel.body.block)


@dataclass
class _Demotion:
    """Demotes the values of one kernel, outer ops before inner ones, later before earlier ones.

    In that order the store of a result exists when the op that yields the value is visited.
    """

    variables: set[SSAValue] = field(default_factory=set[SSAValue])

    def block(self, block: Block) -> None:
        """Demote the values of all loops and branches in a block, nested ones included."""
        for op in reversed(ops_of_block(block)):
            kept: Operation = op
            if not op.regions:
                continue
            if isinstance(op, scf.ForOp) and op.iter_args:
                kept = self._loop(op)
            elif isinstance(op, scf.IfOp) and op.results:
                if operators_of(op) is not None and not self._is_update(op):
                    continue
                kept = self._branch(op)
            for inner in blocks_in(kept):
                self.block(inner)

    def _loop(self, op: scf.ForOp) -> scf.ForOp:
        """Replace a loop by one without values."""
        body = op.body.block
        variables = [
            self._variable(op, result, argument.name_hint or result.name_hint)
            for argument, result in zip(body.args[1:], op.results, strict=True)
        ]
        for variable, start in zip(variables, op.iter_args, strict=True):
            self._store(start, variable, op)
        top = KernelBuilder.like(op, InsertPoint.at_start(body))
        for variable, argument in zip(variables, body.args[1:], strict=True):
            if argument.first_use is not None:
                argument.replace_all_uses_with(top.load(variable))
        for argument in list(body.args[1:]):
            body.erase_arg(argument)
        self._end(body, variables)
        bare = scf.ForOp(op.lb, op.ub, op.step, [], op.detach_region(op.body))
        _replace(op, bare, variables)
        return bare

    def _branch(self, op: scf.IfOp) -> scf.IfOp:
        """Replace a branch by one without values."""
        variables = [self._variable(op, result, result.name_hint) for result in op.results]
        for region in op.regions:
            self._end(region.block, variables)
        condition = op.cond
        then, otherwise = (op.detach_region(region) for region in tuple(op.regions))
        if _is_empty(otherwise):
            otherwise = Region()
        elif _is_empty(then):
            builder = KernelBuilder.like(op)
            negation = arith.XOrIOp(condition, builder.scalar(1, i1))
            condition = builder.insert(negation).result
            then, otherwise = otherwise, Region()
        bare = scf.IfOp(condition, [], then, otherwise)
        _replace(op, bare, variables)
        return bare

    def _is_update(self, op: scf.IfOp) -> bool:
        """Return whether an arm keeps the variable: `if (c) acc += x;` is clearer then."""
        store = self._outer_store(op.results[0])
        if store is None:
            return False
        ends = terminators_of(op)
        return any(_is_held(end.operands[0], store.memref, end.parent) for end in ends)

    def _variable(self, op: Operation, result: SSAValue, hint: str | None) -> SSAValue:
        """Return the variable of a result: that of an outer store, or a new one."""
        store = self._outer_store(result)
        if store is not None:
            variable, alloca = store.memref, store.memref.owner
            assert isinstance(alloca, memref.AllocaOp)
            if alloca.parent is op.parent:  # allocated before a later op, but needed here
                alloca.detach()
                Builder(InsertPoint.before(op)).insert(alloca)
            Rewriter.erase_op(store)
            return variable
        variable = KernelBuilder.like(op).local_array(result.type, [], hint)
        self.variables.add(variable)
        return variable

    def _outer_store(self, result: SSAValue) -> memref.StoreOp | None:
        """Return the store of a result to a variable of this pass, if that is its only use.

        The variable is not read in between: only at the top of its own loop body, and by ops whose
        results are not stored to it.
        """
        user = result.get_user_of_unique_use()
        if not isinstance(user, memref.StoreOp) or user.memref not in self.variables:
            return None
        assert isinstance(result.owner, Operation)
        return user if user.parent is result.owner.parent else None

    def _end(self, block: Block, variables: list[SSAValue]) -> None:
        """Store what a block yields, and yield nothing."""
        last = block.last_op
        assert isinstance(last, scf.YieldOp)
        for variable, value in zip(variables, last.arguments, strict=True):
            self._store(value, variable, last)
        last.operands = []

    def _store(self, value: SSAValue, variable: SSAValue, before: Operation) -> None:
        """Store a value to a variable before an op, unless the variable already holds it."""
        if not _is_held(value, variable, before.parent):
            KernelBuilder.like(before).store(value, variable)


def _replace(op: Operation, bare: Operation, variables: list[SSAValue]) -> None:
    """Replace an op with values by the one without."""
    bare.attributes = op.attributes
    KernelBuilder.like(op).insert(bare)
    after = KernelBuilder.like(op, InsertPoint.after(bare))
    for result, variable in zip(op.results, variables, strict=True):
        if result.first_use is not None:
            loaded = after.load(variable)
            loaded.name_hint = result.name_hint
            result.replace_all_uses_with(loaded)
    Rewriter.erase_op(op)


def _is_empty(arm: Region) -> bool:
    return isinstance(arm.block.first_op, scf.YieldOp)


def _is_held(value: SSAValue, variable: SSAValue, block: Block | None) -> bool:
    """Return whether a variable still holds a value that was loaded from it.

    It does in the body at whose top it was loaded, including branches, but not in nested loops,
    which may have changed it.
    """
    load = value.owner
    if not isinstance(load, memref.LoadOp) or load.memref is not variable:
        return False
    while block is not load.parent:
        branch = block.parent_op() if block is not None else None
        if not isinstance(branch, scf.IfOp):
            return False
        block = branch.parent
    return True


MAX_CONDITIONAL = 12
"""The most operators of a branch that is printed as `c ? a : b`."""

# Predicates of `arith.cmpf` without a C++ operator: operands are printed twice.
_TWICE = frozenset(
    number for number, name in enumerate(arith.CMPF_COMPARISON_OPERATIONS) if name in ("one", "ueq")
)


def prints_operands_twice(op: Operation) -> bool:
    """Return whether an op is printed with repeated operands, which then need names."""
    return isinstance(op, arith.CmpfOp) and op.predicate.value.data in _TWICE


def operators_of(op: scf.IfOp) -> int | None:
    """Return the number of operators of a branch that can be printed as `c ? a : b`, else None.

    Both arms must be trees of arithmetic and loads.
    """
    if len(op.results) != 1 or not op.false_region.blocks:
        return None
    total = 1
    for region in op.regions:
        operators = _operators_of_arm(region.block)
        if operators is None:
            return None
        total += operators
    return total if total <= MAX_CONDITIONAL else None


def _operators_of_arm(arm: Block) -> int | None:
    """Return the number of operators of an arm, None if it is not an expression."""
    total = 0
    for op in arm.ops:
        if isinstance(op, arith.ConstantOp | scf.YieldOp):
            continue
        operators = operators_of(op) if isinstance(op, scf.IfOp) else _operators_of_leaf(op, arm)
        if operators is None or not op.results[0].has_one_use():
            return None
        total += operators
    return total


def _operators_of_leaf(op: Operation, arm: Block) -> int | None:
    """Return 1 if an op of an arm can be part of an expression, else None.

    What it prints twice needs a name, and so is computed outside of the arm.
    """
    if not is_arithmetic(op) and not isinstance(op, memref.LoadOp):
        return None
    owners = [v.owner for v in op.operands if not isinstance(v.owner, Block | arith.ConstantOp)]
    if prints_operands_twice(op) and any(owner.parent is arm for owner in owners):
        return None
    return 1
