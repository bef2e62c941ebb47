"""The pass `restore-exits`: `break` and `return` where variables say that something is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from hidet.analysis.kernels import kernels_of
from hidet.analysis.memory import is_arithmetic
from hidet.dialects.constants import known_condition
from hidet.dialects.cuda.attributes import LeaveKind, Space, is_variable, space_of
from hidet.dialects.cuda.control import LeaveOp
from hidet.dialects.cuda.kernel import KernelOp
from hidet.rewriting.builder import KernelBuilder

Loop = scf.ForOp | scf.WhileOp


@dataclass(frozen=True)
class RestoreExitsPass(ModulePass):
    """Turn variables that tell whether something has been left into `break`, `continue`, `return`.

    Such a variable is true at first, and false from some place on. Loops and branches look at it,
    and do nothing after that place. Where all that comes after it does nothing, the kernel returns
    there; where the rest of a loop or of an iteration does nothing, that is left. A variable that
    nobody reads any more vanishes. A loop that would run through its range for nothing is left at
    the end of an iteration.

    Expects: kernels at the `cuda` level with variables in place of results. Leaves: `cuda.leave`,
    which only `form-expressions` and the printer know.
    """

    name = "restore-exits"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run on all kernels of a module."""
        for kernel in kernels_of(op):
            for flag in _flags(kernel):
                flag.restore()
            _flatten(kernel)


