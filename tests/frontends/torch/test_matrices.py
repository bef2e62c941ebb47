"""Linear algebra of small matrices: what is made of it computes what eager torch does."""

import pytest
import torch

import hidet
from hidet.frontends.torch.decomposed import DECOMPOSED
from hidet.frontends.torch.decomposed.matrices import LARGEST, LARGEST_ROTATED

aten = torch.ops.aten


def doubles(*shape):
    return torch.randn(shape, dtype=torch.float64)


SQUARE = doubles(2, 3, 4, 4)
SINGULAR = torch.stack([torch.zeros(3, 3), torch.ones(3, 3), torch.eye(3)]).double()
POSITIVE = SQUARE @ SQUARE.mT
RECTANGLES = {
    "tall": doubles(2, 1, 5, 3),
    "wide": doubles(2, 1, 3, 5),
    "more rows than lanes": doubles(2, 40, 33),
    "square": SQUARE,
    "singular": SINGULAR,
    "no matrix": SQUARE[:0],
    "no element": SQUARE[..., :0, :0],
    "no column": SQUARE[..., :0],
}
rectangles = pytest.mark.parametrize("x", RECTANGLES.values(), ids=RECTANGLES)


def check(target, *arguments, **keywords):
    """Compare the results of a function with those of its operator."""
    actual = DECOMPOSED[target](*arguments, **keywords)
    expected = target(*arguments, **keywords)
    torch.testing.assert_close(actual, expected, rtol=1e-8, atol=1e-10, equal_nan=True)


@rectangles
@pytest.mark.sample(3)
def test_factors(x):
    check(aten.linalg_lu_factor_ex.default, x)
    if x.numel() > 0:
        check(aten.linalg_lu.default, x)
    if x is not SINGULAR:  # of whose reflections errors of rounding decide
        check(aten.geqrf.default, x)
        for mode in ("reduced", "complete", "r"):
            check(aten.linalg_qr.default, x, mode)


@rectangles
def test_pseudo_inverses(x):
    if x.shape[-2] > LARGEST_ROTATED:
        assert DECOMPOSED[aten.linalg_pinv.atol_rtol_tensor](x) is NotImplemented
        x = x[..., :LARGEST_ROTATED, :LARGEST_ROTATED]
    check(aten.linalg_pinv.atol_rtol_tensor, x)
    atol, rtol = torch.tensor(0.5).double(), torch.tensor(0.2).double()
    check(aten.linalg_pinv.atol_rtol_tensor, x, atol=atol)
    check(aten.linalg_pinv.atol_rtol_tensor, x, rtol=rtol)
    check(aten.linalg_pinv.atol_rtol_tensor, x, atol=atol, rtol=rtol)


@pytest.mark.parametrize("x", [SQUARE, SQUARE.mT, SINGULAR, SQUARE[..., :0, :0]])
def test_determinants(x):
    check(aten._linalg_det.default, x)
    check(aten._linalg_slogdet.default, x)


def test_inverses():
    rhs = doubles(3, 4, 2)
    check(aten.linalg_inv_ex.default, SQUARE)
    check(aten._linalg_solve_ex.default, SQUARE, rhs)
    check(aten._linalg_solve_ex.default, SQUARE, rhs.mT, left=False)
    check(aten._linalg_solve_ex.default, SQUARE, SQUARE[..., 0])
    check(aten._linalg_solve_ex.default, SQUARE, doubles(4))
    lu, pivots, _ = torch.linalg.lu_factor_ex(SQUARE)
    for adjoint in (False, True):
        check(aten.linalg_lu_solve.default, lu, pivots, rhs, adjoint=adjoint)
        check(aten.linalg_lu_solve.default, lu, pivots, rhs.mT, left=False, adjoint=adjoint)


def test_what_has_no_inverse():
    assert DECOMPOSED[aten.linalg_inv_ex.default](SINGULAR)[1].tolist() == [1, 2, 0]


