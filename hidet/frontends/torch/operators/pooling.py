"""ATen pooling operators."""

from collections.abc import Sequence
from math import inf, prod

import torch
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import shape_of
from hidet.dialects.graph.window import Window
from hidet.frontends.torch.operators.emitter import Emitter, Table, unsupported
from hidet.frontends.torch.operators.shape import row_major_strides

aten = torch.ops.aten


def max_pool2d(
    g: Emitter,
    x: SSAValue,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple[SSAValue, SSAValue | None]:
    """Max pooling, with indices if used."""
    op = graph.MaxPool2dOp(
        x,
        kernel_size,
        stride,
        padding,
        dilation=dilation,
        ceil_mode=ceil_mode,
    )
    result = g.emit(op)
    if all(user.args[1] == 0 for user in g.node.users):
        return result, None
    return result, _positions(g, x, result, op.window)


def _positions(g: Emitter, x: SSAValue, largest: SSAValue, window: Window) -> SSAValue:
    """Return the row-major index in the image of the largest element of each window.

    It is the first of several, and NaN is the largest.
    """
    *leading, height, width = shape_of(x)
    counts, sizes = shape_of(largest)[-2:], (height, width)
    low = [*(0 for _ in leading), *window.padding]
    high = [0] * len(low)
    for axis, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        reach = (count - 1) * window.stride[axis] + (window.kernel[axis] - 1) * window.dilation[
            axis
        ]
        high[len(leading) + axis] = max(0, reach + 1 - size - window.padding[axis])
    padded = g.emit(graph.PadOp(x, low, high, -inf))
    strides = row_major_strides(shape_of(padded))
    steps = strides[-2:]
    along = [step * n for step, n in zip(steps, window.stride, strict=True)]
    within = [step * n for step, n in zip(steps, window.dilation, strict=True)]
    shape = (*leading, *counts, *window.kernel)
    storage = g.reshape(padded, [prod(shape_of(padded))])
    windows = g.emit(graph.AsStridedOp(storage, shape, [*strides[:-2], *along, *within], 0))
    found = g.emit(graph.EqOp(windows, g.reshape(largest, [*shape_of(largest), 1, 1])))
    found = g.emit(graph.BitwiseOrOp(found, g.emit(graph.IsnanOp(windows))))

    def places(axis: int) -> SSAValue:
        """Return the indices in the image along an axis, [count, 1, kernel, 1] or the like."""
        begin = TensorType(i64, [counts[n] if n == axis else 1 for n in (0, 1, 2, 3)])
        inside = TensorType(i64, [window.kernel[axis] if n == 2 + axis else 1 for n in range(4)])
        first, step = -window.padding[axis], window.stride[axis]
        return g.emit(
            graph.AddOp(
                g.emit(graph.IotaOp(begin, dim=axis, start=first, step=step)),
                g.emit(graph.IotaOp(inside, dim=2 + axis, step=window.dilation[axis])),
            )
        )

    rows = g.emit(graph.MulOp(places(0), g.scalar(width, i64)))
    places_of_all = g.emit(graph.AddOp(rows, places(1)))
    candidates = g.emit(graph.WhereOp(found, places_of_all, g.scalar(height * width, i64)))
    rank = len(shape)
    return g.emit(graph.MinOp(candidates, (rank - 2, rank - 1)))


def avg_pool2d(
    g: Emitter,
    x: SSAValue,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> SSAValue:
    """Average pooling whose windows have one divisor; others are decomposed."""
    if divisor_override is None and (ceil_mode or not (count_include_pad or not any(padding))):
        raise unsupported("windows with different numbers of elements")
    op = graph.AvgPool2dOp(
        x, kernel_size, stride, padding, ceil_mode=ceil_mode, divisor=divisor_override
    )
    return g.emit(op)


POOLING: Table = {
    aten.max_pool2d_with_indices.default: max_pool2d,
    aten.avg_pool2d.default: avg_pool2d,
}
"""The translations of pooling operators."""
