"""Programs do the same before and after the passes on the cuda dialect.

The oracle runs kernels one thread after the other on Python numbers; it checks that every access
is in bounds and every vector aligned.
"""

import random
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.builder import InsertPoint
from xdsl.dialects import arith, memref, scf
from xdsl.dialects import test as test_dialect
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp, f16, f32
from xdsl.ir import Block, Region
from xdsl.parser import Parser

from hidet.context import make_context
from hidet.dialects.cuda import BlockIdOp, CopyVectorOp, KernelOp, SyncThreadsOp, ThreadIdOp
from hidet.dialects.cuda.attributes import Dimension, Space, SpaceAttr
from hidet.legality.expressions import check_expressions
from hidet.lowering.pipelines import CUDA
from hidet.rewriting.builder import KernelBuilder
from hidet.universe import PASSES, load


def truncated(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


INTEGERS = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.DivSIOp: truncated,
    arith.RemSIOp: lambda a, b: a - b * truncated(a, b),
    arith.FloorDivSIOp: lambda a, b: a // b,
    arith.CeilDivSIOp: lambda a, b: -(-a // b),
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.AndIOp: lambda a, b: a & b,
    arith.OrIOp: lambda a, b: a | b,
    arith.ShLIOp: lambda a, b: a << b,
    arith.AddfOp: lambda a, b: a + b,
    arith.MulfOp: lambda a, b: a * b,
    arith.SelectOp: lambda c, a, b: a if c else b,
    arith.IndexCastOp: lambda a: a,
    arith.ExtFOp: lambda a: a,
}
COMPARISONS = [
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
    *(lambda a, b: a % 2**64 < b % 2**64, lambda a, b: a % 2**64 <= b % 2**64),
    *(lambda a, b: a % 2**64 > b % 2**64, lambda a, b: a % 2**64 >= b % 2**64),
]


class Array:
    """A memref: its elements, of which those never written are None."""

    def __init__(self, kind, data=None):
        self.shape = kind.get_shape()
        self.bytes = kind.element_type.bitwidth // 8
        self.data = [None] * prod(self.shape) if data is None else list(data)

    def place(self, indices):
        offset = 0
        for index, extent in zip(indices, self.shape, strict=True):
            assert 0 <= index < extent, f"{indices} in {self.shape}"
            offset = offset * extent + index
        return offset


class Thread:
    """Runs the ops of a kernel for one thread."""

    def __init__(self, ids, arrays, trace):
        self.ids, self.env, self.trace = ids, dict(arrays), trace

    def run(self, block):
        for op in block.ops:
            if isinstance(op, scf.YieldOp):
                return [self.env[v] for v in op.operands]
            self.step(op)
        return []

    def step(self, op):  # noqa: C901 - one case an op
        values = [self.env[v] for v in op.operands]
        results = []
        match op:
            case arith.ConstantOp():
                results = [op.value.value.data]
            case ThreadIdOp() | BlockIdOp():
                results = [self.ids[type(op), op.dimension.data.value]]
            case arith.CmpiOp():
                results = [int(COMPARISONS[op.predicate.value.data](*values))]
            case memref.AllocaOp():
                results = [Array(op.memref.type)]
            case memref.LoadOp():
                results = [values[0].data[values[0].place(values[1:])]]
            case memref.StoreOp():
                values[1].data[values[1].place(values[2:])] = values[0]
            case CopyVectorOp():
                self.copy_vector(op)
            case test_dialect.TestOp():
                self.trace.append((str(op.attributes.get("tag")), tuple(values)))
            case SyncThreadsOp():
                pass
            case scf.IfOp():
                region = op.true_region if values[0] else op.false_region
                results = self.run(region.block) if region.blocks else []
            case scf.ForOp():
                results = values[3:]
                for i in range(*values[:3]):
                    self.env.update(zip(op.body.block.args, [i, *results], strict=True))
                    results = self.run(op.body.block)
            case _:
                results = [INTEGERS[type(op)](*values)]
        self.env.update(zip(op.results, results, strict=True))

    def copy_vector(self, op):
        width = op.width.value.data
        source, target = self.env[op.source], self.env[op.target]
        here = source.place([self.env[i] for i in op.source_indices])
        there = target.place([self.env[i] for i in op.target_indices])
        for array, place in ((source, here), (target, there)):
            assert place % width == 0
            assert place % array.shape[-1] + width <= array.shape[-1]
        assert width * source.bytes in (2, 4, 8, 16)
        target.data[there : there + width] = source.data[here : here + width]


def run(kernel, threads=None):
    """Run a kernel; give the trace of its test ops and its arrays."""
    rng = random.Random(3)
    arrays = {
        v: Array(v.type, (rng.randrange(1000) for _ in range(prod(v.type.get_shape()))))
        for v in kernel.arguments
    }
    trace = []
    block, grid = kernel.block_dims, kernel.grid_dims
    everyone = [
        {(ThreadIdOp, "x"): t, (ThreadIdOp, "y"): 0, (BlockIdOp, "x"): b, (BlockIdOp, "y"): 0}
        for b in range(grid[0])
        for t in range(block[0])
    ]
    for ids in everyone if threads is None else rng.sample(everyone, min(threads, len(everyone))):
        Thread(ids, arrays, trace).run(kernel.body.block)
    return trace, [array.data for array in arrays.values()]


def apply(module, *passes):
    context = make_context()
    for name in passes:
        load(PASSES[name])().apply(context, module)
        module.verify()


def parse(text):
    return Parser(make_context(), text).parse_module()


def names(op):
    return [inner.name for inner in op.walk()]


def assert_same(module, *passes, threads=None):
    """Run the passes; check that the first kernel does what it did."""
    before = run(next(iter(module.ops)), threads)
    apply(module, *passes)
    assert run(next(iter(module.ops)), threads) == before
    apply(module, *passes)
    assert run(next(iter(module.ops)), threads) == before


# Random programs of index arithmetic.


class Program:
    """Draws a kernel of loops, branches and index arithmetic."""

    NUMBERS, STEPS = (1, 2, 3, 4, 8, 16, 32), (1, 2, 8, 32)
    OPS = (arith.AddiOp, arith.SubiOp, arith.MinSIOp, arith.MaxSIOp)
    DIVISIONS = (arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp, arith.CeilDivSIOp)

    def __init__(self, rng):
        self.rng, self.tags = rng, 0
        self.threads = self.rng.choice([1, 4, 6, 32])
        self.blocks = self.rng.choice([1, 3, 8])
        body = Block()
        self.builder = KernelBuilder(InsertPoint.at_end(body))
        values = [self.builder.insert(op(Dimension.X)).result for op in (ThreadIdOp, BlockIdOp)]
        self.block(values, depth=self.rng.randint(0, 3))
        self.kernel = KernelOp("random", (self.blocks,), (self.threads,), Region(body))
        self.module = ModuleOp([self.kernel])

    def block(self, values, depth):
        values = list(values)
        for _ in range(self.rng.randint(2, 6)):
            values.append(self.arithmetic(values))
        if depth:
            kind = self.rng.choice(["for", "if", "value"])
            getattr(self, f"add_{kind}")(values, depth - 1)
            values.append(self.arithmetic(values))
        self.observe(values)

    def observe(self, values):
        self.tags += 1
        operands = [self.rng.choice(values[-4:]) for _ in range(2)]
        tag = IntegerAttr(self.tags, IndexType())
        self.builder.insert(test_dialect.TestOp(operands, attributes={"tag": tag}))

    def arithmetic(self, values):
        builder, value = self.builder, self.rng.choice(values)
        kind = self.rng.choice(["binary", "mul", "div", "div", "mod", "add", "select"])
        number = builder.index(self.rng.choice(self.NUMBERS))
        if kind == "binary":
            op = self.rng.choice(self.OPS)
            return builder.insert(op(value, self.rng.choice(values))).results[0]
        if kind == "mul":
            return builder.insert(arith.MuliOp(value, number)).result
        if kind == "add":
            op = self.rng.choice([arith.AddiOp, arith.SubiOp])
            return builder.insert(op(value, number)).results[0]
        if kind == "select":
            other = self.rng.choice(values)
            return builder.insert(arith.SelectOp(self.condition(values), value, other)).result
        return builder.insert(self.rng.choice(self.DIVISIONS)(value, number)).results[0]

    def condition(self, values):
        builder = self.builder
        limit = builder.index(self.rng.choice([0, 1, 4, 7, 30, 64]))
        comparison = arith.CmpiOp(
            self.rng.choice(values),
            self.rng.choice([limit, limit, values[0]]),
            self.rng.randint(0, 9),
        )
        result = builder.insert(comparison).result
        if self.rng.choice([True, False]):
            op = self.rng.choice([arith.AndIOp, arith.OrIOp])
            result = builder.insert(op(result, self.condition(values))).result
        return result

    def add_for(self, values, depth):
        builder, body = self.builder, Block(arg_types=[IndexType()])
        start = self.rng.choice([builder.index(0), builder.index(2), values[0]])
        stop = self.rng.choice([1, 3, 4, 32])
        step = self.rng.choice(self.STEPS)
        with builder.inside(body):
            self.block([*values, body.args[0]], depth)
            builder.insert(scf.YieldOp())
        builder.insert(scf.ForOp(start, builder.index(stop), builder.index(step), [], body))

    def add_if(self, values, depth):
        condition = self.condition(values)
        sides = [Block(), Block()]
        for side in sides:
            with self.builder.inside(side):
                self.block(values, depth)
                self.builder.insert(scf.YieldOp())
        otherwise = Region(sides[1]) if self.rng.choice([True, False]) else Region()
        self.builder.insert(scf.IfOp(condition, [], Region(sides[0]), otherwise))

    def add_value(self, values, depth):
        """Add a branch that gives an index."""
        condition, sides = self.condition(values), [Block(), Block()]
        for side in sides:
            with self.builder.inside(side):
                self.builder.insert(scf.YieldOp(self.arithmetic(values)))
        op = self.builder.insert(scf.IfOp(condition, [IndexType()], *map(Region, sides)))
        values.append(op.results[0])


@settings(max_examples=150)
@given(st.randoms(use_true_random=False))
def test_random_programs_keep_their_trace(rng):
    program = Program(rng)
    assert_same(program.module, "simplify-index", "early-cse", threads=40)


@given(st.randoms(use_true_random=False))
def test_simplified_programs_stay_as_they_are(rng):
    """A second run finds nothing more to do on what the first has left, but for the order."""
    program = Program(rng)
    apply(program.module, "simplify-index", "simplify-index")
    once = len(list(program.module.walk()))
    apply(program.module, "simplify-index")
    assert len(list(program.module.walk())) <= once


ODD = st.sampled_from([3, 5, 6, 7, 11])
RING = """
cuda.kernel @ring() grid(1) block(2) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %step = arith.constant {step} : index
  %trips = arith.constant 40 : index
  %end = arith.muli %step, %trips : index
  %stages = arith.constant {stages} : index
  %all = arith.constant {all} : index
  scf.for %tile = %c0 to %c3 step %c1 {{
    scf.for %k = %c0 to %end step %step {{
      %base = arith.muli {tile}, %trips : index
      %trip = arith.divsi %k, %step : index
      %number = arith.addi %base, %trip : index
      %stage = arith.remsi %number, %stages : index
      %turn = arith.divsi %number, %stages : index
      %phase = arith.addi %turn, %c1 : index
      %parity = arith.remsi %phase, %c2 : index
      %inner = arith.remsi %k, %all : index
      %tap = arith.divsi %k, %all : index
      %tap3 = arith.remsi %tap, %c3 : index
      cuda.sync_threads
      "test.op"(%stage, %parity, %inner, %tap, %tap3) : (index, index, index, index, index) -> ()
    }}
  }}
}}
"""


class PipelinedProgram(Program):
    """Draws a kernel whose loops synchronize, and divide by numbers that are no powers of two."""

    NUMBERS, STEPS = (1, 2, 3, 5, 6, 7, 11, 12, 24), (1, 2, 3, 4)

    def block(self, values, depth):
        self.builder.insert(SyncThreadsOp())
        super().block(values, depth)


@settings(max_examples=300)
@given(st.randoms(use_true_random=False))
@pytest.mark.slow
def test_pipelined_programs_keep_their_trace(rng):
    """Divisions may be of what is negative, of inner loops, of sums, and of other quotients."""
    program = PipelinedProgram(rng)
    assert_same(program.module, "simplify-index", "strength-reduce", threads=8)


@given(st.data())
def test_rings_are_carried(data):
    """Stages, parities and taps have no divisions left, wherever the ring starts."""
    draw = data.draw
    step, stages, taps = draw(st.sampled_from([1, 16, 48])), draw(ODD), draw(ODD)
    tile = draw(st.sampled_from(["%tile", "%c0"]))
    module = parse(RING.format(step=step, stages=stages, all=step * taps, tile=tile))
    before = run(next(iter(module.ops)))
    apply(module, "simplify-index", "index-width", "strength-reduce")
    assert run(next(iter(module.ops))) == before
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp) and op.iter_args)
    assert not {"arith.remsi", "arith.divsi"} & set(names(loop))


