"""Dead code elimination in one backward walk."""

from enum import Enum, auto

from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator, MemoryEffectKind, Pure, RecursiveMemoryEffect, get_effects

from hidet.analysis.memory import is_arithmetic
from hidet.dialects.walking import blocks_in


class _Kind(Enum):
    """How the effects of an operation are determined."""

    PURE = auto()
    AS_ITS_BODY = auto()
    OTHER = auto()


def drop_dead_code(op: Operation) -> None:
    """Erase all ops nested in an op that have no side effect and whose results are unused.

    Memory reads and allocations do not count as side effects. The walk is linear in program size;
    xDSL's `dce` visits every op at least twice, and nested ops once per surrounding op.
    """
    sweeper = _Sweeper()
    for block in blocks_in(op):
        sweeper.sweep(block)


class _Sweeper:
    """Erases dead ops of blocks; caches the effect kind per op class."""

    def __init__(self) -> None:
        self._kinds: dict[type[Operation], _Kind] = {}

    def sweep(self, block: Block) -> bool:
        """Erase the dead ops of a block; return whether the remaining ones have side effects."""
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
        """Sweep the regions of an op; return whether the op has side effects."""
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
