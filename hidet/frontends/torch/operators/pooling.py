"""ATen pooling operators: reductions of windows."""

from collections.abc import Sequence
from math import inf, prod

import torch
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import computation_type, shape_of
from hidet.dialects.graph.contraction import Window, per_dimension
from hidet.frontends.torch.operators.emitter import Emitter, Table, holds_floats, unsupported

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
    numbers = (kernel_size, stride or kernel_size, padding, dilation)
    window = Window(*(per_dimension(each, 2) for each in numbers), ceil_mode=ceil_mode)
    result = g.emit(graph.MaxOp(_windows(g, x, -inf, window), (-2, -1)))
    if all(user.args[1] == 0 for user in g.node.users):
        return result, None
    return result, _positions(g, x, result, window)


def _windows(g: Emitter, x: SSAValue, outside: float, window: Window) -> SSAValue:
    """Return the windows of floating-point images."""
    if not holds_floats(x):
        raise unsupported(f"pooling of {x.type}; supported are floating-point elements")
    return g.emit(graph.WindowsOp(x, outside, window))


def _positions(g: Emitter, x: SSAValue, largest: SSAValue, window: Window) -> SSAValue:
    """Return the row-major index in the image of the largest element of each window.

    It is the first of several, and NaN is the largest.
    """
    height, width = shape_of(x)[-2:]
    windows = _windows(g, x, -inf, window)  # one of its own, to fuse
    found = g.emit(graph.EqOp(windows, g.reshape(largest, [*shape_of(largest), 1, 1])))
    found = g.emit(graph.BitwiseOrOp(found, g.emit(graph.NeOp(windows, windows))))

    def places(axis: int) -> SSAValue:
        """Return the indices in the image along an axis, [count, 1, kernel, 1] or the like."""
        sizes = shape_of(windows)[-4:]
        begin = TensorType(i64, [sizes[n] if n == axis else 1 for n in range(4)])
        inside = TensorType(i64, [sizes[n] if n == 2 + axis else 1 for n in range(4)])
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
    return g.emit(graph.MinOp(candidates, (-2, -1)))


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
    numbers = (kernel_size, stride or kernel_size, padding)
    window = Window(*(per_dimension(each, 2) for each in numbers), ceil_mode=ceil_mode)
    wide = computation_type(g.element)
    windows = g.cast(_windows(g, x, 0, window), wide)
    total = g.emit(graph.SumOp(windows, (-2, -1)))
    divisor = g.scalar(divisor_override or prod(window.kernel), wide)
    return g.cast(g.emit(graph.DivOp(total, divisor)), g.element)


POOLING: Table = {
    aten.max_pool2d_with_indices.default: max_pool2d,
    aten.avg_pool2d.default: avg_pool2d,
}
"""The translations of pooling operators."""
