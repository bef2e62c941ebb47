"""The pass `merge-taps`: makes channels of the horizontal taps of filters with few channels."""

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from hidet.dialects import graph
from hidet.dialects.graph.base import element_type, shape_of
from hidet.dialects.shaped import bytes_of
from hidet.lowering.single_walk import rewrite_once
from hidet.rewriting.locations import LocatedBuilder

CHANNELS = 4
"""The channels of a pixel, to which fewer are padded."""

VECTOR_BYTES = 16
"""The alignment of the windows of a row, which are read by vectors."""


class MergeTaps(RewritePattern):
    """A convolution of few channels becomes one of windows of rows, with filters of width 1.

    Images [N, C, H, W] are padded and stored as rows [N, H, W * 4] of pixels. The window of an
    output pixel in a row, all taps and channels, is contiguous and overlaps that of the next one:
    as channels of an image [N, KW * 4, H, OW]. Filters [O, C, KH, KW] are [O, KW * 4, KH, 1].
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.Conv2dOp, rewriter: PatternRewriter) -> None:
        (_, step), (_, spread) = op.window.stride, op.window.dilation
        channels, width = shape_of(op.x)[1], shape_of(op.weight)[3]
        element = bytes_of(element_type(op.x))
        if op.groups.value.data != 1 or channels > CHANNELS or width == 1 or spread != 1:
            return
        if step * CHANNELS * element % VECTOR_BYTES or element * CHANNELS >= VECTOR_BYTES:
            return
        b = LocatedBuilder.like(op)
        taps = width + width % 2  # whole vectors
        convolution = graph.Conv2dOp(
            _windows(b, op, taps),
            _filters(b, op.weight, taps),
            op.bias,
            stride=(op.window.stride[0], 1),
            dilation=(op.window.dilation[0], 1),
            precision=op.precision.data,
            result_element=element_type(op.result),
        )
        rewriter.replace(op, convolution)


def _windows(b: LocatedBuilder, op: graph.Conv2dOp, taps: int) -> SSAValue:
    """Return the images of the windows of each row."""
    images, channels, *sizes = shape_of(op.x)
    *_, height, width = shape_of(op.result)
    (down, step), (top, left) = op.window.stride, op.window.padding
    reach = op.window.dilation[0] * (op.window.kernel[0] - 1)
    rows = max(down * (height - 1) + reach + 1, top + sizes[0])
    pixels = max(step * (width - 1) + taps, left + sizes[1])
    pixels += pixels % 2
    high = [0, CHANNELS - channels, rows - top - sizes[0], pixels - left - sizes[1]]
    padded = b.insert(graph.PadOp(op.x, [0, 0, top, left], high)).result
    last = b.insert(graph.PermuteOp(padded, [0, 2, 3, 1])).result
    merged = b.insert(graph.ReshapeOp(last, [images, rows, pixels * CHANNELS])).result
    stored = b.insert(graph.PackOp(merged, [0, 1, 2])).result
    flat = b.insert(graph.ReshapeOp(stored, [prod(shape_of(stored))])).result
    row = pixels * CHANNELS
    shape, strides = [images, taps * CHANNELS, rows, width], [rows * row, 1, row, step * CHANNELS]
    return b.insert(graph.AsStridedOp(flat, shape, strides)).result


def _filters(b: LocatedBuilder, weight: SSAValue, taps: int) -> SSAValue:
    """Return filters whose channels are those of all taps of a row."""
    filters, channels, height, width = shape_of(weight)
    high = [0, CHANNELS - channels, 0, taps - width]
    padded = b.insert(graph.PadOp(weight, [0] * 4, high)).result
    moved = b.insert(graph.PermuteOp(padded, [0, 3, 1, 2])).result
    return b.insert(graph.ReshapeOp(moved, [filters, taps * CHANNELS, height, 1])).result


@dataclass(frozen=True)
class MergeTapsPass(ModulePass):
    """Make channels of the horizontal taps of convolutions with few channels, as of RGB images.

    Matches convolutions of f16 and bf16 with up to four channels and an even horizontal stride: a
    pixel is less than a vector, and every second pixel is aligned like one. The first layer of a
    network then reads vectors of taps, or boxes of 32 and 64 channels by TMA.
    """

    name = "merge-taps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all functions of a module."""
        rewrite_once(op.body, {graph.Conv2dOp: MergeTaps()})
