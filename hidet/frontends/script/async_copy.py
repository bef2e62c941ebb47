"""Asynchronous copies in scripts: cp.async; TMA, and the tensor maps that it takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import builtin
from xdsl.ir import SSAValue

from hidet.arch import hopper
from hidet.arch.instructions import CP_ASYNC, Instruction
from hidet.dialects import cuda
from hidet.dialects.cuda.table_ops import Element
from hidet.dialects.cuda.tensor_map import TensorMapType as TensorMapAttr
from hidet.dialects.shaped import memref_type
from hidet.errors import ScriptError
from hidet.frontends.script.instructions import instruction, operand_at
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import as_index, convert, index_of
from hidet.frontends.script.tensors import Pointer, Tensor
from hidet.frontends.script.tracing import insert
from hidet.frontends.script.types import I32, TF32, TensorType, as_tuple, check_shape


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


CACHES = {"always": cuda.CopyCache.CA, "global": cuda.CopyCache.CG}
"""The cache operators of copies: at all levels, or in L2 only."""


def cp_async(
    dst: object,
    src: object,
    cp_size: int,
    src_size: object = None,
    cache_level: str = "always",
    prefetch_bytes: int = 0,
    evict_policy: str = "evict_normal",
) -> None:
    """Start an asynchronous copy of adjacent elements from global to shared memory.

    It is visible to the thread after `cp_async_wait_all()` or `cp_async_wait_group(n)`, to other
    threads after a barrier as well. Both addresses are multiples of the size.

    Args:
        dst: the address in shared memory, `~smem[i, j]`.
        src: the address in global memory, `~x[i, j]`.
        cp_size: the number of bytes: 4, 8 or 16.
        src_size: the number of bytes read, all by default; the rest is filled with zeros.
        cache_level: `always`, or `global` for L2 only, which requires 16 bytes.
        prefetch_bytes: not supported, 0.
        evict_policy: not supported, `evict_normal`.

    Raises:
        ScriptError: an address or the size does not match the instruction.
    """
    cache = CACHES.get(cache_level)
    if cache is None or prefetch_bytes != 0 or evict_policy != "evict_normal":
        raise ScriptError(
            f"cp_async with cache_level={cache_level!r}, prefetch_bytes={prefetch_bytes!r} and "
            f"evict_policy={evict_policy!r} is not supported",
            hint="cache_level is 'always' or 'global'; leave the others out",
        )
    instruction = CP_ASYNC[str(cache.value)]
    if cp_size not in instruction.sizes:
        sizes = " or ".join(map(str, instruction.sizes))
        raise ScriptError(
            f"cp_async copies {sizes} bytes with cache_level={cache_level!r}, not {cp_size!r}"
        )
    if not isinstance(src, Pointer | Tensor):
        raise ScriptError(f"cp_async copies from an address, not {describe(src)}", hint="~x[i, j]")
    size = src.element.bits // 8
    to, start = instruction.operands
    target = operand_at("cp_async", to, dst, cp_size // size)
    source = operand_at("cp_async", start, src, 1)
    assert isinstance(dst, Pointer | Tensor)
    if dst.element != src.element:
        raise ScriptError(
            f"cp_async copies {describe(src)} to {describe(dst)}",
            hint="both have elements of the same type",
        )
    valid = None
    if src_size is not None:
        valid = index_of(as_index(src_size) // size)
    insert(cuda.CpAsyncOp(source, target, cp_size // size, cache, valid))


cp_async_commit_group = instruction("cp_async_commit_group", cuda.CpAsyncCommitOp)
tma_commit_group = instruction("tma_commit_group", cuda.TmaCommitOp)


cp_async_wait_group = instruction(
    "cp_async_wait_group",
    cuda.CpAsyncWaitOp,
    "allow_on_fly_groups",
    summary="Wait until at most this many of the thread's latest copy groups are pending.",
    pending=range(256),
)


def cp_async_wait_all() -> None:
    """Wait for all copies of the thread."""
    insert(cuda.CpAsyncCommitOp())
    insert(cuda.CpAsyncWaitOp(0))


# TMA.
def tma_load(
    dst: object, source: object, coordinates: object, mbar: object, multicast: object = None
) -> None:
    """Start a copy of a box of a tensor to shared memory; it completes on a barrier.

    One thread issues it, after `mbarrier_arrive_and_expect_tx` for the bytes of the box. Elements
    out of bounds are 0. In shared memory the box is aligned to 1024 bytes; the tensor is a
    parameter of type `tensor_map`, and the coordinates are the offset of the box in it, one index
    per dimension. With `multicast`, a mask of blocks of the cluster, the box is written at the same
    offset in the shared memory of each, and completes on its barrier at the same offset.
    """
    box, at = _box(source, coordinates)
    instruction = hopper.TMA_LOAD[len(at)]
    target = _box_memory(instruction, dst, box)
    barrier = operand_at(instruction.function, instruction.operands[-1], mbar, 1)
    blocks = None if multicast is None else convert(multicast, I32).ssa
    insert(cuda.TmaLoadOp(box.ssa, at, (), target, barrier, blocks))


def tma_store(target: object, coordinates: object, src: object) -> None:
    """Start a copy of a box from shared memory to a tensor; elements out of bounds are skipped.

    One thread issues it, after the writers of the box have executed `fence_proxy_async()` and a
    barrier. `tma_commit_group` and `tma_wait_group` complete it. The operands are those of
    `tma_load`.
    """
    box, at = _box(target, coordinates)
    source = _box_memory(hopper.TMA_STORE[len(at)], src, box)
    insert(cuda.TmaStoreOp(source, box.ssa, at))


tma_wait_group = instruction(
    "tma_wait_group",
    cuda.TmaWaitOp,
    "allow_on_fly_groups",
    summary="Wait until at most this many of the thread's groups still read shared memory.",
    pending=range(256),
)


def _box(value: object, coordinates: object) -> tuple[TensorMap, list[SSAValue]]:
    """Return a tensor map, and the coordinates of a box in its order, the fastest first."""
    if not isinstance(value, TensorMap):
        raise ScriptError(
            f"boxes are copied from and to a tensor map, not {describe(value)}",
            hint="a parameter `a: tensor_map(f16[m, k], box=(128, 64), swizzle=128)`",
        )
    values, tensor = as_tuple(coordinates), value.type.tensor
    if len(values) != len(tensor.shape):
        raise ScriptError(
            f"{len(values)} coordinates in {tensor}, which has {len(tensor.shape)} dimensions",
            hint="one index for each dimension, (row, column)",
        )
    return value, [convert(each, I32).ssa for each in values][::-1]


def _box_memory(instruction: Instruction, value: object, box: TensorMap) -> Element:
    count = prod(box.type.extents)
    element = operand_at(instruction.function, instruction.operands[0], value, 1)
    kind = memref_type(element.memref)
    if kind.element_type != box.type.tensor.element.ir:
        raise ScriptError(f"the elements of {describe(value)} are not those of {box.type}")
    offset = 0  # a lower bound; run-time indices may be 0
    for extent, index in zip(kind.get_shape(), element.indices, strict=True):
        offset = offset * extent + (cuda.known_index(index) or 0)
    if (room := prod(kind.get_shape()) - offset) < count:
        raise ScriptError(
            f"a box of {count} elements does not fit into {describe(value)}, which has {room} from "
            "there"
        )
    return element


__all__: list[str] = ["cp_async", "cp_async_commit_group", "cp_async_wait_all"]
__all__ += ["cp_async_wait_group", "tma_commit_group", "tma_load", "tma_store", "tma_wait_group"]
