"""The interface of anchors, around which kernels are built."""

from abc import ABC

from hidet.dialects.graph.base import GraphOp


class AnchorOp(GraphOp, ABC):
    """An operator that a template computes tile by tile, instead of becoming grids.

    `lower-graph-to-compute` keeps it, and `fuse` builds a kernel around it: producer grids become
    views that it loads, and grids that read one element of its result per element are its epilogue,
    evaluated at the stores. To add one, derive the operator from this class and write a template
    that accepts it.
    """
