"""Checks of expression folding: the invariants that `form-expressions` establishes."""

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.traits import is_side_effect_free

from hidet.analysis.memory import (
    Memory,
    MemoryClass,
    WritesAfter,
    is_arithmetic,
    reads_of_expression,
    writes_of,
)
from hidet.dialects.cuda import KernelOp
from hidet.dialects.cuda.marks import CONSTANT, FORMED, UPDATE
from hidet.dialects.walking import blocks_in, ops_of_class
from hidet.legality.report import illegal


def check_expressions(kernel: KernelOp) -> None:
    """Check the unnamed values of a kernel marked `cuda.formed`, which are printed at their use.

    Such a value has one use, unless it is a constant. The memory that it reads must not be written
    between the read and the statement that it is part of. Other kernels pass.
    """
    if FORMED in kernel.attributes:
        _Expressions(kernel)


class _Expressions:
    """Walks a kernel backwards, users first, so that the statement of a use is known."""

    def __init__(self, kernel: KernelOp) -> None:
        # No launch writes these, so that a wait for other launches is no write.
        self._constants = {
            argument
            for number, argument in enumerate(kernel.arguments)
            if kernel.is_marked(CONSTANT, number)
        }
        # The statement that an unnamed op is part of.
        self._statement: dict[Operation, Operation] = {}
        self._position: dict[Operation, int] = {}
        self._contracted = {
            load for op in kernel.body.walk() if (load := _old_value(op)) is not None
        }
        self._block(kernel.body.block)

    def _block(self, block: Block) -> set[Memory]:
        """Check a block; return the memory that it writes."""
        after = WritesAfter()
        for position, op in reversed(list(enumerate(block.ops))):
            self._position[op] = position
            writes = writes_of(op)
            # An atomic whose result is unused is a statement.
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
        """Check an arm of a conditional expression, which is part of one statement."""
        for op in reversed(list(arm.ops)):
            self._statement[op] = statement
            if is_folded(op):
                self._only_use(op)
            for inner in blocks_in(op):
                self._arm(inner, statement)

    def _check(self, op: Operation, after: WritesAfter) -> None:
        """Check an unnamed op of a block."""
        user = self._only_use(op).operation
        statement = self._statement.get(user, user)
        self._statement[op] = statement
        reads = reads_of_expression(op)
        if not reads:
            return
        if statement.parent is not op.parent or isinstance(statement, scf.ForOp):
            raise illegal(op, f"a value that is read from memory is evaluated in {statement.name}")
        end = self._position[statement]
        if reads == {MemoryClass.GLOBAL} and all(
            load.memref in self._constants for load in ops_of_class(op, memref.LoadOp)
        ):
            return
        if any(after.is_written_before(memory, end) for memory in reads):
            raise illegal(
                op, f"what it reads may be written before {statement.name}, where it is evaluated"
            )

    def _only_use(self, op: Operation) -> Use:
        """Return the only printed use of an op."""
        uses = [use for use in op.results[0].uses if use.operation not in self._contracted]
        if len(uses) != 1:
            raise illegal(
                op,
                f"a value without a name is used {len(uses)} times",
                "form-expressions names what is not used once; nothing may run after it",
            )
        return uses[0]


def is_folded(op: Operation) -> bool:
    """Return whether the value of an op is printed at its use.

    An op with side effects and an unused result is a statement.
    """
    return (
        len(op.results) == 1
        and op.results[0].name_hint is None
        and not isinstance(op, arith.ConstantOp | memref.AllocaOp)
        and (op.results[0].first_use is not None or is_arithmetic(op) or is_side_effect_free(op))
    )


def _old_value(op: Operation) -> Operation | None:
    """Return the load that a compound assignment `x[i] += v` contains."""
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
