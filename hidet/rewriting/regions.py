"""Inlining of a region in place of its parent op."""

from collections.abc import Sequence

from xdsl.ir import Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter


def inline_region(
    op: Operation, region: Region | None, values: Sequence[SSAValue] = ()
) -> Operation | None:
    """Replace an op by the ops of one of its regions; return the first new op.

    Args:
        op: the op.
        region: the region; if it is None or empty, the op is replaced by `values`.
        values: the arguments of the region, or the results if there is no region.
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
