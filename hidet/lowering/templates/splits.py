"""Split-K, to occupy the whole GPU, and horizontal fusion of matmuls with a common operand A."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import inf

from xdsl.ir import Operation, SSAValue

from hidet.arch.chips import Arch
from hidet.dialects.compute import GridOp
from hidet.dialects.graph import MatmulOp
from hidet.dialects.shaped import element_of, shape_of
from hidet.lowering.templates.cost_model import LAUNCH, START, estimate
from hidet.lowering.templates.gemv_config import is_bound_by_memory
from hidet.lowering.templates.problem import Problem
from hidet.lowering.templates.tilings import fastest

SPLITS, ODD_SPLITS = (2, 4, 8, 16), (3, 9)
"""Numbers of slices; thirds and ninths, of filters of 3x3, are tried if no power of two pays."""

PART_BYTES = 128
"""The granularity of a slice in bytes per row: a cache line."""

SECOND_KERNEL = 2.0
"""Microseconds of the second kernel, which adds up partial sums. Products in a row take 1 more, but
with 1 here, ResNet-50 splits 8 more and takes 3% longer (H100)."""

GAIN = 0.85
"""The largest relative time of a split matmul that is worth it."""


@cache
def best_split(problem: Problem, arch: Arch, *, joins: bool = False) -> int:
    """Return the best number of slices of K, 1 if splitting does not pay.

    With `joins`, an existing kernel adds up the partial sums.
    """
    if arch.is_cpu or is_bound_by_memory(problem, arch):
        return 1
    best, least = 1, GAIN * time_of(problem, arch)
    for numbers in (SPLITS, ODD_SPLITS):
        for parts in numbers if best == 1 else ():
            if problem.k * problem.element_bytes % (parts * PART_BYTES) == 0:
                time = time_in_parts(problem, parts, arch, joins=joins, limit=least)
                if time < least:
                    best, least = parts, time
    return best


def time_of(problem: Problem, arch: Arch, limit: float = inf) -> float:
    """Return the time of a matmul with its best tiling, in microseconds; infinity above a limit."""
    best = fastest(problem, arch, limit)
    return inf if best is None else estimate(best, problem, arch)


def time_in_parts(
    problem: Problem, parts: int, arch: Arch, *, joins: bool = False, limit: float = inf
) -> float:
    """Return the time of a split matmul in microseconds, including the reads of partial sums.

    Infinity if that exceeds a limit.
    """
    split = replace(problem, batch=problem.batch * parts, k=problem.k // parts, result_bytes=4)
    results = split.m * split.n
    rest = 4 * split.batch * results / arch.bandwidth * 1e6 + (0 if joins else SECOND_KERNEL)
    least = rest + split.memory_time(results, arch) + LAUNCH + START
    return inf if least >= limit else rest + time_of(split, arch, limit - rest)


NEXT_KERNEL = 1.0
"""Microseconds between dependent kernels of a CUDA graph."""


def are_siblings(one: MatmulOp, other: MatmulOp) -> bool:
    """Return whether two matmuls differ only in operand B, and in its columns."""
    kinds = [(each.precision, *map(element_of, (each.rhs, each.result))) for each in (one, other)]
    shapes = [(shape_of(each.rhs)[:-1], shape_of(each.result)[:-1]) for each in (one, other)]
    return kinds[0] == kinds[1] and shapes[0] == shapes[1] and _is_same(one, other)


def _is_same(one: MatmulOp, other: MatmulOp) -> bool:
    """Return whether two matmuls have the same operand A, or equal views of one tensor."""
    if one.lhs is other.lhs:
        return True
    view, again = one.lhs.owner, other.lhs.owner
    if not isinstance(view, GridOp) or not isinstance(again, GridOp) or view.parent is None:
        return False
    return view.is_structurally_equivalent(again, {view.parent: view.parent})


def worth_sharing(anchors: Sequence[MatmulOp], arch: Arch) -> bool:
    """Return whether one kernel of several matmuls is no slower than a kernel each.

    Memory-bound matmuls are left to `gemv`.
    """
    together = _stored_short(Problem.of(*anchors))
    if set.intersection(*map(_grids_after, anchors)):
        together = replace(together, stored=together.stored[:1])
    if is_bound_by_memory(together, arch) or fastest(together, arch) is None:
        return False
    apart = (time_of(_stored_short(Problem.of(anchor)), arch) for anchor in anchors)
    return time_of(together, arch) <= sum(apart) + NEXT_KERNEL * (len(anchors) - 1)


def _stored_short(problem: Problem) -> Problem:
    """Return a problem whose results are stored in the operand type, as is typical."""
    return replace(problem, result_bytes=problem.element_bytes)


def _grids_after(anchor: MatmulOp) -> set[Operation]:
    """Return the grids that a matmul reaches through grids alone."""
    block, grids = anchor.parent, set[Operation]()
    values: list[SSAValue] = [anchor.result]
    while block is not None and values:
        users = (use.operation for use in values.pop().uses)
        readers = {block.find_ancestor_op_in_block(user) for user in users}
        new = [each for each in readers if isinstance(each, GridOp) and each not in grids]
        grids.update(new)
        values += (each.result for each in new)
    return grids
