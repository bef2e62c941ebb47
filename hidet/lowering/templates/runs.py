"""What the templates of grouped convolutions share: runs of pixels, and sums over threads."""

from collections.abc import Callable
from typing import Any, Protocol

from hidet.frontends.script.mathematics import minimum
from hidet.frontends.script.tensors import Tensor
from hidet.frontends.script.types import F32, ScalarType
from hidet.lang import script, shared_tensor
from hidet.lang.cuda import threadIdx
from hidet.lowering.templates.base import ceil_div
from hidet.lowering.templates.parts import fill, in_type_of, known
from hidet.mapping import repeat, replicate


class Sliding(Protocol):
    """A problem with a window, with rows and columns in each field."""

    @property
    def kernel(self) -> tuple[int, ...]:
        """The rows and columns of a filter."""
        ...

    @property
    def stride(self) -> tuple[int, ...]:
        """The distance of window positions."""
        ...

    @property
    def dilation(self) -> tuple[int, ...]:
        """The distance of window elements."""
        ...


def pixels_under(pixels: int, problem: Sliding) -> int:
    """Return how many pixels of a row are under the windows of a run of pixels."""
    reach = (problem.kernel[1] - 1) * problem.dilation[1]
    return (pixels - 1) * problem.stride[1] + reach + 1


def pixel_under(p: Any, s: Any, problem: Sliding) -> Any:
    """Return which of these pixels column s of the filters takes for pixel p of a run."""
    return p * problem.stride[1] + s * problem.dilation[1]


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
