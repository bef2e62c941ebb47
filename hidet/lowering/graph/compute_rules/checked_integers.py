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
    checks: bool, on_cpu: bool, b: GridBuilder, op: graph.CheckedPositionsOp, x: SSAValue
) -> SSAValue:
    """x, normalized and checked to be in bounds; on the CPU ahead of the kernel, if it can be."""
    size, from_end = op.size.value.data, op.from_end is not None
    if not checks:
        if not from_end:
            return x
        moved = b.apply(arith.AddiOp, x, b.constant(size, x.type))
        return select(b, IS_LESS(b, op, x, b.constant(0, x.type)), moved, x)
    index = b.insert(arith.IndexCastOp(x, IndexType())).result
    can_be_ahead = not from_end and is_argument(op.x) and element_type(op.x) in (i32, i64)
    checked = CheckedIndexOp(
        index,
        size,
        named(op, op.operator),
        from_end=from_end,
        ahead=on_cpu and can_be_ahead,
    )
    return b.insert(arith.IndexCastOp(b.insert(checked).result, x.type)).result


def checked_divisor(
    checks: bool, on_cpu: bool, b: GridBuilder, op: graph.CheckedDivisorOp, x: SSAValue
) -> SSAValue:
    """x, checked to be non-zero."""
    if not checks:
        return x
    return b.insert(CheckedDivisorOp(x, named(op, op.operator))).result


def named(op: graph.GraphOp, operator: StringAttr) -> str:
    """Return the name of an operator and its source line, for errors."""
    line = source_line(op)
    return operator.data if line is None else f"{operator.data} ({line})"


def rules(*, checks: bool, on_cpu: bool) -> dict[type[Operation], Rule[GridBuilder]]:
    """Return the rules, with or without checks, for a target."""
    scalar_rules = {
        graph.CheckedDivisorOp: checked_divisor,
        graph.CheckedPositionsOp: checked_positions,
    }
    return {
        kind: partial(elementwise, partial(rule, checks, on_cpu))
        for kind, rule in scalar_rules.items()
    }
