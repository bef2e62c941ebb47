"""Printed expressions mean what their IR says: random trees of operators."""

import random

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scalar_semantics import numpy_type
from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, f32, f64, i1, i8, i32, i64

from hidet.dialects.cuda.instructions import BlockIdOp

BATCH = 25
"""Kernels of one file: starting g++ costs more than a kernel."""


def random_kernels(max_examples):
    """Settings for tests that draw a seed: a smaller seed is not simpler."""
    return settings(max_examples=max_examples, phases=[Phase.generate])


INTEGER_OPS = (
    *(arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp),
    *(arith.MaxSIOp, arith.MinSIOp, arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp),
    *(arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp, arith.DivUIOp, arith.RemUIOp),
    *(arith.MaxUIOp, arith.MinUIOp),
)
DIVISIONS = (arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp, arith.DivUIOp, arith.RemUIOp)
SHIFTS = (arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp)
FLOAT_OPS = (
    *(arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp),
    *(arith.MaximumfOp, arith.MinimumfOp, arith.MaxnumfOp, arith.MinnumfOp),
)


class Trees:
    """Builds random expressions whose leaves are given values and small constants."""

    def __init__(self, builder, rng, leaves, kind):
        self.b, self.rng, self.leaves, self.kind = builder, rng, leaves, kind
        self.is_float = kind in (f32, f64)

    def value(self, depth):
        """Give an expression of the kind of the leaves."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.1:
            if rng.random() < 0.3:
                return self.b.scalar(rng.choice([-3, -1, 1, 2, 3]), self.kind)
            return rng.choice(self.leaves)
        if rng.random() < 0.15:
            values = self.value(depth - 1), self.value(depth - 1)
            return self.b.insert(arith.SelectOp(self.condition(depth - 1), *values)).result
        if self.is_float and rng.random() < 0.15:
            return self.b.insert(arith.NegfOp(self.value(depth - 1))).result
        op = rng.choice(FLOAT_OPS if self.is_float else INTEGER_OPS)
        lhs, rhs = self.value(depth - 1), self.value(depth - 1)
        if op in DIVISIONS:  # of a number that can be negated, by an odd one, which is not 0
            lhs = self.b.insert(arith.ShRSIOp(lhs, self.b.scalar(1, self.kind))).result
            rhs = self.b.insert(arith.OrIOp(rhs, self.b.scalar(1, self.kind))).result
        if op in SHIFTS:
            rhs = self.b.scalar(rng.choice([0, 1, 2]), self.kind)
        return self.b.insert(op(lhs, rhs)).results[0]

    def condition(self, depth):
        """Give a boolean expression."""
        rng = self.rng
        if depth > 0 and rng.random() < 0.5:
            op = rng.choice([arith.AndIOp, arith.OrIOp, arith.XOrIOp])
            lhs = self.condition(depth - 1)
            rhs = self.b.scalar(1, i1) if rng.random() < 0.3 else self.condition(depth - 1)
            return self.b.insert(op(lhs, rhs)).result
        lhs, rhs = self.value(max(depth - 1, 0)), self.value(max(depth - 1, 0))
        compare, last = (arith.CmpfOp, 15) if self.is_float else (arith.CmpiOp, 9)
        return self.b.insert(compare(lhs, rhs, rng.randint(0, last))).result


def sample(rng, kind, size):
    """Values that make expressions interesting: small numbers, the extreme and the special ones."""
    choices = [-3, -2, -1, 0, 1, 2, 3]
    dtype = numpy_type(kind)
    if kind in (f32, f64):
        choices += [-0.0, 0.1, 1e30, float("inf"), float("-inf"), float("nan")]
    else:
        choices += [np.iinfo(dtype).min, np.iinfo(dtype).max]
    return np.array([rng.choice(choices) for _ in range(size)], dtype)


@pytest.mark.parametrize("kind", [i8, i32, i64, f32, f64], ids=str)
@random_kernels(2)
@given(seed=st.integers(0, 2**32))
def test_trees_of_operators(kind, seed, printed):
    rng = random.Random(seed)
    size = 16
    types = [MemRefType(kind, [size])] * 4

    def body(b, x, y, z, out):
        i = b.insert(BlockIdOp()).result
        leaves = [b.load(array, [i]) for array in (x, y, z)]
        b.store(Trees(b, rng, leaves, kind).value(3), out, [i])

    kernels = [printed.build(f"tree{n}", types, body, blocks=size) for n in range(BATCH)]
    arguments = [
        [*(sample(rng, kind, size) for _ in "xyz"), printed.poisoned(kind, size)] for _ in kernels
    ]
    printed.check(kernels, arguments)


@pytest.mark.parametrize("kind", [f32, f64], ids=str)
def test_extremes_of_zeros_and_nans(kind, printed):
    """The larger and the smaller of all pairs of special values, to the sign of a zero."""
    values = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan], numpy_type(kind))
    pairs = [column.flatten() for column in np.meshgrid(values, values)]
    types = [MemRefType(kind, [pairs[0].size])] * 3

    def kernel(number, op):
        def body(b, x, y, out):
            i = b.insert(BlockIdOp()).result
            extreme = b.insert(op(b.load(x, [i]), b.load(y, [i]))).results[0]
            b.store(b.insert(arith.DivfOp(b.scalar(1, kind), extreme)).result, out, [i])

        return printed.build(f"extreme{number}", types, body, blocks=pairs[0].size)

    kernels = [kernel(*each) for each in enumerate(FLOAT_OPS[4:])]
    outputs = [printed.poisoned(kind, pairs[0].size) for _ in kernels]
    printed.check(kernels, [[*map(np.copy, pairs), output] for output in outputs])


@random_kernels(2)
@given(seed=st.integers(0, 2**32))
def test_trees_of_wide_indices(seed, printed):
    """No step of an index expression overflows, whether its result is large or small."""
    rng = random.Random(seed)
    blocks = 70000

    def tree(b, i, depth):
        """Give an expression, and a limit of its size."""
        if depth == 0:
            number = rng.choice([1, 7, 4096, 65536, 99999])
            return (i, blocks) if rng.random() < 0.6 else (b.index(number), number)
        op = rng.choice([arith.AddiOp, arith.MuliOp, arith.SubiOp, arith.MaxSIOp, *DIVISIONS[:2]])
        lhs, limit = tree(b, i, depth - 1)
        if op in DIVISIONS:
            return b.insert(op(lhs, b.index(rng.choice([3, 64, 70000, 1 << 33])))).result, limit
        rhs, other = tree(b, i, depth - 1)
        if op is arith.MuliOp and limit * other >= 1 << 62:
            op = arith.MinSIOp
        limit = limit * other if op is arith.MuliOp else limit + other
        return b.insert(op(lhs, rhs)).result, limit

    def body(b, out):
        i = b.insert(BlockIdOp()).result
        value, _ = tree(b, i, 3)
        b.store(b.insert(arith.IndexCastOp(value, i64)).result, out, [i])

    types = [MemRefType(i64, [blocks])]
    kernels = [printed.build(f"index{n}", types, body, blocks=blocks) for n in range(BATCH)]
    printed.check(kernels, [[printed.poisoned(i64, blocks)] for _ in kernels])
