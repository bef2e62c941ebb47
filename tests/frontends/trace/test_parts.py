"""Operators on complex tensors, whose parts programs take."""

import pytest
import torch

import hidet
from hidet.errors import HidetError


def draw(*shape):
    return torch.randn(shape, dtype=torch.complex64)


X, Y, Z = draw(4, 6), draw(6, 4), draw(4, 6)
CALLS = {
    "arithmetic": (lambda x, y: (x + 1) * x / (2 - y), X, Z),
    "matmul": (lambda x, y: x @ y, X, Y),
    "exp": (lambda x: x.exp() if isinstance(x, torch.Tensor) else hidet.ops.exp(x), X),
    "magnitude": (abs, X),
    "view": (lambda x: x[1:3, ::2], X),
    "strided": (lambda x, y: x * y, X[:, ::2], Y.T[:, ::2]),
    "conjugated": (lambda x, y: x * y, X.conj()[:, ::2], Z.conj()[:, 1::2]),
    "real_too": (lambda x, y: x * y, X, Z.real),
    "cast": (
        lambda x: (
            x.to(torch.complex64) * 1j if isinstance(x, torch.Tensor) else x.cast("complex64") * 1j
        ),
        Z.real,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    """At once, and as a graph, they give what torch gives."""
    function, *given = CALLS[name]
    wanted = function(*given)
    tensors = [hidet.from_torch(each) for each in given]
    symbols = [hidet.symbol_like(each) for each in tensors]
    graph = hidet.graph.optimize(hidet.trace_from(function(*symbols), symbols))
    for result in (function(*tensors), graph(*tensors)):
        assert result.dtype.is_complex() is wanted.is_complex()
        torch.testing.assert_close(result.torch(), wanted)


def test_returned_unchanged():
    x = hidet.symbol([4, 6], hidet.complex64)
    same, other = hidet.trace_from([x, x.transpose(0, 1)])(hidet.from_torch(X))
    assert torch.equal(same.torch(), X)
    assert torch.equal(other.torch(), X.T)


def test_creation():
    assert hidet.zeros([2], dtype="complex128").dtype is hidet.complex128
    assert hidet.randn([2], dtype=hidet.complex64).torch().imag.abs().min() > 0


def test_what_is_refused(tmp_path):
    graph = hidet.trace_from(abs(hidet.symbol([4], "complex64")))
    with pytest.raises(HidetError, match=r"complex64"):
        hidet.save_graph(graph, tmp_path / "x")
    with pytest.raises(HidetError, match="invalid arguments of Relu"):
        hidet.ops.relu(hidet.from_torch(X))
