"""Dead code elimination in one backward walk."""

from enum import Enum, auto
from functools import cache

from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator, MemoryEffectKind, Pure, RecursiveMemoryEffect, get_effects

from hidet.analysis.memory import is_arithmetic_class
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
    for block in blocks_in(op):
        _sweep(block)


def _sweep(block: Block) -> bool:
    """Erase the dead ops of a block; return whether the remaining ones have side effects."""
    has_effect = False
    op = block.last_op
    while op is not None:
        previous = op.prev_op
        has_inner = op.regions and any([_sweep(inner) for inner in blocks_in(op)])
        is_unused = all(result.first_use is None for result in op.results)
        if is_unused or not has_effect:
            if _has_effect(op, bool(has_inner)):
                has_effect = True
            elif is_unused and not _is_terminator(type(op)):
                block.erase_op(op)
        op = previous
    return has_effect


def _has_effect(op: Operation, has_inner: bool) -> bool:
    """Return whether an op has side effects; `has_inner` is whether the ops in its regions do."""
    match _kind(type(op)):
        case _Kind.PURE:
            return False
        case _Kind.AS_ITS_BODY:
            return has_inner
        case _Kind.OTHER:
            effects = get_effects(op)
            return effects is None or any(
                effect.kind not in (MemoryEffectKind.READ, MemoryEffectKind.ALLOC)
                for effect in effects
            )


@cache
def _kind(kind: type[Operation]) -> _Kind:
    if is_arithmetic_class(kind) or kind.has_trait(Pure, value_if_unregistered=False):
        return _Kind.PURE
    if kind.has_trait(RecursiveMemoryEffect, value_if_unregistered=False):
        return _Kind.AS_ITS_BODY
    return _Kind.OTHER


@cache
def _is_terminator(kind: type[Operation]) -> bool:
    return kind.has_trait(IsTerminator)
