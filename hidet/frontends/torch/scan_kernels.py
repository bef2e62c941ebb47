"""Script kernels of inclusive scans: a thread per column, or a block for some adjacent ones.

A thread of a block scans a run of elements, the block scans the runs' totals in log2(runs) steps,
and the total before a run is joined with its elements (W. Hillis and G. Steele, Data Parallel
Algorithms, 1986; G. Blelloch, Prefix Sums and Their Applications, 1990).
"""

# Scripts are not valid Python for a type checker.
# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingParameterType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false

from typing import Any

from hidet.frontends.script import script
from hidet.frontends.torch.matrix_kernels import kernel
from hidet.frontends.torch.sort_kernels import padded
from hidet.lang import attrs, cdiv, i32, shared_tensor
from hidet.lang.cuda import blockIdx, syncthreads, threadIdx
from hidet.lang.math import exp, isinf, log1p


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


@script
def scan_totals(name, totals, total, run, runs, columns, is_used):
    """Replace the total of each run by that of the prefix which ends with it."""
    if is_used:
        totals[threadIdx.x] = total
    syncthreads()
    apart = 1
    while apart < runs:
        if is_used and run >= apart:
            total = joined(name, totals[i32(threadIdx.x) - apart * columns], total)
        syncthreads()
        if is_used:
            totals[threadIdx.x] = total
        syncthreads()
        apart *= 2


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
    """Define `scan_rows(x, out)`: the same, with `runs` threads for each of a block's `columns`."""
    threads, length, groups = columns * runs, cdiv(size, runs), cdiv(inner, columns)

    @script
    def scan_rows(x: kind[outer, size, inner], out: kind[outer, size, inner]):
        attrs.cuda.grid_dim = outer * groups
        attrs.cuda.block_dim = threads
        words = shared_tensor(kind, [padded(length * threads, kind)])
        totals = shared_tensor(kind, [threads])
        row = i32(blockIdx.x) // groups
        own = i32(threadIdx.x) % columns
        run = i32(threadIdx.x) // columns
        column = i32(blockIdx.x) % groups * columns + own
        if column < inner:
            for i in range(run, size, runs):
                words[padded(i32(i) * columns + own, kind)] = x[row, i, column]
        syncthreads()
        first, last = run * length, min(run * length + length, size)
        is_used = column < inner and first < size
        total = kind(0)
        if is_used:
            total = words[padded(first * columns + own, kind)]
            for i in range(first + 1, last):
                place = padded(i32(i) * columns + own, kind)
                total = joined(name, total, words[place])
                words[place] = total
        scan_totals(name, totals, total, run, runs, columns, is_used)
        if is_used and run > 0:
            before = totals[i32(threadIdx.x) - columns]
            for i in range(first, last):
                place = padded(i32(i) * columns + own, kind)
                words[place] = joined(name, before, words[place])
        syncthreads()
        if column < inner:
            for i in range(run, size, runs):
                out[row, i, column] = words[padded(i32(i) * columns + own, kind)]
