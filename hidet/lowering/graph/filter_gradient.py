"""The decomposition of gradients of filters: matmuls, or sums of parts if groups are small."""

from xdsl.ir import SSAValue

from hidet.arch.chips import Arch
from hidet.dialects import graph
from hidet.dialects.graph.base import computation_type, element_type, shape_of
from hidet.lowering.graph.graph_builder import GraphBuilder
from hidet.lowering.graph.windows import RUN, are_small, matrix_of_windows

DEPTHWISE_BLOCKS, BLOCKS, CHANNELS, ROWS = 4, 8, 64, 4
"""The blocks per multiprocessor that the gradient of depthwise filters is worth, that of filters of
several channels, the channels that one of them has, about, and the fewest rows of a part."""

MAX_SPAN = 64
"""The most rows and pixels under a filter: threads have a row of it each, and its pixels in
registers."""


def decompose_filter_gradient(
    b: GraphBuilder, op: graph.Conv2dFilterGradientOp, arch: Arch
) -> SSAValue:
    """A matmul of gradients and windows over all pixels, in the accumulator type, and a cast.

    Its operands have channels last, as memory has, so that nothing is copied in another order.
    """
    total = sum_of_parts(b, op, arch) if is_small(op) else product(b, op)
    return b.cast(total, op.result_type.element_type)


def is_small(op: graph.Conv2dFilterGradientOp) -> bool:
    """Return whether groups are too small for matmuls, and windows fit into registers."""
    groups, (filters, depth, *_) = op.groups.value.data, op.result_type.get_shape()
    spans = (
        step * (taps - 1) + 1
        for taps, step in zip(op.window.kernel, op.window.dilation, strict=True)
    )
    return are_small(groups, depth, filters // groups) and max(spans) <= MAX_SPAN


def product(b: GraphBuilder, op: graph.Conv2dFilterGradientOp) -> SSAValue:
    """Return the gradient as a matmul for each group."""
    groups, (filters, depth, *kernel) = op.groups.value.data, op.result_type.get_shape()
    x, grad, missing, is_tf32 = op.x, op.grad, 0, op.precision.data == "tf32"
    if is_tf32:  # wgmma needs operands that are contiguous along K
        x, grad = (b.packed(each, [1, 2, 3, 0]) for each in (x, grad))
    elif groups == 1 and (missing := -depth % RUN):
        x = b.packed(b.emit(graph.PadOp(x, [0] * 4, [0, missing, 0, 0])), [0, 2, 3, 1])
    windows = b.emit(graph.WindowsOp(x, 0, op.window))
    pixels = b.reshape(grad, [*shape_of(grad), 1, 1])
    lhs, rhs = (
        matrix_of_windows(b, each, groups, images_last=is_tf32) for each in (pixels, windows)
    )
    found = b.matmul(b.transposed(lhs), rhs, op.precision)
    found.name_hint = "gradient"
    found = b.reshape(found, [filters, *kernel, depth + missing])
    return b.permute(b.narrow(found, 3, 0, depth) if missing else found, [0, 3, 1, 2])


def sum_of_parts(b: GraphBuilder, op: graph.Conv2dFilterGradientOp, arch: Arch) -> SSAValue:
    """Return the gradient as a sum of parts, which many blocks compute."""
    window, element = op.window, computation_type(element_type(op.x))
    x, grad = b.padded_images(op.x, window.padding), b.permute(op.grad, [0, 2, 3, 1])
    images, rows, _, filters = shape_of(grad)
    each = DEPTHWISE_BLOCKS if op.result_type.get_shape()[1] == 1 else BLOCKS
    blocks = each * arch.processors // -(-filters // CHANNELS)
    parts = b.emit(
        graph.GroupedFilterGradientOp(
            x,
            grad,
            kernel=window.kernel,
            stride=window.stride,
            dilation=window.dilation,
            groups=op.groups,
            parts=max(1, min(blocks, images * rows // ROWS)),
            result_element=element,
        )
    )
    parts.name_hint = "parts"
    total = b.emit(graph.SumOp(parts, [0]))
    return b.permute(total, [3, 2, 0, 1])