# Random programs that access memory.

F32_ROWS, F16_LINE, SHARED = (
    MemRefType(f32, [16, 64]),
    MemRefType(f16, [1024]),
    MemRefType(f32, [128], memory_space=SpaceAttr(Space.SHARED)),
)


class MemoryProgram:
    """Draws a kernel of loops that load, add and store neighbouring elements."""

    def __init__(self, rng):
        self.rng = rng
        body = Block(arg_types=[F32_ROWS, F32_ROWS, F16_LINE, F16_LINE])
        self.builder = builder = KernelBuilder(InsertPoint.at_end(body))
        self.thread = builder.insert(ThreadIdOp(Dimension.X)).result
        self.shared = builder.shared_tile(f32, [128])
        with builder.loop(128) as i:  # nothing is read before it is written
            builder.store(builder.scalar(7, f32), self.shared, [i])
        self.arrays = {f32: [*body.args[:2], self.shared], f16: list(body.args[2:])}
        for _ in range(rng.randint(1, 3)):
            self.loop(rng.choice([2, 4, 8, 16, 3]))
        self.kernel = KernelOp("random", (2,), (4,), Region(body))
        self.module = ModuleOp([self.kernel])

    def loop(self, count):
        builder, rng = self.builder, self.rng
        with builder.loop(rng.choice([1, 2])) as outer, builder.loop(count) as inner:
            base = builder.add(builder.mul(self.thread, 16), builder.mul(outer, 16))
            base = builder.add(base, rng.choice([0, 0, 0, 1, 2, 4, 16]))
            self.statements(base, inner, rng.randint(1, 4), guards=rng.choice([0, 0, 1, 2]))

    def statements(self, base, inner, count, guards):
        builder, rng = self.builder, self.rng
        values = []
        for _ in range(count):
            element = rng.choice([f32, f32, f16])
            values = [v for v in values if v.type == element]
            values += [self.load(element, base, inner) for _ in range(rng.randint(1, 2))]
            values.append(builder.insert(arith.AddfOp(values[0], values[-1])).result)
            if rng.random() < 0.7:
                array = rng.choice(self.arrays[element])
                builder.store(rng.choice(values), array, self.place(array, base, inner))
            if rng.random() < 0.05:
                builder.insert(SyncThreadsOp())
            if guards:
                self.guarded(base, inner, guards - 1)

    def guarded(self, base, inner, guards):
        builder, rng = self.builder, self.rng
        limit = builder.index(rng.choice([0, 8, 16, 20, 32, 40, 64]))
        element = builder.index(builder.add(base, rng.choice([inner, inner, 0])))
        condition = builder.insert(arith.CmpiOp(element, limit, rng.randint(0, 9))).result
        if rng.random() < 0.5:
            with builder.when(condition):
                self.statements(base, inner, 1, guards)
        else:
            sides = [Block(), Block()]
            for side in sides:
                with builder.inside(side):
                    value = self.load(f32, base, inner)
                    if rng.random() < 0.3:
                        value = builder.scalar(0, f32)
                    builder.insert(scf.YieldOp(value))
            op = builder.insert(scf.IfOp(condition, [f32], *map(Region, sides)))
            array = rng.choice(self.arrays[f32])
            builder.store(op.results[0], array, self.place(array, base, inner))

    def load(self, element, base, inner):
        array = self.rng.choice(self.arrays[element])
        return self.builder.load(array, self.place(array, base, inner))

    def place(self, array, base, inner):
        builder, rng = self.builder, self.rng
        element = builder.add(base, inner)
        if rng.random() < 0.15:
            element = builder.add(base, builder.mul(inner, 2))
        if rng.random() < 0.1:
            element = base
        if array.type == F32_ROWS:
            return [rng.choice([self.thread, 3]), builder.mod(builder.index(element), 64)]
        return [element]


@pytest.mark.slow
@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_random_memory_programs_give_the_same(rng):
    program = MemoryProgram(rng)
    passes = ["simplify-index", "early-cse", "vectorize", "simplify-index"]
    assert_same(program.module, *passes[rng.choice([0, 0, 1, 2]) :])


@settings(max_examples=40)
@given(st.randoms(use_true_random=False))
def test_formed_programs_give_the_same(rng):
    """All passes keep what a program does, and what folds obeys the rules that legality checks."""
    program = MemoryProgram(rng)
    before = run(program.kernel)
    apply(program.module, *CUDA)
    assert run(program.kernel) == before
    check_expressions(program.kernel)
