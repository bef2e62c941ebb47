"""Hopper in scripts: barriers in memory, copies of boxes, products of warp groups, their roles."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects.memref import AllocaOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from hidet.arch import hopper
from hidet.arch.hopper import WGMMA
from hidet.arch.instructions import Instruction
from hidet.dialects.cuda import (
    FenceMbarrierInitOp,
    FenceProxyAsyncOp,
    KernelOp,
    MatrixDescriptorOp,
    MbarrierArriveClusterOp,
    MbarrierArriveOp,
    MbarrierExpectOp,
    MbarrierInitOp,
    MbarrierWaitOp,
    TmaCommitOp,
    TmaLoadOp,
    TmaStoreOp,
    TmaWaitOp,
    WgmmaCommitOp,
    WgmmaFenceOp,
    WgmmaFenceOperandOp,
    WgmmaOp,
    WgmmaWaitOp,
)
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.table_ops import Element, known_index
from hidet.dialects.cuda.tensor_core import SWIZZLES
from hidet.dialects.shaped import memref_type
from hidet.dialects.task.layout import map_of
from hidet.errors import ScriptError
from hidet.frontends.script.emitter import Emitter
from hidet.frontends.script.operands import i32_operand, known_number, operand_at
from hidet.frontends.script.tensor_maps import TensorMap
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import BOOL, I64
from hidet.frontends.script.values import Scalar, describe
from hidet.rewriting.builder import KernelBuilder

MAX_PENDING_PRODUCTS = 7
"""So many groups of products may be under way (PTX ISA, wgmma.wait_group)."""


def _barrier(emitter: Emitter, instruction: Instruction, value: object) -> Element:
    """Return the barrier that an instruction works on."""
    *_, operand = instruction.operands
    return operand_at(emitter, instruction.function, operand, value, 1)


# Barriers in memory.


def _refuse(function: str, **arguments: object) -> None:
    """Check that arguments of the original Hidet which are not supported are left out.

    Raises:
        ScriptError: one is given.
    """
    for name, value in arguments.items():
        if value is not None:
            raise ScriptError(
                f"{function} with {name}={describe(value)} is not supported",
                hint="a branch, `if pred:`, says which threads come"
                if name == "pred"
                else "a block expects bytes at a barrier of its own",
            )


def mbarrier_init(mbar: object, arrive_count: object) -> None:
    """Make a barrier in shared memory, `~full[i]`, whose phases end after so many arrivals.

    One thread makes it. Before others use it come `fence_mbarrier_init()` and `syncthreads()`.
    """
    emitter = current("mbarrier_init")
    emitter.insert(
        MbarrierInitOp(
            _barrier(emitter, hopper.MBARRIER_INIT, mbar), i32_operand(emitter, arrive_count)
        )
    )


def mbarrier_arrive(mbar: object, cta_id: object = None, pred: object = None) -> None:
    """Arrive once at a barrier.

    Args:
        mbar: the address of the barrier.
        cta_id: the block of the cluster in which it lies, in the same place; the own one if left
            out.
        pred: not supported.

    Raises:
        ScriptError: an argument is not what it should be.
    """
    emitter = current("mbarrier_arrive")
    _refuse("mbarrier_arrive", pred=pred)
    if cta_id is None:
        emitter.insert(MbarrierArriveOp(_barrier(emitter, hopper.MBARRIER_ARRIVE, mbar)))
        return
    barrier = _barrier(emitter, hopper.MBARRIER_ARRIVE_CLUSTER, mbar)
    emitter.insert(MbarrierArriveClusterOp(barrier, i32_operand(emitter, cta_id)))


def mbarrier_arrive_and_expect_tx(
    mbar: object, transaction_bytes: object, cta_id: object = None, pred: object = None
) -> None:
    """Arrive once at a barrier, whose phase waits for so many bytes of copies too.

    `cta_id` and `pred` are not supported.

    Raises:
        ScriptError: an argument is not what it should be.
    """
    emitter = current("mbarrier_arrive_and_expect_tx")
    _refuse("mbarrier_arrive_and_expect_tx", cta_id=cta_id, pred=pred)
    barrier = _barrier(emitter, hopper.MBARRIER_EXPECT, mbar)
    emitter.insert(MbarrierExpectOp(barrier, i32_operand(emitter, transaction_bytes)))


def mbarrier_wait(mbar: object, phase: object) -> None:
    """Wait for the end of the phase of this parity: 0 for the first phase, 1 for the second, ...

    Of a new barrier the phase before the first, of parity 1, has ended.
    """
    emitter = current("mbarrier_wait")
    emitter.insert(
        MbarrierWaitOp(_barrier(emitter, hopper.MBARRIER_WAIT, mbar), i32_operand(emitter, phase))
    )


def fence_mbarrier_init() -> None:
    """Let barriers that the thread has made be seen by copies and other blocks."""
    current("fence_mbarrier_init").insert(FenceMbarrierInitOp())


def fence_proxy_async() -> None:
    """Let stores of the thread to shared memory be seen by `tma_store` and `wgmma_async`.

    Each thread that has stored comes here, then all of them to a barrier.
    """
    current("fence_proxy_async").insert(FenceProxyAsyncOp())


# TMA.


def tma_load(
    dst: object, source: object, coordinates: object, mbar: object, multicast: object = None
) -> None:
    """Begin to copy a box of a tensor to shared memory; a barrier gets its bytes.

    One thread asks for it, after `mbarrier_arrive_and_expect_tx` for the bytes of the whole box.
    What is outside of the tensor becomes 0.

    Args:
        dst: the address of the first element; it is a multiple of 1024 bytes.
        source: a parameter of type `tensor_map`.
        coordinates: the first element of the box in the tensor, an index for each dimension.
        mbar: the address of the barrier.
        multicast: blocks of the cluster, a bit for each. The box goes to all of them, to the same
            place, and its bytes to the barrier in the same place of each.

    Raises:
        ScriptError: an argument is not what it should be, or the box does not fit.
    """
    emitter = current("tma_load")
    box = _map(source)
    at = _coordinates(emitter, coordinates, box)
    instruction = hopper.TMA_LOAD[len(at)]
    target = _box_memory(emitter, instruction, dst, box)
    barrier = _barrier(emitter, instruction, mbar)
    blocks = None if multicast is None else i32_operand(emitter, multicast)
    emitter.insert(TmaLoadOp(box.ssa, at, target, barrier, blocks))


def tma_store(target: object, coordinates: object, src: object) -> None:
    """Begin to copy a box from shared memory to a tensor; what is outside of it is left out.

    One thread asks for it, after those that have written the box have come to
    `fence_proxy_async()` and a barrier; it makes groups by `tma_commit_group` and waits for them.

    Args:
        target: a parameter of type `tensor_map`.
        coordinates: the first element of the box in the tensor, an index for each dimension.
        src: the address of the first element; it is a multiple of 1024 bytes.

    Raises:
        ScriptError: an argument is not what it should be, or the box does not fit.
    """
    emitter = current("tma_store")
    box = _map(target)
    at = _coordinates(emitter, coordinates, box)
    source = _box_memory(emitter, hopper.TMA_STORE[len(at)], src, box)
    emitter.insert(TmaStoreOp(source, box.ssa, at))


def tma_commit_group() -> None:
    """Make a group of the thread's stores of boxes since its last group."""
    current("tma_commit_group").insert(TmaCommitOp())


