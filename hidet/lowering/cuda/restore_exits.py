"""The pass `restore-exits`: `break` and `return` where variables say that something is left."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.memory import is_arithmetic
from hidet.dialects.constants import known_condition
from hidet.dialects.cuda.attributes import LeaveKind, Space, is_variable, space_of
from hidet.dialects.cuda.control import LeaveOp
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.walking import parents_of
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.kernel_pass import KernelPass
from hidet.rewriting.regions import inline_region

Loop = scf.ForOp | scf.WhileOp

_Values = frozenset[bool]
"""What a variable may hold at a place; nothing where nobody comes."""

_TRUE, _ANY, _NOWHERE = frozenset({True}), frozenset({True, False}), frozenset[bool]()


@dataclass(frozen=True)
class RestoreExitsPass(KernelPass):
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

    def run(self, kernel: KernelOp) -> None:
        """Restore the exits of one kernel."""
        for flag in _flags(kernel):
            flag.restore(kernel)
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

    def restore(self, kernel: KernelOp) -> None:
        """Replace the variable by ways out, as far as that is possible."""
        left = self._leave(kernel)
        _Known(self).fold(kernel)
        if self.loads and self._leave_idle_loops(left):
            _Known(self).fold(kernel)
        if not self.loads:
            alloca = self.variable.owner
            assert isinstance(alloca, memref.AllocaOp)
            for op in (*self.stores, self.start, alloca):
                Rewriter.erase_op(op)

    def _leave(self, kernel: KernelOp) -> set[Loop]:
        """Insert ways out after stores, as far as there are any; return the loops that are left."""
        loops = {store: self._left_by(store) for store in self.stores}
        (loop, *others) = dict.fromkeys(loops.values())
        if loop is not None and not others and all(map(loop.is_ancestor, self.loads)):
            ways = dict.fromkeys(self.stores, LeaveKind.BREAK)
        elif all(map(self._ends_iteration, self.stores)):
            ways = dict.fromkeys(self.stores, LeaveKind.CONTINUE)
        elif all(kernel in self._idle_up_to(store, at_end=True) for store in self.stores):
            ways = dict.fromkeys(self.stores, LeaveKind.RETURN)
        else:
            ways = {store: LeaveKind.BREAK for store in self.stores if loops[store] is not None}
        for store, kind in ways.items():
            KernelBuilder(InsertPoint.after(store)).insert(LeaveOp(kind))
        return {loop for loop in loops.values() if loop is not None}

    def _left_by(self, store: memref.StoreOp) -> Loop | None:
        """Return the innermost loop around a store, if it does nothing after the store."""
        loop = next(self._idle_up_to(store), None)
        return loop if isinstance(loop, Loop) and _Idle(self.variable).ends(loop) else None

    def _ends_iteration(self, store: memref.StoreOp) -> bool:
        """Return whether the rest of an iteration does nothing, and the next one starts anew."""
        loop = next(self._idle_up_to(store), None)
        return isinstance(loop, Loop) and loop.is_ancestor(self.start)

    def _idle_up_to(
        self, store: memref.StoreOp, *, at_end: bool = False
    ) -> Iterator[Loop | KernelOp]:
        """Give the loops around a store, and the kernel, in whose rest nothing happens any more."""
        op, idle = store, _Idle(self.variable, at_end)
        while not isinstance(op, KernelOp) and idle.are_idle(_after(op)):
            op = op.parent_op()
            assert op is not None
            if isinstance(op, Loop | KernelOp):
                yield op
            if isinstance(op, Loop) and not idle.is_idle(op):
                return

    def _leave_idle_loops(self, left: set[Loop]) -> bool:
        """Leave the loops that would run through their range for nothing, after each iteration.

        Returns:
            Whether there is one.
        """
        around = dict.fromkeys(parent for store in self.stores for parent in parents_of(store))
        idle = [
            loop
            for loop in around
            if isinstance(loop, scf.ForOp)
            and loop not in left
            and not loop.is_ancestor(self.start)
            and _Idle(self.variable).ends(loop)
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
class _Known:
    """Finds out what a variable holds where it is looked at, and folds what follows from it.

    Attributes:
        flag: the variable.
        values: what each load may give.
        fresh: the loads after which nothing was stored.
        ways: what it may hold at the ways out of the loop that is being looked at.
    """

    flag: Flag
    values: defaultdict[memref.LoadOp, _Values] = field(
        default_factory=lambda: defaultdict(frozenset[bool])
    )
    fresh: set[SSAValue] = field(default_factory=set[SSAValue])
    ways: dict[LeaveKind, _Values] = field(default_factory=dict[LeaveKind, _Values])

    def fold(self, kernel: KernelOp) -> None:
        """Replace loads of what is known by that."""
        self._block(kernel.body.block, _ANY)
        for load, values in self.values.items():
            if values != _ANY and not _is_gone(load):
                _replace(load, values == _TRUE)

    def _block(self, block: Block, values: _Values) -> _Values:
        """Return what the variable may hold after a block, from what it may hold before."""
        for op in block.ops:
            match op:
                case memref.StoreOp() if op.memref is self.flag.variable:
                    values = frozenset({op is self.flag.start})
                    self.fresh.clear()
                case memref.LoadOp() if op.memref is self.flag.variable:
                    self.values[op] |= values
                    self.fresh.add(op.res)
                case LeaveOp():
                    self.ways[op.kind.data] = self.ways.get(op.kind.data, _NOWHERE) | values
                    values = _NOWHERE
                case scf.IfOp():
                    values = self._branch(op, values)
                case scf.ForOp() | scf.WhileOp():
                    values = self._loop(op, values)
                case _:
                    pass
        return values

    def _branch(self, op: scf.IfOp, values: _Values) -> _Values:
        """Return what the variable may hold after a branch, which may have asked for it."""
        then = values & _TRUE if _implies(op.cond, self.fresh) else values
        negated = op.cond.owner.operands[0] if isinstance(op.cond.owner, arith.XOrIOp) else None
        otherwise = values & _TRUE if negated in self.fresh else values
        then = self._block(op.true_region.block, then)
        for block in op.false_region.blocks:
            otherwise = self._block(block, otherwise)
        return then | otherwise

    def _loop(self, op: Loop, values: _Values) -> _Values:
        """Return what the variable may hold after a loop."""
        outer = self.ways
        while True:
            self.fresh.clear()
            self.ways = {}
            checked = values
            if isinstance(op, scf.WhileOp):
                checked = self._block(op.before_region.block, values)
            body = op.body.block if isinstance(op, scf.ForOp) else op.after_region.block
            again = self._block(body, checked) | self.ways.get(LeaveKind.CONTINUE, _NOWHERE)
            if again <= values:
                break
            values |= again
        left = checked | self.ways.get(LeaveKind.BREAK, _NOWHERE)
        self.fresh.clear()
        self.ways = outer
        return left


@dataclass
class _Idle:
    """Tells which operations do nothing once a variable is false.

    Attributes:
        variable: its memref.
        at_end: whether the kernel ends after them, so that its own variables no longer matter.
        seen: the loads of the variable that come after it is false.
    """

    variable: SSAValue
    at_end: bool = False
    seen: set[SSAValue] = field(default_factory=set[SSAValue])

    def are_idle(self, ops: Iterable[Operation]) -> bool:
        """Return whether operations, one after the other, do nothing."""
        return all(self.is_idle(op) for op in ops)

    def is_idle(self, op: Operation) -> bool:
        """Return whether an operation does nothing."""
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
        """Return whether no further iteration of a loop does anything."""
        if isinstance(loop, scf.ForOp):
            return self.are_idle(loop.body.block.ops)
        before = loop.before_region.block
        if not self.are_idle(before.ops):
            return False
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp)
        return _implies(condition.condition, self.seen)


def _flags(kernel: KernelOp) -> Iterator[Flag]:
    """Give the variables of a kernel that are true once and false from some place on.

    Each is looked at when its turn comes: to restore one may fold away what uses the next.
    """
    for op in [op for op in kernel.body.walk() if isinstance(op, memref.AllocaOp)]:
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


def _replace(load: memref.LoadOp, known: bool) -> None:
    """Replace a load by what it gives, and fold what follows from it."""
    value = KernelBuilder(InsertPoint.before(load)).scalar(int(known), i1)
    users = [use.operation for use in load.res.uses]
    Rewriter.replace_op(load, [], [value])
    for user in users:
        if _is_gone(user):
            continue
        if isinstance(user, arith.AndIOp) and known:
            Rewriter.replace_op(user, [], [user.lhs if user.rhs is value else user.rhs])
        elif isinstance(user, scf.IfOp):
            inline_region(user, user.true_region if known else user.false_region)


def _is_gone(op: Operation) -> bool:
    """Return whether an operation was folded away, maybe with a branch around it."""
    return op.parent is None


def _flatten(kernel: KernelOp) -> None:
    """Move what stands in the `else` of a branch that is left to the place after it."""
    for op in list(kernel.body.walk(reverse=True)):
        if not isinstance(op, scf.IfOp) or op.results or not op.false_region.blocks:
            continue
        end, otherwise = op.true_region.block.last_op, op.false_region.block
        if end is None or not isinstance(end.prev_op, LeaveOp):
            continue
        assert otherwise.last_op is not None
        otherwise.erase_op(otherwise.last_op)
        Rewriter.inline_block(otherwise, InsertPoint.after(op))
