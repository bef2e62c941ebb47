"""Script kernels of inclusive scans: a thread per column, or a block for some adjacent ones.

A thread of a block scans a run of elements in registers, a warp the totals of its runs by shuffles
(W. Hillis and G. Steele, Data Parallel Algorithms, 1986), and what is before a run is joined with
its elements (G. Blelloch, Prefix Sums and Their Applications, 1990).
"""

from typing import Any

from hidet.frontends.script import script
from hidet.frontends.torch.kernels.matrix import ALL, LANES, kernel
from hidet.frontends.torch.kernels.sort import padded
from hidet.lang import attrs, cdiv, i32, meta, register_tensor, shared_tensor, spatial
from hidet.lang.cuda import blockIdx, shfl_up_sync, syncthreads, threadIdx
from hidet.lang.math import exp, isinf, log1p

RUN = 8
"""The number of elements of a run is a multiple of it, for vector accesses."""


@script
def joined(name, before, value):
    """Return the join of the reduction of a prefix with that of what follows; NaN stays NaN."""
    if name == "sum":
        return before + value
    if name == "product":
        return before * value
    if name == "maximum":
        return before if before > value or before != before else value
    if name == "minimum":
        return before if before < value or before != before else value
    largest = before if before > value or before != before else value
    return largest if isinf(largest) else largest + log1p(exp(min(before, value) - largest))


def neutral(name: str, kind: Any) -> Any:
    """Return the reduction of no elements."""
    if name in ("sum", "product"):
        return kind(name == "product")
    if kind.is_float:
        return kind(float("inf" if name == "minimum" else "-inf"))
    least = -1 << (8 * kind.nbytes - 1)
    return kind(~least if name == "minimum" else least)


@script
def joined_before(name, kind, total, runs, columns):
    """Return the join of the totals of all earlier runs."""
    threads = columns * runs
    lane, warp = i32(threadIdx.x) % LANES, i32(threadIdx.x) // LANES
    mask, before = ALL >> max(LANES - threads, 0), neutral(name, kind)
    for step in meta.range((min(LANES, threads) // columns).bit_length() - 1):
        apart = columns << step
        earlier = shfl_up_sync(mask, total, apart)
        if lane >= apart:
            total = joined(name, earlier, total)
    earlier = shfl_up_sync(mask, total, columns)
    if threads > LANES:
        totals = shared_tensor(kind, [threads // LANES, columns])
        own = lane % columns
        if lane >= LANES - columns:
            totals[warp, own] = total
        syncthreads()
        for other in range(warp):
            before = joined(name, before, totals[other, own])
    return joined(name, before, earlier) if lane >= columns else before


@kernel
def scan_columns(kind: Any, outer: int, size: int, inner: int, threads: int, name: str) -> None:
    """Define `scan_columns(x, out)`: the reductions of the prefixes of dimension 1.

    A thread has a column, which is enough for short ones if there are many, and for CPUs.
    """

    @script
    def scan_columns(x: kind[outer, size, inner], out: kind[outer, size, inner]):
        attrs.cuda.grid_dim = cdiv(outer * inner, threads)
        attrs.cuda.block_dim = threads
        number = i32(blockIdx.x) * threads + i32(threadIdx.x)
        if number < outer * inner:
            row, column = number // inner, number % inner
            total = x[row, 0, column]
            out[row, 0, column] = total
            for i in range(1, size):
                total = joined(name, total, x[row, i, column])
                out[row, i, column] = total


@kernel
def scan_rows(
    kind: Any, outer: int, size: int, inner: int, columns: int, runs: int, name: str
) -> None:
    """Define `scan_rows(x, out)`: the same, with `runs` threads for each of a block's `columns`.

    Adjacent threads access adjacent columns, or vectors of a row; a row that no vector divides goes
    through shared memory.
    """
    threads, groups = columns * runs, cdiv(inner, columns)
    length = RUN * cdiv(size, RUN * runs)
    is_staged = columns == 1 and size % RUN > 0

    runs_of_columns = spatial(runs, columns).repeat(length, 1)

    @script
    def scan_rows(x: kind[outer, size, inner], out: kind[outer, size, inner]):
        attrs.cuda.grid_dim = outer * groups
        attrs.cuda.block_dim = threads
        row, start = blockIdx.x // groups, blockIdx.x % groups * columns
        own = register_tensor(kind, layout=runs_of_columns)
        total = register_tensor(kind, [1])
        total[0] = neutral(name, kind)
        if is_staged:
            words = shared_tensor(kind, [padded(size, kind)])
            for i in range(threadIdx.x, size, threads):
                words[padded(i32(i), kind)] = x[row, i, 0]
            syncthreads()
        for i, column in own.on(threadIdx.x, bound=[size, columns]):
            if start + column < inner:
                value = words[padded(i32(i), kind)] if is_staged else x[row, i, start + column]
                total[0] = joined(name, total[0], value)
                own[i, column] = total[0]
        before = joined_before(name, kind, total[0], runs, columns)
        for i, column in own.on(threadIdx.x, bound=[size, columns]):
            if start + column < inner:
                value = joined(name, before, own[i, column])
                if is_staged:
                    words[padded(i32(i), kind)] = value
                else:
                    out[row, i, start + column] = value
        if is_staged:
            syncthreads()
            for i in range(threadIdx.x, size, threads):
                out[row, i, 0] = words[padded(i32(i), kind)]
