"""Asynchronous copies from and to shared memory."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, var_operand_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.arch import hopper
from hidet.arch.instructions import CP_ASYNC, Instruction
from hidet.dialects.cuda.memory_access import VectorCopyOp
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.cuda.tensor_map import TensorMapType
from hidet.dialects.effects import Effects, read, write
from hidet.dialects.fields import SEGMENTED, element_def, enum_attribute
from hidet.dialects.shaped import element_of

CopyCache = StrEnum("CopyCache", "CA CG")
"""The cache levels of an asynchronous copy: all, or L2 only (16 bytes)."""


@irdl_op_definition
class CpAsyncOp(VectorCopyOp):
    """`cuda.cp_async cg %x[%i] to %s[%j, %k] width 8`: an asynchronous copy of contiguous elements.

    The copy joins the group of the thread's next `cuda.cp_async_commit`. The elements are visible
    to the thread after a `cuda.cp_async_wait` for that group, and to others after a barrier. Both
    addresses are aligned to the size, of 4, 8 or 16 bytes. With `valid %n` only the first n
    elements are read, and the rest is filled with zeros.
    """

    name = "cuda.cp_async"
    ENTRY: ClassVar = CP_ASYNC
    KEY: ClassVar = "cache"

    cache = prop_def(enum_attribute("cuda.copy_cache", CopyCache))
    valid = opt_operand_def(IndexType)

    assembly_format = (
        "$cache $source `[` $source_indices `]` `to` $target `[` $target_indices `]` "
        "`width` $width (`valid` $valid^)? attr-dict `:` type($source) `to` type($target)"
    )

    def verify_(self) -> None:
        """Check the operands and the size of the copy."""
        super().verify_()
        entry = CP_ASYNC[str(self.cache.data.value)]
        if self.size not in entry.sizes:
            raise VerifyException(
                f"{self.width.value.data} elements of {element_of(self.source)} are {self.size} "
                f"bytes; {entry.ptx} copies {' or '.join(map(str, entry.sizes))}"
            )


@irdl_op_definition
class TmaLoadOp(InstructionOp):
    """`cuda.tma_load %map(%x, %y) to %s[%i] barrier %b[%j]`: an asynchronous load of a box.

    The coordinates of the first element are in order of increasing stride; elements out of bounds
    are zero. One thread issues it. The mbarrier counts the bytes of the whole box. With `blocks
    %mask` the box is multicast to the same shared address of each block of the cluster in the mask,
    and its bytes are counted by the mbarrier at the same address there.

    For a map of pixels, the coordinates are those of the first channel and base pixel, and
    `offset(%x, %y)` is the displacement from base pixels, non-negative.
    """

    name = "cuda.tma_load"

    map = operand_def(TensorMapType)
    coordinates = var_operand_def(i32)
    offset = var_operand_def(i32)
    target, target_indices = element_def()
    barrier, barrier_indices = element_def()
    blocks = opt_operand_def(i32)

    irdl_options = SEGMENTED
    assembly_format = (
        "$map `(` $coordinates `)` (`offset` `(` $offset^ `)`)? `to` $target `[` "
        "$target_indices `]` `barrier` $barrier `[` $barrier_indices `]` (`blocks` $blocks^)? "
        "attr-dict `:` type($target) `,` type($barrier) `,` type($map)"
    )

    @property
    def instruction(self) -> Instruction:
        """The table entry."""
        if self.offset:
            return _of_rank(hopper.TMA_LOAD_PIXELS, self.coordinates)
        table = hopper.TMA_LOAD if self.blocks is None else hopper.TMA_LOAD_MULTICAST
        return _of_rank(table, self.coordinates)

    @property
    def scalars(self) -> Sequence[SSAValue]:
        """The tensor map, the block mask, the coordinates of the box, and the offset."""
        blocks = () if self.blocks is None else (self.blocks,)
        return (self.map, *blocks, *self.coordinates, *self.offset)

    def verify_(self) -> None:
        """Check the operands, and the offset for a map of pixels."""
        super().verify_()
        assert isinstance(self.map.type, TensorMapType)
        pixels = self.map.type.pixels
        wanted = 0 if pixels is None else len(pixels.step)
        if len(self.offset) != wanted or (wanted and self.blocks is not None):
            raise VerifyException(
                f"an offset of {len(self.offset)} numbers, from {self.map.type}; it has {wanted} "
                "of them, and pixels are copied to one block"
            )

    @property
    def effects(self) -> Effects:
        """The effects of the table, and a read of the tensor."""
        return (*super().effects, read(self.map))


@irdl_op_definition
class TmaStoreOp(InstructionOp):
    """`cuda.tma_store %s[%i] to %map(%x, %y)`: an asynchronous store of a box.

    Elements out of bounds are dropped. One thread issues it, after all writers have executed a
    `cuda.fence_proxy_async` and a barrier, and commits and waits for its groups of stores.
    """

    name = "cuda.tma_store"

    source, source_indices = element_def()
    map = operand_def(TensorMapType)
    coordinates = var_operand_def(i32)

    irdl_options = SEGMENTED
    assembly_format = (
        "$source `[` $source_indices `]` `to` $map `(` $coordinates `)` attr-dict `:` "
        "type($source) `,` type($map)"
    )

    @property
    def instruction(self) -> Instruction:
        """The table entry."""
        return _of_rank(hopper.TMA_STORE, self.coordinates)

    def verify_(self) -> None:
        """Check the operands, and that the map has boxes."""
        super().verify_()
        assert isinstance(self.map.type, TensorMapType)
        if self.map.type.pixels is not None:
            raise VerifyException(f"a store to {self.map.type}; boxes are stored, not pixels")

    @property
    def effects(self) -> Effects:
        """The effects of the table, and a write of the tensor."""
        return (*super().effects, write(self.map))


def _of_rank(table: dict[int, Instruction], coordinates: Sequence[SSAValue]) -> Instruction:
    """Return the entry for a number of coordinates; raise VerifyException if there is none."""
    if len(coordinates) not in table:
        raise VerifyException(
            f"tensors of rank {min(table)} to {max(table)} are copied, not of rank "
            f"{len(coordinates)}"
        )
    return table[len(coordinates)]
