"""Into how many parts a product's k is split, so that there is work for the whole machine."""

from dataclasses import replace
from functools import cache

from hidet.arch.chips import Arch
from hidet.lowering.templates.blocking import candidates, estimate
from hidet.lowering.templates.gemv_sharing import is_bound_by_memory
from hidet.lowering.templates.problem import Problem

SPLITS = (2, 4, 8, 16)

PART_BYTES = 128
"""A part has a multiple of so many bytes of each row: a line of the caches."""

SECOND_KERNEL = 2.0
"""Microseconds until a kernel runs that adds up what another one has computed."""

GAIN = 0.85
"""The share of a product's time that one in parts takes at most, else it is not worth it."""


@cache
def best_split(problem: Problem, arch: Arch, *, joins: bool = False) -> int:
    """Return into how many parts k is split, 1 where that saves nothing.

    Args:
        problem: the product.
        arch: the machine.
        joins: whether the parts are added up in a kernel that there is in any case.
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
    """Return the microseconds of a product by its best blocking."""
    return estimate(candidates(problem, arch)[0], problem, arch)


def time_in_parts(problem: Problem, parts: int, arch: Arch, *, joins: bool = False) -> float:
    """Return the microseconds of a product in parts, with those for reading the sums of f32."""
    split = replace(problem, batch=problem.batch * parts, k=problem.k // parts, result_bytes=4)
    sums = 4 * split.batch * split.m * split.n / arch.bandwidth * 1e6
    return time_of(split, arch) + sums + (0 if joins else SECOND_KERNEL)
