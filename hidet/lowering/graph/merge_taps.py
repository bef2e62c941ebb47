"""The pass `merge-taps`: makes channels of the horizontal taps of filters with few channels."""

from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from hidet.dialects import graph
from hidet.dialects.graph.base import element_type, shape_of
from hidet.dialects.shaped import bytes_of
from hidet.dialects.walking import reached
from hidet.lowering.graph.graph_builder import GraphBuilder
from hidet.lowering.single_walk import apply_rules

CHANNELS = 4
"""The channels of a pixel, to which fewer are padded."""

VECTOR_BYTES = 16
"""The alignment of the windows of a row, which are read by vectors."""

WINDOW_BYTES = 128
"""The bytes of a window of several output pixels: the widest rows of a swizzled tile."""

MIN_WINDOWS = 1 << 12
"""The fewest windows of several output pixels, so that there are tiles for most multiprocessors."""


def merge_taps(b: GraphBuilder, op: graph.Conv2dOp) -> SSAValue | None:
    """A convolution of few channels becomes one of windows of rows, with filters of width 1.

    Images [N, C, H, W] are padded and stored as rows [N, H, W * 4] of pixels. The window of P
    adjacent output pixels in a row, all taps and channels, is contiguous and overlaps that of the
    next ones: as channels of an image [N, T * 4, H, OW / P]. Filters [O, C, KH, KW] are shifted for
    each of the pixels: [P * O, T * 4, KH, 1].
    """
    (_, step), (_, spread) = op.window.stride, op.window.dilation
    channels, width = shape_of(op.x)[1], shape_of(op.weight)[3]
    element = bytes_of(element_type(op.x))
    if op.groups.value.data != 1 or channels > CHANNELS or width == 1 or spread != 1:
        return None
    if step * CHANNELS * element % VECTOR_BYTES or element * CHANNELS >= VECTOR_BYTES:
        return None
    most = WINDOW_BYTES // (element * CHANNELS)
    pixels = _pixels(op, most)
    taps = most if pixels > 1 else width + width % 2  # whole vectors
    convolution = graph.Conv2dOp(
        _windows(b, op, taps, pixels),
        _filters(b, op, taps, pixels),
        _repeated(b, op.bias, pixels),
        stride=(op.window.stride[0], 1),
        dilation=(op.window.dilation[0], 1),
        precision=op.precision.data,
        result_element=element_type(op.result),
    )
    result = b.emit(convolution)
    return result if pixels == 1 else _pixels_apart(b, result, pixels)


def _pixels(op: graph.Conv2dOp, taps: int) -> int:
    """Return how many adjacent output pixels share a window of at most `taps` pixels.

    TMA loads then have fewer and longer rows. More weights of a window are zero, but tensor cores
    would wait for the loads of the other windows. A result that is returned has one pixel per
    window: it is stored channel by channel.
    """
    step, width = op.window.stride[1], shape_of(op.weight)[3]
    images, _, height, columns = shape_of(op.result)
    fits = [n for n in range(1, taps) if columns % n == 0 and (n - 1) * step + width <= taps]
    pixels = max(fits, default=1)
    is_large = images * height * columns // pixels >= MIN_WINDOWS
    return pixels if is_large and not _is_returned(op.result) else 1


def _is_returned(value: SSAValue) -> bool:
    """Return whether a function returns a tensor, or what elementwise operators make of it."""

    def made_of(x: SSAValue) -> list[SSAValue]:
        users = [use.operation for use in x.uses if isinstance(use.operation, graph.GraphOp)]
        results = [user.results[0] for user in users if not isinstance(user, graph.Conv2dOp)]
        return [result for result in results if shape_of(result) == shape_of(value)]

    uses = (use for each in reached([value], made_of) for use in each.uses)
    return any(isinstance(use.operation, ReturnOp) for use in uses)


def _windows(b: GraphBuilder, op: graph.Conv2dOp, taps: int, pixels: int) -> SSAValue:
    """Return the images of the windows of each row."""
    images, channels, *sizes = shape_of(op.x)
    *_, height, width = shape_of(op.result)
    (down, step), (top, left) = op.window.stride, op.window.padding
    reach = op.window.dilation[0] * (op.window.kernel[0] - 1)
    rows = max(down * (height - 1) + reach + 1, top + sizes[0])
    length = max(step * (width - pixels) + taps, left + sizes[1])
    length += length % 2
    high = [0, CHANNELS - channels, rows - top - sizes[0], length - left - sizes[1]]
    padded = b.emit(graph.PadOp(op.x, [0, 0, top, left], high))
    last = b.permute(padded, [0, 2, 3, 1])
    merged = b.reshape(last, [images, rows, length * CHANNELS])
    stored = b.emit(graph.PackOp(merged, [0, 1, 2]))
    flat = b.reshape(stored, [prod(shape_of(stored))])
    row = length * CHANNELS
    shape = [images, taps * CHANNELS, rows, width // pixels]
    strides = [rows * row, 1, row, pixels * step * CHANNELS]
    return b.emit(graph.AsStridedOp(flat, shape, strides))


def _filters(b: GraphBuilder, op: graph.Conv2dOp, taps: int, pixels: int) -> SSAValue:
    """Return filters for each pixel of a window, whose channels are those of all its taps."""
    filters, channels, height, width = shape_of(op.weight)
    shifted: list[SSAValue] = []
    for left in range(0, pixels * op.window.stride[1], op.window.stride[1]):
        high = [0, CHANNELS - channels, 0, taps - width - left]
        shifted.append(b.emit(graph.PadOp(op.weight, [0, 0, 0, left], high)))
    merged = shifted[0] if pixels == 1 else b.emit(graph.ConcatOp(shifted, 0))
    moved = b.permute(merged, [0, 3, 1, 2])
    shape = [pixels * filters, taps * CHANNELS, height, 1]
    return b.reshape(moved, shape)


def _repeated(b: GraphBuilder, bias: SSAValue | None, pixels: int) -> SSAValue | None:
    """Return the bias for each pixel of a window."""
    if bias is None or pixels == 1:
        return bias
    return b.emit(graph.ConcatOp([bias] * pixels, 0))


def _pixels_apart(b: GraphBuilder, result: SSAValue, pixels: int) -> SSAValue:
    """Return images [N, O, H, W] of results [N, P * O, H, W / P]."""
    images, filters, height, width = shape_of(result)
    parts = [images, pixels, filters // pixels, height, width]
    apart = b.reshape(result, parts)
    moved = b.permute(apart, [0, 2, 3, 4, 1])
    shape = [images, filters // pixels, height, width * pixels]
    return b.reshape(moved, shape)


class MergeTapsPass(ModulePass):
    """Make channels of the horizontal taps of convolutions with few channels, as of RGB images.

    Matches convolutions of f16 and bf16 with up to four channels and an even horizontal stride: a
    pixel is less than a vector, and every second pixel is aligned like one. The first layer of a
    network then reads vectors of taps, or boxes of 32 and 64 channels by TMA. In large images
    several adjacent output pixels share a window of 64 channels.
    """

    name = "merge-taps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all functions of a module."""
        apply_rules(op.body, GraphBuilder, {graph.Conv2dOp: merge_taps})
