"""A simulator of kernels: what all threads of a grid do, one at a time between meeting points.

It takes kernels after `lower-task`. Memory starts without values, and reading what was not written
fails, as does an index out of bounds. Threads run in random order from one barrier or shuffle to
the next, so a missing barrier shows.
"""

import operator
import random
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.parser import Parser

from hidet.context import make_context
from hidet.dialects.cuda import BlockIdOp, KernelOp, ShflOp, SyncThreadsOp, ThreadIdOp
from hidet.dialects.cuda.attributes import Dimension, ShuffleKind, Space, space_of
from hidet.universe import PASSES, load

WARP = 32

COMPARISONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
}

SCALARS: dict[type[Operation], Callable[..., Any]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.DivSIOp: operator.floordiv,
    arith.RemSIOp: operator.mod,
    arith.AndIOp: operator.and_,
    arith.OrIOp: operator.or_,
    arith.AddfOp: operator.add,
    arith.MulfOp: operator.mul,
    arith.MaximumfOp: max,
    arith.MinimumfOp: min,
    arith.ExtFOp: lambda value: value,
    arith.SelectOp: lambda condition, value, other: value if condition else other,
}
"""Operations without effects on Python's numbers; divided numbers are not negative."""

Elements = dict[tuple[int, ...], Any]
Observer = Callable[[int, Operation, Sequence[Any]], None]


@dataclass(eq=False)
class Memory:
    """An array: the elements that were written so far."""

    shape: tuple[int, ...]
    elements: Elements = field(default_factory=dict)

    def load(self, index: tuple[int, ...]) -> Any:
        self.check(index)
        assert index in self.elements, f"element {index} is read before it is written"
        return self.elements[index]

    def store(self, index: tuple[int, ...], value: Any) -> None:
        self.check(index)
        self.elements[index] = value

    def check(self, index: tuple[int, ...]) -> None:
        inside = all(0 <= i < extent for i, extent in zip(index, self.shape, strict=True))
        assert inside, f"{index} is not in {self.shape}"


@dataclass
class Thread:
    """One thread: its ids, its values, and the shared memory of its block."""

    block: dict[Dimension, int]
    thread: dict[Dimension, int]
    number: int
    shared: dict[SSAValue, Memory]
    observe: Observer
    values: dict[SSAValue, Any]

    def run(self, block: Block) -> Generator[tuple[Operation, Any], Any, list[Any]]:
        """Run a block; stops at each meeting point; gives what the terminator yields."""
        for op in block.ops:
            arguments = [self.values[operand] for operand in op.operands]
            results: Sequence[Any] = ()
            match op:
                case scf.ForOp():
                    results = yield from self.loop(op, *arguments)
                case scf.IfOp():
                    arm = op.true_region if arguments[0] else op.false_region
                    results = (yield from self.run(arm.block)) if arm.blocks else ()
                case scf.YieldOp():
                    return arguments
                case ShflOp() | SyncThreadsOp():
                    results = [(yield op, arguments)]
                case _:
                    results = [self.compute(op, arguments)]
            self.values.update(zip(op.results, results, strict=False))
        return []

    def compute(self, op: Operation, arguments: list[Any]) -> Any:
        """Do what an op without regions does; give its result."""
        match op:
            case arith.ConstantOp(value=IntegerAttr() | FloatAttr() as constant):
                return constant.value.data
            case arith.CmpiOp():
                name = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
                return COMPARISONS[name](*arguments)
            case ThreadIdOp():
                return self.thread[op.dimension.data]
            case BlockIdOp():
                return self.block[op.dimension.data]
            case memref.AllocaOp():
                return self.allocate(op)
            case memref.LoadOp():
                return arguments[0].load(tuple(arguments[1:]))
            case memref.StoreOp():
                self.observe(self.number, op, arguments)
                return arguments[1].store(tuple(arguments[2:]), arguments[0])
            case _ if op.name == "test.op":
                return self.observe(self.number, op, arguments)
            case _:
                return SCALARS[type(op)](*arguments)

    def loop(self, op: scf.ForOp, start: int, stop: int, step: int, *carried: Any):
        """Run a loop."""
        for counter in range(start, stop, step):
            self.values.update(zip(op.body.block.args, (counter, *carried), strict=True))
            carried = tuple((yield from self.run(op.body.block)))
        return list(carried)

    def allocate(self, op: memref.AllocaOp) -> Memory:
        """Give the memory of a tile: one for the block, or one for the thread."""
        kind = op.memref.type
        if space_of(kind) is Space.SHARED:
            return self.shared.setdefault(op.memref, Memory(kind.get_shape()))
        assert space_of(kind) is Space.LOCAL, kind
        return Memory(kind.get_shape())


