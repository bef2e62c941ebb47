"""Where a thread is: its number in the block, that of the block in the grid and in its cluster."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, Literal, TypeVar

from hidet.dialects.cuda import BlockDimOp, BlockIdOp, GridDimOp, ThreadIdOp
from hidet.dialects.cuda.attributes import Dimension
from hidet.dialects.cuda.instructions import IdOp
from hidet.errors import ScriptError
from hidet.frontends.script.scalars import Index, Scalar
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import INDEX

T = TypeVar("T")


@dataclass(frozen=True)
class AlongDimensions(Generic[T]):
    """A number along each dimension, as `threadIdx` is.

    Attributes:
        name: what it is called.
    """

    name: str
    _along: Callable[[Dimension], T]

    @property
    def x(self) -> T:
        """The number along x."""
        return self._along(Dimension.X)

    @property
    def y(self) -> T:
        """The number along y."""
        return self._along(Dimension.Y)

    @property
    def z(self) -> T:
        """The number along z."""
        return self._along(Dimension.Z)

    def __repr__(self) -> str:
        return self.name


def id_of(name: str, kind: type[IdOp], dimension: Dimension) -> Scalar:
    """Return an id along a dimension, by the name that it has in messages."""
    return Scalar(current(f"'{name}.{dimension.value}'").id(kind, dimension), INDEX)


def _id(name: str, kind: type[IdOp]) -> AlongDimensions[Scalar]:
    return AlongDimensions(name, partial(id_of, name, kind))


def _extents(name: Literal["blockDim", "gridDim"]) -> AlongDimensions[Index]:
    """Return the extents of a block or a grid, numbers unless they are computed from arguments."""

    def along(dimension: Dimension) -> Index:
        is_block, shape = name == "blockDim", current(f"'{name}'").shape
        extents = shape.block if is_block else shape.grid
        if extents is None:
            raise ScriptError(
                f"{name} is not known yet",
                hint="set attrs.cuda.grid_dim and attrs.cuda.block_dim first",
            )
        extent = (*extents, 1, 1)[list(Dimension).index(dimension)]
        if isinstance(extent, int):
            return extent
        return id_of(name, BlockDimOp if is_block else GridDimOp, dimension)

    return AlongDimensions(name, along)


threadIdx, blockIdx = _id("threadIdx", ThreadIdOp), _id("blockIdx", BlockIdOp)
blockDim, gridDim = _extents("blockDim"), _extents("gridDim")


def block_rank_in_cluster() -> Index:
    """Return the number of the block in its cluster, along x first, then y and z."""
    x, y, _ = current("'block_rank_in_cluster'").shape.cluster
    rank: Index = 0
    for dimension, step in zip(Dimension, (1, x, x * y), strict=True):
        rank = _place(dimension) * step + rank
    return rank


def _extent(dimension: Dimension) -> int:
    return current("'clusterDim'").shape.cluster[list(Dimension).index(dimension)]


def _place(dimension: Dimension) -> Index:
    """Return where the block is in its cluster: clusters lie side by side, from block 0 on."""
    extent = _extent(dimension)
    if extent == 1:
        return 0
    return id_of("blockIdx", BlockIdOp, dimension) % extent


def _cluster(dimension: Dimension) -> Index:
    number, extent = id_of("blockIdx", BlockIdOp, dimension), _extent(dimension)
    return number if extent == 1 else number // extent


clusterDim = AlongDimensions("clusterDim", _extent)
clusterIdx = AlongDimensions("clusterIdx", _cluster)
clusterRelativeBlockIdx = AlongDimensions("clusterRelativeBlockIdx", _place)

__all__: list[str] = ["blockDim", "blockIdx", "block_rank_in_cluster", "clusterDim", "clusterIdx"]
__all__ += ["clusterRelativeBlockIdx", "gridDim", "threadIdx"]
