"""The interface of anchors: operators that kernels are built around."""

from abc import ABC

from hidet.dialects.graph.base import GraphOp


class AnchorOp(GraphOp, ABC):
    """An operator that a template computes tile by tile, and that does not become grids.

    `lower-graph-to-compute` leaves it, and `fuse` builds a kernel around it: grids ahead of it are
    views that it loads, and grids that read one element of its result for each of their own are
    its epilogue, evaluated where the element is stored. A kernel has one anchor. For a new one,
    derive the operator from this class and write a template that accepts fusions of it.
    """