@rectangles
def test_singular_values(x):
    """What is too large, or empty, is left to torch."""
    found = DECOMPOSED[aten._linalg_svd.default](x)
    assert (found is NotImplemented) == (x.shape[-2] > LARGEST_ROTATED or x.numel() == 0)
    if found is not NotImplemented:
        torch.testing.assert_close(found[1], torch.linalg.svdvals(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("triangle", ["L", "U"])
def test_eigenvalues(triangle):
    """Eigenvalues of opposite sign are told apart; matrices in float64 are left to torch."""
    opposite = torch.tensor([[0.0, 1], [1, 0]])
    large = doubles(LARGEST_ROTATED, LARGEST_ROTATED)
    for x in (SQUARE, SINGULAR, opposite, large, SQUARE[:0], SQUARE[..., :0, :0]):
        found, _ = DECOMPOSED[aten._linalg_eigh.default](x.float(), triangle)
        expected = torch.linalg.eigvalsh(x.float(), triangle)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert DECOMPOSED[aten._linalg_eigh.default](SQUARE) is NotImplemented


@pytest.mark.parametrize("size", [1e-3, 1, 30])
def test_exponentials(size):
    """Of negative numbers of any size, too."""
    for x in (SQUARE * size, torch.diag_embed(doubles(2, 3) * size - 1e8), SQUARE * torch.nan):
        found = DECOMPOSED[aten.linalg_matrix_exp.default](x)
        expected = torch.linalg.matrix_exp(x)
        bound = float(1e-12 * expected.abs().max().nan_to_num())
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=bound, equal_nan=True)


@pytest.mark.filterwarnings("ignore:torch.cholesky")
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.sample(1)
def test_triangles(upper):
    rhs = doubles(3, 4, 2)
    for unit in (False, True):
        flags = {"upper": upper, "unitriangular": unit}
        check(aten.linalg_solve_triangular.default, SQUARE, rhs, **flags)
        check(aten.linalg_solve_triangular.default, SQUARE, rhs.mT, left=False, **flags)
        check(aten.triangular_solve.default, rhs, SQUARE, upper, not unit, unit)
    factor = torch.linalg.cholesky(POSITIVE, upper=upper)
    check(aten.linalg_cholesky_ex.default, POSITIVE, upper=upper)
    check(aten.cholesky.default, POSITIVE, upper)
    check(aten.cholesky_solve.default, rhs, factor, upper)
    check(aten.cholesky_inverse.default, factor, upper)
    info = DECOMPOSED[aten.linalg_cholesky_ex.default](-SINGULAR, upper=upper)[1]
    assert info.tolist() == [1, 1, 1]


def test_reflections():
    a, tau = torch.geqrf(doubles(2, 5, 3))
    check(aten.linalg_householder_product.default, a, tau)
    for left in (False, True):
        for transpose in (False, True):
            check(aten.ormqr.default, a, tau, doubles(2, 5, 5), left, transpose)


def test_pseudo_inverses_of_symmetric_matrices():
    repeated = torch.diag_embed(torch.tensor([2.0, -1, 2, 0]).double())
    large = doubles(LARGEST_ROTATED, LARGEST_ROTATED)
    for x in (SQUARE, repeated, large, SINGULAR):
        check(aten.linalg_pinv.atol_rtol_tensor, x + x.mT, hermitian=True)


def test_what_is_left_to_eager_torch():
    """Large matrices, halves, and errors that torch would raise."""
    for x in (doubles(LARGEST + 1, LARGEST + 1), torch.zeros(2, 2).half()):
        assert DECOMPOSED[aten.linalg_inv_ex.default](x) is NotImplemented
        assert DECOMPOSED[aten.linalg_qr.default](x) is NotImplemented
        assert DECOMPOSED[aten.linalg_solve_triangular.default](x, x, upper=True) is NotImplemented
    assert DECOMPOSED[aten.linalg_inv_ex.default](SQUARE, check_errors=True) is NotImplemented


FUNCTIONS = {
    "det": torch.linalg.det,
    "slogdet": lambda x: torch.linalg.slogdet(x)[1],
    "inv": torch.linalg.inv,
    "solve": lambda x: torch.linalg.solve(x, x.mT.sin()),
    "qr": lambda x: torch.cat(torch.linalg.qr(x)),
    "cholesky": lambda x: torch.linalg.cholesky(x @ x.mT),
    "lu": lambda x: torch.cat(torch.linalg.lu(x)),
    "pinv": torch.linalg.pinv,
    "matrix_exp": torch.linalg.matrix_exp,
    "matrix_power": lambda x: torch.linalg.matrix_power(x, -2),
}


ALWAYS = "inv", "qr"
"""The functions that are not left to the heavier sweep."""


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(function, id=name, marks=() if name in ALWAYS else (pytest.mark.slow,))
        for name, function in FUNCTIONS.items()
    ],
)
@pytest.mark.sample(1)
def test_compiled(function):
    """Programs give values and gradients, in float32 too, and nothing is left to eager torch."""
    torch.compiler.reset()
    compiled = torch.compile(function, backend="hidet", options={"fallback": False})
    ours, eager = (SQUARE[0].clone().requires_grad_() for _ in range(2))
    found, expected = compiled(ours), function(eager)
    torch.testing.assert_close(found, expected)
    weight = torch.randn_like(expected)
    found.backward(weight)
    expected.backward(weight)
    torch.testing.assert_close(ours.grad, eager.grad)
    with torch.no_grad():
        found = compiled(SQUARE[0].float())
        torch.testing.assert_close(found.double(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_values_without_vectors():
    """Vectors are torch's, which computes them if they are used."""

    def values(x):
        whole = x + x.mT
        rank = torch.linalg.matrix_rank(whole, hermitian=True) + torch.linalg.matrix_rank(x)
        condition = torch.linalg.cond(x) + torch.linalg.matrix_norm(x, "nuc")
        return torch.linalg.eigvalsh(whole), torch.linalg.svdvals(x), rank, condition

    torch.compiler.reset()
    x = SQUARE.float()[0]
    with torch.no_grad():
        compiled = torch.compile(values, backend="hidet", options={"fallback": False})
        torch.testing.assert_close(compiled(x), values(x), rtol=1e-3, atol=1e-4)
        with pytest.warns(hidet.torch.UnsupportedOperatorWarning, match="linalg_svd"):
            torch.compile(torch.linalg.svd, backend="hidet")(x)


def test_errors_are_those_of_torch():
    """A matrix without an inverse is torch's error, found by torch, without a warning."""
    torch.compiler.reset()
    compiled = torch.compile(torch.linalg.inv, backend="hidet", options={"fallback": False})
    with torch.no_grad():
        torch.testing.assert_close(compiled(SQUARE[0]), torch.linalg.inv(SQUARE[0]))
        for function in (compiled, torch.linalg.inv):
            with pytest.raises(torch.linalg.LinAlgError, match="input matrix is singular"):
                function(SQUARE[0] * 0)


def test_launches():
    """An inverse is a launch that factorises and one that solves, besides the identity."""
    torch.compiler.reset()
    compiled = torch.compile(
        lambda x: torch.linalg.inv_ex(x)[0], backend="hidet", options={"fallback": False}
    )
    with torch.no_grad():
        compiled(torch.randn(50, 3, 3))
    plan = hidet.torch.compiled_graphs()[-1].plan
    names = [plan.kernels[launch.kernel].symbol for launch in plan.forward]
    assert [sum(name in symbol for symbol in names) for name in ("lu_factor", "lu_solve")] == [1, 1]
    assert len(names) <= 3
