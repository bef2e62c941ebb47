"""Signedness of memory in C++: the mark `cuda.unsigned`."""

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, BlockArgument, SSAValue

from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.cuda.marks import UNSIGNED


def is_unsigned(value: SSAValue) -> bool:
    """Return whether a kernel argument or an allocation is unsigned."""
    owner = value.owner
    if not isinstance(owner, Block):
        return UNSIGNED in owner.attributes
    kernel = owner.parent_op()
    assert isinstance(value, BlockArgument)
    return isinstance(kernel, KernelOp) and kernel.is_marked(UNSIGNED, value.index)


def mark_unsigned(value: SSAValue, like: SSAValue | None = None) -> None:
    """Mark an allocation as unsigned; with `like`, only if that memref is."""
    if like is None or is_unsigned(like):
        assert not isinstance(value.owner, Block)
        value.owner.attributes[UNSIGNED] = UnitAttr()