def simulate(
    module: ModuleOp,
    arguments: Sequence[Memory] = (),
    observe: Observer = lambda *_: None,
    seed: int = 0,
) -> None:
    """Run the only kernel of a module; `observe` sees every store and every `test.op`.

    It is called with the number of the thread in the grid, the op, and the values of its operands.
    """
    (kernel,) = [op for op in module.ops if isinstance(op, KernelOp)]
    order = random.Random(seed)
    for block_number, place in enumerate(product(*map(range, reversed(kernel.grid_dims)))):
        shared: dict[SSAValue, Memory] = {}
        threads = [
            Thread(
                dict(zip(Dimension, reversed(place), strict=True)),
                dict(zip(Dimension, reversed(at), strict=True)),
                block_number * kernel.threads + number,
                shared,
                observe,
                dict(zip(kernel.arguments, arguments, strict=True)),
            )
            for number, at in enumerate(product(*map(range, reversed(kernel.block_dims))))
        ]
        run_block([thread.run(kernel.body.block) for thread in threads], order)


def run_block(threads: list[Generator], order: random.Random) -> None:
    """Run the threads of a block until all have ended, in random order between meetings."""
    inbox: list[Any] = [None] * len(threads)
    waiting: dict[int, tuple[Operation, Any]] = {}
    ready = list(range(len(threads)))
    ended = 0
    while ended < len(threads):
        order.shuffle(ready)
        for number in ready:
            try:
                waiting[number] = threads[number].send(inbox[number])
            except StopIteration:
                ended += 1
        ready = meet(waiting, inbox, len(threads))
        assert ready or ended == len(threads), "threads wait for each other for ever"


def meet(waiting: dict[int, tuple[Operation, Any]], inbox: list[Any], count: int) -> list[int]:
    """Let those go on who have met: all threads at a barrier, all lanes of a warp at a shuffle."""
    warps = [range(first, min(first + WARP, count)) for first in range(0, count, WARP)]
    ready: list[int] = []
    for group in (range(count), *warps):
        ops = {waiting[number][0] if number in waiting else None for number in group}
        op = ops.pop() if len(ops) == 1 else None
        if isinstance(op, ShflOp) and group in warps:
            assert op.kind.data is ShuffleKind.XOR
            for lane, number in enumerate(group):
                partner = group[lane ^ waiting[number][1][1]]
                inbox[number] = waiting[partner][1][0]
        elif not isinstance(op, SyncThreadsOp) or len(group) < count:
            continue
        ready.extend(group)
        for number in group:
            del waiting[number]
    return ready


@pytest.fixture(scope="session")
def lower():
    """Parse a program and run passes on it, by name; each result is verified."""
    context = make_context()

    def run(text: str, *passes: str) -> ModuleOp:
        module = Parser(context, text).parse_module()
        module.verify()
        for name in passes:
            load(PASSES[name])().apply(context, module)
            module.verify()
        return module

    return run


@pytest.fixture(scope="session", name="simulate")
def give_simulate():
    """Give `simulate`."""
    return simulate


@pytest.fixture(scope="session")
def memory():
    """Give a function that makes the memory of an argument, of a shape and with elements."""

    def make(shape: Sequence[int], elements: Elements | None = None) -> Memory:
        return Memory(tuple(shape), dict(elements or {}))

    return make
