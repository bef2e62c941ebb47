"""The decomposition of convolutions of single pixels whose channels stay first."""

from math import prod

from xdsl.dialects.builtin import ModuleOp, bf16, f16
from xdsl.ir import SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import element_type, shape_of
from hidet.dialects.walking import ops_of_class
from hidet.lowering.graph.graph_builder import GraphBuilder

IMAGE = 256
"""The pixels from which an image fills tiles of its own."""


def decompose_pointwise(b: GraphBuilder, op: graph.Conv2dOp) -> SSAValue | None:
    """A convolution of single pixels whose channels stay first: filters times each of the images.

    Neither is copied. Instructions of tensor cores read operands along M or N if they have 16 bits.
    """
    images, channels, *sizes = shape_of(op.x)
    if prod(sizes) < IMAGE or element_type(op.x) not in (f16, bf16):
        return None
    pixels = b.reshape(op.x, [images, channels, prod(sizes)])
    filters = shape_of(op.weight)[0]
    total = b.matmul(b.reshape(op.weight, [filters, channels]), pixels, op.precision)
    total.name_hint = "conv"
    if op.bias is not None:
        bias = b.reshape(b.cast(op.bias, element_type(total)), [filters, 1])
        total = b.emit(graph.AddOp(total, bias))
    total = b.reshape(total, op.result_type.get_shape())
    return b.cast(total, op.result_type.element_type)


def has_channels_first_only(module: ModuleOp) -> bool:
    """Return whether convolutions are of single pixels, and nothing brings channels last."""
    convolutions = ops_of_class(module, graph.Conv2dOp)
    is_last = ops_of_class(module, graph.AsStridedOp, graph.PermuteOp)
    return all(map(is_pointwise, convolutions)) and not is_last


def is_pointwise(op: graph.Conv2dOp) -> bool:
    """Return whether a convolution multiplies the channels of each pixel by one matrix."""
    window, groups = op.window, op.groups.value.data
    return window.kernel == window.stride == (1, 1) and not any(window.padding) and groups == 1
