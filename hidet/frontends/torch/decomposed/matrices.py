"""Linear algebra of small matrices by the kernels of `hidet.frontends.torch.kernels.matrix`.

A warp factorizes a matrix of up to `LARGEST` rows and columns; a lane solves a system of equations
for a column. Larger ones run in eager torch, and so do singular vectors and eigenvectors, whose
sign is not unique and would differ from torch's.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import decompose, get_proxy_mode

from hidet.frontends.torch.decomposed.refusal import require
from hidet.frontends.torch.decomposed.writes import checked

aten = torch.ops.aten

LARGEST = 64
"""The maximal number of rows and columns, whose square fits into shared memory."""
LARGEST_ROTATED = 32
"""The same for Jacobi rotations, where each of some eight sweeps visits all pairs of columns."""


def fits(*matrices: Tensor, largest: int = LARGEST) -> bool:
    """Return whether the kernels support matrices [..., m, n]."""
    kinds = {x.dtype for x in matrices}
    return (
        len(kinds) == 1
        and kinds <= {torch.float32, torch.float64}
        and all(max(x.shape[-2:]) <= largest for x in matrices)
    )


def stack(x: Tensor, batch: torch.Size) -> Tensor:
    """Return matrices [..., m, n] as [count, m, n], expanded to the shape of a batch."""
    return x.expand(*batch, *x.shape[-2:]).reshape(prod(batch), *x.shape[-2:]).contiguous()


def common(one: Tensor, other: Tensor) -> torch.Size:
    """Return the broadcast batch shape of two tensors of matrices."""
    shapes = one.shape[:-2], other.shape[:-2]
    return torch.broadcast_shapes(*shapes)  # pyright: ignore[reportUnknownVariableType]


def run(
    kernel: str, sizes: Sequence[Any], read: Sequence[Tensor], *written: Tensor
) -> tuple[Tensor, ...]:
    """Run a kernel, and return its results, zeros if its inputs are empty.

    `kernel` names the function that builds it, for an element type, a number of matrices, and the
    `sizes`. The kernel takes its inputs, `read`, then its uninitialized results, `written`.
    """
    from hidet.frontends.torch.kernels import matrix  # which imports the script language

    if any(x.numel() == 0 for x in read):
        return tuple(torch.zeros_like(x) for x in written)
    element = str(read[0].dtype).removeprefix("torch.")
    build = getattr(matrix, kernel)
    return build(element, len(read[0]), *sizes).functional(read, written)


def integers(x: Tensor, *shape: int) -> Tensor:
    """Return an uninitialized i32 tensor."""
    return torch.empty(shape, dtype=torch.int32, device=x.device)


def lu_factors(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return LU [..., m, n], pivots [..., min(m, n)] and info [...]."""
    batch, (m, n) = x.shape[:-2], x.shape[-2:]
    rows = stack(x, batch)
    count, least = rows.shape[0], min(m, n)
    written = (x.new_empty(count, n, m), integers(x, count, least), integers(x, count))
    lu, pivots, info = run("lu_factor", (m, n), [rows], *written)
    return lu.mT.reshape(x.shape), pivots.reshape(*batch, least), info.reshape(batch)


def _by_columns(
    kernel: str, matrix: Tensor, vectors: Sequence[Tensor], rhs: Tensor, *sizes: Any
) -> Tensor:
    """Return what a kernel computes for each column of the right-hand side [..., n, columns]."""
    require(fits(matrix, rhs[..., :1]))
    batch, (n, columns) = common(matrix, rhs), rhs.shape[-2:]
    rows, right = stack(matrix, batch), stack(rhs, batch)
    stacked = [stack(each[..., None], batch)[..., 0].contiguous() for each in vectors]
    written = rhs.new_empty(len(rows), columns, n)
    (found,) = run(kernel, (n, columns, *sizes), [rows, *stacked, right], written)
    return found.mT.reshape(*batch, n, columns)


