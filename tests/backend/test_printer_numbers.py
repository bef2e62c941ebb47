"""Printed kernels compute what their IR says: random programs, run on the CPU and in Python.

The oracle takes the operations of a kernel one after the other, before any pass. The same kernel
goes through the passes that end in `form-expressions`, is printed, compiled by g++ and run.
"""

import ctypes
import random

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.builtin import (
    IndexType,
    MemRefType,
    ModuleOp,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Block, Region
from xdsl.rewriter import InsertPoint

from hidet.backend.printer import print_kernels
from hidet.backend.toolchains import Gxx
from hidet.context import make_context
from hidet.dialects.cuda.attributes import memref_type
from hidet.dialects.cuda.instructions import BlockIdOp, SyncThreadsOp
from hidet.dialects.cuda.kernel import KernelOp
from hidet.lowering.builder import KernelBuilder
from hidet.lowering.cuda.demote_scf_values import DemoteScfValuesPass
from hidet.lowering.cuda.form_expressions import FormExpressionsPass
from hidet.lowering.cuda.index_width import IndexWidthPass
from hidet.lowering.cuda.infer_readonly import InferReadonlyPass
from hidet.testing.scalar_semantics import SCALARS, numpy_type

BATCH = 25
"""Kernels of one file: starting g++ costs more than a kernel."""


class ExactGxx(Gxx):
    """g++ that rounds after every operation, as the oracle does, and wants clear parentheses."""

    options = ("-shared", "-fPIC", "-std=c++20", "-O1", "-fopenmp", "-ffp-contract=off")
    options += ("-Wparentheses", "-Werror", "-Wno-unknown-pragmas")


def random_kernels(max_examples):
    """Settings for tests that draw a seed: a smaller seed is not simpler."""
    return settings(max_examples=max_examples, phases=[Phase.generate])


# The oracle.


def unsigned(function):
    """Give the meaning of an operation on unsigned numbers."""

    def meaning(op, *operands):
        views = [x if x.dtype == bool else x.view(f"u{x.dtype.itemsize}") for x in operands]
        return function(*views).astype(numpy_type(op.results[0].type))

    return meaning


def converted(op, x):
    """As a signed number of one bit, true is -1; one bit of a number is its lowest."""
    if op.results[0].type == i1:
        return (x & 1).astype(bool)
    number = x.astype(numpy_type(op.results[0].type))
    return -number if x.dtype == bool else number


MEANINGS = SCALARS | {
    arith.ShLIOp: lambda op, a, b: np.left_shift(a, b),
    arith.ShRSIOp: lambda op, a, b: np.right_shift(a, b),
    arith.DivUIOp: unsigned(np.floor_divide),
    arith.RemUIOp: unsigned(np.remainder),
    arith.ShRUIOp: unsigned(np.right_shift),
    arith.MaxUIOp: unsigned(np.maximum),
    arith.MinUIOp: unsigned(np.minimum),
    arith.ExtUIOp: unsigned(lambda x: x),
    arith.UIToFPOp: unsigned(lambda x: x),
    arith.ExtSIOp: converted,
    arith.SIToFPOp: converted,
    arith.TruncIOp: converted,
    arith.BitcastOp: lambda op, x: x.view(numpy_type(op.results[0].type)),
}


class Oracle:
    """Runs a kernel whose blocks have one thread. Without control flow, all blocks at once."""

    def __init__(self, kernel, arrays):
        self.values = dict(zip(kernel.arguments, arrays, strict=True))
        self.blocks = np.arange(kernel.grid_dims[0]) if kernel.grid_dims[0] > 1 else np.asarray(0)
        with np.errstate(all="ignore"):
            self.run(kernel.body.block)

    def run(self, block):
        """Run a block; give what it yields."""
        for op in block.ops:
            operands = [self.values[operand] for operand in op.operands]
            if isinstance(op, scf.YieldOp):
                return operands
            results = self.step(op, operands)
            self.values.update(zip(op.results, results, strict=True))
        return []

    def step(self, op, operands):
        """Run an operation; give its results."""
        match op:
            case SyncThreadsOp():
                return []
            case BlockIdOp():
                return [self.blocks]
            case memref.AllocaOp():
                kind = memref_type(op.memref)
                return [np.zeros(kind.get_shape(), numpy_type(kind.get_element_type()))]
            case memref.LoadOp():
                return [np.array(operands[0][tuple(operands[1:])])]
            case memref.StoreOp():
                operands[1][tuple(operands[2:])] = operands[0]
                return []
            case scf.IfOp():
                region = op.regions[0 if operands[0] else 1]
                return self.run(region.block) if region.blocks else []
            case scf.ForOp():
                return self.loop(op, operands)
            case _:
                return [np.asarray(MEANINGS[type(op)](op, *operands))]

    def loop(self, op, operands):
        """Run a loop; give what its last iteration yields."""
        start, stop, step, *carried = operands
        for number in range(int(start), int(stop), int(step)):
            values = [np.asarray(number), *carried]
            self.values.update(zip(op.body.block.args, values, strict=True))
            carried = self.run(op.body.block)
        return carried


# Running the printed kernels.


def run_printed(kernels, arguments, folder):
    """Compile kernels and run each on its arrays, in place."""
    module = ModuleOp([kernel.clone() for kernel in kernels])
    passes = (DemoteScfValuesPass, InferReadonlyPass, IndexWidthPass, FormExpressionsPass)
    for module_pass in passes:
        module_pass().apply(make_context(), module)
        module.verify()
    text = print_kernels(list(module.ops))
    path = folder / "kernels.so"
    ExactGxx().compile(text, path)
    library = ctypes.CDLL(str(path))
    for kernel, arrays in zip(kernels, arguments, strict=True):
        cells = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        table = (ctypes.c_void_p * len(cells))(*map(ctypes.addressof, cells))
        launch = getattr(library, f"{kernel.sym_name.data}_launch")
        assert launch(table, *kernel.grid_dims, 0) == 0
    return text


def check(kernels, arguments, folder, *, tolerance=0.0):
    """Compare printed kernels with the oracle on the same arrays."""
    wanted = [[array.copy() for array in arrays] for arrays in arguments]
    for kernel, arrays in zip(kernels, wanted, strict=True):
        Oracle(kernel, arrays)
    text = run_printed(kernels, arguments, folder)
    for kernel, arrays, expected in zip(kernels, arguments, wanted, strict=True):
        for array, reference in zip(arrays, expected, strict=True):
            same = array.shape == reference.shape and np.allclose(
                array, reference, rtol=tolerance, atol=tolerance, equal_nan=True
            )
            assert same, f"{array} is not {reference}\n{kernel}\n{text}"


def build(name, types, body, *, blocks=1):
    """Build a kernel; `body` gets a builder and the arguments."""
    block = Block(arg_types=types)
    body(KernelBuilder(InsertPoint.at_end(block)), *block.args)
    return KernelOp(name, [blocks], [1], Region(block))


def poisoned(kind, shape):
    """An array full of what no kernel writes."""
    dtype = numpy_type(kind)
    worst = {"f": np.nan, "b": True, "i": -99}
    return np.full(shape, worst[dtype.kind], dtype)


# Precedence: random trees of operators.

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
        if op in DIVISIONS:  # by an odd number, which is not 0
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
    """Values that make expressions interesting: small numbers, for floats the special ones too."""
    choices = [-3, -2, -1, 0, 1, 2, 3]
    if kind in (f32, f64):
        choices += [-0.0, 0.1, 1e30, float("inf"), float("-inf"), float("nan")]
    return np.array([rng.choice(choices) for _ in range(size)], numpy_type(kind))


@pytest.mark.parametrize("kind", [i8, i32, i64, f32, f64], ids=str)
@random_kernels(2)
@given(seed=st.integers(0, 2**32))
def test_trees_of_operators(kind, seed, tmp_path_factory):
    rng = random.Random(seed)
    size = 16
    types = [MemRefType(kind, [size])] * 4

    def body(b, x, y, z, out):
        i = b.insert(BlockIdOp()).result
        leaves = [b.load(array, [i]) for array in (x, y, z)]
        b.store(Trees(b, rng, leaves, kind).value(3), out, [i])

    kernels = [build(f"tree{n}", types, body, blocks=size) for n in range(BATCH)]
    arguments = [[*(sample(rng, kind, size) for _ in "xyz"), poisoned(kind, size)] for _ in kernels]
    check(kernels, arguments, tmp_path_factory.mktemp("trees"))


@random_kernels(2)
@given(seed=st.integers(0, 2**32))
def test_trees_of_wide_indices(seed, tmp_path_factory):
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
    kernels = [build(f"index{n}", types, body, blocks=blocks) for n in range(BATCH)]
    check(kernels, [[poisoned(i64, blocks)] for _ in kernels], tmp_path_factory.mktemp("wide"))


# The order of memory accesses: random programs with loops and branches.


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


@random_kernels(4)
@given(seed=st.integers(0, 2**32))
def test_programs_with_memory(seed, tmp_path_factory):
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

    kernels = [build(f"program{n}", [MemRefType(f64, [4])] * 2, body) for n in range(BATCH)]
    arguments = [
        [np.array([0.5, -1.0, 2.0, 3.0]), np.array([1.0, 0.25, -3.0, 7.0])] for _ in kernels
    ]
    check(kernels, arguments, tmp_path_factory.mktemp("programs"))


# Each conversion, predicate and function by itself.

CONVERSIONS = [
    *((arith.ExtFOp, *pair) for pair in ((f16, f32), (f32, f64), (f16, f64))),
    *((arith.TruncFOp, *pair) for pair in ((f32, f16), (f64, f32), (f64, f16))),
    *((arith.SIToFPOp, *pair) for pair in ((i1, f32), (i8, f32), (i64, f64), (i16, f16))),
    *((arith.UIToFPOp, *pair) for pair in ((i1, f32), (i8, f16), (i32, f32), (i64, f64))),
    *((arith.FPToSIOp, *pair) for pair in ((f32, i32), (f64, i64), (f16, i8))),
    *((arith.ExtSIOp, *pair) for pair in ((i8, i32), (i32, i64), (i1, i32))),
    *((arith.ExtUIOp, *pair) for pair in ((i8, i32), (i32, i64), (i1, i8))),
    *((arith.TruncIOp, *pair) for pair in ((i64, i32), (i32, i8), (i32, i1))),
    *((arith.BitcastOp, *pair) for pair in ((f32, i32), (i64, f64))),
]


def test_conversions(tmp_path):
    numbers = np.array([0, 1, -1, 2, 3, -5, 100, -100], np.float64)
    kernels, arguments = [], []
    for number, (op, source, target) in enumerate(CONVERSIONS):

        def body(b, x, out, op=op, target=target):
            i = b.insert(BlockIdOp()).result
            b.store(b.insert(op(b.load(x, [i]), target)).result, out, [i])

        types = [MemRefType(kind, [len(numbers)]) for kind in (source, target)]
        kernels.append(build(f"convert{number}", types, body, blocks=len(numbers)))
        x = (numbers + 0.5 if source in (f16, f32, f64) else numbers).astype(numpy_type(source))
        arguments.append([x, poisoned(target, len(numbers))])
    check(kernels, arguments, tmp_path)


FUNCTIONS = [op for op in MEANINGS if op.name.startswith("math.")]


def test_functions(tmp_path):
    """Functions of `math`, in float64, of numbers for which all of them are defined."""
    numbers = np.random.default_rng().uniform(0.05, 0.95, 32)
    kernels, arguments = [], []
    for number, op in enumerate(FUNCTIONS):
        if op in (math.AbsIOp, math.IPowIOp):
            continue

        def body(b, x, out, op=op):
            i = b.insert(BlockIdOp()).result
            value = b.load(x, [i])
            arity = {math.FmaOp: 3, math.Atan2Op: 2, math.PowFOp: 2}.get(op, 1)
            b.store(b.insert(op(*[value] * arity)).results[0], out, [i])

        types = [MemRefType(f64, [32])] * 2
        kernels.append(build(f"function{number}", types, body, blocks=32))
        arguments.append([numbers.copy(), poisoned(f64, 32)])
    check(kernels, arguments, tmp_path, tolerance=1e-14)


@pytest.mark.parametrize("kind", [i1, i8, i64, f32], ids=str)
def test_predicates(kind, tmp_path):
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan] if kind == f32 else [0, 1, -1, 100]
    pairs = np.array([(a, b) for a in special for b in special], np.float64)
    x, y = (column.astype(numpy_type(kind)) for column in pairs.T)
    kernels = []
    for predicate in range(16 if kind == f32 else 10):

        def body(b, x, y, out, predicate=predicate):
            i = b.insert(BlockIdOp()).result
            compare = arith.CmpfOp if kind == f32 else arith.CmpiOp
            value = b.insert(compare(b.load(x, [i]), b.load(y, [i]), predicate)).result
            b.store(value, out, [i])

        types = [MemRefType(element, [len(x)]) for element in (kind, kind, i1)]
        kernels.append(build(f"predicate{predicate}", types, body, blocks=len(x)))
    check(kernels, [[x.copy(), y.copy(), np.zeros(len(x), bool)] for _ in kernels], tmp_path)


def test_literals(tmp_path):
    """Every literal reads back as the constant that it stands for."""
    rng = np.random.default_rng()
    floats = [*rng.standard_normal(20), *(10.0 ** rng.uniform(-38, 38, 20)), 1e-45, 3.4028235e38]
    integers = [0, -1, 2**31 - 1, -(2**31), *(int(n) for n in rng.integers(-(2**31), 2**31, 20))]
    wide = [2**63 - 1, -(2**63), *(int(n) for n in rng.integers(-(2**63), 2**63, 20))]
    constants = [(f32, floats), (f64, floats), (i32, integers), (i64, [*integers, *wide])]
    constants.append((i8, range(-128, 128)))
    kernels, arguments = [], []
    for kind, numbers in constants:

        def body(b, out, numbers=numbers, kind=kind):
            for place, number in enumerate(numbers):
                b.store(b.scalar(number, kind), out, [place])

        kernels.append(build(f"literals_of_{kind}", [MemRefType(kind, [len(numbers)])], body))
        arguments.append([poisoned(kind, len(numbers))])
    check(kernels, arguments, tmp_path)
