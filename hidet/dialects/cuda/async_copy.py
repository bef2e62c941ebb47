"""Copies from and to shared memory that go on while the thread does something else."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, MemRefType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.arch import hopper
from hidet.arch.instructions import CP_ASYNC, Instruction
from hidet.dialects.cuda.memory_access import VectorCopyOp
from hidet.dialects.cuda.table_ops import GroupWaitOp, InstructionOp
from hidet.dialects.cuda.tensor_map import TensorMapType
from hidet.dialects.effects import Effects, read, write
from hidet.dialects.enums import enum_attribute
from hidet.dialects.shaped import element_of

CopyCache = StrEnum("CopyCache", "CA CG")
"""Where an asynchronous copy caches what it reads: at all levels, or in L2 only (16 bytes)."""

CopyCacheAttr = enum_attribute("cuda.copy_cache", CopyCache)


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
class CpAsyncWaitOp(GroupWaitOp):
    """`cuda.cp_async_wait 1`: waits for the thread's groups of copies, but for the latest ones.

    So many groups may still be under way afterwards; 0 waits for all. Other threads see what was
    copied after a barrier only.
    """

    name = "cuda.cp_async_wait"
    ENTRY: ClassVar = Instruction("cp_async_wait", (), "cp.async.wait_group", 80, orders=True)


@irdl_op_definition
class TmaLoadOp(InstructionOp):
    """`cuda.tma_load %map(%x, %y) to %s[%i] barrier %b[%j]`: begins to copy a box of a tensor.

    The coordinates, fastest dimension first, are those of the first element of the box; what lies
    outside of the tensor becomes zero. One thread asks for it. The barrier gets the bytes of the
    whole box. With `blocks %mask` the box goes to the same place in each block of the cluster whose
    bit is set, and its bytes to the barrier of that block at the same place.

    Of a map of pixels the coordinates are those of the first channel and of the first pixel, and
    `offset(%x, %y)` says how far from each of its pixels the copied ones are, 0 or more.
    """

    name = "cuda.tma_load"

    map = operand_def(TensorMapType)
    coordinates = var_operand_def(i32)
    offset = var_operand_def(i32)
    target = operand_def(MemRefType)
    target_indices = var_operand_def(IndexType)
    barrier = operand_def(MemRefType)
    barrier_indices = var_operand_def(IndexType)
    blocks = opt_operand_def(i32)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$map `(` $coordinates `)` (`offset` `(` $offset^ `)`)? `to` $target `[` "
        "$target_indices `]` `barrier` $barrier `[` $barrier_indices `]` (`blocks` $blocks^)? "
        "attr-dict `:` type($target) `,` type($barrier) `,` type($map)"
    )

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        if self.offset:
            return _of_rank(hopper.TMA_LOAD_PIXELS, self.coordinates)
        table = hopper.TMA_LOAD if self.blocks is None else hopper.TMA_LOAD_MULTICAST
        return _of_rank(table, self.coordinates)

    @property
    def scalars(self) -> Sequence[SSAValue]:
        """The tensor, the blocks if they are said, the coordinates of the box, and the offset."""
        blocks = () if self.blocks is None else (self.blocks,)
        return (self.map, *blocks, *self.coordinates, *self.offset)

    def verify_(self) -> None:
        """Check the operands, and that there is an offset where the map is one of pixels."""
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
        """The tensor is read besides."""
        return super().effects | {read(self.map)}


@irdl_op_definition
class TmaStoreOp(InstructionOp):
    """`cuda.tma_store %s[%i] to %map(%x, %y)`: begins to copy a box to a tensor.

    What lies outside of the tensor is left out. One thread asks for it, after all writers have
    come to a `cuda.fence_proxy_async` and a barrier; it makes groups of its stores and waits.
    """

    name = "cuda.tma_store"

    source = operand_def(MemRefType)
    source_indices = var_operand_def(IndexType)
    map = operand_def(TensorMapType)
    coordinates = var_operand_def(i32)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$source `[` $source_indices `]` `to` $map `(` $coordinates `)` attr-dict `:` "
        "type($source) `,` type($map)"
    )

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return _of_rank(hopper.TMA_STORE, self.coordinates)

    def verify_(self) -> None:
        """Check the operands, and that the map is one of boxes."""
        super().verify_()
        assert isinstance(self.map.type, TensorMapType)
        if self.map.type.pixels is not None:
            raise VerifyException(f"a store to {self.map.type}; boxes are stored, not pixels")

    @property
    def effects(self) -> Effects:
        """The tensor is written besides."""
        return super().effects | {write(self.map)}


def _of_rank(table: dict[int, Instruction], coordinates: Sequence[SSAValue]) -> Instruction:
    """Return the copy of a tensor with so many coordinates; raises VerifyException for others."""
    if len(coordinates) not in table:
        raise VerifyException(
            f"tensors of rank {min(table)} to {max(table)} are copied, not of rank "
            f"{len(coordinates)}"
        )
    return table[len(coordinates)]


@irdl_op_definition
class TmaWaitOp(GroupWaitOp):
    """`cuda.tma_wait 0`: waits until the thread's stores have read shared memory, but for so many.

    The number is that of the latest groups which may still be reading.
    """

    name = "cuda.tma_wait"
    ENTRY: ClassVar = Instruction("tma_wait", (), "cp.async.bulk.wait_group.read", 90, orders=True)
