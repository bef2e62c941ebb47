"""The template `transpose`: elementwise kernels that read in another order than they write."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from hidet.analysis.contiguity import adjacent_dim
from hidet.arch.chips import Arch
from hidet.dialects.compute import FusionOp
from hidet.dialects.compute.ops import terminator_of
from hidet.dialects.shaped import bytes_of, element_of, shape_of, size_of
from hidet.frontends.script.tensors import Tensor
from hidet.lang import script, shared_tensor
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lowering.templates.base import KernelScope, Launch, Template, ceil_div
from hidet.lowering.templates.config import Config
from hidet.lowering.templates.epilogue import anchor_of, clone_views
from hidet.lowering.templates.parts import known, place
from hidet.mapping import vector_map

SIDE = 64
"""The largest extent of a tile along the dimension that is contiguous where it is read."""

TILE = SIDE * SIDE
THREADS = 256

WORD = 4
"""The bytes of a shared memory bank, which pad rows, and of an access to global memory."""

FEWEST = 1 << 17
"""The fewest elements of a transposed result; latency dominates below."""

MIN_ROWS, MIN_COLUMNS = 8, 32
"""The least extents along both dimensions: fewer rows share the sectors that they read anyway, and
few columns are written by one thread."""


@dataclass(frozen=True)
class TransposeConfig(Config):
    """The tiles of a transposed result.

    Attributes:
        dim: the dimension along which adjacent elements are read from adjacent memory.
        rows: the extent of a tile along it.
        columns: the elements of a tile along the dimensions behind it, the last ones first.
        vector: the adjacent elements that a thread reads, or writes.
        threads: the threads of a block.
    """

    dim: int
    rows: int
    columns: int
    vector: int
    threads: int

    def tile(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the extents of a tile of a result, from `dim` on."""
        tile: list[int] = []
        left = self.columns
        for extent in reversed(shape[self.dim + 1 :]):
            tile.insert(0, min(left, _power_above(extent)))
            left //= tile[0]
        return self.rows, *tile

    def tiles(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the number of tiles of a result along each dimension."""
        tile = self.tile(shape)
        return (*shape[: self.dim], *map(ceil_div, shape[self.dim :], tile))


class TransposeTemplate(Template[TransposeConfig]):
    """A block reads a tile along one dimension, and writes it along the last one.

    In between it is in shared memory, whose rows are padded by a bank.
    """

    name = "transpose"
    config = TransposeConfig

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions of grids that have one large result."""
        results = fusion.results_
        return anchor_of(fusion) is None and len(results) == 1 and size_of(results[0]) >= FEWEST

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[TransposeConfig]:
        """Return one config if the result is read along another dimension than its last one."""
        (value,) = terminator_of(fusion.body).operands
        shape, dim = shape_of(value), adjacent_dim(value)
        if arch.is_cpu or dim is None or dim == len(shape) - 1:
            return []
        if shape[dim] < MIN_ROWS or shape[-1] < MIN_COLUMNS:
            return []
        vector = max(1, WORD // bytes_of(element_of(value)))
        rows = max(vector, min(SIDE, _power_above(shape[dim])))
        columns = min(TILE // rows, _power_above(prod(shape[dim + 1 :])))
        config = TransposeConfig(dim, rows, columns, vector, THREADS)
        return [config] if prod(config.tile(shape)) % (THREADS * vector) == 0 else []

    def launch(self, fusion: FusionOp, config: TransposeConfig) -> Launch:
        """Return the grid that covers the tiles."""
        return Launch((prod(config.tiles(shape_of(fusion.results_[0]))),), (config.threads,))

    def build(self, scope: KernelScope, fusion: FusionOp, config: TransposeConfig) -> None:
        """Build the kernel body."""
        clone_views(scope, fusion)
        transpose(*scope.results[0], config)


@script
def transpose(view: Tensor, result: Tensor, choice: TransposeConfig) -> None:
    """Compute one tile of the result, and store it along the last dimension."""
    thread = threadIdx.x
    shape = known(result.shape)
    extents = choice.tile(shape)
    first = first_of(place(blockIdx.x, choice.tiles(shape)), extents)
    pad = choice.vector  # to the next bank
    tile = shared_tensor(result.dtype, [*extents[:-1], extents[-1] + pad])
    along_rows, along_columns = (
        vector_map(extents, dim, choice.vector, choice.threads) for dim in (0, len(extents) - 1)
    )
    for each in along_rows.on(thread):
        at = moved(first, each)
        if is_inside(at, shape, extents):
            tile[each] = view[at]
    for each in along_columns.on(thread):
        at = moved(first, each)
        if is_inside(at, shape, extents):
            result[at] = tile[each]


def first_of(number: Sequence[Any], extents: Sequence[int]) -> tuple[Any, ...]:
    """Return the first element of a tile, given its number along each dimension."""
    ahead = len(number) - len(extents)
    behind = (each * extent for each, extent in zip(number[ahead:], extents, strict=True))
    return *number[:ahead], *behind


def moved(first: Sequence[Any], steps: Sequence[Any]) -> tuple[Any, ...]:
    """Return the element of a result at an element of the tile that begins at `first`."""
    ahead = len(first) - len(steps)
    return *first[:ahead], *(at + step for at, step in zip(first[ahead:], steps, strict=True))


def is_inside(at: Sequence[Any], shape: Sequence[int], extents: Sequence[int]) -> Any:
    """Return whether an element of a tile is one of the result, too."""
    ahead = len(shape) - len(extents)
    inside: Any = True
    for index, extent, part in zip(at[ahead:], shape[ahead:], extents, strict=True):
        if extent % part:
            inside = index < extent if inside is True else inside & (index < extent)
    return inside


def _power_above(extent: int) -> int:
    """Return the least power of two that is no smaller."""
    return 1 << (extent - 1).bit_length()