def tma_wait_group(allow_on_fly_groups: object) -> None:
    """Wait until no more than so many of the thread's groups still read shared memory."""
    emitter = current("tma_wait_group")
    pending = known_number("the number of groups under way", allow_on_fly_groups, range(8))
    emitter.insert(TmaWaitOp(pending))


def _map(value: object) -> TensorMap:
    if not isinstance(value, TensorMap):
        raise ScriptError(
            f"boxes are copied from and to a tensor map, not {describe(value)}",
            hint="a parameter `a: tensor_map(f16[m, k], box=(128, 64), swizzle=128)`",
        )
    return value


def _coordinates(emitter: Emitter, value: object, box: TensorMap) -> list[SSAValue]:
    """Return the coordinates of a box as the instruction takes them, the fastest one first."""
    values = cast("Sequence[object]", value if isinstance(value, tuple | list) else (value,))
    shape = box.type.tensor.shape
    if len(values) != len(shape):
        raise ScriptError(
            f"{len(values)} coordinates in {box.type.tensor}, which has {len(shape)} dimensions",
            hint="one index for each dimension, (row, column)",
        )
    return [i32_operand(emitter, each) for each in values][::-1]


def _box_memory(
    emitter: Emitter, instruction: Instruction, value: object, box: TensorMap
) -> Element:
    """Return where a box lies in shared memory.

    Raises:
        ScriptError: it has other elements, or does not fit.
    """
    count = prod(box.type.extents)
    element = operand_at(emitter, instruction.function, instruction.operands[0], value, 1)
    kind = memref_type(element.memref)
    if kind.element_type != box.type.tensor.element.ir:
        raise ScriptError(f"a box of {box.type} is copied from or to {describe(value)}")
    place = 0  # at least; an index that only the kernel knows may be 0
    for extent, index in zip(kind.get_shape(), element.indices, strict=True):
        place = place * extent + (known_index(index) or 0)
    if prod(kind.get_shape()) - place < count:
        raise ScriptError(
            f"a box of {count} elements does not fit into {describe(value)}, which has "
            f"{prod(kind.get_shape()) - place} from there"
        )
    return element


