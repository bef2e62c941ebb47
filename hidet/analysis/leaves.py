"""What is known of values that no arithmetic explains: loop variables, arguments, minima.

A new op whose block arguments are indices is made known to the analysis by one line in
`ARGUMENT_RANGES`, a new op whose result is an index by one in `RESULT_RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd, prod
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType, TensorType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from hidet.analysis.forms import ANY, Range
from hidet.dialects.compute import GridOp, IndexedOp, ReduceOp, SinkOp
from hidet.dialects.cuda.arithmetic import FloorModOp
from hidet.dialects.cuda.checks import CheckedIndexOp
from hidet.dialects.task import ForeachOp, GroupOp

if TYPE_CHECKING:
    from hidet.analysis.index_forms import IndexForms


def range_of_value(forms: IndexForms, value: SSAValue) -> Range:
    """Return the range of a value that no arithmetic explains; of an index alone it is known."""
    if not isinstance(value.type, IndexType):
        return ANY
    if isinstance(value, BlockArgument):
        return range_of_block_argument(forms, value)
    assert isinstance(value, OpResult)
    return range_of_result(forms, value)


def divisibility_of_value(forms: IndexForms, value: SSAValue) -> int:
    """Return a number that a value that no arithmetic explains is a multiple of."""
    if not isinstance(value.type, IndexType):
        return 1
    if isinstance(value, BlockArgument):
        loop = value.block.parent_op()
        if value.index == 0 and isinstance(loop, scf.ForOp):
            # An induction variable is a number of steps from where it starts.
            return gcd(forms.divisibility(loop.lb), forms.divisibility(loop.step))
        return 1
    assert isinstance(value, OpResult)
    return divisibility_of_result(forms, value)


# Arguments of regions.


def range_of_block_argument(forms: IndexForms, argument: BlockArgument) -> Range:
    """Return the range of a block argument from the op that it belongs to."""
    op = argument.block.parent_op()
    rule = None if op is None else ARGUMENT_RANGES.get(op.name)
    return ANY if op is None or rule is None else rule(forms, op, argument.index)


def _loop_range(forms: IndexForms, op: scf.ForOp, index: int) -> Range:
    """Return the range of an induction variable from the loop's bounds."""
    start, stop, step = (_range_at(forms, bound, op.parent) for bound in (op.lb, op.ub, op.step))
    if index > 0 or step.lo < 1:
        return ANY
    last = stop.hi - 1
    if start.lo == start.hi and step.lo == step.hi and last > start.lo:
        last -= (last - start.lo) % step.lo
    return Range(start.lo, max(start.lo, last))


def _grid_range(forms: IndexForms, op: IndexedOp, index: int) -> Range:
    """Return the range of an index of a grid or a reduction."""
    return _range_below(op.shape[index])


def _sink_range(forms: IndexForms, op: SinkOp, index: int) -> Range:
    """Return the range of an index of a sink; the argument after them is the stored scalar."""
    assert isinstance(op.result.type, TensorType)
    shape = op.result.type.get_shape()
    return _range_below(shape[index]) if index < len(shape) else ANY


def _task_range(forms: IndexForms, op: ForeachOp, index: int) -> Range:
    """Return the range of an index of a foreach, cut off by its bound."""
    if op.tile is None:
        return _range_below(op.extents[index])
    # The map of a tile may be unknown, its shape is not.
    assert isinstance(op.tile.type, MemRefType)
    whole = _range_below(op.tile.type.get_shape()[index])
    return whole if op.bound is None else whole.intersect(_range_below(op.bound.data[index].data))


def _worker_range(forms: IndexForms, op: GroupOp, index: int) -> Range:
    """Return the range of the worker of a group."""
    return _range_below(len(op.threads))


def _range_below(extent: int) -> Range:
    """Return the range of an index below an extent; -1 is an extent that is not known."""
    return Range(0, ANY.hi if extent < 0 else max(extent, 1) - 1)


ARGUMENT_RANGES: dict[str, Callable[[IndexForms, Any, int], Range]] = {
    scf.ForOp.name: _loop_range,
    GridOp.name: _grid_range,
    ReduceOp.name: _grid_range,
    SinkOp.name: _sink_range,
    ForeachOp.name: _task_range,
    GroupOp.name: _worker_range,
}
"""The range of an argument of an op's region, by the name of the op: (forms, op, number)."""


# Results of ops.

_RangeRule: TypeAlias = Callable[[Any, Sequence[Range]], Range]
_DivisibilityRule: TypeAlias = Callable[[Sequence[int]], int]


def _range_at(forms: IndexForms, value: SSAValue, block: Block | None) -> Range:
    """Return the range of a value at a place; of a value that is no index nothing is known."""
    if not isinstance(value.type, IndexType):
        return ANY
    return forms.algebra(block).range(forms.form(value))


def range_of_result(forms: IndexForms, value: OpResult) -> Range:
    """Return the range of a result from the ranges of the operands."""
    op = value.op
    if isinstance(op, scf.IfOp):
        return _range_of_branches(forms, op, value.index)
    rule = RESULT_RULES.get(type(op))
    if rule is None:
        return ANY
    limits = rule[0](op, [_range_at(forms, operand, op.parent) for operand in op.operands])
    return limits.intersect(ANY)


def divisibility_of_result(forms: IndexForms, value: OpResult) -> int:
    """Return a number that a result is a multiple of."""
    op = value.op
    if isinstance(op, scf.IfOp):
        values = [end.operands[value.index] for end in _ends_of(op)]
    elif type(op) in RESULT_RULES:
        values = [operand for operand in op.operands if isinstance(operand.type, IndexType)]
    else:
        return 1
    numbers = [forms.divisibility(each) for each in values]
    return gcd(*numbers) if isinstance(op, scf.IfOp) else RESULT_RULES[type(op)][1](numbers)


