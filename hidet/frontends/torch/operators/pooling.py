"""ATen operators that combine the elements of a window that slides over images."""

from collections.abc import Sequence

import torch
from xdsl.ir import SSAValue

from hidet.dialects import graph
from hidet.frontends.torch.operators.emitter import Emitter, Table

aten = torch.ops.aten


def _pair(values: Sequence[int]) -> tuple[int, int]:
    """Give a number for height and width each; one may stand for both."""
    return values[0], values[-1]


def max_pool2d(
    g: Emitter,
    x: SSAValue,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple[SSAValue, None]:
    """The largest elements, without their positions."""
    result = g.emit(
        graph.MaxPool2dOp(
            x,
            _pair(kernel_size),
            _pair(stride or kernel_size),
            _pair(padding),
            _pair(dilation),
            ceil_mode=ceil_mode,
        )
    )
    return result, None


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
    """The means."""
    return g.emit(
        graph.AvgPool2dOp(
            x,
            _pair(kernel_size),
            _pair(stride or kernel_size),
            _pair(padding),
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
            divisor=divisor_override,
        )
    )


def adaptive_avg_pool2d(g: Emitter, x: SSAValue, output_size: Sequence[int]) -> SSAValue:
    """The means of a given number of parts."""
    return g.emit(graph.AdaptiveAvgPool2dOp(x, _pair(output_size)))


POOLING: Table = {
    aten.max_pool2d_with_indices.default: max_pool2d,
    aten.avg_pool2d.default: avg_pool2d,
    aten._adaptive_avg_pool2d.default: adaptive_avg_pool2d,
}
"""How pooling operators are translated."""
