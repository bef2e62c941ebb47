"""Tensor maps, parameters of kernels for TMA: `tensor_map(f16[m, k], box=(8, 64))`."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import builtin
from xdsl.ir import SSAValue

from hidet.dialects.cuda.tensor_map import TensorMapType as TensorMapAttr
from hidet.frontends.script.types import TF32, TensorType, check_shape


@dataclass(frozen=True)
class TensorMapType:
    """The type of a kernel parameter that TMA copies boxes from and to.

        def kernel(a: tensor_map(f16[m, k], box=(128, 64), swizzle=128)): ...

    The caller passes a tensor of this shape. Its last dimension is dense and its other strides are
    multiples of 16 bytes. The driver encodes the map once per address, by cuTensorMapEncodeTiled
    (CUDA driver API, Tensor Map Object Management), and passes it as a `__grid_constant__`
    parameter (PTX ISA, cp.async.bulk.tensor). `tma_load` and `tma_store` take it.

    Attributes:
        tensor: the tensor type, `f16[m, k]`, of up to 5 dimensions.
        box: the extents of one copy, up to 256 each. A row of the box is a multiple of 16 bytes and
            at most as long as the swizzle.
        swizzle: 0, 32, 64 or 128: the span in bytes within which 16-byte chunks of a row are
            permuted to avoid bank conflicts (PTX ISA, Swizzling Modes). The matrix descriptor that
            reads the box has the same swizzle.

    Loads of `tf32` elements round to the nearest TF32, where `wgmma` would truncate `f32`.
    """

    tensor: TensorType
    box: Sequence[object]
    swizzle: int = 0

    @property
    def ir(self) -> TensorMapAttr:
        """The parameter type in the IR; raises VerifyException if TMA has no such boxes."""
        tensor = builtin.TensorType(self.tensor.element.ir, self.tensor.shape)
        rounds = self.tensor.element == TF32
        return TensorMapAttr(tensor, self.extents, self.swizzle, tf32=rounds)

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents of the box."""
        return check_shape(self.box)

    def __repr__(self) -> str:
        return f"tensor_map({self.tensor}, box={self.box}, swizzle={self.swizzle})"


@dataclass(frozen=True)
class TensorMap:
    """A tensor map in a kernel."""

    ssa: SSAValue
    type: TensorMapType

    def __repr__(self) -> str:
        return str(self.type)
