"""Rules of checked integers: the integer itself, or a valid one and an error."""

from functools import partial

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, StringAttr, i32, i64
from xdsl.ir import Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.cuda.checks import CheckedDivisorOp, CheckedIndexOp
from hidet.dialects.graph.base import element_type
from hidet.dialects.graph.shape import is_argument
from hidet.dialects.locations import source_line
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder
from hidet.lowering.graph.compute_rules.scalars import IS_LESS, elementwise, select
from hidet.lowering.single_walk import Rule


def checked_positions(
    b: GridBuilder, op: graph.CheckedPositionsOp, x: SSAValue, *, on_cpu: bool = False
) -> SSAValue:
    """x, checked to be in bounds and normalized; on the CPU ahead of the kernel, if it can be."""
    index = b.insert(arith.IndexCastOp(x, IndexType())).result
    checked = CheckedIndexOp(
        index,
        op.size.value.data,
        named(op, op.operator),
        from_end=op.from_end is not None,
        ahead=on_cpu
        and op.from_end is None
        and is_argument(op.x)
        and element_type(op.x) in (i32, i64),
    )
    return b.insert(arith.IndexCastOp(b.insert(checked).result, x.type)).result


def checked_divisor(b: GridBuilder, op: graph.CheckedDivisorOp, x: SSAValue) -> SSAValue:
    """x, checked to be non-zero."""
    return b.insert(CheckedDivisorOp(x, named(op, op.operator))).result


def named(op: graph.GraphOp, operator: StringAttr) -> str:
    """Return the name of an operator and its source line, for errors."""
    line = source_line(op)
    return operator.data if line is None else f"{operator.data} ({line})"


def position_from_front(b: GridBuilder, op: graph.CheckedPositionsOp, x: SSAValue) -> SSAValue:
    """x, normalized without a check."""
    if op.from_end is None:
        return x
    moved = b.apply(arith.AddiOp, x, b.constant(op.size.value.data, x.type))
    return select(b, IS_LESS(b, op, x, b.constant(0, x.type)), moved, x)


def unchecked_divisor(b: GridBuilder, op: graph.CheckedDivisorOp, x: SSAValue) -> SSAValue:
    """X, without a check."""
    return x


RULES: dict[type[Operation], Rule[GridBuilder]] = {
    graph.CheckedDivisorOp: partial(elementwise, checked_divisor),
    graph.CheckedPositionsOp: partial(elementwise, checked_positions),
}

CPU_RULES: dict[type[Operation], Rule[GridBuilder]] = {
    graph.CheckedPositionsOp: partial(elementwise, partial(checked_positions, on_cpu=True)),
}

UNCHECKED_RULES: dict[type[Operation], Rule[GridBuilder]] = {
    graph.CheckedDivisorOp: partial(elementwise, unchecked_divisor),
    graph.CheckedPositionsOp: partial(elementwise, position_from_front),
}
