"""Printed programs access memory in the order of their IR: random loops and branches."""

import random

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, MemRefType, f64
from xdsl.ir import Block

from hidet.dialects.cuda.instructions import SyncThreadsOp

BATCH = 25
"""Kernels of one file: starting g++ costs more than a kernel."""


def random_kernels(max_examples):
    """Settings for tests that draw a seed: a smaller seed is not simpler."""
    return settings(max_examples=max_examples, phases=[Phase.generate])


class Programs:
    """Builds a random program on a few small arrays."""

    def __init__(self, builder, rng, arrays):
        self.b, self.rng, self.arrays = builder, rng, arrays
        self.values = [builder.scalar(1.5, f64), builder.scalar(-2.0, f64)]
        self.indices = [builder.index(n) for n in range(4)]

    def pick(self):
        return self.rng.choice(self.values[-8:])

    def place(self):
        """A random element: an array and an index."""
        return self.rng.choice(self.arrays), [self.rng.choice(self.indices)]

    def condition(self):
        return self.b.insert(arith.CmpfOp(self.pick(), self.pick(), self.rng.randint(0, 15))).result

    def steps(self, count, depth):
        for _ in range(count):
            simple = [self.load, self.load, self.compute, self.compute, self.store, self.update]
            nested = [self.branch, self.choose, self.loop] if depth > 0 else [self.barrier]
            self.rng.choice(simple + nested)(depth)

    def load(self, depth):
        array, indices = self.place()
        self.values.append(self.b.load(array, indices))

    def compute(self, depth):
        op = self.rng.choice([arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.MaximumfOp])
        self.values.append(self.b.insert(op(self.pick(), self.pick())).result)

    def store(self, depth):
        self.b.store(self.pick(), *self.place())

    def update(self, depth):
        array, indices = self.place()
        operands = [self.b.load(array, indices), self.pick()]
        if self.rng.random() < 0.5:
            operands.reverse()
        op = self.rng.choice([arith.AddfOp, arith.SubfOp, arith.MulfOp])
        self.b.store(self.b.insert(op(*operands)).result, array, indices)

    def barrier(self, depth):
        self.b.insert(SyncThreadsOp())

    def body(self, block, depth, results):
        """Fill a block, whose values end with it; it yields some of them."""
        kept, indices = list(self.values), list(self.indices)
        with self.b.inside(block):
            if block.args:
                self.indices.append(block.args[0])
                self.values += block.args[1:]
            self.steps(self.rng.randint(0, 4), depth - 1)
            self.b.insert(scf.YieldOp(*(self.pick() for _ in range(results))))
        self.values, self.indices = kept, indices

    def branch(self, depth):
        """A branch with none, one or two values."""
        condition, results = self.condition(), self.rng.randint(0, 2)
        arms = [Block() for _ in range(2 if results else self.rng.randint(1, 2))]
        for arm in arms:
            self.body(arm, depth, results)
        op = scf.IfOp(condition, [f64] * results, *([arm] for arm in arms))
        self.values += self.b.insert(op).results

    def choose(self, depth):
        """A branch that is an expression."""
        condition = self.condition()
        arms = [Block(), Block()]
        for arm in arms:
            with self.b.inside(arm):
                array, indices = self.place()
                value = self.b.load(array, indices)
                value = self.b.insert(arith.AddfOp(value, self.pick())).result
                self.b.insert(scf.YieldOp(value))
        self.values += self.b.insert(scf.IfOp(condition, [f64], *([arm] for arm in arms))).results

    def loop(self, depth):
        """A loop of up to 3 iterations that carries up to 2 values."""
        carried = [self.pick() for _ in range(self.rng.randint(0, 2))]
        bounds = (self.b.index(n) for n in (0, self.rng.randint(0, 3), 1))
        body = Block(arg_types=[IndexType(), *(value.type for value in carried)])
        self.body(body, depth, len(carried))
        self.values += self.b.insert(scf.ForOp(*bounds, carried, body)).results


@random_kernels(2)
@given(seed=st.integers(0, 2**32))
def test_programs_with_memory(seed, printed):
    """No read moves over a write, and variables that replace values of loops do not mix them up."""
    rng = random.Random(seed)

    def body(b, x, y):
        arrays = [x, y, b.local_array(f64, [4]), b.shared_tile(f64, [4])]
        for array in arrays[2:]:
            for n in range(4):
                b.store(b.load(x, [n]), array, [n])
        program = Programs(b, rng, arrays)
        program.steps(12, depth=3)
        for n in range(4):
            b.store(b.load(arrays[2], [n]), y, [n])
        for n, value in enumerate(program.values[-4:]):
            b.store(value, x, [n])

    kernels = [printed.build(f"program{n}", [MemRefType(f64, [4])] * 2, body) for n in range(BATCH)]
    arguments = [
        [np.array([0.5, -1.0, 2.0, 3.0]), np.array([1.0, 0.25, -3.0, 7.0])] for _ in kernels
    ]
    printed.check(kernels, arguments)
