"""Forms mean what the arithmetic that they come from means."""

import random
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hidet.analysis.algebra import FormAlgebra
from hidet.analysis.forms import ZERO, LinearForm, Quotient, Range, Remainder, Variable

EXTENTS = (1, 2, 3, 4, 6, 8, 16, 32)
VARIABLES = tuple(Variable(f"x{extent}", extent) for extent in EXTENTS)
DIVISORS = (1, 2, 3, 4, 6, 8, 16, 24, 32)


def var(extent, name="v"):
    return Variable(name, extent)


def of(atom, coefficient=1):
    return LinearForm.of(atom, coefficient)


class Node:
    """An expression over variables, with its form and its plain meaning."""

    def __init__(self, algebra, form, evaluate):
        self.algebra, self.form, self.evaluate = algebra, form, evaluate

    @classmethod
    def leaf(cls, algebra, variable):
        return cls(algebra, of(variable), lambda env: env[variable])

    def affine(self, other, factor, constant):
        form = self.algebra.add(self.form, other.form, factor) + constant
        mine, theirs = self.evaluate, other.evaluate
        return Node(self.algebra, form, lambda env: mine(env) + factor * theirs(env) + constant)

    def floordiv(self, divisor):
        form = self.algebra.merge(self.algebra.floordiv(self.form, divisor))
        mine = self.evaluate
        return Node(self.algebra, form, lambda env: mine(env) // divisor)

    def mod(self, divisor):
        form = self.algebra.merge(self.algebra.mod(self.form, divisor))
        mine = self.evaluate
        return Node(self.algebra, form, lambda env: mine(env) % divisor)


@st.composite
def expressions(draw):
    algebra = FormAlgebra()
    nodes = [Node.leaf(algebra, v) for v in draw(st.permutations(VARIABLES))[:3]]
    for _ in range(draw(st.integers(1, 8))):
        node = draw(st.sampled_from(nodes))
        kind = draw(st.sampled_from(["affine", "div", "mod"]))
        divisor = draw(st.sampled_from(DIVISORS))
        if kind == "affine":
            factor = draw(st.sampled_from([-8, -2, -1, 1, 2, 3, 4, 8, 32]))
            other = draw(st.sampled_from(nodes))
            nodes.append(node.affine(other, factor, draw(st.sampled_from([0, 0, 0, 1, -1, 7]))))
        else:
            nodes.append(node.floordiv(divisor) if kind == "div" else node.mod(divisor))
    return algebra, nodes


def environments(seed, count=40):
    rng = random.Random(seed)
    yield dict.fromkeys(VARIABLES, 0)
    yield {v: v.extent - 1 for v in VARIABLES}
    for _ in range(count):
        yield {v: rng.randrange(v.extent) for v in VARIABLES}


@given(expressions(), st.integers(0, 1 << 30))
def test_forms_keep_the_value(case, seed):
    algebra, nodes = case
    for env in environments(seed):
        for node in nodes:
            value = node.evaluate(env)
            assert node.form.evaluate(env) == value
            lo, hi = algebra.range(node.form)
            assert lo <= value <= hi
            step = algebra.divisibility(node.form)
            assert value % step == 0 if step else value == 0


@given(expressions(), st.data())
def test_forms_keep_the_value_under_conditions(case, data):
    algebra, nodes = case
    guard = data.draw(st.sampled_from(nodes))
    limit = data.draw(st.integers(-10, 40))
    condition = (guard.form.without_constant, Range(-(1 << 63), limit - 1 - guard.form.constant))
    inside = algebra.under([condition] if not guard.form.is_number else [])
    target = data.draw(st.sampled_from(nodes))
    divisor = data.draw(st.sampled_from(DIVISORS))
    for env in environments(data.draw(st.integers(0, 1 << 30))):
        if guard.evaluate(env) < limit:
            value = target.evaluate(env)
            assert inside.floordiv(target.form, divisor).evaluate(env) == value // divisor
            assert inside.mod(target.form, divisor).evaluate(env) == value % divisor
            lo, hi = inside.range(target.form)
            assert lo <= value <= hi


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(2, 4))
def test_delinearise_then_linearise_vanishes(shape, factor):
    algebra = FormAlgebra()
    linear = of(var(prod(shape) * factor))
    total, stride = ZERO, 1
    for dim, extent in reversed(list(enumerate(shape))):
        digit = algebra.floordiv(linear, stride)
        if dim > 0:
            digit = algebra.merge(algebra.mod(digit, extent))
        total = algebra.add(total, digit, stride)
        stride *= extent
    assert total == linear


