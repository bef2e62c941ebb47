"""Replacing an operation by what one of its regions does."""

from collections.abc import Sequence

from xdsl.ir import Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter


def inline_region(
    op: Operation, region: Region | None, values: Sequence[SSAValue] = ()
) -> Operation | None:
    """Replace an op by the ops of one of its regions; return the first op that is new.

    Args:
        op: the op.
        region: the region; without one, or where it has no block, the op only hands on the values.
        values: those of the arguments of the region, else the results.
    """
    before, block = op.prev_op, op.parent
    assert block is not None
    if region is not None and region.blocks:
        end = region.block.last_op
        assert end is not None
        Rewriter.inline_block(region.block, InsertPoint.before(op), values)
        values = list(end.operands)
        block.erase_op(end)
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    block.erase_op(op)
    return block.first_op if before is None else before.next_op
