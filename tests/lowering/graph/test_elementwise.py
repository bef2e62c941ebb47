"""Elementwise operators as grids, against torch in float64 and on whole numbers."""

import math
from functools import partial

import pytest
import torch
from torch.nn import functional

from hidet.dialects import graph
from hidet.dialects.graph import base
from hidet.dialects.graph.elementwise import BinaryOp, BitwiseOp, ComparisonOp, UnaryOp
from hidet.frontends.torch.dtypes import ELEMENTS
from hidet.testing.numeric import assert_close

SPECIAL = torch.tensor(
    [math.nan, math.inf, -math.inf, 0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, 300],
    dtype=torch.float64,
)
DTYPES = [torch.float64, torch.float32, torch.int64, torch.int32, torch.int8, torch.bool]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8]


def random(*shape):
    """Random numbers around 0."""
    return torch.randn(shape, dtype=torch.float64)


def integers(*shape, low=-9, high=10, dtype=torch.int64):
    """Random whole numbers."""
    return torch.randint(low, high, shape, dtype=dtype)


def pairs(values):
    """All pairs of some values, as two tensors."""
    return torch.meshgrid(values, values, indexing="ij")


def reference_of(op):
    """The operator of ATen that an operation is named after."""
    return getattr(torch.ops.aten, op.name.removeprefix("graph."))


def operations(*bases, but=()):
    """The operations that derive from some base."""
    return [op for op in graph.Graph.operations if issubclass(op, bases) and op not in but]


UNARY = operations(UnaryOp)


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
def test_unary(check_op, op):
    check_op(op, reference_of(op), torch.cat([SPECIAL, random(30) * 3]))
    check_op(op, reference_of(op), random())
    check_op(op, reference_of(op), random(3, 0))


def test_gelu_by_tanh(check_op):
    reference = partial(functional.gelu, approximate="tanh")
    check_op(partial(graph.GeluOp, approximate="tanh"), reference, SPECIAL)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", [graph.AbsOp, graph.NegOp, graph.SignOp, graph.BitwiseNotOp])
def test_unary_of_integers(check_op, op, dtype):
    check_op(op, reference_of(op), integers(20, dtype=dtype))


def test_complement_of_booleans(check_op):
    check_op(graph.BitwiseNotOp, torch.logical_not, torch.tensor([True, False]))


@pytest.mark.parametrize("target", DTYPES, ids=str)
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_cast(run_graph, source, target):
    x = (random(20) * 5).to(source)
    actual = run_graph(lambda program, value: graph.CastOp(value, ELEMENTS[target]), x)
    assert torch.equal(actual, x.to(target))


@pytest.mark.parametrize("floating", [torch.float16, torch.float32, torch.float64], ids=str)
def test_bitcast(run_graph, floating):
    def bits(x, dtype):
        return run_graph(lambda program, value: graph.BitcastOp(value, ELEMENTS[dtype]), x)

    integer = getattr(torch, f"int{8 * floating.itemsize}")
    x = SPECIAL.to(floating)
    assert torch.equal(bits(x, integer), x.view(integer))
    assert torch.equal(bits(x.view(integer), floating).view(integer), x.view(integer))


def test_cast_of_nan_to_boolean_is_true(check_op):
    check_op(partial(graph.CastOp, element=ELEMENTS[torch.bool]), lambda x: x.bool(), SPECIAL)


BITWISE = operations(BitwiseOp)
DIVISIONS = operations(graph.FloorDivideOp, graph.FmodOp, graph.RemainderOp)
BINARY = operations(BinaryOp, ComparisonOp, but=(*BITWISE, *DIVISIONS))
FLOATS_ONLY = [op for op in BINARY if op.ELEMENTS is base.FLOATS]


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.name)
def test_binary(check_op, op):
    check_op(op, reference_of(op), *pairs(SPECIAL))
    check_op(op, reference_of(op), random(3, 1, 2), random(4, 1))
    check_op(op, reference_of(op), random(), random(2))
    check_op(op, reference_of(op), random(0, 1), random(3))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize(
    "op",
    [op for op in BINARY if op not in [*FLOATS_ONLY, graph.PowOp]] + BITWISE,
    ids=lambda op: op.name,
)
def test_binary_of_integers(check_op, op, dtype):
    check_op(op, reference_of(op), *pairs(integers(12, dtype=dtype)))