@dataclass
class Flag:
    """A variable that is true from its declaration on until a store makes it false.

    Attributes:
        variable: its memref.
        start: the store that makes it true.
        stores: those that make it false.
    """

    variable: SSAValue
    start: memref.StoreOp
    stores: list[memref.StoreOp]

    @property
    def loads(self) -> list[memref.LoadOp]:
        """The places where it is looked at."""
        uses = (use.operation for use in self.variable.uses)
        return [op for op in uses if isinstance(op, memref.LoadOp)]

    def restore(self) -> None:
        """Replace the variable by ways out, as far as that is possible."""
        whole = {
            LeaveKind.BREAK: self._is_of_one_loop,
            LeaveKind.CONTINUE: lambda: all(map(self._ends_iteration, self.stores)),
            LeaveKind.RETURN: lambda: all(map(self._ends_kernel, self.stores)),
        }
        for kind, holds in whole.items():
            if holds():
                for store in self.stores:
                    _leave_after(store, kind)
                self._assume_true(self.loads)
                self._drop()
                return
        left = {store: loop for store in self.stores if (loop := self._left_by(store)) is not None}
        for store in left:
            _leave_after(store, LeaveKind.BREAK)
        for loop in dict.fromkeys(left.values()):
            within = {store for store in self.stores if loop.is_ancestor(store)}
            if all(left.get(store) is loop for store in within) and self._is_true_at(loop):
                self._assume_true([load for load in self.loads if loop.is_ancestor(load)])
        if not self.loads:
            self._drop()
        self._leave_idle_loops(set(left.values()))

    def _drop(self) -> None:
        """Erase the variable, which nobody reads."""
        alloca = self.variable.owner
        assert isinstance(alloca, memref.AllocaOp)
        for op in (*self.stores, self.start, alloca):
            op.detach()
            op.erase()
        self.stores = []

    def _is_of_one_loop(self) -> bool:
        """Return whether the variable only tells that one loop has been left."""
        (loop, *others) = dict.fromkeys(map(self._left_by, self.stores))
        if loop is None or others or not self._is_true_at(loop):
            return False
        return all(loop.is_ancestor(load) for load in self.loads)

    def _ends_kernel(self, store: memref.StoreOp) -> bool:
        """Return whether nothing happens after a store until the end of the kernel."""
        op: Operation = store
        while not isinstance(op, KernelOp):
            if not _Idle(self, at_end=True).are_idle(_after(op)):
                return False
            parent = op.parent_op()
            assert parent is not None
            if isinstance(parent, Loop) and not _Idle(self, at_end=True).is_idle(parent):
                return False
            op = parent
        return True

    def _left_by(self, store: memref.StoreOp) -> Loop | None:
        """Return the innermost loop around a store, if it does nothing after the store."""
        loop = self._idle_until(store)
        return loop if loop is not None and _Idle(self).ends(loop) else None

    def _ends_iteration(self, store: memref.StoreOp) -> bool:
        """Return whether the rest of an iteration does nothing, and the next one starts anew."""
        loop = self._idle_until(store)
        return loop is not None and loop.is_ancestor(self.start)

    def _idle_until(self, store: memref.StoreOp) -> Loop | None:
        """Return the innermost loop around a store, if nothing happens in the rest of its body."""
        op: Operation = store
        while not isinstance(op, KernelOp | Loop):
            if not _Idle(self).are_idle(_after(op)):
                return None
            parent = op.parent_op()
            assert parent is not None
            op = parent
        return None if isinstance(op, KernelOp) else op

    def _is_true_at(self, op: Operation) -> bool:
        """Return whether the variable is true where an operation begins."""
        while not isinstance(op, KernelOp):
            before = op.prev_op
            while before is not None:
                if before is self.start:
                    return True
                if any(before.is_ancestor(store) for store in self.stores):
                    return False
                before = before.prev_op
            parent = op.parent_op()
            assert parent is not None
            if isinstance(parent, scf.IfOp) and op.parent is parent.true_region.block:
                loads: set[SSAValue] = {load.res for load in self.loads}
                if _implies(parent.cond, loads) and self._is_fresh(parent):
                    return True
            if isinstance(parent, Loop) and any(parent.is_ancestor(each) for each in self.stores):
                return False
            op = parent
        return False

    def _is_fresh(self, branch: scf.IfOp) -> bool:
        """Return whether nothing has changed since a branch's condition was read."""
        before = branch.prev_op
        while before is not None:
            if isinstance(before, memref.LoadOp) and before.memref is self.variable:
                return True
            if any(before.is_ancestor(store) for store in self.stores):
                return False
            before = before.prev_op
        return False

    def _assume_true(self, loads: Iterable[memref.LoadOp]) -> None:
        """Replace loads by true, and fold what follows from it."""
        for load in loads:
            builder = KernelBuilder(InsertPoint.before(load))
            _replace(load, builder.scalar(1, i1))

    def _leave_idle_loops(self, left: set[Loop]) -> None:
        """Leave the loops that would run through their range for nothing, after each iteration."""
        if not self.loads:
            return
        around = {
            loop: None
            for store in self.stores
            for loop in _loops_around(store)
            if isinstance(loop, scf.ForOp) and not loop.is_ancestor(self.start)
        }
        for loop in around:
            if loop in left or not _Idle(self).ends(loop):
                continue
            end = loop.body.block.last_op
            assert end is not None
            builder = KernelBuilder(InsertPoint.before(end))
            true = builder.scalar(1, i1)
            over = builder.insert(arith.XOrIOp(builder.load(self.variable), true))
            with builder.when(over.result):
                builder.insert(LeaveOp(LeaveKind.BREAK))
            if self._is_true_at(loop):
                self._assume_true(self._first_loads(loop))

    def _first_loads(self, loop: scf.ForOp) -> list[memref.LoadOp]:
        """Return the loads of an iteration that come before the variable can become false."""
        loads: list[memref.LoadOp] = []
        for op in loop.body.block.ops:
            if any(op.is_ancestor(store) for store in self.stores):
                break
            if isinstance(op, memref.LoadOp) and op.memref is self.variable:
                loads.append(op)
        return loads


@dataclass
class _Idle:
    """Tells which operations do nothing once a variable is false.

    Attributes:
        flag: the variable.
        at_end: whether the kernel ends after them, so that its own variables no longer matter.
        seen: the loads of the variable that come after it is false.
    """

    flag: Flag
    at_end: bool = False
    seen: set[SSAValue] = field(default_factory=set[SSAValue])

    def are_idle(self, ops: Iterable[Operation]) -> bool:
        """Return whether operations, one after the other, do nothing."""
        return all(self.is_idle(op) for op in ops)

    def is_idle(self, op: Operation) -> bool:
        """Return whether an operation does nothing."""
        match op:
            case memref.LoadOp():
                if op.memref is self.flag.variable:
                    self.seen.add(op.res)
                return True
            case memref.StoreOp():
                own = space_of(op.memref.type) is Space.LOCAL
                return self.at_end and own and op.memref is not self.flag.variable
            case scf.IfOp() if _implies(op.cond, self.seen):
                return all(self.are_idle(block.ops) for block in op.false_region.blocks)
            case scf.IfOp() | scf.ForOp() | scf.WhileOp():
                if isinstance(op, scf.WhileOp) and self.ends(op):
                    return True
                return all(self.are_idle(block.ops) for r in op.regions for block in r.blocks)
            case scf.YieldOp() | scf.ConditionOp() | memref.AllocaOp():
                return True
            case _:
                return is_arithmetic(op)

    def ends(self, loop: Loop) -> bool:
        """Return whether no further iteration of a loop does anything."""
        if isinstance(loop, scf.ForOp):
            return self.are_idle(loop.body.block.ops)
        before = loop.before_region.block
        if not self.are_idle(before.ops):
            return False
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp)
        return _implies(condition.condition, self.seen)


