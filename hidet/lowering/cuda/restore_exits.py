"""The pass `restore-exits`: turns flags of early exits into `break`, `continue` and `return`."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.memory import is_arithmetic
from hidet.dialects.constants import known_condition
from hidet.dialects.cuda import KernelOp, LeaveKind, LeaveOp, Space, is_variable, space_of
from hidet.dialects.walking import ops_in, ops_of_class, parents_of
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.inlining import inline_region
from hidet.rewriting.kernel_pass import KernelPass

Loop = scf.ForOp | scf.WhileOp

_Values = frozenset[bool]
"""The possible values of a flag; empty where control flow does not reach."""

_TRUE, _ANY, _UNREACHED = frozenset({True}), frozenset({True, False}), frozenset[bool]()


@dataclass(frozen=True)
class RestoreExitsPass(KernelPass):
    """Turn flags that scripts use for early exits into `break`, `continue` and `return`.

    A flag is initialized to true and becomes false at an exit. Loops and branches test it and do
    nothing once it is false. An exit after which the rest of the kernel does nothing becomes a
    `return`; one after which the rest of a loop or an iteration does nothing becomes a `break` or
    `continue`. Flags that are no longer read are removed. Loops that would iterate without effect
    are exited at the end of an iteration.

    Expects: kernels at the `cuda` level with variables in place of results. Leaves: `cuda.leave`,
    which only `form-expressions` and the printer support.
    """

    name = "restore-exits"

    def run(self, kernel: KernelOp) -> None:
        """Restore the exits of one kernel."""
        for flag in _flags(kernel):
            flag.restore(kernel)
        _flatten(kernel)


@dataclass
class Flag:
    """A variable that is true from its initialization until a store makes it false."""

    variable: SSAValue
    start: memref.StoreOp
    stores: list[memref.StoreOp]

    @property
    def loads(self) -> list[memref.LoadOp]:
        """The loads of the flag."""
        uses = (use.operation for use in self.variable.uses)
        return [op for op in uses if isinstance(op, memref.LoadOp)]

    def restore(self, kernel: KernelOp) -> None:
        """Replace the flag by exits, as far as possible."""
        left = self._insert_exits(kernel)
        _FlagValues(self).fold(kernel)
        if self.loads and self._exit_idle_loops(left):
            _FlagValues(self).fold(kernel)
        if not self.loads:
            alloca = self.variable.owner
            assert isinstance(alloca, memref.AllocaOp)
            for op in (*self.stores, self.start, alloca):
                Rewriter.erase_op(op)

    def _insert_exits(self, kernel: KernelOp) -> set[Loop]:
        """Insert exits after stores where possible; return the loops that are exited."""
        loops = {store: self._exited_loop(store) for store in self.stores}
        (loop, *others) = dict.fromkeys(loops.values())
        if loop is not None and not others and all(map(loop.is_ancestor, self.loads)):
            exits = dict.fromkeys(self.stores, LeaveKind.BREAK)
        elif all(map(self._ends_iteration, self.stores)):
            exits = dict.fromkeys(self.stores, LeaveKind.CONTINUE)
        elif all(kernel in self._idle_up_to(store, at_end=True) for store in self.stores):
            exits = dict.fromkeys(self.stores, LeaveKind.RETURN)
        else:
            exits = {store: LeaveKind.BREAK for store in self.stores if loops[store] is not None}
        for store, kind in exits.items():
            KernelBuilder(InsertPoint.after(store)).insert(LeaveOp(kind))
        return {loop for loop in loops.values() if loop is not None}

    def _exited_loop(self, store: memref.StoreOp) -> Loop | None:
        """Return the innermost loop around a store if nothing in it happens after the store."""
        loop = next(self._idle_up_to(store), None)
        return loop if isinstance(loop, Loop) and _IdleOps(self.variable).ends(loop) else None

    def _ends_iteration(self, store: memref.StoreOp) -> bool:
        """Return whether the rest of the iteration does nothing and the next resets the flag."""
        loop = next(self._idle_up_to(store), None)
        return isinstance(loop, Loop) and loop.is_ancestor(self.start)

    def _idle_up_to(
        self, store: memref.StoreOp, *, at_end: bool = False
    ) -> Iterator[Loop | KernelOp]:
        """Yield the loops around a store, and the kernel, whose rest does nothing after it."""
        op, idle = store, _IdleOps(self.variable, at_end)
        while not isinstance(op, KernelOp) and idle.are_idle(_after(op)):
            op = op.parent_op()
            assert op is not None
            if isinstance(op, Loop | KernelOp):
                yield op
            if isinstance(op, Loop) and not idle.is_idle(op):
                return

    def _exit_idle_loops(self, left: set[Loop]) -> bool:
        """Break at the end of an iteration from loops that would go on without effect, if any."""
        around = dict.fromkeys(parent for store in self.stores for parent in parents_of(store))
        idle = [
            loop
            for loop in around
            if isinstance(loop, scf.ForOp)
            and loop not in left
            and not loop.is_ancestor(self.start)
            and _IdleOps(self.variable).ends(loop)
        ]
        for loop in idle:
            end = loop.body.block.last_op
            assert end is not None
            builder = KernelBuilder(InsertPoint.before(end))
            true = builder.scalar(1, i1)
            over = arith.XOrIOp(builder.load(self.variable), true)
            with builder.when(builder.insert(over).result):
                builder.insert(LeaveOp(LeaveKind.BREAK))
        return bool(idle)


@dataclass
class _FlagValues:
    """Propagates the possible values of a flag to its loads, and folds them.

    Attributes:
        flag: the flag.
        values: the possible values of each load.
        fresh: the loads since the last store.
        at_exits: the possible values at the exits of the current loop.
    """

    flag: Flag
    values: defaultdict[memref.LoadOp, _Values] = field(
        default_factory=lambda: defaultdict(frozenset[bool])
    )
    fresh: set[SSAValue] = field(default_factory=set[SSAValue])
    at_exits: dict[LeaveKind, _Values] = field(default_factory=dict[LeaveKind, _Values])

    def fold(self, kernel: KernelOp) -> None:
        """Replace loads with a known value."""
        self._block(kernel.body.block, _ANY)
        for load, values in self.values.items():
            if values != _ANY and load.parent is not None:
                _replace(load, values == _TRUE)

    def _block(self, block: Block, values: _Values) -> _Values:
        """Return the possible values after a block, given those before."""
        for op in block.ops:
            match op:
                case memref.StoreOp() if op.memref is self.flag.variable:
                    values = frozenset({op is self.flag.start})
                    self.fresh.clear()
                case memref.LoadOp() if op.memref is self.flag.variable:
                    self.values[op] |= values
                    self.fresh.add(op.res)
                case LeaveOp():
                    self.at_exits[op.kind.data] = (
                        self.at_exits.get(op.kind.data, _UNREACHED) | values
                    )
                    values = _UNREACHED
                case scf.IfOp():
                    values = self._branch(op, values)
                case scf.ForOp() | scf.WhileOp():
                    values = self._loop(op, values)
                case _:
                    pass
        return values

    def _branch(self, op: scf.IfOp, values: _Values) -> _Values:
        """Return the possible values after a branch, whose condition may test the flag."""
        then = values & _TRUE if _implies(op.cond, self.fresh) else values
        negated = op.cond.owner.operands[0] if isinstance(op.cond.owner, arith.XOrIOp) else None
        otherwise = values & _TRUE if negated in self.fresh else values
        then = self._block(op.true_region.block, then)
        for block in op.false_region.blocks:
            otherwise = self._block(block, otherwise)
        return then | otherwise

    def _loop(self, op: Loop, values: _Values) -> _Values:
        """Return the possible values after a loop."""
        outer = self.at_exits
        while True:
            self.fresh.clear()
            self.at_exits = {}
            checked = values
            if isinstance(op, scf.WhileOp):
                checked = self._block(op.before_region.block, values)
            body = op.body.block if isinstance(op, scf.ForOp) else op.after_region.block
            again = self._block(body, checked) | self.at_exits.get(LeaveKind.CONTINUE, _UNREACHED)
            if again <= values:
                break
            values |= again
        left = checked | self.at_exits.get(LeaveKind.BREAK, _UNREACHED)
        self.fresh.clear()
        self.at_exits = outer
        return left


@dataclass
class _IdleOps:
    """Finds operations without effect once a flag is false.

    Attributes:
        variable: the memref of the flag.
        at_end: whether the kernel ends after them, so that stores to variables have no effect.
        seen: the loads of the flag after it is false.
    """

    variable: SSAValue
    at_end: bool = False
    seen: set[SSAValue] = field(default_factory=set[SSAValue])

    def are_idle(self, ops: Iterable[Operation]) -> bool:
        """Return whether a sequence of operations has no effect."""
        return all(self.is_idle(op) for op in ops)

    def is_idle(self, op: Operation) -> bool:
        """Return whether an operation has no effect."""
        match op:
            case memref.LoadOp():
                if op.memref is self.variable:
                    self.seen.add(op.res)
                return True
            case memref.StoreOp():
                own = space_of(op.memref.type) is Space.LOCAL
                return self.at_end and own and op.memref is not self.variable
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
        """Return whether no further iteration of a loop has an effect."""
        if isinstance(loop, scf.ForOp):
            return self.are_idle(loop.body.block.ops)
        before = loop.before_region.block
        if not self.are_idle(before.ops):
            return False
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp)
        return _implies(condition.condition, self.seen)


def _flags(kernel: KernelOp) -> Iterator[Flag]:
    """Yield the flags of a kernel.

    Each is checked in turn, since restoring one may fold uses of the next.
    """
    for op in ops_of_class(kernel.body, memref.AllocaOp):
        if not is_variable(op.memref):
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
            yield Flag(op.memref, starts[0], ends)


def _implies(condition: SSAValue, values: set[SSAValue]) -> bool:
    """Return whether a condition implies one of some values."""
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
    """Yield the operations that follow one in its block."""
    following = op.next_op
    while following is not None:
        yield following
        following = following.next_op


def _replace(load: memref.LoadOp, known: bool) -> None:
    """Replace a load with a constant, and fold its users."""
    value = KernelBuilder(InsertPoint.before(load)).scalar(int(known), i1)
    users = [use.operation for use in load.res.uses]
    Rewriter.replace_op(load, [], [value])
    for user in users:
        if user.parent is None:  # erased together with an enclosing branch
            continue
        if isinstance(user, arith.AndIOp) and known:
            Rewriter.replace_op(user, [], [user.lhs if user.rhs is value else user.rhs])
        elif isinstance(user, scf.IfOp):
            inline_region(user, user.true_region if known else user.false_region)


def _flatten(kernel: KernelOp) -> None:
    """Move the `else` of a branch whose `then` exits to the code after it."""
    for op in ops_in(kernel.body, backwards=True):
        if not isinstance(op, scf.IfOp) or op.results or not op.false_region.blocks:
            continue
        end, otherwise = op.true_region.block.last_op, op.false_region.block
        if end is None or not isinstance(end.prev_op, LeaveOp):
            continue
        assert otherwise.last_op is not None
        otherwise.erase_op(otherwise.last_op)
        Rewriter.inline_block(otherwise, InsertPoint.after(op))
