"""Dropping operations that nobody needs, in one walk from the users to what they use."""

from enum import Enum, auto

from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator, MemoryEffectKind, Pure, RecursiveMemoryEffect, get_effects

from hidet.analysis.memory import is_arithmetic
from hidet.dialects.walking import blocks_in


class _Kind(Enum):
    """How to tell whether an operation does more than give results."""

    PURE = auto()
    AS_ITS_BODY = auto()
    OTHER = auto()


def drop_dead_code(op: Operation) -> None:
    """Erase all operations inside of an operation that have no effect and whose results are unused.

    Reading memory and allocating it are no effects. The walk is linear in the size of the program;
    xDSL's `dce` looks at every operation at least twice, and at a nested one for each op around it.
    """
    sweeper = _Sweeper()
    for block in blocks_in(op):
        sweeper.sweep(block)


class _Sweeper:
    """Erases dead operations of blocks; knows the kinds of operations that it has met."""

    def __init__(self) -> None:
        self._kinds: dict[type[Operation], _Kind] = {}

    def sweep(self, block: Block) -> bool:
        """Erase the dead operations of a block; return whether those that are left have effects."""
        has_effect = False
        op = block.last_op
        while op is not None:
            previous = op.prev_op
            if self._has_effect(op):
                has_effect = True
            elif all(result.first_use is None for result in op.results) and not op.has_trait(
                IsTerminator
            ):
                block.erase_op(op)
            op = previous
        return has_effect

    def _has_effect(self, op: Operation) -> bool:
        """Return whether an operation does more than give results, after a sweep of its body."""
        inner = False
        for block in blocks_in(op):
            inner |= self.sweep(block)
        match self._kind(op):
            case _Kind.PURE:
                return False
            case _Kind.AS_ITS_BODY:
                return inner
            case _Kind.OTHER:
                effects = get_effects(op)
                return effects is None or any(
                    effect.kind not in (MemoryEffectKind.READ, MemoryEffectKind.ALLOC)
                    for effect in effects
                )

    def _kind(self, op: Operation) -> _Kind:
        known = self._kinds.get(type(op))
        if known is None:
            known = _Kind.OTHER
            if is_arithmetic(op) or op.has_trait(Pure, value_if_unregistered=False):
                known = _Kind.PURE
            elif op.has_trait(RecursiveMemoryEffect, value_if_unregistered=False):
                known = _Kind.AS_ITS_BODY
            self._kinds[type(op)] = known
        return known
