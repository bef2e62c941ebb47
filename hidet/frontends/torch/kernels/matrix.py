"""Script kernels for batches of small matrices: a warp per matrix, or a lane per column.

A function defines the kernel of one shape and type. Matrices are in shared memory, where each lane
owns rows or columns. Results are column-major, as in LAPACK and torch.

References: G. Golub and C. Van Loan, Matrix Computations, 4th edition, 3.1 (substitution), 3.4 (LU
with partial pivoting), 4.2 (Cholesky), 5.1 and 5.2 (reflections, QR), and 8.6.3 (one-sided Jacobi
for singular values).
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from hidet.driver.script import CompiledFunction
from hidet.frontends.script import script, script_module
from hidet.lang import attrs, cdiv, f32, f64, i32, i64, shared_tensor
from hidet.lang.cuda import blockIdx, shfl_xor_sync, syncthreads, threadIdx
from hidet.lang.math import sqrt

LANES = 32
ALL = 0xFFFFFFFF
TYPES: dict[str, Any] = {"float32": f32, "float64": f64, "int32": i32, "int64": i64}
"""The element types by name."""

SWEEPS = 40
"""The maximal number of sweeps. They converge quadratically, in about eight."""


def kernel(build: Callable[..., None]) -> Callable[..., CompiledFunction]:
    """Return a function that compiles the kernel which `build` defines, once per arguments.

    Its first argument is the name of the element type.
    """

    @cache
    def compiled(element: str, *sizes: Any) -> CompiledFunction:
        with script_module() as module:
            build(TYPES[element], *sizes)
        return getattr(module.build(), build.__name__)

    return compiled


def pitch(columns: int) -> int:
    """Return the row pitch in shared memory: odd, to avoid bank conflicts along a column."""
    return columns | 1


def sum_of_lanes(value: Any) -> Any:
    """Return the sum of the values of all lanes, in each of them; part of a script."""
    for mask in [16, 8, 4, 2, 1]:
        value = value + shfl_xor_sync(ALL, value, mask)
    return value


@script
def pivot_row(a, k, m, lane):
    """Return the first row from k on with the largest element of column k, in all lanes."""
    largest = abs(a[k, k])
    row = i32(k)
    for i in range(k + lane, m, LANES):
        if abs(a[i, k]) > largest:
            largest = abs(a[i, k])
            row = i32(i)
    for mask in [16, 8, 4, 2, 1]:
        other = shfl_xor_sync(ALL, largest, mask)
        other_row = shfl_xor_sync(ALL, row, mask)
        if other > largest or (other == largest and other_row < row):
            largest = other
            row = other_row
    return row


@kernel
def lu_factor(kind: Any, batch: int, m: int, n: int) -> None:
    """Define `lu_factor(x, lu, pivots, info)`: LU with partial pivoting, a warp per matrix.

    x [batch, m, n]; lu [batch, n, m] is column-major; pivots [batch, min(m, n)], 1-based, are the
    rows that each row was exchanged with; info [batch] is the 1-based index of the first pivot that
    is 0, or 0.
    """
    least = min(m, n)

    @script
    def lu_factor(
        x: kind[batch, m, n],
        lu: kind[batch, n, m],
        pivots: i32[batch, least],
        info: i32[batch],
    ):
        attrs.cuda.grid_dim = batch
        attrs.cuda.block_dim = LANES
        lane, b = threadIdx.x, blockIdx.x
        a = shared_tensor(kind, [m, pitch(n)])
        for p in range(lane, m * n, LANES):
            a[p // n, p % n] = x[b, p // n, p % n]
        first_zero = i32(0)
        syncthreads()
        for k in range(least):
            row = pivot_row(a, k, m, lane)
            if lane == 0:
                pivots[b, k] = row + 1
            for j in range(lane, n, LANES):
                kept = a[k, j]
                a[k, j] = a[row, j]
                a[row, j] = kept
            syncthreads()
            pivot = a[k, k]
            if pivot == 0.0:
                first_zero = i32(k) + 1 if first_zero == 0 else first_zero
            else:
                for i in range(k + 1 + lane, m, LANES):
                    factor = a[i, k] / pivot
                    a[i, k] = factor
                    for j in range(k + 1, n):
                        a[i, j] -= factor * a[k, j]
            syncthreads()
        for p in range(lane, m * n, LANES):
            lu[b, p // m, p % m] = a[p % m, p // m]
        if lane == 0:
            info[b] = first_zero


@kernel
def permutation(kind: Any, batch: int, m: int, count: int) -> None:
    """Define `permutation(pivots, order)`: the order of rows after exchanges, a lane per matrix.

    pivots [batch, count], 0-based; order [batch, m].
    """

    @script
    def permutation(pivots: kind[batch, count], order: kind[batch, m]):
        attrs.cuda.grid_dim = cdiv(batch, LANES)
        attrs.cuda.block_dim = LANES
        b = blockIdx.x * LANES + threadIdx.x
        if b < batch:
            for i in range(m):
                order[b, i] = i
            for k in range(count):
                kept = order[b, k]
                order[b, k] = order[b, pivots[b, k]]
                order[b, pivots[b, k]] = kept


@kernel
def cholesky(kind: Any, batch: int, n: int) -> None:
    """Define `cholesky(x, lower, info)`: the factor of symmetric matrices, a warp per matrix.

    The lower triangle of x [batch, n, n] is read; lower [batch, n, n] is column-major; info [batch]
    is the 1-based index of the first minor that is not positive, or 0.
    """

    @script
    def cholesky(x: kind[batch, n, n], lower: kind[batch, n, n], info: i32[batch]):
        attrs.cuda.grid_dim = batch
        attrs.cuda.block_dim = LANES
        lane, b = threadIdx.x, blockIdx.x
        a = shared_tensor(kind, [n, pitch(n)])
        for p in range(lane, n * n, LANES):
            a[p // n, p % n] = x[b, p // n, p % n]
        failed = i32(0)
        syncthreads()
        for k in range(n):
            pivot = a[k, k]
            if failed == 0 and not pivot > 0.0:
                failed = i32(k) + 1
            root = sqrt(pivot)
            syncthreads()
            if failed == 0:
                for i in range(k + lane, n, LANES):
                    a[i, k] = root if i == k else a[i, k] / root
            syncthreads()
            if failed == 0:
                for i in range(k + 1 + lane, n, LANES):
                    for j in range(k + 1, i + 1):
                        a[i, j] -= a[i, k] * a[j, k]
            syncthreads()
        for p in range(lane, n * n, LANES):
            lower[b, p // n, p % n] = a[p % n, p // n] if p % n >= p // n else 0.0
        if lane == 0:
            info[b] = failed


@script
def substitute(matrix, mine, lane, n, upper, unit, transposed):
    """Solve for the lane's column in shared memory, by a triangle of a matrix, or transposed."""
    for step in range(n):
        k = n - 1 - step if upper else step
        if not unit:
            mine[k, lane] = mine[k, lane] / matrix[k, k]
        for i in range(0 if upper else k + 1, k if upper else n):
            mine[i, lane] -= (matrix[k, i] if transposed else matrix[i, k]) * mine[k, lane]


