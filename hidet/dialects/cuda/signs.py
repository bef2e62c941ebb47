"""Which memory holds unsigned integers: the mark `cuda.unsigned`."""

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, BlockArgument, SSAValue

from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.cuda.marks import UNSIGNED


def is_unsigned(value: SSAValue) -> bool:
    """Return whether an argument of a kernel, or memory that it allocates, is unsigned."""
    owner = value.owner
    if not isinstance(owner, Block):
        return UNSIGNED in owner.attributes
    kernel = owner.parent_op()
    assert isinstance(value, BlockArgument)
    return isinstance(kernel, KernelOp) and kernel.is_marked(UNSIGNED, value.index)


def mark_unsigned(value: SSAValue, like: SSAValue | None = None) -> None:
    """Mark what allocates a memref; with `like`, only where that memref is unsigned."""
    if like is None or is_unsigned(like):
        assert not isinstance(value.owner, Block)
        value.owner.attributes[UNSIGNED] = UnitAttr()
