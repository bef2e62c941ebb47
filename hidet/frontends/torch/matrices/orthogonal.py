"""Kernels of factorizations by Householder reflections and by Jacobi rotations.

References: G. Golub and C. Van Loan, Matrix Computations, 4th edition, 5.1 and 5.2 (reflections,
QR), 8.5 (Jacobi's method for eigenvalues) and 8.6.3 (one-sided Jacobi for singular values).
"""

# Scripts are not valid Python for a type checker.
# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingParameterType=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportAttributeAccessIssue=false

from functools import cache

from hidet.driver.script import CompiledFunction
from hidet.frontends.script import script, script_module
from hidet.frontends.torch.matrices.warps import LANES, TYPES, over_lanes, pitch
from hidet.lang import attrs, cdiv, f64, shared_tensor
from hidet.lang.cuda import blockIdx, syncthreads, threadIdx
from hidet.lang.math import sqrt

SWEEPS = 40
"""The maximal number of sweeps. They converge quadratically, in about eight."""


@cache
def qr_factor(element: str, batch: int, m: int, n: int) -> CompiledFunction:
    """Return `qr_factor(x, qr, tau)`: the QR factorization, a warp per matrix.

    x [batch, m, n]; qr [batch, n, m], column-major, has R and below it the reflections, whose first
    elements are 1; tau [batch, min(m, n)] has their factors. See `geqrf` of LAPACK.
    """
    kind, least = TYPES[element], min(m, n)

    with script_module() as module:

        @script
        def qr_factor(x: kind[batch, m, n], qr: kind[batch, n, m], tau: kind[batch, least]):
            attrs.cuda.grid_dim = batch
            attrs.cuda.block_dim = LANES
            lane, b = threadIdx.x, blockIdx.x
            a = shared_tensor(element, [m, pitch(n)])
            for p in range(lane, m * n, LANES):
                a[p // n, p % n] = x[b, p // n, p % n]
            syncthreads()
            for k in range(least):
                below = f64(0.0)
                for i in range(k + 1 + lane, m, LANES):
                    below += f64(a[i, k]) * f64(a[i, k])
                below = over_lanes(below, lambda one, other: one + other)
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

    return module.build().qr_factor


@cache
def reflect(
    element: str, batch: int, m: int, k: int, columns: int, transposed: bool
) -> CompiledFunction:
    """Return `reflect(a, tau, c, out)`: applies reflections to columns, a lane per column.

    a [batch, m, k] and tau [batch, k] are results of `qr_factor`; c [batch, m, columns]; out
    [batch, columns, m], column-major, is Q c, or Q^T c if `transposed`.
    """
    kind = TYPES[element]

    with script_module() as module:

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

    return module.build().reflect


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


@cache
def eigen(element: str, batch: int, n: int) -> CompiledFunction:
    """Return `eigen(x, values, vectors)` for symmetric matrices, a warp per matrix.

    The lower triangle of x [batch, n, n] is read; values [batch, n] are unordered; vectors
    [batch, n, n] are column-major. Computed in float64.
    """
    kind = TYPES[element]

    with script_module() as module:

        @script
        def eigen(x: kind[batch, n, n], values: kind[batch, n], vectors: kind[batch, n, n]):
            attrs.cuda.grid_dim = batch
            attrs.cuda.block_dim = LANES
            lane, b = threadIdx.x, blockIdx.x
            a = shared_tensor("float64", [n, pitch(n)])
            v = shared_tensor("float64", [n, pitch(n)])
            for t in range(lane, n * n, LANES):
                i, j = t // n, t % n
                a[i, j] = f64(x[b, i, j]) if j <= i else f64(x[b, j, i])
                v[i, j] = 1.0 if i == j else 0.0
            syncthreads()
            squares = f64(0.0)
            for t in range(lane, n * n, LANES):
                squares += a[t // n, t % n] * a[t // n, t % n]
            limit = 1e-17 * sqrt(over_lanes(squares, lambda one, other: one + other))
            rotated = 1
            sweep = 0
            while rotated > 0 and sweep < SWEEPS:
                rotated = 0
                sweep += 1
                for p in range(n - 1):
                    for q in range(p + 1, n):
                        alpha, beta, gamma = a[p, p], a[q, q], a[p, q]
                        if abs(gamma) > limit:
                            rotated += 1
                            c, s = rotation(alpha, beta, gamma)
                            syncthreads()
                            rotate_columns(a, p, q, c, s, n, lane)
                            rotate_columns(v, p, q, c, s, n, lane)
                            syncthreads()
                            for j in range(lane, n, LANES):
                                one, other = a[p, j], a[q, j]
                                a[p, j], a[q, j] = c * one - s * other, s * one + c * other
                            syncthreads()
            for i in range(lane, n, LANES):
                values[b, i] = a[i, i]
            for t in range(lane, n * n, LANES):
                vectors[b, t // n, t % n] = v[t % n, t // n]

    return module.build().eigen


@cache
def singular(element: str, batch: int, m: int, n: int) -> CompiledFunction:
    """Return `singular(x, left, right)`: the one-sided Jacobi SVD, a warp per matrix.

    x [batch, m, n]; left [batch, n, m], column-major, is x times right [batch, n, n], column-major,
    which is orthogonal. The norms of the columns of left, which are unordered, are the singular
    values. Computed in float64.
    """
    kind = TYPES[element]

    with script_module() as module:

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
                        alpha = over_lanes(alpha, lambda one, other: one + other)
                        beta = over_lanes(beta, lambda one, other: one + other)
                        gamma = over_lanes(gamma, lambda one, other: one + other)
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

    return module.build().singular