def lu_factor_ex(x: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """LU with partial pivoting."""
    require(pivot and not check_errors and fits(x))
    return lu_factors(x)


def lu_unpack(
    lu: Tensor, pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """The permutation, the lower and the upper triangle of an LU factorization."""
    m, n = lu.shape[-2:]
    least, empty = min(m, n), lu.new_empty(0)
    require(fits(lu) and lu.numel() > 0)
    lower, upper = empty, empty
    if unpack_data:
        diagonal = torch.eye(m, least, dtype=lu.dtype, device=lu.device)
        lower = lu[..., :least].tril(-1) + diagonal
        upper = lu[..., :least, :].triu()
    if not unpack_pivots:
        return empty, lower, upper
    places = checked(pivots.long() - 1, m).reshape(-1, least)
    written = torch.empty(places.shape[0], m, dtype=torch.int64, device=lu.device)
    (order,) = run("permutation", (m, least), [places], written)
    order = order.reshape(*pivots.shape[:-1], 1, m)
    rows = torch.arange(m, device=lu.device)[:, None]
    return (order == rows).to(lu.dtype), lower, upper


def lu(x: Tensor, *, pivot: bool = True) -> Any:
    """The permutation and the triangles of a matrix."""
    require(pivot and fits(x))
    factors, pivots, _ = lu_factors(x)
    return lu_unpack(factors, pivots)


def solve_lu(
    lu: Tensor, pivots: Tensor, rhs: Tensor, *, left: bool = True, adjoint: bool = False
) -> Any:
    """The solution of a x = rhs, or of x a = rhs, given the factors of a."""
    if not left:
        return solve_lu(lu, pivots, rhs.mT, adjoint=not adjoint).mT
    return _by_columns("lu_solve", lu.mT, [pivots], rhs, adjoint)


def solve_ex(a: Tensor, rhs: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """The solution of a x = rhs, or of x a = rhs, with the factors of a."""
    is_vector = rhs.dim() == 1 or (a.dim() - 1 == rhs.dim() and rhs.shape == a.shape[:-1])
    columns = rhs[..., None] if is_vector else rhs
    require(not check_errors and fits(a, (columns if left else columns.mT)[..., :1]))
    lu, pivots, info = lu_factors(a)
    found = solve_lu(lu, pivots, columns, left=left)
    return found[..., 0] if is_vector else found, lu, pivots, info


def inv_ex(x: Tensor, *, check_errors: bool = False) -> Any:
    """The inverse, and info."""
    require(not check_errors and fits(x))
    lu, pivots, info = lu_factors(x)
    identity = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    return solve_lu(lu, pivots, identity), info


def _of_columns(x: Tensor) -> Tensor:
    """Return the matrix that torch factorizes for a determinant, as its derivatives expect."""
    return x.mT if x.is_contiguous() else x


def _sign(pivots: Tensor) -> Tensor:
    """Return whether a permutation is odd."""
    own = torch.arange(1, pivots.shape[-1] + 1, device=pivots.device)
    return (pivots != own).sum(-1) % 2 == 1


def det(x: Tensor) -> Any:
    """The determinant, and the factors."""
    require(fits(x))
    lu, pivots, _ = lu_factors(_of_columns(x))
    product = lu.diagonal(dim1=-2, dim2=-1).prod(-1)
    return torch.where(_sign(pivots), -product, product), lu, pivots


def slogdet(x: Tensor) -> Any:
    """The sign and the logarithm of the absolute value of the determinant, and the factors."""
    require(fits(x))
    lu, pivots, _ = lu_factors(_of_columns(x))
    diagonal = lu.diagonal(dim1=-2, dim2=-1)
    sign = diagonal.sign().prod(-1)
    return torch.where(_sign(pivots), -sign, sign), diagonal.abs().log().sum(-1), lu, pivots


def triangular(
    a: Tensor, rhs: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """The solution of a x = rhs, or of x a = rhs, with a triangular a."""
    if not left:
        return triangular(a.mT, rhs.mT, upper=not upper, unitriangular=unitriangular).mT
    return _by_columns("solve_triangular", a, [], rhs, upper, unitriangular)


def triangular_solve(
    rhs: Tensor,
    a: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:
    """The same, and the triangular matrix."""
    matrix = a.mT if transpose else a
    found = triangular(matrix, rhs, upper=upper != transpose, unitriangular=unitriangular)
    return found, a.mT.expand(*found.shape[:-2], *a.shape[-2:]).contiguous().mT.clone()


def cholesky_ex(x: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The Cholesky factor of a symmetric matrix, and info."""
    require(not check_errors and fits(x))
    batch, n = x.shape[:-2], x.shape[-1]
    rows = stack(x.mT if upper else x, batch)
    written = (torch.empty_like(rows), integers(x, len(rows)))
    lower, info = run("cholesky", (n,), [rows], *written)
    # It is stored by columns.
    return (lower if upper else lower.mT).reshape(x.shape), info.reshape(batch)


def cholesky(x: Tensor, upper: bool = False) -> Any:
    """The Cholesky factor, or torch's error."""
    factor, info = cholesky_ex(x, upper=upper)
    aten._linalg_check_errors(info, "cholesky", is_matrix=x.dim() == 2)
    return factor.mT.contiguous().mT  # column-major


def cholesky_solve(rhs: Tensor, factor: Tensor, upper: bool = False) -> Any:
    """The solution of a x = rhs, given the Cholesky factor of a."""
    lower = factor.mT if upper else factor
    return triangular(lower.mT, triangular(lower, rhs, upper=False), upper=True)


def cholesky_inverse(factor: Tensor, upper: bool = False) -> Any:
    """The inverse of a matrix, given its Cholesky factor."""
    identity = torch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return cholesky_solve(identity, factor, upper)


def geqrf(x: Tensor) -> Any:
    """R, and the Householder reflections."""
    require(fits(x))
    batch, (m, n) = x.shape[:-2], x.shape[-2:]
    rows = stack(x, batch)
    written = (x.new_empty(len(rows), n, m), x.new_empty(len(rows), min(m, n)))
    qr, tau = run("qr_factor", (m, n), [rows], *written)
    return qr.mT.reshape(x.shape), tau.reshape(*batch, min(m, n))


def ormqr(a: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Any:
    """A matrix times Q [m, m], given by reflections."""
    if not left:
        return ormqr(a, tau, other.mT, transpose=not transpose).mT
    count = tau.shape[-1]
    require(tau.dtype is a.dtype)
    if count == 0:
        return other.expand(*common(a, other), *other.shape[-2:]).clone()
    return _by_columns("reflect", a[..., :count], [tau], other, count, transpose)


def householder_product(a: Tensor, tau: Tensor) -> Any:
    """The first columns of Q, given by reflections."""
    return ormqr(a, tau, torch.eye(*a.shape[-2:], dtype=a.dtype, device=a.device))


def qr(x: Tensor, mode: str = "reduced") -> Any:
    """The QR factorization."""
    (factors, tau), (m, n) = geqrf(x), x.shape[-2:]
    columns = m if mode == "complete" else min(m, n)
    r = factors[..., :columns, :].mT.tril().mT  # column-major
    if mode == "r":
        return x.new_empty(0), r
    identity = torch.eye(m, columns, dtype=x.dtype, device=x.device)
    return ormqr(factors, tau, identity), r


def _singular(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return left [..., m, n], with m >= n, values [..., n] and right [..., n, n], unordered.

    x is left right.T; the columns of left are orthogonal, and their norms are the values.
    """
    batch, (m, n) = x.shape[:-2], x.shape[-2:]
    rows = stack(x, batch)
    written = (x.new_empty(len(rows), n, m), x.new_empty(len(rows), n, n))
    left, right = run("singular", (m, n), [rows], *written)
    values = aten.linalg_vector_norm(left, 2, [-1]).reshape(*batch, n)
    return left.mT.reshape(x.shape), values, right.mT.reshape(*batch, n, n)


def pinv(
    x: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
) -> Any:
    """The pseudo-inverse, where small singular values count as 0."""
    require(fits(x, largest=LARGEST_ROTATED))
    if x.numel() == 0:
        return x.mT.clone()
    if hermitian:
        x = x.tril() + x.tril(-1).mT
    if x.shape[-2] < x.shape[-1]:
        return pinv(x.mT, atol=atol, rtol=rtol).mT
    left, sizes, right = _singular(x)
    relative: Tensor | float = max(x.shape[-2:]) * torch.finfo(x.dtype).eps
    if rtol is not None:
        relative = rtol[..., None]
    elif atol is not None:
        relative = torch.where(atol[..., None] > 0, 0.0, relative)
    bound = sizes.amax(-1, True) * relative
    if atol is not None:
        bound = torch.maximum(bound, atol[..., None].to(bound.dtype))
    inverse = torch.where(sizes > bound, 1 / (sizes * sizes), 0)
    return (right * inverse[..., None, :]) @ left.mT


def _by_torch(operator: Callable[..., Any], *arguments: Any) -> Any:
    """Call an operator, which graphs that are being traced record as it is."""
    with nullcontext() if get_proxy_mode() is None else decompose({}):
        return operator(*arguments)


def svd(
    x: Tensor, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> Any:
    """The singular values; torch computes the vectors, if they are used."""
    require(fits(x, largest=LARGEST_ROTATED) and x.numel() > 0 and driver is None)
    sizes = _singular(x.mT if x.shape[-2] < x.shape[-1] else x)[1]
    left, _, right = _by_torch(aten._linalg_svd.default, x, full_matrices, compute_uv)
    return left, sizes.sort(descending=True)[0], right


def eigh(x: Tensor, triangle: str = "L", compute_v: bool = True) -> Any:
    """The eigenvalues of a symmetric matrix; torch computes the vectors, if they are used.

    A sum with a multiple of the identity has no negative eigenvalue, so singular values are its
    eigenvalues. This is exact enough in float64 for matrices in float32.
    """
    require(fits(x, largest=LARGEST_ROTATED) and x.dtype is not torch.float64)
    if x.numel() == 0:
        return x.new_zeros(x.shape[:-1]), x.clone()
    wide = (x if triangle.upper() == "L" else x.mT).double()
    wide = wide.tril() + wide.tril(-1).mT
    bound = wide.abs().sum(-1).amax(-1)[..., None]
    identity = torch.eye(x.shape[-1], dtype=wide.dtype, device=x.device)
    sizes = _singular(wide + bound[..., None] * identity)[1]
    _, vectors = _by_torch(aten._linalg_eigh.default, x, triangle, compute_v)
    return (sizes - bound).sort()[0].to(x.dtype), vectors


def matrix_exp(x: Tensor) -> Any:
    """The exponential, in float64: the Taylor series of x / 2^s, squared s times."""
    wide = x.double() if x.is_floating_point() else x
    require(fits(wide, largest=LARGEST_ROTATED) and x.numel() > 0)
    batch, n = x.shape[:-2], x.shape[-1]
    rows = stack(wide, batch)
    squarings = rows.abs().sum(-2).amax(-1).log2().ceil().nan_to_num().clamp(0, 1100)
    scaled = rows * torch.exp2(-squarings)[:, None, None]
    written = torch.empty_like(rows), torch.empty_like(rows)
    found, _ = run("exponential", (n,), [scaled, squarings.long()], *written)
    return found.to(x.dtype).reshape(x.shape)


MATRICES: dict[Any, Callable[..., Any]] = {
    aten._linalg_det.default: det,
    aten._linalg_eigh.default: eigh,
    aten._linalg_slogdet.default: slogdet,
    aten._linalg_solve_ex.default: solve_ex,
    aten._linalg_svd.default: svd,
    aten.cholesky.default: cholesky,
    aten.cholesky_inverse.default: cholesky_inverse,
    aten.cholesky_solve.default: cholesky_solve,
    aten.geqrf.default: geqrf,
    aten.linalg_cholesky_ex.default: cholesky_ex,
    aten.linalg_householder_product.default: householder_product,
    aten.linalg_inv_ex.default: inv_ex,
    aten.linalg_lu.default: lu,
    aten.linalg_lu_factor_ex.default: lu_factor_ex,
    aten.linalg_lu_solve.default: solve_lu,
    aten.linalg_matrix_exp.default: matrix_exp,
    aten.linalg_pinv.atol_rtol_tensor: pinv,
    aten.linalg_qr.default: qr,
    aten.linalg_solve_triangular.default: triangular,
    aten.lu_unpack.default: lu_unpack,
    aten.ormqr.default: ormqr,
    aten.triangular_solve.default: triangular_solve,
}
"""The decompositions of linear algebra."""
