"""Operators that move elements, as grids, against torch."""

import math
from functools import partial
from math import prod

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import TensorType, f16, f32, f64, i1, i32, i64

from hidet.dialects import graph
from hidet.lowering.graph.compute_rules.views import reshape_parts


def numbered(*shape):
    """A tensor whose elements are all different."""
    return torch.arange(prod(shape), dtype=torch.float64).reshape(shape)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ((2, 3, 4), (6, 4)),
        ((2, 3, 4), (2, 2, 6)),
        ((2, 3, 4), (24,)),
        ((24,), (2, 3, 4)),
        ((6, 4), (4, 6)),
        ((1, 512, 1, 1), (1, 512)),
        ((3,), (1, 3, 1)),
        ((1,), ()),
        ((), (1, 1)),
        ((2, 0), (0, 5)),
    ],
)
def test_reshape(check_op, source, target):
    check_op(partial(graph.ReshapeOp, shape=target), lambda x: x.reshape(target), numbered(*source))


@st.composite
def two_shapes(draw):
    """Two shapes of as many elements."""
    factors = draw(st.lists(st.sampled_from([1, 2, 3, 5]), max_size=6))

    def grouped():
        order = draw(st.permutations(factors))
        cuts = sorted(draw(st.lists(st.integers(0, len(order)), max_size=4)))
        return [prod(order[a:b]) for a, b in zip([0, *cuts], [*cuts, len(order)], strict=True)]

    return grouped(), grouped()


@given(two_shapes())
def test_reshape_parts_agree(shapes):
    """The parts cover every dimension that counts, in order, and hold as many elements."""
    source, target = shapes
    parts = reshape_parts(source, target)
    for side, shape in enumerate(shapes):
        covered = [dim for part in parts for dim in part[side]]
        assert covered == [dim for dim, size in enumerate(shape) if size != 1]
    for of_source, of_target in parts:
        assert prod(source[d] for d in of_source) == prod(target[d] for d in of_target)


@pytest.mark.parametrize("dims", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (0, 2, 1)])
def test_permute(check_op, dims):
    check_op(partial(graph.PermuteOp, dims=dims), lambda x: x.permute(dims), numbered(2, 3, 4))


@pytest.mark.parametrize(
    ("source", "target"), [((3, 1), (2, 3, 4)), ((), (2, 2)), ((1, 1), (0, 3)), ((4,), (4,))]
)
def test_expand(check_op, source, target):
    check_op(partial(graph.ExpandOp, shape=target), lambda x: x.expand(target), numbered(*source))


def test_slice(check_op):
    op = partial(graph.SliceOp, starts=[1, 0, 2], stops=[8, 4, 2], steps=[3, 1, 1])
    check_op(op, lambda x: x[1:8:3, :, 2:2], numbered(10, 4, 3))
    op = partial(graph.SliceOp, starts=[9, 1], stops=[10, 4], steps=[4, 2])
    check_op(op, lambda x: x[9:10:4, 1:4:2], numbered(10, 4))


def test_reversed_slice(check_op):
    op = partial(graph.SliceOp, starts=[1, 0, 3], stops=[-1, 3, 0], steps=[-1, 1, -2])
    check_op(op, lambda x: x.flip(0, 2)[..., :3:2], numbered(2, 3, 4))


@pytest.mark.parametrize("offset", [-7, -1, 0, 3, 30])
@pytest.mark.parametrize(("step", "repeat"), [(1, 1), (1, 3), (3, 1), (2, 3)])
@pytest.mark.parametrize(("low", "high"), [(0, 4), (1, 3), (2, 2)])
def test_resample(check_op, step, repeat, offset, low, high):
    where = {"size": 9, "step": step, "offset": offset, "repeat": repeat, "low": low, "high": high}
    places = [min(max((i * step + offset) // repeat, low), high) for i in range(9)]
    op = partial(graph.ResampleOp, axis=1, **where)
    check_op(op, lambda x: x[:, places], numbered(2, 5, 3))


def test_as_strided(check_op):
    op = partial(graph.AsStridedOp, shape=[2, 3, 2], strides=[1, 4, 0], offset=3)
    check_op(op, lambda x: x.as_strided((2, 3, 2), (1, 4, 0), 3), numbered(13))
    check_op(partial(graph.AsStridedOp, shape=[], strides=[]), lambda x: x[0], numbered(2))


def test_concat(check_op):
    parts = numbered(2, 3), numbered(2, 0), numbered(2, 1) - 7, numbered(2, 4) + 9
    check_op(lambda *x: graph.ConcatOp(x, 1), lambda *x: torch.cat(x, 1), *parts)
    check_op(lambda *x: graph.ConcatOp(x, 0), lambda *x: torch.cat(x, 0), parts[0])


@pytest.mark.parametrize("value", [0, -math.inf, math.nan])
def test_pad(check_op, value):
    op = partial(graph.PadOp, low=[1, 0, 2], high=[0, 0, 3], value=value)

    def reference(x):
        return torch.nn.functional.pad(x, (2, 3, 0, 0, 1, 0), value=value)

    check_op(op, reference, numbered(2, 3, 2))
    check_op(op, reference, numbered(2, 3, 0))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32], ids=str)
def test_gather(check_op, dtype):
    x = numbered(3, 5, 2)
    ids = torch.randint(0, 5, (2, 7, 1), dtype=dtype)
    check_op(partial(graph.GatherOp, axis=1), lambda x, ids: x.gather(1, ids.long()), x, ids)


# ----------------------------------------------------------------------------- creation


@pytest.mark.parametrize(
    ("value", "element", "dtype"),
    [
        (1.5, f32, torch.float32),
        (0.1, f16, torch.float16),
        (True, i1, torch.bool),
        (-3, i64, torch.int64),
    ],
    ids=str,
)
@pytest.mark.parametrize("shape", [(2, 3), (), (0,)], ids=str)
def test_fill(run_graph, value, element, dtype, shape):
    actual = run_graph(lambda program: graph.FillOp(value, TensorType(element, shape)))
    assert torch.equal(actual, torch.full(shape, value, dtype=dtype))


def test_iota(run_graph):
    actual = run_graph(lambda p: graph.IotaOp(TensorType(i32, [2, 4]), dim=1, start=3, step=-2))
    assert torch.equal(actual, torch.arange(3, -5, -2, dtype=torch.int32).expand(2, 4))
    actual = run_graph(lambda p: graph.IotaOp(TensorType(f64, [5]), start=0.5, step=0.25))
    assert torch.equal(actual, torch.arange(0.5, 1.75, 0.25, dtype=torch.float64))
