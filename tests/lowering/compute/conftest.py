"""Random programs of the graph dialect."""

from dataclasses import dataclass

import pytest
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from hidet.dialects import graph
from hidet.dialects.shaped import shape_of, size_of

MAX_SIZE = 4000
"""Larger tensors cost more than they find."""


@dataclass
class ProgramMaker:
    """A function @forward that grows by ops on values that it has."""

    draw: st.DrawFn
    block: Block

    def emit(self, op: Operation) -> SSAValue:
        """Append an op; give its result."""
        self.block.add_op(op)
        return op.results[0]

    @property
    def values(self) -> list[SSAValue]:
        """What there is to read; what came last is tried first by those who shrink."""
        results = [op.results[0] for op in self.block.ops]
        return [*results[::-1], *self.block.args]

    def elementwise(self, x: SSAValue) -> SSAValue:
        """A function of every element."""
        kinds = (graph.ReluOp, graph.ExpOp, graph.TanhOp, graph.NegOp)
        return self.emit(self.draw(st.sampled_from(kinds))(x))

    def combined(self, x: SSAValue) -> SSAValue:
        """A function of two values that broadcast against each other."""
        shape = shape_of(x)
        fitting = [value for value in self.values if broadcasts(shape, shape_of(value))]
        other = self.draw(st.sampled_from(fitting))
        kinds = (graph.AddOp, graph.MulOp, graph.MaximumOp, graph.SubOp)
        return self.emit(self.draw(st.sampled_from(kinds))(x, other))

    def moved(self, x: SSAValue) -> SSAValue:
        """The elements at other places."""
        shape, rank = shape_of(x), len(shape_of(x))
        match self.draw(st.sampled_from(["permute", "reshape", "slice", "pad", "flip", "expand"])):
            case "permute":
                return self.emit(graph.PermuteOp(x, self.draw(st.permutations(range(rank)))))
            case "reshape":
                middle = self.draw(st.integers(0, rank))
                ends = (shape[:middle], shape[middle:])
                merged = [size_of(TensorType(f32, end)) for end in ends]
                return self.emit(graph.ReshapeOp(x, self.draw(st.permutations(merged))))
            case "slice":
                starts = [self.draw(st.integers(0, extent // 2)) for extent in shape]
                steps = [self.draw(st.integers(1, 2)) for _ in shape]
                return self.emit(graph.SliceOp(x, starts, shape, steps))
            case "pad":
                low, high = ([self.draw(st.integers(0, 2)) for _ in shape] for _ in range(2))
                return self.emit(graph.PadOp(x, low, high, 0.5))
            case "flip":
                dims = self.draw(st.lists(st.sampled_from(range(rank)), unique=True))
                steps = [-1 if dim in dims else 1 for dim in range(rank)]
                starts = [0 if step > 0 else n - 1 for n, step in zip(shape, steps, strict=True)]
                stops = [n if step > 0 else -1 for n, step in zip(shape, steps, strict=True)]
                return self.emit(graph.SliceOp(x, starts, stops, steps))
            case _:
                return self.emit(graph.ExpandOp(x, [self.draw(st.integers(1, 3)), *shape]))

    def reduced(self, x: SSAValue) -> SSAValue:
        """Elements combined along some axes."""
        axes = self.draw(st.lists(st.sampled_from(range(len(shape_of(x)))), unique=True))
        kinds = (graph.SumOp, graph.MaxOp, graph.MeanOp)
        op = self.draw(st.sampled_from(kinds))
        return self.emit(op(x, axes or None, self.draw(st.booleans())))

    def normalized(self, x: SSAValue) -> SSAValue:
        """Rows that become distributions, or standard scores."""
        axis = self.draw(st.integers(0, len(shape_of(x)) - 1))
        if self.draw(st.booleans()):
            return self.emit(graph.SoftmaxOp(x, axis))
        return self.emit(graph.LayerNormOp(x, normalized_rank=len(shape_of(x)) - axis, eps=0.1))

    def multiplied(self, x: SSAValue) -> SSAValue:
        """A product of matrices, with itself, or with what fits."""
        shape = shape_of(x)
        fitting = [
            value
            for value in self.values
            if len(other := shape_of(value)) >= 2
            and other[-2] == shape[-1]
            and (len(other) == 2 or other[:-2] == shape[:-2])
        ]
        if fitting and self.draw(st.booleans()):
            return self.emit(graph.MatmulOp(x, self.draw(st.sampled_from(fitting))))
        last = len(shape) - 1
        transposed = self.emit(graph.PermuteOp(x, [*range(last - 1), last, last - 1]))
        pair = (x, transposed) if self.draw(st.booleans()) else (transposed, x)
        return self.emit(graph.MatmulOp(*pair))

    def grow(self) -> None:
        """Append one operator, or some few that belong together."""
        x = self.draw(st.sampled_from(self.values))
        steps = [self.elementwise, self.combined]
        if shape_of(x):
            steps += [self.moved, self.reduced, self.normalized]
        if len(shape_of(x)) >= 2:
            steps.append(self.multiplied)
        result = self.draw(st.sampled_from(steps))(x)
        if size_of(result) > MAX_SIZE and isinstance(result.owner, Operation):
            result.owner.detach()
            result.owner.erase()


def broadcasts(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two shapes fit by numpy's rule."""
    pairs = zip(reversed(shape), reversed(other), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


@st.composite
def programs(draw, max_ops: int = 7) -> str:
    """The text of programs on a few tensors of f32 that fit together, with one to three results."""
    rows, columns = draw(st.sampled_from([(3, 40), (40, 3), (2, 5), (33, 32), (4, 1)]))
    shapes = [(rows, columns), (columns,), (2, rows, columns)]
    maker = ProgramMaker(draw, Block(arg_types=[TensorType(f32, shape) for shape in shapes]))
    for _ in range(draw(st.integers(1, max_ops))):
        maker.grow()
    made = [op.results[0] for op in maker.block.ops]
    results = draw(st.lists(st.sampled_from(made or maker.values), min_size=1, max_size=3))
    if made and made[-1] not in results:
        results.append(made[-1])
    maker.block.add_op(ReturnOp(*results))
    types = [value.type for value in maker.block.args], [value.type for value in results]
    return str(ModuleOp([FuncOp("forward", types, Region(maker.block))]))


@pytest.fixture(scope="session", name="programs")
def give_programs():
    """Give the strategy `programs`."""
    return programs
