"""Addresses as values: reinterpreted memory, integers, and shared memory.

Parts of the dynamic shared memory of a block, and arrays of other blocks of its cluster.
"""

from typing import ClassVar

from xdsl.dialects.arith import CmpiOp
from xdsl.dialects.builtin import FixedBitwidthType, MemRefType, i32, i64
from xdsl.ir import Operation
from xdsl.irdl import BaseAttr, VarConstraint, irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.constants import known_index
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.effects import PureOp
from hidet.dialects.fields import INT64, element_def
from hidet.dialects.shaped import memref_type, nbytes_of


class _AddressOp(PureOp):
    """Computes the address of an element."""

    source, indices = element_def()

    def verify_(self) -> None:
        """Check the ranks, and that the source has addresses."""
        super().verify_()
        if space_of(self.source.type) is Space.REGISTER:
            raise VerifyException(f"register tiles have no addresses: {self.source.type}")


@irdl_op_definition
class ViewOp(_AddressOp):
    """`cuda.view %x[%i] : memref<?xf32> to memref<4x8xf32>`: the memory from an element on.

    It has another shape or element type, and only computes an address, as `~x[i]` does on the host,
    and `reinterpret_cast<half*>(&x[i])` in a kernel. There the result has one dimension of unknown
    extent.
    """

    name = "cuda.view"

    result = result_def(MemRefType)

    assembly_format = "$source `[` $indices `]` attr-dict `:` type($source) `to` type($result)"

    def verify_(self) -> None:
        """Check the indices, the element types and the memory spaces."""
        super().verify_()
        for kind in (memref_type(self.source), memref_type(self.result)):
            if not isinstance(kind.element_type, FixedBitwidthType):
                raise VerifyException(f"elements of {kind} have no size")
        if memref_type(self.source).memory_space != memref_type(self.result).memory_space:
            raise VerifyException(
                f"{self.source.type} and {self.result.type} are in different memory spaces"
            )


@irdl_op_definition
class AddressOfOp(_AddressOp):
    """`cuda.address_of %x[%i] : memref<?xf32>`: an address as an integer, 0 for null."""

    name = "cuda.address_of"

    result = result_def(i64)

    assembly_format = "$source `[` $indices `]` attr-dict `:` type($source)"


def is_compared_with_null(op: Operation) -> bool:
    """Return whether an address is compared with 0."""
    return isinstance(op, AddressOfOp) and any(
        isinstance(use.operation, CmpiOp)
        and 0 in (known_index(use.operation.lhs), known_index(use.operation.rhs))
        for use in op.result.uses
    )


@irdl_op_definition
class DynamicSharedOp(PureOp):
    """`cuda.dynamic_shared offset 1024 : memref<4x128x64xf16, #cuda.space<shared>>`: a part of it.

    The offset is in bytes from the start, which is aligned to 1024. Parts may overlap. The kernel's
    `shared_bytes` is the total size.
    """

    name = "cuda.dynamic_shared"

    offset = prop_def(INT64)
    result = result_def(MemRefType)

    assembly_format = "`offset` $offset attr-dict `:` type($result)"

    @property
    def end(self) -> int:
        """The offset of the end of the part."""
        return self.offset.value.data + nbytes_of(self.result)

    def verify_(self) -> None:
        """Check the space, the shape and the offset."""
        kind = memref_type(self.result)
        if space_of(kind) is not Space.SHARED or min(kind.get_shape(), default=1) < 1:
            raise VerifyException(f"a part of shared memory has a known size there, unlike {kind}")
        if not isinstance(kind.element_type, FixedBitwidthType):
            raise VerifyException(f"elements of {kind} have no size")
        offset, size = self.offset.value.data, kind.element_type.size
        if offset < 0 or offset % size:
            raise VerifyException(f"{offset} bytes is no valid offset for elements of {size} bytes")


@irdl_op_definition
class MapSharedRankOp(PureOp):
    """`cuda.map_shared_rank %x, %n : memref<4x8xf32, #cuda.space<shared>>`: %x of another block.

    It is the array at the same place in the shared memory of block n of the cluster (PTX ISA,
    mapa). The barriers of the cluster order accesses to it.
    """

    name = "cuda.map_shared_rank"

    T: ClassVar = VarConstraint("T", BaseAttr(MemRefType))

    array = operand_def(T)
    block = operand_def(i32)
    result = result_def(T)

    assembly_format = "$array `,` $block attr-dict `:` type($array)"

    def verify_(self) -> None:
        """Check the space and the shape."""
        kind = memref_type(self.array)
        if space_of(kind) is not Space.SHARED or min(kind.get_shape(), default=1) < 1:
            raise VerifyException(f"a whole array in shared memory is mapped, unlike {kind}")
