"""Clusters of blocks in scripts: where a block is in its cluster, and the cluster's barrier."""

from __future__ import annotations

from hidet.dialects.cuda import ClusterArriveOp, ClusterWaitOp
from hidet.dialects.cuda.attributes import Dimension
from hidet.frontends.script.cuda import AlongDimensions
from hidet.frontends.script.tracing import current
from hidet.frontends.script.values import Index


def cluster_arrive() -> None:
    """Come to the barrier of all threads of the cluster, and go on at once."""
    current("cluster_arrive").insert(ClusterArriveOp())


def cluster_wait() -> None:
    """Wait until all threads of the cluster have come to its barrier."""
    current("cluster_wait").insert(ClusterWaitOp())


def cluster_sync() -> None:
    """Wait for all threads of the cluster."""
    cluster_arrive()
    cluster_wait()


def block_rank_in_cluster() -> Index:
    """Return the number of the block in its cluster, along x first, then y and z."""
    x, y, _ = current("block_rank_in_cluster").shape.cluster
    rank: Index = 0
    for dimension, step in zip(Dimension, (1, x, x * y), strict=True):
        rank = _place(dimension) * step + rank
    return rank


def _extent(dimension: Dimension) -> int:
    return current("clusterDim").shape.cluster[list(Dimension).index(dimension)]


def _place(dimension: Dimension) -> Index:
    """Return where the block is in its cluster: clusters lie side by side, from block 0 on."""
    extent = _extent(dimension)
    if extent == 1:
        return 0
    return current("clusterRelativeBlockIdx").block_id(dimension) % extent


def _cluster(dimension: Dimension) -> Index:
    number = current("clusterIdx").block_id(dimension)
    extent = _extent(dimension)
    return number if extent == 1 else number // extent


clusterDim = AlongDimensions("clusterDim", _extent)
clusterIdx = AlongDimensions("clusterIdx", _cluster)
clusterRelativeBlockIdx = AlongDimensions("clusterRelativeBlockIdx", _place)
