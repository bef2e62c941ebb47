"""What folds into an expression: the rule that `form-expressions` keeps, and no pass may break."""

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.traits import is_side_effect_free

from hidet.analysis.memory import is_arithmetic
from hidet.analysis.memory_order import Memory, WritesAfter, reads_of_expression, writes_of
from hidet.dialects.cuda import KernelOp
from hidet.dialects.cuda.marks import FORMED, UPDATE
from hidet.dialects.walking import blocks_in
from hidet.legality.report import illegal


def check_expressions(kernel: KernelOp) -> None:
    """Check the values without a name of a kernel marked `cuda.formed`, which print where used.

    Such a value has one use, unless it is a constant. What it reads must not be written between
    its place and the statement in which its text ends. Kernels that are not formed pass.
    """
    if FORMED in kernel.attributes:
        _Expressions(kernel)


class _Expressions:
    """Goes through a kernel backwards: users are met first, so where a text ends is known."""

    def __init__(self, kernel: KernelOp) -> None:
        # The statement in which the text of an op without a name ends.
        self._statement: dict[Operation, Operation] = {}
        self._position: dict[Operation, int] = {}
        self._contracted = {
            load for op in kernel.body.walk() if (load := _old_value(op)) is not None
        }
        self._block(kernel.body.block)

    def _block(self, block: Block) -> set[Memory]:
        """Check a block; return what it writes."""
        after = WritesAfter()
        for position, op in reversed(list(enumerate(block.ops))):
            self._position[op] = position
            writes = writes_of(op)
            # An atomic whose old value nobody wants is a statement.
            if is_folded(op) and (op.results[0].first_use is not None or not writes):
                self._check(op, after)
            for inner in blocks_in(op):
                if op.results:
                    self._arm(inner, self._statement.get(op, op))
                else:
                    writes |= self._block(inner)
            after.add(writes, position)
        return set(after.next)

    def _arm(self, arm: Block, statement: Operation) -> None:
        """Check an arm of a conditional expression: all of it is part of one statement."""
        for op in reversed(list(arm.ops)):
            self._statement[op] = statement
            if is_folded(op):
                self._only_use(op)
            for inner in blocks_in(op):
                self._arm(inner, statement)

    def _check(self, op: Operation, after: WritesAfter) -> None:
        """Check one op of a block whose value has no name."""
        user = self._only_use(op).operation
        statement = self._statement.get(user, user)
        self._statement[op] = statement
        reads = reads_of_expression(op)
        if not reads:
            return
        if statement.parent is not op.parent or isinstance(statement, scf.ForOp):
            raise illegal(op, f"a value that is read from memory is evaluated in {statement.name}")
        end = self._position[statement]
        if any(after.is_written_before(memory, end) for memory in reads):
            raise illegal(
                op, f"what it reads may be written before {statement.name}, where it is evaluated"
            )

    def _only_use(self, op: Operation) -> Use:
        """Return the only place where the text of an op stands."""
        uses = [use for use in op.results[0].uses if use.operation not in self._contracted]
        if len(uses) != 1:
            raise illegal(
                op,
                f"a value without a name is used {len(uses)} times",
                "form-expressions names what is not used once; nothing may run after it",
            )
        return uses[0]


def is_folded(op: Operation) -> bool:
    """Return whether the value of an op is written where it is used; constants always are.

    What does more than compute a value is a statement where nobody wants the value.
    """
    return (
        len(op.results) == 1
        and op.results[0].name_hint is None
        and not isinstance(op, arith.ConstantOp | memref.AllocaOp)
        and (op.results[0].first_use is not None or is_arithmetic(op) or is_side_effect_free(op))
    )


def _old_value(op: Operation) -> Operation | None:
    """Return the load that a store printed as `x[i] += v` stands for."""
    number = op.attributes.get(UPDATE)
    if not isinstance(op, memref.StoreOp) or not isinstance(number, IntegerAttr):
        return None
    computed = op.value.owner
    if not isinstance(computed, Operation):
        return None
    count, position = len(computed.operands), number.value.data
    if not 0 <= position < count:
        raise illegal(op, f"{UPDATE} is {position}, but {computed.name} has {count} operands")
    old: SSAValue = computed.operands[position]
    return old.owner if isinstance(old.owner, Operation) else None
