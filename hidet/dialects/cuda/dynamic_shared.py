"""Shared memory whose size the launch states: more than what a kernel may declare."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import I64, FixedBitwidthType, IntegerAttr, MemRefType
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.fields import FieldsOp
from hidet.dialects.shaped import memref_type


@irdl_op_definition
class DynamicSharedOp(FieldsOp):
    """`cuda.dynamic_shared offset 1024 : memref<4x128x64xf16, #cuda.space<shared>>`: a part of it.

    The part starts so many bytes after the first one, which is at a multiple of 1024. Parts may
    overlap. The kernel says how much there is (`shared_bytes`).
    """

    name = "cuda.dynamic_shared"

    offset = prop_def(IntegerAttr[I64])
    result = result_def(MemRefType)

    assembly_format = "`offset` $offset attr-dict `:` type($result)"
    traits = traits_def(Pure())

    @property
    def end(self) -> int:
        """The number of the first byte after the part."""
        kind = memref_type(self.result)
        assert isinstance(kind.element_type, FixedBitwidthType)
        return self.offset.value.data + prod(kind.get_shape()) * kind.element_type.size

    def verify_(self) -> None:
        """Check the space, the shape and the offset."""
        kind = memref_type(self.result)
        if space_of(kind) is not Space.SHARED or min(kind.get_shape(), default=1) < 1:
            raise VerifyException(f"a part of shared memory has a known size there, unlike {kind}")
        if not isinstance(kind.element_type, FixedBitwidthType):
            raise VerifyException(f"elements of {kind} have no size")
        offset, size = self.offset.value.data, kind.element_type.size
        if offset < 0 or offset % size:
            raise VerifyException(f"{offset} bytes are no place for elements of {size} bytes")
