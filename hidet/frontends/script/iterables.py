"""What the loops of a script go over: ranges, grids, tasks of a mapping, groups of warps."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass

from hidet.frontends.script.values import Index, Scalar, Tensor
from hidet.mapping import TaskMap


@dataclass(frozen=True)
class Range:
    """`range(start, stop, step)` with bounds that may be known only when the kernel runs.

    Attributes:
        start: the first number.
        stop: the end, which is not reached.
        step: from one number to the next; positive where it is known only when the kernel runs.
        unroll: whether the compiler of CUDA unrolls the loop, or so many iterations of it.
        at_once: whether the body is traced for each number, which is then known in it.
        parallel: whether the cores of the CPU, or how many threads, share the iterations.
    """

    start: Index
    stop: Index
    step: Index
    unroll: bool | int = False
    at_once: bool = False
    parallel: bool | int = False

    def __iter__(self) -> Iterator[int]:
        """Go through the numbers in Python, where they are known."""
        return iter(
            range(operator.index(self.start), operator.index(self.stop), operator.index(self.step))
        )


@dataclass(frozen=True)
class Grid:
    """`grid(m, n, attrs='u.')`: nested loops, with the hint of each.

    Attributes:
        ranges: the loops, the outermost first.
        bind_tuple: whether a single loop gives a tuple too.
    """

    ranges: tuple[Range, ...]
    bind_tuple: bool = False


@dataclass(frozen=True)
class Tasks:
    """`tasks.on(worker, bound=[m, n])`: the tasks of one worker, in order.

    Attributes:
        map: the mapping.
        worker: the worker.
        bind_tuple: whether tasks of one dimension are tuples too.
        bound: extents outside of which tasks are left out.
        tile: the register tile whose elements are meant, where it is one.
    """

    map: TaskMap
    worker: Scalar
    bind_tuple: bool = False
    bound: tuple[int, ...] | None = None
    tile: Tensor | None = None


@dataclass(frozen=True)
class Group:
    """`group(first, count)`: some warps of the block, whose threads run the body of a loop once."""

    first: int
    count: int