# Products of warp groups.


def matrix_descriptor(
    address: object, swizzle: object = 128, stride: object = None, leading: object = 16
) -> Scalar:
    """Return the number by which `wgmma_async` finds a matrix in shared memory.

    The matrix lies in rows of as many bytes as the swizzle has, eight of which are a group. Along a
    row the next 16 elements of 16 bits are at the descriptor plus 2 (PTX ISA, Matrix Descriptor).

    Args:
        address: the address of the first element; groups start at multiples of their size.
        swizzle: the bytes of the swizzle, that of the tensor map which has brought the matrix.
        stride: the bytes from one group of eight rows to the next, dense if left out.
        leading: the bytes between blocks along the other dimension, where rows do not fit into the
            swizzle.

    Raises:
        ScriptError: there is no such matrix.
    """
    emitter = current("matrix_descriptor")
    (operand,) = hopper.WGMMA_DESCRIPTOR.operands
    element = operand_at(emitter, "matrix_descriptor", operand, address, 1)
    span = known_number("the swizzle", swizzle, SWIZZLES)
    distances = range(0, 1 << 18, 16)
    step = known_number("the stride", 8 * (span or 16) if stride is None else stride, distances)
    block = known_number("the leading distance", leading, distances)
    op = MatrixDescriptorOp(element, leading=block, stride=step, swizzle=span)
    return Scalar(emitter, emitter.insert(op).result, I64)


def wgmma_async(
    config: object,
    a_expr: object,
    c_addr: object,
    b_desc: object,
    scale_d: object = True,
    scale_a: object = 1,
    scale_b: object = 1,
    trans_a: object = False,
    trans_b: object = False,
) -> None:
    """Begin to multiply 64 x 16 by 16 x n elements: `c = a * b`, or `c += a * b`.

    All threads of a warp group take part. The accumulators are left alone until `wgmma_wait_group`.

    Args:
        config: shape and types, `m64n256k16_f16_f32` (`hidet.arch.hopper.WGMMA`).
        a_expr: the descriptor of a, whose elements along k are neighbours.
        c_addr: n / 2 registers of each thread: `register_tensor('float32', layout=tile)`, where
            tile is the task mapping `wgmma_accumulator(n)` or a product that ends in it; or an
            array `register_tensor('float32', [n // 2])`.
        b_desc: the descriptor of b, whose elements along k are neighbours.
        scale_d: whether c is added to; else it is only written.
        scale_a: 1.
        scale_b: 1.
        trans_a: whether the elements of a along m are neighbours instead.
        trans_b: whether the elements of b along n are neighbours instead.

    Raises:
        ScriptError: there is no such instruction, or an operand is not what it takes.
    """
    emitter = current("wgmma_async")
    if not isinstance(config, str) or config not in WGMMA:
        raise ScriptError(
            f"there is no product {describe(config)}", hint=f"there is {', '.join(WGMMA)}"
        )
    if scale_a != 1 or scale_b != 1:
        raise ScriptError(
            f"wgmma_async with scale_a={describe(scale_a)} and scale_b={describe(scale_b)}",
            hint="leave them out, and change the sign of the accumulators or of a matrix instead",
        )
    (operand,) = WGMMA[config].operands
    count = WGMMA[config].shape[1] // 2
    element = operand_at(emitter, "wgmma_async", operand, c_addr, count)
    op = WgmmaOp(
        config,
        _descriptor(emitter, a_expr),
        _descriptor(emitter, b_desc),
        element,
        emitter.cast(emitter.scalar_of(scale_d, BOOL), BOOL).ssa,
        trans_a=bool(known_number("trans_a", int(bool(trans_a)), (0, 1))),
        trans_b=bool(known_number("trans_b", int(bool(trans_b)), (0, 1))),
    )
    emitter.insert(op)


