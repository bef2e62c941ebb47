"""Rules of fills, ranges and literals: grids that load nothing."""

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import Number, computation_type, is_float, python_number
from hidet.lowering.graph.compute_rules.conversion import convert
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder, Indices
from hidet.lowering.graph.rules import Rule


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


def literal(b: GridBuilder, op: graph.LiteralOp) -> SSAValue:
    """A binary tree of selections by the linear index."""
    shape, element = op.result_type.get_shape(), op.result_type.element_type
    values: Sequence[Number] = [python_number(value) for value in op.data.iter_attrs()]
    if len(set(values)) == 1:
        return b.fill(op, values[0])

    def pick(number: SSAValue, low: int, high: int) -> SSAValue:
        if high - low == 1:
            return b.constant(values[low], element)
        middle = (low + high) // 2
        before = b.less(number, middle)
        left, right = pick(number, low, middle), pick(number, middle, high)
        return b.insert(arith.SelectOp(before, left, right)).result

    def scalar_at(indices: Indices) -> SSAValue:
        return pick(b.index(b.join(indices, shape)), 0, len(values))

    return b.result_of(op, scalar_at)


RULES: dict[type[Operation], Rule[GridBuilder]] = {
    graph.FillOp: fill,
    graph.IotaOp: iota,
    graph.LiteralOp: literal,
}
