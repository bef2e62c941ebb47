"""Thread, block and cluster ids, and their extents."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, Literal, TypeVar

from hidet.dialects.cuda import BlockDimOp, BlockIdOp, GridDimOp, ThreadIdOp
from hidet.dialects.cuda.attributes import Dimension
from hidet.dialects.cuda.instructions import IdOp
from hidet.errors import ScriptError
from hidet.frontends.script.messages import Value
from hidet.frontends.script.scalars import Index, Scalar
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import INDEX

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


def _extents(name: Literal["blockDim", "gridDim"]) -> AlongDimensions[Index]:
    """Return the extents of a block or a grid: integers unless computed from arguments."""

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
    """Return the linear index of the block in its cluster, x fastest."""
    x, y, z = current("'block_rank_in_cluster'").shape.cluster
    steps = zip(Dimension, (1, x, x * y), (x, y, z), strict=True)
    slowest, *others = [
        _place(dimension) if step == 1 else _place(dimension) * step
        for dimension, step, extent in steps
        if extent > 1
    ][::-1] or [0]
    return sum(others, slowest)


def _extent(dimension: Dimension) -> int:
    return current("'clusterDim'").shape.cluster[list(Dimension).index(dimension)]


def _place(dimension: Dimension) -> Index:
    """Return the index of the block in its cluster along a dimension."""
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
