"""Rules of fills, ranges and random numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi, prod

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.cuda.arithmetic import FunctionOp
from hidet.dialects.graph.base import computation_type, is_float, python_number
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder, Indices, convert, to_float
from hidet.lowering.single_walk import Rule
from hidet.rewriting.builder import Index


@dataclass
class Draw:
    """The random bits of one element.

    Attributes:
        b: the builder.
        element: the element type, of 32 or 64 bits.
        words: the operands of Philox, without the index of the word.
        place: the index of the element in its counter: one of 4 of 32 bits, or of 2 of 64.
    """

    b: GridBuilder
    element: Attribute
    words: list[SSAValue]
    place: Index

    @property
    def is_wide(self) -> bool:
        """Whether the element has 64 bits."""
        return self.element in (i64, f64)

    def word(self, number: Index) -> SSAValue:
        """Return one of the four words of the counter."""
        words = [*self.words, self.b.word(number)]
        return self.b.insert(FunctionOp("philox", words, i32)).result

    def bits(self, number: Index) -> SSAValue:
        """Return one of the four words of the counter, or one of its two pairs of words."""
        if not self.is_wide:
            return self.word(number)
        b, first = self.b, self.b.mul(number, 2)
        low, high = (
            b.insert(arith.ExtUIOp(self.word(each), i64)).result
            for each in (first, b.add(first, 1))
        )
        return b.apply(arith.OrIOp, b.apply(arith.ShLIOp, high, b.exact(32, i64)), low)

    def uniform(self, number: Index) -> SSAValue:
        """Return random bits as a multiple of 2^-24 or 2^-53 in [0, 1)."""
        b, (digits, width) = self.b, (53, 64) if self.is_wide else (24, 32)
        bits = self.bits(number)
        upper = b.apply(arith.ShRUIOp, bits, b.exact(width - digits, bits.type))
        whole = to_float(b, upper, self.element)
        return b.apply(arith.MulfOp, whole, b.exact(2.0**-digits, self.element))

    def normal(self) -> SSAValue:
        """Return the cosine or sine of the Box-Muller transform of two adjacent words."""
        b = self.b
        odd = b.mod(self.place, 2)
        first: Index = 0 if self.is_wide else b.subtract(self.place, odd)
        one = b.exact(1, self.element)
        distance = b.apply(math.LogOp, b.apply(arith.SubfOp, one, self.uniform(first)))
        radius = b.apply(math.SqrtOp, b.apply(arith.MulfOp, distance, b.exact(-2, self.element)))
        # cos(x - pi / 2) = sin(x).
        quarter = to_float(b, b.word(odd), self.element)
        quarter = b.apply(arith.MulfOp, quarter, b.exact(0.25, self.element))
        turn = b.apply(arith.SubfOp, self.uniform(b.add(first, 1)), quarter)
        angle = b.apply(arith.MulfOp, turn, b.exact(2 * pi, self.element))
        return b.apply(arith.MulfOp, radius, b.apply(math.CosOp, angle))


DISTRIBUTIONS: dict[str, Callable[[Draw], SSAValue]] = {
    "bits": lambda draw: draw.bits(draw.place),
    "uniform": lambda draw: draw.uniform(draw.place),
    "normal": Draw.normal,
}
"""The element of each distribution."""


def random(b: GridBuilder, op: graph.RandomOp) -> SSAValue:
    """Adjacent elements share a counter, which compilers compute once in an unrolled loop."""
    shape, element = op.result_type.get_shape(), op.result_type.element_type
    per_counter = 2 if element in (i64, f64) else 4
    is_long = prod(shape) > per_counter << 32

    def scalar_at(indices: Indices) -> SSAValue:
        dims = [dim for dim, size in enumerate(shape) if size != 1]
        number = b.linearize([indices[dim] for dim in dims], [shape[dim] for dim in dims])
        counter = b.div(number, per_counter)
        high = b.div(counter, 1 << 32) if is_long else 0
        key = [b.element(op.seeds, [op.number.value.data, half]) for half in range(2)]
        words = [*key, *map(b.word, (counter, high, 0, 0))]
        return DISTRIBUTIONS[op.distribution.data](
            Draw(b, element, words, b.mod(number, per_counter))
        )

    return b.result_of(op, scalar_at)


def fill(b: GridBuilder, op: graph.FillOp) -> SSAValue:
    """A constant; elementwise users use the constant directly."""
    return b.fill(op, python_number(op.value))


def iota(b: GridBuilder, op: graph.IotaOp) -> SSAValue:
    """Start + step * index; integers in 64 bits, others in the computation type."""
    element = op.result_type.element_type
    kind = computation_type(element) if is_float(element) else i64
    start, step = python_number(op.start), python_number(op.step)

    def scalar_at(indices: Indices) -> SSAValue:
        index = b.insert(arith.IndexCastOp(indices[op.dim.value.data], i64)).result
        value = convert(b, index, kind)
        multiply, add = (
            (arith.MulfOp, arith.AddfOp) if is_float(kind) else (arith.MuliOp, arith.AddiOp)
        )
        if step != 1:
            value = b.apply(multiply, value, b.constant(step, kind))
        if start != 0:
            value = b.apply(add, value, b.constant(start, kind))
        return convert(b, value, computation_type(element))

    return b.result_of(op, scalar_at)


RULES: dict[type[Operation], Rule[GridBuilder]] = {
    graph.FillOp: fill,
    graph.IotaOp: iota,
    graph.RandomOp: random,
}
