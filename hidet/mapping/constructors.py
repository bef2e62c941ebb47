"""Constructors of task mappings: factors, distributions over workers, and a parser."""

import re
from collections.abc import Callable, Sequence
from math import gcd, prod

from hidet.mapping.factors import Factor, MappingError, ranked_factors, read_hints, traversal_order
from hidet.mapping.task_map import TaskMap


def spatial(*dims: int, ranks: Sequence[int] | None = None) -> TaskMap:
    """Return the map of one task for each of d0 * d1 * ... workers.

    `ranks` are the positions of the dimensions in the traversal order, 0 the slowest; by default
    row-major.

    Raises:
        MappingError: for non-positive extents, or ranks that are no permutation.
    """
    return TaskMap(ranked_factors("spatial", dims, ranks))


def repeat(*dims: int, ranks: Sequence[int] | None = None, attrs: str | None = None) -> TaskMap:
    """Return the map of one worker that runs all d0 * d1 * ... tasks.

    `ranks` are those of `spatial`, `attrs` unroll hints per dimension, or one for all: `u` unrolls
    fully, `u4` by four, `.` not; see `TaskMap.hints`.

    Raises:
        MappingError: for non-positive extents, ranks that are no permutation, or invalid hints.
    """
    hints = read_hints(len(dims), attrs)
    return TaskMap(ranked_factors("repeat", dims, ranks), hints)


def replicate(count: int) -> TaskMap:
    """Return the map of the same task for `count` workers.

    It has rank 0 and composes with maps of any rank.

    Raises:
        MappingError: the count is not positive.
    """
    return TaskMap((Factor("replicate", (count,)),))


row_spatial, row_repeat = spatial, repeat
"""The names of `spatial` and `repeat` in row-major order: the last dimension is the fastest."""


def column_spatial(*dims: int) -> TaskMap:
    """Return `spatial` in column-major order: adjacent workers differ in the first dimension.

    >>> column_spatial(4, 8)
    spatial(1, 8) * spatial(4, 1)
    """
    return spatial(*dims, ranks=range(len(dims))[::-1])


def column_repeat(*dims: int, attrs: str | None = None) -> TaskMap:
    """Return `repeat` in column-major order: the first dimension is the fastest.

    >>> column_repeat(2, 3)
    repeat(1, 3) * repeat(2, 1)
    """
    return repeat(*dims, ranks=range(len(dims))[::-1], attrs=attrs)


def auto_map(
    *shape: int,
    workers: int,
    ranks: Sequence[int] | None = None,
    on_fail: Callable[[str], object] | None = None,
) -> TaskMap:
    """Return a repeat of a spatial factor that distributes a tile over workers.

    The fastest dimension is divided among as many workers as possible, then the one before it, ...,
    so that adjacent workers have adjacent tasks.

    >>> auto_map(8, 96, workers=64)
    repeat(4, 3) * spatial(2, 32)

    `ranks` are those of `spatial`, for both factors; `on_fail` is called with the error message
    first, and may raise another error.

    Raises:
        MappingError: the number of tasks is no multiple of the number of workers.
    """
    if workers < 1 or prod(shape) % workers != 0:
        tasks = f"{prod(shape)} tasks of shape {shape}"
        message = f"cannot spread the {tasks} evenly over {workers} workers"
        if on_fail is not None:
            on_fail(message)
        hint = "the number of tasks must be a multiple of the number of workers"
        raise MappingError(message, hint=hint)
    spread = [1] * len(shape)
    left = workers
    for dim in reversed(traversal_order(shape, ranks)):
        spread[dim] = gcd(left, shape[dim])
        left //= spread[dim]
    rest = [extent // part for extent, part in zip(shape, spread, strict=True)]
    return repeat(*rest, ranks=ranks) * spatial(*spread, ranks=ranks)


def vector_map(shape: Sequence[int], dim: int, length: int, workers: int) -> TaskMap:
    """Return a map that distributes a tile over workers, along one dimension first.

    Each worker has whole vectors of up to a length along it. If there are fewer elements than
    workers, several workers have the same element.

    >>> vector_map((8, 64), 0, 2, 32)
    repeat(1, 8) * spatial(1, 8) * spatial(4, 1) * repeat(2, 1)
    """
    while length > 1 and (shape[dim] % length or prod(shape) // length % workers):
        length //= 2
    order = sorted(range(len(shape)), key=lambda each: each == dim)
    ranks = [order.index(each) for each in range(len(shape))]
    vector = [length if each == dim else 1 for each in range(len(shape))]
    units = [extent // part for extent, part in zip(shape, vector, strict=True)]
    copies = 1
    while prod(units) % (workers // copies) or workers % copies:
        copies += 1
    spread = auto_map(*units, workers=workers // copies, ranks=ranks)
    return (replicate(copies) * spread if copies > 1 else spread) * repeat(*vector)


_FACTOR = re.compile(r"\s*(\w+)\s*\(\s*([0-9]+(?:\s*,\s*[0-9]+)*)\s*\)\s*")


def parse(text: str) -> TaskMap:
    """Return the map of a text such as `repeat(2, 1) * spatial(8, 4)`.

    It is the inverse of `str`, and also accepts products that are not canonical.

    Raises:
        MappingError: the text is no product of factors, or there is no such map.
    """
    factors: list[tuple[str, list[int]]] = []
    for part in text.split("*"):
        match = _FACTOR.fullmatch(part)
        if match is None:
            raise MappingError(
                f"expected a factor, got '{part.strip()}' in the task mapping '{text}'",
                hint="a task mapping reads like repeat(2, 1) * spatial(8, 4) * replicate(2)",
            )
        factors.append((match[1], [int(extent) for extent in match[2].split(",")]))
    return TaskMap.from_factors(factors)
