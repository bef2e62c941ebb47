"""The rows of the table, by family; importing this module adds all of them."""

from hidet.frontends.onnx.operators import (
    convolution,
    elementwise,
    lookup,
    normalization,
    reduction,
    resize,
    shape,
)
from hidet.frontends.onnx.table import find

FAMILIES = (convolution, elementwise, lookup, normalization, reduction, resize, shape)

__all__ = ["FAMILIES", "find"]
