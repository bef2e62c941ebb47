"""What a thread of CUDA can ask for, with the names of CUDA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hidet.dialects.cuda import (
    AtomicOp,
    BlockDimOp,
    GridDimOp,
    ShflOp,
    SyncThreadsOp,
    SyncWarpOp,
    VoteOp,
)
from hidet.dialects.cuda.atomics import AtomicKind, VoteKind
from hidet.dialects.cuda.attributes import Dimension, ShuffleKind
from hidet.dialects.cuda.instructions import SEGMENTS, WARP
from hidet.errors import ScriptError
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import BOOL, I32, I64, U32, ScalarType
from hidet.frontends.script.values import Index, Pointer, Scalar, describe


@dataclass(frozen=True)
class Ids:
    """`threadIdx` and `blockIdx`: a number along each dimension."""

    name: str

    @property
    def x(self) -> Scalar:
        """The number along x."""
        return self._along(Dimension.X)

    @property
    def y(self) -> Scalar:
        """The number along y."""
        return self._along(Dimension.Y)

    @property
    def z(self) -> Scalar:
        """The number along z."""
        return self._along(Dimension.Z)

    def _along(self, dimension: Dimension) -> Scalar:
        emitter = current(f"{self.name}.{dimension.value}")
        is_thread = self.name == "threadIdx"
        return emitter.thread_id(dimension) if is_thread else emitter.block_id(dimension)


@dataclass(frozen=True)
class Extents:
    """`blockDim` and `gridDim`: integers, unless the attributes compute them from arguments."""

    name: Literal["blockDim", "gridDim"]

    @property
    def x(self) -> Index:
        """The extent along x."""
        return self._along(Dimension.X)

    @property
    def y(self) -> Index:
        """The extent along y."""
        return self._along(Dimension.Y)

    @property
    def z(self) -> Index:
        """The extent along z."""
        return self._along(Dimension.Z)

    def _along(self, dimension: Dimension) -> Index:
        emitter = current(self.name)
        is_block = self.name == "blockDim"
        extents = emitter.shape.block if is_block else emitter.shape.grid
        if extents is None:
            raise ScriptError(
                f"{self.name} is not known yet",
                hint="set attrs.cuda.grid_dim and attrs.cuda.block_dim first",
            )
        extent = (*extents, 1, 1)[list(Dimension).index(dimension)]
        if isinstance(extent, int):
            return extent
        return emitter.extent(BlockDimOp if is_block else GridDimOp, dimension)


threadIdx, blockIdx = Ids("threadIdx"), Ids("blockIdx")
blockDim, gridDim = Extents("blockDim"), Extents("gridDim")


def syncthreads() -> None:
    """Wait for all threads of the block."""
    current("syncthreads").insert(SyncThreadsOp())


def syncwarp() -> None:
    """Wait for all lanes of the warp."""
    current("syncwarp").insert(SyncWarpOp())


# Shuffles and votes.


def shfl_sync(mask: object, var: Scalar, src_lane: object, width: int = WARP) -> Scalar:
    """Return the value of another lane of the warp. All lanes take part.

    Args:
        mask: the lanes that take part: all, 0xffffffff.
        var: the value of the own lane.
        src_lane: the number of the lane whose value is wanted.
        width: the number of lanes of a segment, 2, 4, 8, 16 or 32; lanes are numbered in it.

    Raises:
        ScriptError: a mask or width that is not supported, or no scalar to move.
    """
    return _shuffle(ShuffleKind.IDX, mask, var, src_lane, width)


def shfl_up_sync(mask: object, var: Scalar, delta: object, width: int = WARP) -> Scalar:
    """Return the value of the lane `delta` below, the own one where there is none."""
    return _shuffle(ShuffleKind.UP, mask, var, delta, width)


def shfl_down_sync(mask: object, var: Scalar, delta: object, width: int = WARP) -> Scalar:
    """Return the value of the lane `delta` above, the own one where there is none."""
    return _shuffle(ShuffleKind.DOWN, mask, var, delta, width)


def shfl_xor_sync(mask: object, var: Scalar, lane_mask: object, width: int = WARP) -> Scalar:
    """Return the value of the lane with the number `own ^ lane_mask`."""
    return _shuffle(ShuffleKind.XOR, mask, var, lane_mask, width)


def _shuffle(kind: ShuffleKind, mask: object, var: Scalar, lane: object, width: int) -> Scalar:
    emitter = current("a shuffle")
    _check_mask(mask)
    if width not in (*SEGMENTS, WARP):
        raise ScriptError(
            f"a shuffle in segments of {width!r} lanes",
            hint=f"the width is known when the script is defined: {SEGMENTS} or {WARP}",
        )
    value = emitter.scalar_of(var)
    moved = emitter.cast(value, I32) if value.type.bits < 16 else value
    if moved.type.kind == "index":
        moved = emitter.cast(moved, I64)
    other = emitter.cast(emitter.scalar_of(lane, I32), I32)
    result = emitter.insert(ShflOp(kind, moved.ssa, other.ssa, width)).result
    return emitter.cast(Scalar(emitter, result, moved.type), value.type)


def _check_mask(mask: object) -> None:
    if mask not in (0xFFFFFFFF, -1):
        raise ScriptError(
            "a meeting of some lanes only is not supported yet",
            hint="all lanes of the warp take part: the mask is 0xffffffff",
        )


def active_mask() -> int:
    """Return the mask of all lanes, for shuffles and votes."""
    current("active_mask")
    return 0xFFFFFFFF


def any_sync(mask: object, predicate: object) -> Scalar:
    """Return whether the predicate holds on a lane of the warp."""
    return _vote(VoteKind.ANY, mask, predicate, BOOL)


def all_sync(mask: object, predicate: object) -> Scalar:
    """Return whether the predicate holds on all lanes of the warp."""
    return _vote(VoteKind.ALL, mask, predicate, BOOL)


def ballot_sync(mask: object, predicate: object) -> Scalar:
    """Return an integer with a bit for each lane of the warp on which the predicate holds."""
    return _vote(VoteKind.BALLOT, mask, predicate, U32)


def _vote(kind: VoteKind, mask: object, predicate: object, result: ScalarType) -> Scalar:
    emitter = current("a vote")
    _check_mask(mask)
    condition = emitter.cast(emitter.scalar_of(predicate), BOOL)
    return Scalar(emitter, emitter.insert(VoteOp(kind, condition.ssa)).result, result)


# Atomics.

_ATOMIC_TYPES = {
    AtomicKind.ADD: ("i32", "u32", "i64", "u64", "f32", "f64"),
    AtomicKind.MAX: ("i32", "i64", "f32", "f64"),
    AtomicKind.MIN: ("i32", "i64", "f32", "f64"),
    AtomicKind.EXCHANGE: ("i32", "u32", "i64", "u64", "f32", "f64"),
    AtomicKind.CAS: ("i32", "u32", "i64", "u64"),
}


def atomic_add(address: object, value: object) -> Scalar:
    """Add to an element, `atomic_add(~x[i], v)`, as one step; return its old value."""
    return _atomic(AtomicKind.ADD, address, value)


def atomic_max(address: object, value: object) -> Scalar:
    """Store the larger one of an element and a value, as one step; return its old value."""
    return _atomic(AtomicKind.MAX, address, value)


def atomic_min(address: object, value: object) -> Scalar:
    """Store the smaller one of an element and a value, as one step; return its old value."""
    return _atomic(AtomicKind.MIN, address, value)


def atomic_sub(address: object, value: object) -> Scalar:
    """Subtract from an element as one step; return its old value."""
    return _atomic(AtomicKind.ADD, address, value, negative=True)


def atomic_exchange(address: object, value: object) -> Scalar:
    """Store a value in an element as one step; return its old value."""
    return _atomic(AtomicKind.EXCHANGE, address, value)


def atomic_cas(address: object, compare: object, value: object) -> Scalar:
    """Store a value in an element where that is `compare`, as one step; return its old value."""
    return _atomic(AtomicKind.CAS, address, value, expected=compare)


def _atomic(
    kind: AtomicKind,
    address: object,
    value: object,
    *,
    expected: object = None,
    negative: bool = False,
) -> Scalar:
    emitter = current(f"atomic_{kind.value}")
    if not isinstance(address, Pointer):
        raise ScriptError(
            f"an atomic operation takes an address, not {describe(address)}",
            hint="the address of an element is ~x[i]",
        )
    element = address.element
    if element.name not in _ATOMIC_TYPES[kind]:
        raise ScriptError(
            f"atomic_{kind.value} of {element} is not supported",
            hint=f"there is {', '.join(_ATOMIC_TYPES[kind])}",
        )
    operand = emitter.cast(emitter.scalar_of(value, element), element)
    if negative:
        operand = emitter.binary("-", emitter.constant(0, element), operand)
    compared = None
    if expected is not None:
        compared = emitter.cast(emitter.scalar_of(expected, element), element).ssa
    indices = [emitter.index_of(index) for index in address.indices]
    op = emitter.insert(AtomicOp(kind, operand.ssa, address.memory, indices, compared))
    return Scalar(emitter, op.result, element)