def _descriptor(emitter: Emitter, value: object) -> SSAValue:
    if not isinstance(value, Scalar) or value.type is not I64:
        raise ScriptError(
            f"a matrix in shared memory is given by its descriptor, not {describe(value)}",
            hint="matrix_descriptor(~smem[0, 0])",
        )
    return value.ssa


def wgmma_fence() -> None:
    """Come before the first product, and wherever other code has written accumulators."""
    current("wgmma_fence").insert(WgmmaFenceOp())


def wgmma_commit_group() -> None:
    """Make a group of the products since the last group."""
    current("wgmma_commit_group").insert(WgmmaCommitOp())


def wgmma_wait_group(N: object) -> None:
    """Wait until no more than so many groups of products are under way.

    After a wait for all of them, 0, accumulators may be read. After another one, those that are
    read come to `wgmma_fence_operand` first.
    """
    emitter = current("wgmma_wait_group")
    pending = known_number("the number of groups under way", N, range(MAX_PENDING_PRODUCTS + 1))
    emitter.insert(WgmmaWaitOp(pending))


def wgmma_fence_operand(c_addr: object) -> None:
    """Keep what is done with accumulators behind the wait that stands before this line."""
    emitter = current("wgmma_fence_operand")
    (operand,) = hopper.WGMMA_FENCE_OPERAND.operands
    element = operand_at(emitter, "wgmma_fence_operand", operand, c_addr, 1)
    _fence_operand(emitter, element.memref)


def fence_accumulators(kernel: KernelOp) -> None:
    """Put a fence for each accumulator that exists there behind each wait for all products."""
    waits = [op for op in kernel.body.walk() if isinstance(op, WgmmaWaitOp)]
    for wait in waits:
        if wait.pending.value.data == 0:
            builder = KernelBuilder(InsertPoint.after(wait))
            for memory in _accumulators_before(wait):
                for op in _fence_operand(builder, memory):
                    op.location = wait.location


def _accumulators_before(op: Operation | None) -> list[SSAValue]:
    """Return the arrays that products write, of those that are allocated before an operation."""
    found: list[SSAValue] = []
    while op is not None and op.parent is not None:
        for other in op.parent.ops:
            if other is op:
                break
            if isinstance(other, AllocaOp) and any(
                isinstance(use.operation, WgmmaOp) for use in other.memref.uses
            ):
                found.append(other.memref)
        op = op.parent_op()
    return found


def _fence_operand(builder: KernelBuilder, memory: SSAValue) -> list[WgmmaFenceOperandOp]:
    """Insert the fences of an array, one for each of its rows; of a tile, one."""
    kind = memref_type(memory)
    *rows, count = kind.get_shape()
    if space_of(kind) is Space.REGISTER:
        element = Element(memory, [builder.index(0)] * kind.get_num_dims())
        return [builder.insert(WgmmaFenceOperandOp(map_of(kind).tasks_per_worker, element))]
    fences: list[WgmmaFenceOperandOp] = []
    for number in range(prod(rows)):
        indices = [number // prod(rows[dim + 1 :]) % extent for dim, extent in enumerate(rows)]
        element = Element(memory, [builder.index(index) for index in (*indices, 0)])
        fences.append(builder.insert(WgmmaFenceOperandOp(count, element)))
    return fences
