"""Which memory holds unsigned integers: the mark `cuda.unsigned`."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, UnitAttr
from xdsl.ir import Block, BlockArgument, SSAValue

from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.cuda.marks import UNSIGNED


def is_unsigned(value: SSAValue) -> bool:
    """Return whether an argument of a kernel, or memory that it allocates, is unsigned."""
    owner = value.owner
    if not isinstance(owner, Block):
        return UNSIGNED in owner.attributes
    kernel = owner.parent_op()
    if not isinstance(kernel, KernelOp) or kernel.arg_attrs is None:
        return False
    assert isinstance(value, BlockArgument)
    return UNSIGNED in kernel.arg_attrs.data[value.index].data


def mark_unsigned(value: SSAValue, like: SSAValue | None = None) -> None:
    """Mark what allocates a memref; with `like`, only where that memref is unsigned."""
    if like is None or is_unsigned(like):
        assert not isinstance(value.owner, Block)
        value.owner.attributes[UNSIGNED] = UnitAttr()


def mark_arguments(kernel: KernelOp, unsigned: list[bool]) -> None:
    """Mark the unsigned arguments of a kernel, one flag for each."""
    before = kernel.arg_attrs or [DictionaryAttr({})] * len(unsigned)
    marked = [
        DictionaryAttr({**known.data, UNSIGNED: UnitAttr()}) if flag else known
        for flag, known in zip(unsigned, before, strict=True)
    ]
    if any(unsigned):
        kernel.arg_attrs = ArrayAttr(marked)
