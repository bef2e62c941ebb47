"""`invert` finds exactly the inverse, or nothing."""

import itertools
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.builder import InsertPoint
from xdsl.dialects import test as test_dialect
from xdsl.dialects.builtin import TensorType, f32

from hidet.analysis.index_forms import IndexForms
from hidet.analysis.inverse import invert
from hidet.dialects.compute import GridOp
from hidet.rewriting.builder import KernelBuilder


def numbers(shape):
    return itertools.product(*map(range, shape))


class Map:
    """A map from the indices of a grid to those of an anchor, built as ops in the grid's body."""

    def __init__(self, shape):
        self.grid = GridOp(TensorType(f32, shape))
        self.shape = tuple(shape)
        self.target = tuple(shape)
        self.indices = list(self.grid.indices)
        self.builder = KernelBuilder(InsertPoint.at_end(self.grid.body.block))

    def reshape(self, shape):
        linear = self.builder.linearize(self.indices, self.target)
        self.indices = self.builder.delinearize(self.builder.index(linear), shape)
        self.target = tuple(shape)
        return self

    def permute(self, order):
        self.indices = [self.indices[dim] for dim in order]
        self.target = tuple(self.target[dim] for dim in order)
        return self

    @property
    def forms(self):
        forms = IndexForms()
        return [forms.form(index) for index in self.indices]

    def invert(self):
        return invert(self.forms, self.grid.indices, self.shape, self.target)


def assert_inverse(case, inverse):
    forms = case.forms
    seen = set()
    for point in numbers(case.shape):
        env = dict(zip(case.grid.indices, point, strict=True))
        place = tuple(form.evaluate(env) for form in forms)
        back = dict(zip(inverse.variables, place, strict=True))
        assert tuple(form.evaluate(back) for form in inverse.forms) == point
        seen.add(place)
    assert seen == set(numbers(case.target))


def factors(number):
    """Split a number into factors, at random, through hypothesis."""
    primes = []
    for prime in (2, 3, 5, 7):
        while number % prime == 0:
            primes.append(prime)
            number //= prime
    return primes


@st.composite
def regroupings(draw, shape):
    """Reshapes that merge neighbours or split a dimension."""
    shape = list(shape)
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()) and len(shape) > 1:
            at = draw(st.integers(0, len(shape) - 2))
            shape[at : at + 2] = [shape[at] * shape[at + 1]]
        else:
            at = draw(st.integers(0, len(shape) - 1))
            inner = prod(draw(st.permutations(factors(shape[at])))[: draw(st.integers(0, 2))])
            shape[at : at + 1] = [shape[at] // inner, inner]
    return shape


SHAPES = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4)


@given(SHAPES, st.data())
def test_compositions_of_reshapes_and_permutations(shape, data):
    case = Map(shape)
    for _ in range(data.draw(st.integers(1, 3))):
        if data.draw(st.booleans()):
            case.permute(data.draw(st.permutations(range(len(case.target)))))
        else:
            case.reshape(data.draw(regroupings(case.target)))
    inverse = case.invert()
    if inverse is not None:
        assert_inverse(case, inverse)


@given(SHAPES, st.data())
def test_every_reshape_is_inverted(shape, data):
    case = Map(shape).reshape(data.draw(regroupings(shape)))
    inverse = case.invert()
    assert inverse is not None
    assert_inverse(case, inverse)


@given(SHAPES, st.data())
def test_every_permutation_is_inverted(shape, data):
    case = Map(shape).permute(data.draw(st.permutations(range(len(shape)))))
    inverse = case.invert()
    assert inverse is not None
    assert_inverse(case, inverse)
    assert all(form.weight == 0 for form in inverse.forms)


@pytest.mark.parametrize(
    "case",
    [
        # heads: (batch, head, row, channel) of a product (batch * row, head * channel)
        lambda: Map((2, 4, 3, 8)).permute((0, 2, 1, 3)).reshape((6, 32)),
        # and back
        lambda: Map((6, 32)).reshape((2, 3, 4, 8)).permute((0, 2, 1, 3)),
        lambda: Map((6, 32)).reshape((2, 3, 4, 8)).permute((0, 2, 1, 3)).reshape((8, 3, 8)),
        # images: (n, c, h, w) of a product (n * h * w, c)
        lambda: Map((2, 8, 3, 5)).permute((0, 2, 3, 1)).reshape((30, 8)),
        lambda: Map((6, 4)).reshape((3, 8)),
        lambda: Map((3, 6, 4)).reshape((3, 8, 3)).permute((1, 0, 2)).permute((1, 0, 2)),
        lambda: Map((5, 6, 4)).permute((1, 2, 0)).reshape((3, 8, 5)),
        lambda: Map((4, 1, 3)).reshape((1, 12)),
        lambda: Map(()).reshape((1, 1)),
    ],
)
def test_what_epilogues_do_is_inverted(case):
    case = case()
    inverse = case.invert()
    assert inverse is not None
    assert_inverse(case, inverse)