@given(st.lists(st.integers(2, 9), min_size=1, max_size=5))
def test_linearise_then_delinearise_vanishes(shape):
    algebra = FormAlgebra()
    digits = [of(var(extent, f"d{dim}")) for dim, extent in enumerate(shape)]
    linear = ZERO
    for digit, extent in zip(digits, shape, strict=True):
        linear = algebra.add(digit, linear, extent)
    for dim in range(len(shape)):
        back = algebra.mod(algebra.floordiv(linear, prod(shape[dim + 1 :])), shape[dim])
        assert back == digits[dim]


@pytest.mark.parametrize("orders", list(product([(0, 1, 2), (2, 1, 0), (1, 0, 2)], repeat=2)))
def test_equal_sums_are_equal_in_any_order(orders):
    atoms = [var(8, "a"), var(4, "b"), var(2, "c")]
    forms = []
    for order in orders:
        total = ZERO
        for place in order:
            total = total + of(atoms[place], place + 1)
        forms.append(total)
    assert forms[0] == forms[1]
    assert hash(forms[0]) == hash(forms[1])


def check(algebra, form, text):
    assert repr(form) == text


def test_rules_one_by_one():
    algebra = FormAlgebra()
    x, big, small = of(var(32, "x")), of(var(100, "b")), of(var(4, "s"))
    div, mod = algebra.floordiv, algebra.mod
    # Ranges kill both.
    assert div(x, 32) == ZERO
    assert mod(x, 32) == x
    assert div(x + 32, 32) == LinearForm.number(1)
    # Multiples vanish under mod and leave div.
    assert mod(big * 32 + x, 32) == x
    assert div(big * 32 + x, 32) == big
    # What is smaller than the step of the others is split off.
    assert div(big * 4 + small, 16) == of(Quotient(big, 4))
    assert mod(big * 4 + small, 16) == of(Remainder(big, 4), 4) + small
    # Nested divisions.
    assert div(div(big, 4), 8) == of(Quotient(big, 32))
    assert mod(mod(big, 32), 8) == of(Remainder(big, 8))
    assert div(mod(big, 32), 8) == of(Remainder(of(Quotient(big, 8)), 4))
    # Common factors.
    assert div(big * 6, 8) == of(Quotient(big * 3, 4))
    # What was taken apart is put together.
    assert algebra.add(mod(big, 8), div(big, 8), 8) == big
    assert algebra.add(mod(big, 8) * 3, div(big, 8), 24) == big * 3
    assert algebra.add(mod(big, 8), mod(div(big, 8), 4), 8) == of(Remainder(big, 32))
    assert algebra.add(big, div(big, 8), -8) == of(Remainder(big, 8))


def test_multiples_are_known():
    step = var(512, "k")
    algebra = FormAlgebra()
    k = of(Quotient(of(step), 16), 16)
    assert algebra.divisibility(k) == 16
    assert algebra.divisibility(k + 32) == 16
    assert algebra.divisibility(k + 8) == 8
    assert algebra.mod(k + of(var(16, "j")), 16) == of(var(16, "j"))


def test_division_of_negative_numbers_rounds_down():
    algebra = FormAlgebra()
    x = of(var(8, "x"))
    quotient = algebra.floordiv(x - 3, 4)
    remainder = algebra.mod(x - 3, 4)
    for value in range(8):
        env = {var(8, "x"): value}
        assert quotient.evaluate(env) == (value - 3) // 4
        assert remainder.evaluate(env) == (value - 3) % 4
    assert algebra.add(remainder, quotient, 4) == x - 3
