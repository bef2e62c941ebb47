"""Split-K: the number of slices of K, to occupy the whole GPU."""

from dataclasses import replace
from functools import cache

from hidet.arch.chips import Arch
from hidet.lowering.templates.blocking import candidates, estimate
from hidet.lowering.templates.gemv_config import is_bound_by_memory
from hidet.lowering.templates.problem import Problem

SPLITS = (2, 4, 8, 16)

PART_BYTES = 128
"""The granularity of a slice in bytes per row: a cache line."""

SECOND_KERNEL = 2.0
"""Microseconds of the second kernel, which adds up partial sums."""

GAIN = 0.85
"""The largest relative time of a split matmul that is worth it."""


@cache
def best_split(problem: Problem, arch: Arch, *, joins: bool = False) -> int:
    """Return the best number of slices of K, 1 if splitting does not pay.

    With `joins`, an existing kernel adds up the partial sums.
    """
    if arch.is_cpu or is_bound_by_memory(problem, arch):
        return 1
    times = {
        parts: time_in_parts(problem, parts, arch, joins=joins)
        for parts in SPLITS
        if problem.k * problem.element_bytes % (parts * PART_BYTES) == 0
    }
    best = min(times, key=times.__getitem__, default=1)
    return best if best > 1 and times[best] < GAIN * time_of(problem, arch) else 1


def time_of(problem: Problem, arch: Arch) -> float:
    """Return the time of a matmul with its best tiling, in microseconds."""
    return estimate(candidates(problem, arch)[0], problem, arch)


def time_in_parts(problem: Problem, parts: int, arch: Arch, *, joins: bool = False) -> float:
    """Return the time of a split matmul in microseconds, including the reads of partial sums."""
    split = replace(problem, batch=problem.batch * parts, k=problem.k // parts, result_bytes=4)
    sums = 4 * split.batch * split.m * split.n / arch.bandwidth * 1e6
    return time_of(split, arch) + sums + (0 if joins else SECOND_KERNEL)