def _ends_of(op: scf.IfOp) -> list[Operation]:
    """Return the terminators of the branches."""
    return [
        region.block.last_op
        for region in op.regions
        if region.blocks and region.block.last_op is not None
    ]


def _range_of_branches(forms: IndexForms, op: scf.IfOp, index: int) -> Range:
    """Return the range of a result of an `scf.if`."""
    first, *others = (_range_at(forms, end.operands[index], end.parent) for end in _ends_of(op))
    for other in others:
        first = first.union(other)
    return first


def _product(op: Operation, ranges: Sequence[Range]) -> Range:
    lhs, rhs = ranges
    corners = [a * b for a in lhs for b in rhs]
    return Range(min(corners), max(corners))


def _quotient(op: Operation, ranges: Sequence[Range]) -> Range:
    """Return the range of a quotient; divided by 0, all numbers give -1."""
    lhs, rhs = ranges
    if rhs.lo < 1:
        limit = max(abs(lhs.lo), abs(lhs.hi), 1)
        return Range(-limit, limit)
    down = isinstance(op, arith.FloorDivSIOp)
    corners = [a // b if down or a >= 0 else -(-a // b) for a in lhs for b in rhs]
    return Range(min(corners), max(corners))


def _remainder(op: Operation, ranges: Sequence[Range]) -> Range:
    """Return the range of what a division towards zero leaves; one by 0 leaves the number."""
    lhs, rhs = ranges
    limit = rhs.hi - 1 if rhs.lo > 0 else ANY.hi
    return Range(max(lhs.lo, -limit) if lhs.lo < 0 else 0, max(0, min(lhs.hi, limit)))


def _floor_remainder(op: Operation, ranges: Sequence[Range]) -> Range:
    """Return the range of what a division that rounds down leaves, with the sign of the divisor."""
    lhs, rhs = ranges
    if rhs.lo < 1:
        return Range(min(0, rhs.lo + 1, lhs.lo), max(0, rhs.hi - 1, lhs.hi))
    return Range(0, min(lhs.hi, rhs.hi - 1) if lhs.lo >= 0 else rhs.hi - 1)


def _bits(op: Operation, ranges: Sequence[Range]) -> Range:
    """Return the range of a bitwise `and`, `or` or `xor` of numbers that are not negative."""
    lhs, rhs = ranges
    if isinstance(op, arith.AndIOp):
        limits = [limit.hi for limit in ranges if limit.lo >= 0]
        return Range(0, min(limits)) if limits else ANY
    if lhs.lo < 0 or rhs.lo < 0:
        return ANY
    return Range(0, (1 << max(lhs.hi, rhs.hi).bit_length()) - 1)


def _cast(op: Operation, ranges: Sequence[Range]) -> Range:
    source = op.operands[0].type
    if not isinstance(source, IntegerType):
        return ANY
    half = 1 << (source.bitwidth - 1)
    return Range(-half, half - 1)


def _checked(op: CheckedIndexOp, ranges: Sequence[Range]) -> Range:
    """Return the range of an index that a kernel checks, whatever it is given."""
    return Range(0, op.size.value.data - 1)


def _minimum(op: Operation, ranges: Sequence[Range]) -> Range:
    return Range(min(r.lo for r in ranges), min(r.hi for r in ranges))


def _maximum(op: Operation, ranges: Sequence[Range]) -> Range:
    return Range(max(r.lo for r in ranges), max(r.hi for r in ranges))


def _unsigned(rule: _RangeRule) -> _RangeRule:
    """Make the rule of a signed op one of the unsigned op, for operands that are not negative."""
    return lambda op, ranges: rule(op, ranges) if all(r.lo >= 0 for r in ranges) else ANY


def _any_of(numbers: Sequence[int]) -> int:
    return gcd(*numbers)


def _power_of_two(numbers: Sequence[int]) -> int:
    """Return the largest power of two that all numbers are multiples of: low bits that are 0."""
    common = gcd(*numbers)
    return common & -common if common else 0


def _nothing(numbers: Sequence[int]) -> int:
    return 1


RESULT_RULES: dict[type[Operation], tuple[_RangeRule, _DivisibilityRule]] = {
    arith.MinSIOp: (_minimum, _any_of),
    arith.MaxSIOp: (_maximum, _any_of),
    arith.MinUIOp: (_unsigned(_minimum), _any_of),
    arith.MaxUIOp: (_unsigned(_maximum), _any_of),
    arith.SelectOp: (lambda _, ranges: ranges[1].union(ranges[2]), _any_of),
    arith.MuliOp: (_product, prod),
    arith.DivSIOp: (_quotient, _nothing),
    arith.DivUIOp: (_unsigned(_quotient), _nothing),
    arith.RemSIOp: (_remainder, _any_of),
    arith.RemUIOp: (_unsigned(_remainder), _nothing),
    arith.FloorDivSIOp: (_quotient, _nothing),
    FloorModOp: (_floor_remainder, _any_of),
    arith.AndIOp: (_bits, _nothing),
    arith.OrIOp: (_bits, _power_of_two),
    arith.XOrIOp: (_bits, _power_of_two),
    arith.IndexCastOp: (_cast, _nothing),
    CheckedIndexOp: (_checked, _nothing),
}
"""Range and divisibility of a result of type index, from those of the operands."""
