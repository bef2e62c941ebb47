"""The windows of images as the rows of matrices, and groups too small for matrices."""

from math import prod

from xdsl.ir import SSAValue

from hidet.dialects.graph.base import shape_of
from hidet.lowering.graph.graph_builder import GraphBuilder

RUN = 4
"""The channels of a vector load, to which channels are padded."""

FILTERS_LAST = 2, 3, 1, 0
"""The order of filters [O, C, KH, KW] in which vectors have several filters."""

MAX_DEPTH, MAX_FILTERS = 8, 16
"""The most channels and filters of small groups."""


def are_small(groups: int, depth: int, filters: int) -> bool:
    """Return whether groups, of so many channels and filters each, are too small for matmuls.

    The runs of a group in memory are less than a sector, so that tiles are read several times, and
    most columns of a tensor core's tile are empty.
    """
    return groups > 1 and (depth == 1 or (depth <= MAX_DEPTH and filters <= MAX_FILTERS))


def matrix_of_windows(
    b: GraphBuilder, windows: SSAValue, groups: int, *, images_last: bool = False
) -> SSAValue:
    """Return windows [N, C, OH, OW, KH, KW] as [g, N OH OW, KH KW C / g], channels fastest.

    Channels are contiguous in channels-last images. The dimension of groups is absent for one
    group. The pixels of all images may come one after the other instead, as [g, OH OW N, ...].
    """
    images, channels, *positions, height, width = shape_of(windows)
    batch, depth = [groups] if groups > 1 else [], channels // groups
    n = len(batch)
    pixel = (n + 2, n + 3, 0) if images_last else (0, n + 2, n + 3)
    rows = b.reshape(windows, [images, *batch, depth, *positions, height, width])
    rows = b.permute(rows, [*range(1, n + 1), *pixel, n + 4, n + 5, n + 1])
    return b.reshape(rows, [*batch, images * prod(positions), height * width * depth])
