"""Reductions, softmax and norms, as grids, against torch in float64."""

import math
from functools import partial

import pytest
import torch
from torch.nn import functional

from hidet.dialects import graph
from hidet.testing.numeric import assert_close

CASES = [
    ((3, 4, 5), (1,), False),
    ((3, 4, 5), (0, 2), True),
    ((3, 4, 5), (0, 1, 2), False),
    ((6,), (0,), True),
    ((2, 1), (1,), False),
]


def random(*shape):
    """Random numbers around 0."""
    return torch.randn(shape, dtype=torch.float64)


def with_specials(*shape):
    """Random numbers, a few of them NaN or infinite."""
    x = random(*shape).flatten()
    x[0], x[-1] = math.nan, math.inf
    return x.reshape(shape)


def product(x, axes, keepdim):
    """The product over several axes, which torch takes one at a time."""
    for axis in axes:
        x = x.prod(axis, keepdim=True)
    return x if keepdim else x.reshape([s for i, s in enumerate(x.shape) if i not in axes])


REDUCTIONS = {
    graph.MaxOp: torch.amax,
    graph.MeanOp: torch.mean,
    graph.MinOp: torch.amin,
    graph.ProdOp: product,
    graph.SumOp: torch.sum,
    graph.VarOp: torch.var,
}


@pytest.mark.parametrize(("shape", "axes", "keepdims"), CASES, ids=str)
@pytest.mark.parametrize("op", REDUCTIONS, ids=lambda op: op.name)
@pytest.mark.filterwarnings("ignore:var")
def test_reduction(check_op, op, shape, axes, keepdims):
    build = partial(op, axes=axes, keepdims=keepdims)

    def reference(x):
        return REDUCTIONS[op](x, axes, keepdim=keepdims)

    check_op(build, reference, random(*shape))
    check_op(build, reference, with_specials(*shape))


@pytest.mark.parametrize("op", [graph.SumOp, graph.ProdOp, graph.MaxOp, graph.MinOp])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32], ids=str)
def test_reduction_of_integers(check_op, op, dtype):
    x = torch.randint(-3, 4, (3, 5), dtype=dtype)
    check_op(partial(op, axes=[1]), lambda x: REDUCTIONS[op](x, (1,), keepdim=False).to(dtype), x)


@pytest.mark.parametrize(("op", "function"), [(graph.MaxOp, torch.any), (graph.MinOp, torch.all)])
def test_reduction_of_booleans(check_op, op, function):
    x = torch.tensor([[True, False], [True, True], [False, False]])
    for tensor in (x, x[:, :0]):
        check_op(partial(op, axes=[1]), lambda x: function(x, 1), tensor)


@pytest.mark.parametrize("op", [graph.SumOp, graph.ProdOp, graph.MeanOp, graph.VarOp])
@pytest.mark.filterwarnings("ignore:var")
def test_reduction_of_nothing(check_op, op):
    check_op(partial(op, axes=[1]), lambda x: REDUCTIONS[op](x, (1,), keepdim=False), random(3, 0))
    check_op(partial(op, axes=[1]), lambda x: REDUCTIONS[op](x, (1,), keepdim=False), random(0, 3))


def test_reduction_over_no_axes(check_op):
    check_op(partial(graph.SumOp, axes=[]), lambda x: x, random(3))
    check_op(graph.SumOp, lambda x: x, random())


@pytest.mark.parametrize("correction", [0, 1, 2, 5, 6])
@pytest.mark.filterwarnings("ignore:var")
def test_variance(check_op, correction):
    check_op(
        partial(graph.VarOp, axes=[1], correction=correction),
        lambda x: torch.var(x, 1, correction=correction),
        random(3, 5) + 100,
    )


def test_a_sum_of_halves_does_not_overflow_on_the_way(run_graph):
    x = torch.full((4, 512), 300, dtype=torch.float16)
    actual = run_graph(lambda program, value: graph.MeanOp(value, [1]), x)
    assert actual.tolist() == [300] * 4


@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 20, 17)], ids=str)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(
    ("op", "reference"),
    [(graph.SoftmaxOp, torch.softmax), (graph.LogSoftmaxOp, torch.log_softmax)],
)
def test_softmax(check_op, op, reference, axis, shape):
    check_op(partial(op, axis=axis), lambda x: reference(x, axis), random(*shape) * 100)
    check_op(partial(op, axis=axis), lambda x: reference(x, axis), with_specials(*shape))
    x = random(*shape)
    x[0] = -math.inf
    check_op(partial(op, axis=axis), lambda x: reference(x, axis), x)


@pytest.mark.parametrize("rank", [1, 2])
def test_layer_norm(check_op, rank):
    shape = (4, 5)[-rank:]
    check_op(
        lambda x: graph.LayerNormOp(x, normalized_rank=rank, eps=1e-3),
        lambda x: functional.layer_norm(x, shape, eps=1e-3),
        random(3, 4, 5) + 7,
    )


def test_rms_norm(check_op):
    check_op(
        lambda x: graph.RmsNormOp(x, eps=1e-3),
        lambda x: functional.rms_norm(x, (5,), eps=1e-3),
        random(3, 4, 5),
    )


def test_norm_of_halves(run_graph):
    x = random(3, 64).half()
    actual = run_graph(lambda program, value: graph.LayerNormOp(value), x)
    assert_close(actual, functional.layer_norm(x.double(), (64,)), 1e-3)