def test_identity():
    inverse = Map((4, 1, 3)).invert()
    assert inverse is not None
    assert [repr(form) for form in inverse.forms] == ["a0", "0", "a2"]
    swapped = Map((4, 4)).permute((1, 0)).invert()
    assert swapped is not None
    assert [repr(form) for form in swapped.forms] == ["a1", "a0"]


def test_heads_are_read_off_without_a_sum():
    inverse = Map((2, 4, 3, 8)).permute((0, 2, 1, 3)).reshape((6, 32)).invert()
    assert [repr(form) for form in inverse.forms] == [
        "(a0) floordiv 3",
        "(a1) floordiv 8",
        "(a0) mod 3",
        "(a1) mod 8",
    ]


def broken(shape, target, change):
    case = Map(shape)
    case.indices = [case.builder.index(i) for i in change(case.builder, *case.indices)]
    case.target = target
    return case


@pytest.mark.parametrize(
    "case",
    [
        # a slice with an offset, a strided one, a broadcast, a diagonal, a flip
        lambda: broken((4,), (8,), lambda b, i: [b.add(i, 4)]),
        lambda: broken((4,), (4,), lambda b, i: [b.add(i, 1)]),
        lambda: broken((4,), (8,), lambda b, i: [b.mul(i, 2)]),
        lambda: broken((4, 3), (4,), lambda b, i, j: [i]),
        lambda: broken((4,), (4, 4), lambda b, i: [i, i]),
        lambda: broken((4, 4), (4, 4), lambda b, i, j: [i, i]),
        lambda: broken((8,), (8,), lambda b, i: [b.subtract(7, i)]),
        # parts of a slice: the domain is as large, the image is not the anchor
        lambda: broken((2, 2), (4,), lambda b, i, j: [b.add(b.mul(i, 4), j)]),
        lambda: broken((6,), (6,), lambda b, i: [b.mod(i, 3)]),
        lambda: broken((6,), (2, 3), lambda b, i: [b.mod(i, 2), b.div(i, 3)]),
        # digits that overlap
        lambda: broken((4, 4), (16,), lambda b, i, j: [b.add(b.mul(i, 2), j)]),
        lambda: broken((0, 4), (0,), lambda b, i, j: [i]),
    ],
)
def test_what_is_no_bijection_is_refused(case):
    assert case().invert() is None


def test_an_index_from_elsewhere_is_refused():
    case = Map((4,))
    foreign = test_dialect.TestOp(result_types=[case.grid.indices[0].type]).results[0]
    case.indices = [foreign]
    assert case.invert() is None


@given(SHAPES, st.data())
def test_maps_with_constants_and_factors(shape, data):
    """Whatever is found for a random affine map is right."""
    case = Map(shape)
    rows = []
    for _ in range(data.draw(st.integers(1, 3))):
        total = 0
        for index in case.indices:
            factor = data.draw(st.sampled_from([0, 1, 1, 2, 3, 4, 6]))
            total = case.builder.add(total, case.builder.mul(index, factor))
        rows.append(case.builder.index(total))
    case.indices = rows
    case.target = tuple(data.draw(st.sampled_from([1, 2, 3, 4, 6, 12])) for _ in rows)
    inverse = case.invert()
    if inverse is not None:
        assert_inverse(case, inverse)


def test_materialize_computes_the_indices():
    case = Map((2, 4, 3, 8)).permute((0, 2, 1, 3)).reshape((6, 32))
    inverse = case.invert()
    target = GridOp(TensorType(f32, (6, 32)))
    builder = KernelBuilder(InsertPoint.at_end(target.body.block))
    values = inverse.materialize(builder, target.indices)
    forms = IndexForms()
    for place in numbers((6, 32)):
        env = dict(zip(target.indices, place, strict=True))
        back = dict(zip(inverse.variables, place, strict=True))
        for value, form in zip(values, inverse.forms, strict=True):
            assert forms.form(value).evaluate(env) == form.evaluate(back)
    # Unsigned divisions only.
    assert {op.name for op in target.body.block.ops} == {
        "arith.constant",
        "arith.divsi",
        "arith.remsi",
    }
