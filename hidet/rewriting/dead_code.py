"""Dead code elimination in one backward walk."""

from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator, MemoryEffectKind, RecursiveMemoryEffect

from hidet.dialects.effects import effects_of, has_trait
from hidet.dialects.walking import blocks_in


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
        is_unused = not any([result.first_use for result in op.results])
        if is_unused or not has_effect:
            if _has_effect(op, bool(has_inner)):
                has_effect = True
            elif is_unused and not has_trait(type(op), IsTerminator):
                block.detach_op(op).drop_all_references()
        op = previous
    return has_effect


def _has_effect(op: Operation, has_inner: bool) -> bool:
    """Return whether an op has side effects; `has_inner` is whether the ops in its regions do."""
    if has_trait(type(op), RecursiveMemoryEffect, False):
        return has_inner
    if not op.results:  # nothing else is computed without a result
        return not has_trait(type(op), IsTerminator)
    effects = effects_of(op)
    return effects is None or any(
        effect.kind not in (MemoryEffectKind.READ, MemoryEffectKind.ALLOC) for effect in effects
    )