@script
def exchange(mine, lane, n, k, pivot):
    """Exchange row k of the lane's column with that of a pivot."""
    row = min(max(pivot - 1, 0), n - 1)
    kept = mine[k, lane]
    mine[k, lane] = mine[row, lane]
    mine[row, lane] = kept


@kernel
def solve_triangular(kind: Any, batch: int, n: int, columns: int, upper: bool, unit: bool) -> None:
    """Define `solve_triangular(a, b, x)`: the solution of a x = b, a lane per column.

    a [batch, n, n], of which one triangle is read, without its diagonal if that is `unit`;
    b [batch, n, columns]; x [batch, columns, n] is column-major.
    """

    @script
    def solve_triangular(
        a: kind[batch, n, n], b: kind[batch, n, columns], x: kind[batch, columns, n]
    ):
        attrs.cuda.grid_dim = cdiv(columns, LANES), batch
        attrs.cuda.block_dim = LANES
        lane, z = threadIdx.x, blockIdx.y
        column = blockIdx.x * LANES + lane
        matrix = shared_tensor(kind, [n, n])
        mine = shared_tensor(kind, [n, LANES])
        for p in range(lane, n * n, LANES):
            matrix[p // n, p % n] = a[z, p // n, p % n]
        syncthreads()
        if column < columns:
            for i in range(n):
                mine[i, lane] = b[z, i, column]
            substitute(matrix, mine, lane, n, upper=upper, unit=unit, transposed=False)
            for i in range(n):
                x[z, column, i] = mine[i, lane]


@kernel
def lu_solve(kind: Any, batch: int, n: int, columns: int, transposed: bool) -> None:
    """Define `lu_solve(lu, pivots, b, x)`: the solution of a x = b, a lane per column.

    lu [batch, n, n], column-major, and pivots [batch, n] are the results of `lu_factor` for a, or
    if `transposed`, for the transposed a; b [batch, n, columns]; x [batch, columns, n] is
    column-major. Pivots are clamped to the valid range.
    """

    @script
    def lu_solve(
        lu: kind[batch, n, n],
        pivots: i32[batch, n],
        b: kind[batch, n, columns],
        x: kind[batch, columns, n],
    ):
        attrs.cuda.grid_dim = cdiv(columns, LANES), batch
        attrs.cuda.block_dim = LANES
        lane, z = threadIdx.x, blockIdx.y
        column = blockIdx.x * LANES + lane
        matrix = shared_tensor(kind, [n, n])
        mine = shared_tensor(kind, [n, LANES])
        for p in range(lane, n * n, LANES):
            matrix[p % n, p // n] = lu[z, p // n, p % n]
        syncthreads()
        if column < columns:
            for i in range(n):
                mine[i, lane] = b[z, i, column]
            if transposed:
                substitute(matrix, mine, lane, n, upper=False, unit=False, transposed=True)
                substitute(matrix, mine, lane, n, upper=True, unit=True, transposed=True)
                for step in range(n):
                    exchange(mine, lane, n, n - 1 - step, pivots[z, n - 1 - step])
            else:
                for k in range(n):
                    exchange(mine, lane, n, k, pivots[z, k])
                substitute(matrix, mine, lane, n, upper=False, unit=True, transposed=False)
                substitute(matrix, mine, lane, n, upper=True, unit=False, transposed=False)
            for i in range(n):
                x[z, column, i] = mine[i, lane]


@kernel
def qr_factor(kind: Any, batch: int, m: int, n: int) -> None:
    """Define `qr_factor(x, qr, tau)`: the QR factorization, a warp per matrix.

    x [batch, m, n]; qr [batch, n, m], column-major, has R and below it the reflections, whose first
    elements are 1; tau [batch, min(m, n)] has their factors. See `geqrf` of LAPACK.
    """
    least = min(m, n)

    @script
    def qr_factor(x: kind[batch, m, n], qr: kind[batch, n, m], tau: kind[batch, least]):
        attrs.cuda.grid_dim = batch
        attrs.cuda.block_dim = LANES
        lane, b = threadIdx.x, blockIdx.x
        a = shared_tensor(kind, [m, pitch(n)])
        for p in range(lane, m * n, LANES):
            a[p // n, p % n] = x[b, p // n, p % n]
        syncthreads()
        for k in range(least):
            below = f64(0.0)
            for i in range(k + 1 + lane, m, LANES):
                below += f64(a[i, k]) * f64(a[i, k])
            below = sum_of_lanes(below)
            first = f64(a[k, k])
            length = sqrt(first * first + below)
            diagonal = first if below == 0.0 else (-length if first >= 0.0 else length)
            factor = f64(0.0) if below == 0.0 else (diagonal - first) / diagonal
            syncthreads()
            for i in range(k + 1 + lane, m, LANES):
                a[i, k] = a[i, k] if below == 0.0 else f64(a[i, k]) / (first - diagonal)
            if lane == 0:
                a[k, k] = diagonal
                tau[b, k] = factor
            syncthreads()
            for j in range(k + 1 + lane, n, LANES):
                share = f64(a[k, j])
                for i in range(k + 1, m):
                    share += f64(a[i, k]) * f64(a[i, j])
                share *= factor
                a[k, j] -= share
                for i in range(k + 1, m):
                    a[i, j] -= share * f64(a[i, k])
            syncthreads()
        for p in range(lane, m * n, LANES):
            qr[b, p // m, p % m] = a[p % m, p // m]


@kernel
def reflect(kind: Any, batch: int, m: int, columns: int, k: int, transposed: bool) -> None:
    """Define `reflect(a, tau, c, out)`: applies reflections to columns, a lane per column.

    a [batch, m, k] and tau [batch, k] are results of `qr_factor`; c [batch, m, columns]; out
    [batch, columns, m], column-major, is Q c, or Q^T c if `transposed`.
    """

    @script
    def reflect(
        a: kind[batch, m, k],
        tau: kind[batch, k],
        c: kind[batch, m, columns],
        out: kind[batch, columns, m],
    ):
        attrs.cuda.grid_dim = cdiv(columns, LANES), batch
        attrs.cuda.block_dim = LANES
        lane, z = threadIdx.x, blockIdx.y
        column = blockIdx.x * LANES + lane
        mine = shared_tensor("float64", [m, LANES])
        if column < columns:
            for i in range(m):
                mine[i, lane] = c[z, i, column]
            for step in range(k):
                r = step if transposed else k - 1 - step
                share = mine[r, lane]
                for i in range(r + 1, m):
                    share += f64(a[z, i, r]) * mine[i, lane]
                share *= f64(tau[z, r])
                mine[r, lane] -= share
                for i in range(r + 1, m):
                    mine[i, lane] -= share * f64(a[z, i, r])
            for i in range(m):
                out[z, column, i] = mine[i, lane]


@script
def rotation(alpha, beta, gamma):
    """Return cosine and sine of the smaller rotation that diagonalizes a symmetric matrix.

    The matrix is [[alpha, gamma], [gamma, beta]].
    """
    ratio = (beta - alpha) / (2.0 * gamma)
    size = abs(ratio) + sqrt(1.0 + ratio * ratio)
    tangent = -1.0 / size if ratio < 0.0 else 1.0 / size
    cosine = 1.0 / sqrt(1.0 + tangent * tangent)
    return cosine, cosine * tangent


@script
def rotate_columns(a, p, q, cosine, sine, rows, lane):
    """Rotate two columns of a matrix in shared memory, whose rows belong to the lanes."""
    for i in range(lane, rows, LANES):
        one, other = a[i, p], a[i, q]
        a[i, p] = cosine * one - sine * other
        a[i, q] = sine * one + cosine * other


@kernel
def singular(kind: Any, batch: int, m: int, n: int) -> None:
    """Define `singular(x, left, right)`: the one-sided Jacobi SVD, a warp per matrix.

    x [batch, m, n]; left [batch, n, m], column-major, is x times right [batch, n, n], column-major,
    which is orthogonal. The norms of the columns of left, which are unordered, are the singular
    values. Computed in float64.
    """

    @script
    def singular(x: kind[batch, m, n], left: kind[batch, n, m], right: kind[batch, n, n]):
        attrs.cuda.grid_dim = batch
        attrs.cuda.block_dim = LANES
        lane, b = threadIdx.x, blockIdx.x
        a = shared_tensor("float64", [m, pitch(n)])
        v = shared_tensor("float64", [n, pitch(n)])
        for t in range(lane, m * n, LANES):
            a[t // n, t % n] = x[b, t // n, t % n]
        for t in range(lane, n * n, LANES):
            v[t // n, t % n] = 1.0 if t // n == t % n else 0.0
        syncthreads()
        rotated = 1
        sweep = 0
        while rotated > 0 and sweep < SWEEPS:
            rotated = 0
            sweep += 1
            for p in range(n - 1):
                for q in range(p + 1, n):
                    alpha, beta, gamma = f64(0.0), f64(0.0), f64(0.0)
                    for i in range(lane, m, LANES):
                        alpha += a[i, p] * a[i, p]
                        beta += a[i, q] * a[i, q]
                        gamma += a[i, p] * a[i, q]
                    alpha = sum_of_lanes(alpha)
                    beta = sum_of_lanes(beta)
                    gamma = sum_of_lanes(gamma)
                    if abs(gamma) > 1e-15 * sqrt(alpha) * sqrt(beta) + 1e-300:
                        rotated += 1
                        c, s = rotation(alpha, beta, gamma)
                        rotate_columns(a, p, q, c, s, m, lane)
                        rotate_columns(v, p, q, c, s, n, lane)
        syncthreads()
        for t in range(lane, m * n, LANES):
            left[b, t // m, t % m] = a[t % m, t // m]
        for t in range(lane, n * n, LANES):
            right[b, t // n, t % n] = v[t % n, t // n]


@kernel
def exponential(kind: Any, batch: int, n: int) -> None:
    """Define `exponential(x, squarings, out, scratch)`, a block per matrix.

    x [batch, n, n] has 1-norms of at most 1; out [batch, n, n] is exp(x), by Taylor's series up to
    1 / 18!, squared as often as squarings [batch] says; scratch is like out.
    """
    matrices = kind[batch, n, n]

    @script
    def exponential(x: matrices, squarings: i64[batch], out: matrices, scratch: matrices):
        attrs.cuda.grid_dim = batch
        attrs.cuda.block_dim = 8 * LANES
        thread, b = threadIdx.x, blockIdx.x
        for p in range(thread, n * n, 8 * LANES):
            out[b, p // n, p % n] = 1.0 if p // n == p % n else 0.0
        syncthreads()
        for step in range(18 + squarings[b]):
            for p in range(thread, n * n, 8 * LANES):
                i, j = p // n, p % n
                total = kind(0.0)
                for k in range(n):
                    total += (x[b, i, k] if step < 18 else out[b, i, k]) * out[b, k, j]
                if step < 18:
                    total = total / kind(18 - step) + (1.0 if i == j else 0.0)
                scratch[b, i, j] = total
            syncthreads()
            for p in range(thread, n * n, 8 * LANES):
                out[b, p // n, p % n] = scratch[b, p // n, p % n]
            syncthreads()
