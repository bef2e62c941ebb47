"""What the templates of grouped convolutions share: runs of pixels, and sums over threads."""

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd
from typing import Any, Self

from hidet.analysis.contiguity import contiguous_run
from hidet.dialects.graph import GroupedConv2dOp, GroupedFilterGradientOp
from hidet.dialects.shaped import bytes_of, element_of, shape_of
from hidet.frontends.script.mathematics import minimum
from hidet.frontends.script.tensors import Tensor
from hidet.frontends.script.types import F32, ScalarType
from hidet.lang import script, shared_tensor
from hidet.lang.cuda import threadIdx
from hidet.lowering.templates.base import ceil_div
from hidet.lowering.templates.parts import fill, in_type_of, known
from hidet.mapping import repeat, replicate

MAX_INPUTS = 4
"""The most channels of a group that a thread has of a pixel, in registers."""


@dataclass(frozen=True)
class Sliding:
    """A grouped convolution, or the gradient of its filters.

    Attributes:
        shape: the images, rows, pixels and channels of the convolution's result.
        kernel: the rows and columns of a filter.
        stride: the distance of window positions.
        dilation: the distance of window elements.
        vector: the most channels of an access to the filters, or to the gradient of the result.
        sum_bytes: the size of a sum.
        depth: the channels of a group.
        filters: the filters of a group.
        inputs: the most channels of an access to the images, of one group.
    """

    shape: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    vector: int
    sum_bytes: int = 4
    depth: int = 1
    filters: int = 1
    inputs: int = 1

    @classmethod
    def of(cls, op: GroupedConv2dOp | GroupedFilterGradientOp) -> Self:
        """Return the problem of an operator."""
        if isinstance(op, GroupedConv2dOp):
            filters, result = op.weight, op.result
        else:
            filters, result = op.result, op.grad
        depth, count = shape_of(filters)[-2:]
        each = count * depth // max(shape_of(op.x)[3], 1)
        of_image, other = (contiguous_run(operand, [3]).length for operand in op.operands)
        return cls(
            shape=shape_of(result),
            kernel=op.window.kernel,
            stride=op.window.stride,
            dilation=op.window.dilation,
            vector=min(of_image, other) if depth == each == 1 else gcd(other, each),
            sum_bytes=max(4, bytes_of(element_of(op.result))),
            depth=depth,
            filters=each,
            inputs=gcd(MAX_INPUTS, depth, of_image),
        )

    @property
    def is_depthwise(self) -> bool:
        """Whether each group has one channel and one filter; a vector then has several groups."""
        return self.depth == self.filters == 1

    @property
    def chunks(self) -> int:
        """The parts of a group's channels that are accessed one after the other."""
        return self.depth // self.inputs

    def pixels_under(self, pixels: int) -> int:
        """Return how many pixels of a row are under the windows of a run of pixels."""
        reach = (self.kernel[1] - 1) * self.dilation[1]
        return (pixels - 1) * self.stride[1] + reach + 1

    def pixel_under(self, p: Any, s: Any) -> Any:
        """Return which of these pixels column s of the filters takes for pixel p of a run."""
        return p * self.stride[1] + s * self.dilation[1]

    def first_channel(self, channel: Any) -> Any:
        """Return the first channel of the images in the group of a channel of the result."""
        return channel // self.filters * self.depth

    def held(self, u: Any, v: Any) -> Any:
        """Return which channel of a pixel is multiplied: u of the group, v if depthwise."""
        return v if self.is_depthwise else u


def divisors(number: int, most: int) -> list[int]:
    """Return the divisors of a number up to a limit."""
    return [each for each in range(1, most + 1) if number % each == 0]


def sum_type_of(x: Tensor) -> ScalarType:
    """Return the type of sums of products of a tensor, in registers."""
    return F32 if x.element.bits < F32.bits else x.element


def row_of_step(step: Any, parts: int, part: Any) -> Any:
    """Return which row of sums a thread stores in a step."""
    return step * parts + part


@script
def store_sums(
    acc: Tensor,
    total: Tensor,
    result: Tensor,
    place: Callable[[Any, Any], tuple[Any, ...]],
    is_there: Any,
    part: Any,
    groups: tuple[int, int],
) -> None:
    """Store the sums [P, V] of `acc` over the threads that share them, some rows in each.

    `groups` are the groups of a block and the threads of each: those at the same place of all
    groups share sums, of which this thread is number `part`. Sum v of row p is stored in the result
    at `place(p, v)`. `total` [V] is the tile of one row.
    """
    thread = threadIdx.x
    parts, group = groups
    rows, columns = known(acc.shape)
    own = replicate(parts * group)
    sums = shared_tensor(acc.dtype, [parts, rows, columns, group])
    for p, v in acc.on(thread):
        sums[part, p, v, thread % group] = acc[p, v]
    for step in (repeat(ceil_div(rows, parts)) * own).on(thread):
        p = row_of_step(step, parts, part)
        fill(total, 0, thread)
        for other in (repeat(parts) * own).on(thread):
            for v in total.on(thread):
                total[v] += sums[other, minimum(p, rows - 1), v, thread % group]
        for v in total.on(thread):
            if is_there and p < rows:
                result[place(p, v)] = in_type_of(result, total[v])
