"""Threads of scripts: ids and extents, warp-level primitives, warp groups."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from xdsl.ir import SSAValue

from hidet.arch.limits import WARP
from hidet.dialects import cuda
from hidet.dialects.cuda import Dimension, IdOp
from hidet.errors import ScriptError
from hidet.frontends.script.instructions import known_number
from hidet.frontends.script.messages import Value, describe
from hidet.frontends.script.scalars import Index, Scalar, constant, convert, is_integer, scalar_of
from hidet.frontends.script.tracing import current, insert
from hidet.frontends.script.types import BOOL, I32, I64, INDEX, U32, ScalarType

T = TypeVar("T")


@dataclass(frozen=True)
class AlongDimensions(Value, Generic[T]):
    """A value along each dimension, such as `threadIdx`."""

    name: str
    _along: Callable[[Dimension], T]

    @property
    def x(self) -> T:
        """The value along x."""
        return self._along(Dimension.X)

    @property
    def y(self) -> T:
        """The value along y."""
        return self._along(Dimension.Y)

    @property
    def z(self) -> T:
        """The value along z."""
        return self._along(Dimension.Z)

    def __repr__(self) -> str:
        return f"the vector {self.name} (x, y, z)"


def id_of(name: str, kind: type[IdOp], dimension: Dimension) -> Scalar:
    """Return an id along a dimension."""
    return Scalar(current(f"'{name}.{dimension.value}'").id(kind, dimension), INDEX)


def _id(name: str, kind: type[IdOp]) -> AlongDimensions[Scalar]:
    return AlongDimensions(name, partial(id_of, name, kind))


def _extents(name: str, kind: type[IdOp]) -> AlongDimensions[Index]:
    """Return the extents of a block or a grid: integers unless computed from arguments."""

    def along(dimension: Dimension) -> Index:
        shape = current(f"'{name}'").shape
        extents = shape.block_dim if kind is cuda.BlockDimOp else shape.grid_dim
        if extents is None:
            raise ScriptError(
                f"{name} is not known yet",
                hint="set attrs.cuda.grid_dim and attrs.cuda.block_dim first",
            )
        extent = (*extents, 1, 1)[list(Dimension).index(dimension)]
        return extent if isinstance(extent, int) else id_of(name, kind, dimension)

    return AlongDimensions(name, along)


threadIdx, blockIdx = _id("threadIdx", cuda.ThreadIdOp), _id("blockIdx", cuda.BlockIdOp)
blockDim, gridDim = _extents("blockDim", cuda.BlockDimOp), _extents("gridDim", cuda.GridDimOp)


def block_rank_in_cluster() -> Index:
    """Return the linear index of the block in its cluster, x fastest."""
    x, y, z = current("'block_rank_in_cluster'").shape.cluster_dim
    steps = zip(Dimension, (1, x, x * y), (x, y, z), strict=True)
    slowest, *others = [
        _place(dimension) if step == 1 else _place(dimension) * step
        for dimension, step, extent in steps
        if extent > 1
    ][::-1] or [0]
    return sum(others, slowest)


def _extent(dimension: Dimension) -> int:
    return current("'clusterDim'").shape.cluster_dim[list(Dimension).index(dimension)]


def _place(dimension: Dimension) -> Index:
    """Return the index of the block in its cluster along a dimension."""
    extent = _extent(dimension)
    return 0 if extent == 1 else id_of("blockIdx", cuda.BlockIdOp, dimension) % extent


def _cluster(dimension: Dimension) -> Index:
    number, extent = id_of("blockIdx", cuda.BlockIdOp, dimension), _extent(dimension)
    return number if extent == 1 else number // extent


clusterDim = AlongDimensions("clusterDim", _extent)
clusterIdx = AlongDimensions("clusterIdx", _cluster)
clusterRelativeBlockIdx = AlongDimensions("clusterRelativeBlockIdx", _place)


ALL_LANES = 0xFFFFFFFF
"""The mask of all lanes of a warp."""


def syncwarp(mask: object = ALL_LANES) -> None:
    """Wait for all lanes of the warp, or those in the mask."""
    insert(cuda.SyncWarpOp(_mask(mask)))


def shfl_sync(mask: object, var: Scalar, src_lane: object, width: int = WARP) -> Scalar:
    """Return the value of another lane of the warp.

    The mask has the participating lanes: all, 0xffffffff; or a subset, which executes it together
    with the same mask. The value of a lane outside of the mask is undefined. Lanes are numbered
    within segments of a width of 2, 4, 8, 16 or 32.

    Raises:
        ScriptError: the mask or the width is invalid, or `var` is no scalar.
    """
    return _shuffle(cuda.ShuffleKind.IDX, mask, var, src_lane, width)


def shfl_up_sync(mask: object, var: Scalar, delta: object, width: int = WARP) -> Scalar:
    """Return the value of the lane `delta` below, or the own value if there is none."""
    return _shuffle(cuda.ShuffleKind.UP, mask, var, delta, width)


def shfl_down_sync(mask: object, var: Scalar, delta: object, width: int = WARP) -> Scalar:
    """Return the value of the lane `delta` above, or the own value if there is none."""
    return _shuffle(cuda.ShuffleKind.DOWN, mask, var, delta, width)


def shfl_xor_sync(mask: object, var: Scalar, lane_mask: object, width: int = WARP) -> Scalar:
    """Return the value of the lane `own ^ lane_mask`."""
    return _shuffle(cuda.ShuffleKind.XOR, mask, var, lane_mask, width)


def _shuffle(kind: cuda.ShuffleKind, mask: object, var: Scalar, lane: object, width: int) -> Scalar:
    lanes = _mask(mask)
    known_number("the lanes of a segment", width, (*cuda.SEGMENTS, WARP))
    value = scalar_of(var)
    moved = convert(value, I32) if value.type.bits < 16 else value
    if moved.type.kind == "index":
        moved = convert(moved, I64)
    other = convert(lane, I32)
    op = cuda.ShflOp(kind, moved.ssa, other.ssa, None if width == WARP else width, lanes)
    return convert(Scalar(insert(op).result, moved.type), value.type)


def _mask(mask: object) -> SSAValue | None:
    """Return a lane mask as an operand, None for the full mask."""
    if isinstance(mask, Scalar) and is_integer(mask):
        return convert(mask, U32).ssa
    if isinstance(mask, int) and mask in (ALL_LANES, -1):
        return None
    if isinstance(mask, bool) or not isinstance(mask, int) or not 0 < mask < ALL_LANES:
        raise ScriptError(
            f"the lane mask is {describe(mask)}",
            hint="a 32-bit integer: 0xffffffff for all, ballot_sync(0xffffffff, c) for those on "
            "which c holds",
        )
    return constant(mask, U32).ssa


def active_mask() -> Scalar:
    """Return the mask of the active lanes of the warp.

    On a GPU it is `__activemask()`, which may miss lanes that arrive later; `ballot_sync` before a
    branch is reliable. On the CPU it is the lanes that arrive without waiting for others.
    """
    return Scalar(insert(cuda.ActiveMaskOp()).result, U32)


def any_sync(mask: object, predicate: object) -> Scalar:
    """Return whether the predicate holds on any lane of the warp."""
    return _vote(cuda.VoteKind.ANY, mask, predicate, BOOL)


def all_sync(mask: object, predicate: object) -> Scalar:
    """Return whether the predicate holds on all lanes of the warp."""
    return _vote(cuda.VoteKind.ALL, mask, predicate, BOOL)


def ballot_sync(mask: object, predicate: object) -> Scalar:
    """Return the mask of the lanes on which the predicate holds."""
    return _vote(cuda.VoteKind.BALLOT, mask, predicate, U32)


def _vote(kind: cuda.VoteKind, mask: object, predicate: object, result: ScalarType) -> Scalar:
    lanes = _mask(mask)
    condition = convert(predicate, BOOL)
    return Scalar(insert(cuda.VoteOp(kind, condition.ssa, lanes)).result, result)


THREADS = 4 * WARP
"""The threads of a warp group."""


@dataclass(frozen=True)
class WarpGroups:
    """`warp_groups([1, 2])`: consecutive warp groups."""

    first: int
    end: int

    def enter(self) -> tuple[object, Scalar]:
        """Return the condition of being in the groups, and the index of the thread in them."""
        thread = threadIdx.x
        threads = (current().shape.block_dim or (None,))[0]
        is_last = isinstance(threads, int) and threads == self.end
        before = True if is_last else thread < self.end
        if self.first == 0:
            return before, thread
        after = thread >= self.first
        is_inside = after & before if isinstance(before, Scalar) else after
        return is_inside, thread - self.first


def warp_groups(group_ids: Iterable[int]) -> WarpGroups:
    """Return a context whose body some warp groups execute: `with ... as thread`.

    `thread` counts from the first thread of the groups, which are consecutive. Group g has threads
    128 * g to 128 * g + 127 along x.

    Raises:
        ScriptError: the block has no such groups, or they are not consecutive.
    """
    if not isinstance(group_ids, list | tuple | range) or not group_ids:
        raise ScriptError(
            f"warp_groups takes a list of groups, not {describe(group_ids)}",
            hint="with warp_groups([0, 1]) as thread",
        )
    groups = sorted(known_number("a group of warps", each, range(8)) for each in group_ids)
    if groups != list(range(groups[0], groups[-1] + 1)):
        raise ScriptError(
            f"the groups of warps {list(group_ids)} are not consecutive",
            hint="enter each of them by a 'with' of its own",
        )
    block = (current().shape.block_dim or (None,))[0]
    if isinstance(block, int) and (groups[-1] + 1) * THREADS > block:
        raise ScriptError(
            f"a block of {block} threads has no groups of warps {groups}",
            hint=f"a group has {THREADS} threads; attrs.cuda.block_dim is set before",
        )
    return WarpGroups(groups[0] * THREADS, (groups[-1] + 1) * THREADS)


# The names of CUDA.
__syncwarp = syncwarp

__all__: list[str] = ["__syncwarp", "active_mask", "all_sync", "any_sync", "ballot_sync"]
__all__ += ["blockDim", "blockIdx", "block_rank_in_cluster", "clusterDim", "clusterIdx"]
__all__ += ["clusterRelativeBlockIdx", "gridDim", "shfl_down_sync", "shfl_sync", "shfl_up_sync"]
__all__ += ["shfl_xor_sync", "syncwarp", "threadIdx", "warp_groups"]
