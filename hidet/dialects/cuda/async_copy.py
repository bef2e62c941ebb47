"""Copies from global to shared memory that go on while the thread does something else."""

from __future__ import annotations

from enum import auto
from typing import ClassVar

from xdsl.dialects.builtin import IndexType
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, opt_operand_def, prop_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.arch.instructions import CP_ASYNC, CP_ASYNC_COMMIT, CP_ASYNC_WAIT
from hidet.dialects.cuda.accesses import VectorCopyOp
from hidet.dialects.cuda.table_ops import GroupWaitOp, PlainOp
from hidet.dialects.shaped import element_of


class CopyCache(StrEnum):
    """Where an asynchronous copy caches what it reads."""

    CA = auto()
    CG = auto()


@irdl_attr_definition
class CopyCacheAttr(EnumAttribute[CopyCache], SpacedOpaqueSyntaxAttribute):
    """`ca`: at all levels; `cg`: in L2 only, for copies of 16 bytes."""

    name = "cuda.copy_cache"


@irdl_op_definition
class CpAsyncOp(VectorCopyOp):
    """`cuda.cp_async cg %x[%i] to %s[%j, %k] width 8`: begins to copy neighbouring elements.

    The copy is part of the group that the next `cuda.cp_async_commit` of the thread makes. Its
    target has the elements after a `cuda.cp_async_wait` for that group, for this thread; after a
    barrier as well, for the others. Both addresses are multiples of its size, of 4, 8 or 16 bytes.
    With `valid %n` only the first n elements are read, and zeros are written for the rest.
    """

    name = "cuda.cp_async"
    ENTRY: ClassVar = CP_ASYNC
    KEY: ClassVar = "cache"

    cache = prop_def(CopyCacheAttr)
    valid = opt_operand_def(IndexType)

    assembly_format = (
        "$cache $source `[` $source_indices `]` `to` $target `[` $target_indices `]` "
        "`width` $width (`valid` $valid^)? attr-dict `:` type($source) `to` type($target)"
    )

    def verify_(self) -> None:
        """Check the operands, the element types and the size of the copy."""
        super().verify_()
        entry = CP_ASYNC[str(self.cache.data.value)]
        if self.size not in entry.sizes:
            raise VerifyException(
                f"{self.width.value.data} elements of {element_of(self.source)} are {self.size} "
                f"bytes; {entry.ptx} copies {' or '.join(map(str, entry.sizes))}"
            )


@irdl_op_definition
class CpAsyncCommitOp(PlainOp):
    """`cuda.cp_async_commit`: makes a group of the thread's copies since its last group."""

    name = "cuda.cp_async_commit"
    ENTRY: ClassVar = CP_ASYNC_COMMIT


@irdl_op_definition
class CpAsyncWaitOp(GroupWaitOp):
    """`cuda.cp_async_wait 1`: waits for the thread's groups of copies, but for the latest ones.

    So many groups may still be under way afterwards; 0 waits for all. Other threads see what was
    copied after a barrier only.
    """

    name = "cuda.cp_async_wait"
    ENTRY: ClassVar = CP_ASYNC_WAIT