def _flags(kernel: KernelOp) -> list[Flag]:
    """Return the variables of a kernel that are true once and false from some place on."""
    flags: list[Flag] = []
    for op in kernel.body.walk():
        if not isinstance(op, memref.AllocaOp) or not is_variable(op.memref):
            continue
        users = [use.operation for use in op.memref.uses]
        stores = [user for user in users if isinstance(user, memref.StoreOp)]
        others = [user for user in users if not isinstance(user, memref.StoreOp | memref.LoadOp)]
        known = {store: known_condition(store.value) for store in stores}
        starts = [store for store, value in known.items() if value]
        ends = [store for store, value in known.items() if value is False]
        if others or len(starts) != 1 or not ends or len(ends) + 1 != len(stores):
            continue
        if starts[0].parent is op.parent:
            flags.append(Flag(op.memref, starts[0], ends))
    return flags


def _implies(condition: SSAValue, values: set[SSAValue]) -> bool:
    """Return whether a condition holds only if one of some values does."""
    op = condition.owner
    if condition in values:
        return True
    match op:
        case arith.AndIOp():
            return any(_implies(operand, values) for operand in op.operands)
        case scf.IfOp() if op.false_region.blocks:
            last = op.false_region.block.last_op
            is_false = isinstance(last, scf.YieldOp) and known_condition(last.operands[0]) is False
            return is_false and _implies(op.cond, values)
        case _:
            return False


def _after(op: Operation) -> Iterator[Operation]:
    """Give the operations that follow one in its block."""
    following = op.next_op
    while following is not None:
        yield following
        following = following.next_op


def _loops_around(op: Operation) -> Iterator[Loop]:
    """Give the loops around an operation, the innermost first."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, KernelOp):
        if isinstance(parent, Loop):
            yield parent
        parent = parent.parent_op()


def _leave_after(op: Operation, kind: LeaveKind) -> None:
    """Insert a way out after an operation."""
    KernelBuilder(InsertPoint.after(op)).insert(LeaveOp(kind))


def _replace(op: Operation, value: SSAValue) -> None:
    """Replace an operation by a condition that is true, and fold what follows from it."""
    (result,) = op.results
    users = [use.operation for use in result.uses]
    result.replace_all_uses_with(value)
    op.detach()
    op.erase()
    for user in users:
        if isinstance(user, arith.AndIOp):
            other = user.lhs if user.rhs is value else user.rhs
            _replace_by(user, other)
        elif isinstance(user, scf.IfOp):
            _inline(user)


def _replace_by(op: Operation, value: SSAValue) -> None:
    """Replace an operation by one of its operands."""
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()


def _inline(branch: scf.IfOp) -> None:
    """Replace a branch that is always taken by what it does."""
    yielded: list[SSAValue] = []
    for op in list(branch.true_region.block.ops):
        op.detach()
        if isinstance(op, scf.YieldOp):
            yielded = list(op.operands)
            op.drop_all_references()
        else:
            assert branch.parent is not None
            branch.parent.insert_op_before(op, branch)
    for result, value in zip(branch.results, yielded, strict=True):
        result.replace_all_uses_with(value)
    branch.detach()
    branch.erase()


def _flatten(kernel: KernelOp) -> None:
    """Move what stands in the `else` of a branch that is left to the place after it."""
    for op in list(kernel.body.walk(reverse=True)):
        if not isinstance(op, scf.IfOp) or op.results or not op.false_region.blocks:
            continue
        then, otherwise = op.true_region.block, op.false_region.block
        if not _is_left(then):
            continue
        place = op
        for inner in list(otherwise.ops):
            inner.detach()
            if isinstance(inner, scf.YieldOp):
                inner.drop_all_references()
            else:
                assert op.parent is not None
                op.parent.insert_op_after(inner, place)
                place = inner
        op.false_region.erase_block(otherwise)


def _is_left(block: Block) -> bool:
    """Return whether a block ends with a way out."""
    end = block.last_op
    return end is not None and isinstance(end.prev_op, LeaveOp)