@pytest.mark.parametrize("op", DIVISIONS, ids=lambda op: op.name)
def test_division_of_integers(check_op, op):
    divisors = torch.cat([torch.arange(-4, 0), torch.arange(1, 5)])
    check_op(op, reference_of(op), torch.arange(-9, 10)[:, None], divisors)


def test_power_of_integers(check_op):
    check_op(graph.PowOp, torch.pow, torch.arange(-4, 5)[:, None], torch.arange(0, 8))


@pytest.mark.parametrize(
    "op",
    [
        *(graph.AddOp, graph.MulOp, graph.MaximumOp, graph.MinimumOp, graph.LtOp, graph.LeOp),
        *(graph.GtOp, graph.GeOp, graph.EqOp, graph.NeOp),
        *(op for op in BITWISE if op.ELEMENTS is base.BITS),
    ],
    ids=lambda op: op.name,
)
def test_binary_of_booleans(check_op, op):
    check_op(op, reference_of(op), *pairs(torch.tensor([True, False])))


def test_where(check_op):
    check_op(graph.WhereOp, torch.where, random(3, 1) > 0, random(4), random(3, 4))
    check_op(graph.WhereOp, torch.where, torch.tensor(True), integers(3), integers(1))


@pytest.mark.parametrize("exponent", [-2, -1, -0.5, 0.5, 1.5, 2, 3])
def test_power_with_a_constant_exponent(run_graph, exponent):
    def build(program, x):
        return graph.PowOp(x, program.emit(graph.FillOp(exponent, scalar_type(x))))

    assert_close(run_graph(build, SPECIAL), torch.pow(SPECIAL, exponent), 1e-12)


def scalar_type(x):
    """The type of a scalar with the elements of a value."""
    return type(x.type)(x.type.element_type, [])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_halves_are_rounded_once(run_graph, dtype):
    """An operator computes in float32; only its result is rounded."""
    x = (random(50) * 10).to(dtype)
    actual = run_graph(lambda program, value: graph.GeluOp(value), x)
    assert_close(actual, functional.gelu(x.double()), torch.finfo(dtype).eps / 2)


@pytest.mark.parametrize(
    ("op", "reference"),
    [
        (graph.GeluOp, functional.gelu),
        (partial(graph.GeluOp, approximate="tanh"), partial(functional.gelu, approximate="tanh")),
        (graph.SiluOp, functional.silu),
        (graph.SigmoidOp, torch.sigmoid),
    ],
)
def test_fast_functions_of_all_halves(run_graph, op, reference):
    """Fast functions are as good as exact ones for results of 16 bits."""
    bits = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16)
    x = bits.view(torch.float16)
    actual, wanted = run_graph(lambda program, value: op(value), x), reference(x.double())
    error, allowed = (actual.double() - wanted).abs(), wanted.abs() * 2**-11 + 4e-6
    assert bool(((error <= allowed) | (actual == wanted))[x.isfinite()].all())
    infinite = x == float("inf")
    assert actual[infinite].item() == wanted[infinite].item()
    assert bool(actual[x.isnan()].isnan().all())


def test_fills_are_constants_in_their_users(run_graph):
    def build(program, x):
        two = program.emit(graph.FillOp(2, scalar_type(x)))
        wide = program.emit(graph.ExpandOp(two, [3]))
        return graph.MulOp(x, wide)

    x = random(3)
    assert_close(run_graph(build, x), x * 2, 0)
