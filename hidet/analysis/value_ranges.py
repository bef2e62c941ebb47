"""The ranges and divisibility of values without a linear form, such as induction variables.

`IntegerRanges` has those of integers, too.

To support a new op, add the ranges of its block arguments to `ARGUMENT_RANGES`, and the rules of
its results of type index to `RESULT_RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce
from math import ceil, gcd, isfinite, trunc
from operator import mul
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from hidet.analysis.forms import ANY, Range
from hidet.dialects.compute import GridOp, ReduceOp, SinkOp
from hidet.dialects.cuda import CheckedIndexOp, FloorModOp
from hidet.dialects.cuda.marks import BELOW
from hidet.dialects.shaped import shape_of
from hidet.dialects.task import ForeachOp, GroupOp
from hidet.dialects.walking import blocks_in

if TYPE_CHECKING:
    from hidet.analysis.index_forms import IndexForms


def range_of_value(forms: IndexForms, value: SSAValue) -> Range:
    """Return the range of a value without a linear form; unbounded unless it is an index."""
    if not isinstance(value.type, IndexType):
        return ANY
    if isinstance(value, BlockArgument):
        parent = value.block.parent_op()
        rule = None if parent is None else ARGUMENT_RANGES.get(parent.name)
        return ANY if rule is None else rule(forms, parent, value.index)
    assert isinstance(value, OpResult)
    op = value.op
    if isinstance(op, scf.IfOp):
        ends = [(end.operands[value.index], end.parent) for end in terminators_of(op)]
        return reduce(Range.union, (_range_at(forms, *end) for end in ends))
    if type(op) not in RESULT_RULES:
        return ANY
    operands = [_range_at(forms, operand, op.parent) for operand in op.operands]
    return RESULT_RULES[type(op)][0](op, operands).intersect(ANY)


def divisibility_of_value(forms: IndexForms, value: SSAValue) -> int:
    """Return a number that always divides a value without a linear form."""
    if not isinstance(value.type, IndexType):
        return 1
    if isinstance(value, BlockArgument):
        loop = value.block.parent_op()
        if value.index == 0 and isinstance(loop, scf.ForOp):
            # An induction variable is the lower bound plus a multiple of the step.
            return gcd(forms.divisibility(loop.lb), forms.divisibility(loop.step))
        return 1
    assert isinstance(value, OpResult)
    op = value.op
    if isinstance(op, scf.IfOp):
        return gcd(*(forms.divisibility(end.operands[value.index]) for end in terminators_of(op)))
    if type(op) not in RESULT_RULES:
        return 1
    values = [operand for operand in op.operands if isinstance(operand.type, IndexType)]
    return RESULT_RULES[type(op)][1](*map(forms.divisibility, values))


# Block arguments.


def _loop_range(forms: IndexForms, op: scf.ForOp, index: int) -> Range:
    """Return the range of an induction variable from the loop's bounds."""
    start, stop, step = [_range_at(forms, bound, op.parent) for bound in op.operands[:3]]
    if index > 0 or step.lo < 1:
        return ANY
    last = stop.hi - 1
    if start.lo == start.hi and step.lo == step.hi and last > start.lo:
        last -= (last - start.lo) % step.lo
    return Range(start.lo, max(start.lo, last))


def _sink_range(forms: IndexForms, op: SinkOp, index: int) -> Range:
    """Return the range of an index of a sink; its last argument is the stored scalar."""
    shape = shape_of(op.result)
    return _range_below(shape[index]) if index < len(shape) else ANY


def _task_range(forms: IndexForms, op: ForeachOp, index: int) -> Range:
    """Return the range of an index of a foreach, limited by its bound."""
    if op.tile is None:
        return _range_below(op.extents[index])
    # The mapping of a tile may be unknown, but its shape is known.
    whole = _range_below(shape_of(op.tile)[index])
    return whole if op.bound is None else whole.intersect(_range_below(op.bound.data[index].data))


def _range_below(extent: int) -> Range:
    """Return the range of an index below an extent; -1 is an unknown extent."""
    return Range(0, ANY.hi if extent < 0 else max(extent, 1) - 1)


ARGUMENT_RANGES: dict[str, Callable[[IndexForms, Any, int], Range]] = {
    scf.ForOp.name: _loop_range,
    GridOp.name: lambda _, op, index: _range_below(op.shape[index]),
    ReduceOp.name: lambda _, op, index: _range_below(op.shape[index]),
    SinkOp.name: _sink_range,
    ForeachOp.name: _task_range,
    # The index of a worker, and the number of its copy of the group.
    GroupOp.name: lambda _, op, index: _range_below(op.multiplicity if index else op.workers),
}
"""The rule (forms, op, argument number) for block arguments, by the name of the parent op."""


# Results of ops.

_RangeRule: TypeAlias = Callable[[Any, Sequence[Range]], Range]
_DivisibilityRule: TypeAlias = Callable[..., int]


def _range_at(forms: IndexForms, value: SSAValue, block: Block | None) -> Range:
    """Return the range of an index in a block, or that of an integer."""
    if not isinstance(value.type, IndexType):
        return IntegerRanges(forms).range(value)
    return forms.algebra(block).range(forms.form(value))


def terminators_of(op: scf.IfOp) -> list[Operation]:
    """Return the terminators of the branches."""
    return [block.last_op for block in blocks_in(op) if block.last_op is not None]


def _product(op: Operation, ranges: Sequence[Range]) -> Range:
    lhs, rhs = ranges
    corners = [a * b for a in lhs for b in rhs]
    return Range(min(corners), max(corners))


def _quotient(op: Operation, ranges: Sequence[Range]) -> Range:
    """Return the range of a quotient; a division by 0 returns -1."""
    lhs, rhs = ranges
    if rhs.lo < 1:
        limit = max(abs(lhs.lo), abs(lhs.hi), 1)
        return Range(-limit, limit)
    down = isinstance(op, arith.FloorDivSIOp)
    corners = [a // b if down or a >= 0 else -(-a // b) for a in lhs for b in rhs]
    return Range(min(corners), max(corners))


def _remainder(op: Operation, ranges: Sequence[Range]) -> Range:
    """Return the range of a truncated remainder; that of a division by 0 is the dividend."""
    lhs, rhs = ranges
    limit = rhs.hi - 1 if rhs.lo > 0 else ANY.hi
    return Range(max(lhs.lo, -limit) if lhs.lo < 0 else 0, max(0, min(lhs.hi, limit)))


def _floor_remainder(op: Operation, ranges: Sequence[Range]) -> Range:
    """Return the range of a floored remainder, which has the sign of the divisor."""
    lhs, rhs = ranges
    if rhs.lo < 1:
        return Range(min(0, rhs.lo + 1, lhs.lo), max(0, rhs.hi - 1, lhs.hi))
    return Range(0, min(lhs.hi, rhs.hi - 1) if lhs.lo >= 0 else rhs.hi - 1)


def _bits(op: Operation, ranges: Sequence[Range]) -> Range:
    """Return the range of a bitwise `and`, `or` or `xor` of nonnegative numbers."""
    lhs, rhs = ranges
    if isinstance(op, arith.AndIOp):
        limits = [limit.hi for limit in ranges if limit.lo >= 0]
        return Range(0, min(limits)) if limits else ANY
    if lhs.lo < 0 or rhs.lo < 0:
        return ANY
    return Range(0, (1 << max(lhs.hi, rhs.hi).bit_length()) - 1)


def _cast(op: Operation, ranges: Sequence[Range]) -> Range:
    below = op.attributes.get(BELOW)
    return _range_below(below.value.data) if isinstance(below, IntegerAttr) else ranges[0]


def _either(op: arith.SelectOp, ranges: Sequence[Range]) -> Range:
    """Return the range of the selected values; the condition may limit what is truncated."""
    lhs, (_, first, second) = op.lhs.owner, ranges
    if isinstance(lhs, arith.FPToSIOp):
        first = first.intersect(_truncated(lhs.input, op.cond))
    return first.union(second)


def _truncated(number: SSAValue, condition: SSAValue) -> Range:
    """Return the range of a truncated number where a condition holds."""
    op = condition.owner
    if isinstance(op, arith.AndIOp):
        return _truncated(number, op.lhs).intersect(_truncated(number, op.rhs))
    if not isinstance(op, arith.CmpfOp) or op.lhs is not number:
        return ANY
    limit = op.rhs.owner.value if isinstance(op.rhs.owner, arith.ConstantOp) else None
    if not isinstance(limit, FloatAttr) or not isfinite(value := limit.value.data):
        return ANY
    match arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]:
        case "oge" | "ogt":
            return Range(trunc(value), ANY.hi)
        case "olt":
            return Range(ANY.lo, max(0, ceil(value) - 1))
        case _:
            return ANY


def _extremum(choose: Callable[..., int]) -> _RangeRule:
    """Return the rule of a minimum or maximum: those of the limits."""
    return lambda _, ranges: Range(*map(choose, *ranges))


def _unsigned(rule: _RangeRule) -> _RangeRule:
    """Return the rule of an unsigned op from that of the signed one, for nonnegative operands."""
    return lambda op, ranges: rule(op, ranges) if all(r.lo >= 0 for r in ranges) else ANY


def _power_of_two(*numbers: int) -> int:
    """Return the largest power of two that divides all numbers: the common low zero bits."""
    common = gcd(*numbers)
    return common & -common if common else 0


def _unknown(*_: int) -> int:
    return 1


RESULT_RULES: dict[type[Operation], tuple[_RangeRule, _DivisibilityRule]] = {
    arith.MinSIOp: (_extremum(min), gcd),
    arith.MaxSIOp: (_extremum(max), gcd),
    arith.MinUIOp: (_unsigned(_extremum(min)), gcd),
    arith.MaxUIOp: (_unsigned(_extremum(max)), gcd),
    arith.SelectOp: (_either, gcd),
    arith.MuliOp: (_product, mul),
    arith.DivSIOp: (_quotient, _unknown),
    arith.DivUIOp: (_unsigned(_quotient), _unknown),
    arith.RemSIOp: (_remainder, gcd),
    arith.RemUIOp: (_unsigned(_remainder), _unknown),
    arith.FloorDivSIOp: (_quotient, _unknown),
    FloorModOp: (_floor_remainder, gcd),
    arith.AndIOp: (_bits, _unknown),
    arith.OrIOp: (_bits, _power_of_two),
    arith.XOrIOp: (_bits, _power_of_two),
    arith.IndexCastOp: (_cast, _unknown),
    CheckedIndexOp: (lambda op, _: Range(0, op.size.value.data - 1), _unknown),
}
"""The rules for range and divisibility of a result of type index, from those of the operands."""


# Integers of 1 to 64 bits. Unlike index arithmetic, theirs wraps around: if it may overflow, the
# range of the result is that of its type.

_IntegerRule: TypeAlias = Callable[[Any, Sequence[Range]], Range | None]


def range_of_type(kind: Attribute) -> Range:
    """Return the range of a signed integer type; that of i1 is 0 to 1."""
    if not isinstance(kind, IntegerType):
        return ANY
    return Range(0, 1) if kind.bitwidth == 1 else Range.signed(kind.bitwidth)


class IntegerRanges:
    """The ranges of the signed integers of a program, computed lazily and memoized."""

    def __init__(self, forms: IndexForms) -> None:
        self._forms = forms
        self.range = cache(self._range)

    def exact(self, op: Operation) -> Range | None:
        """Return the range of a result before wrapping around; None if unknown."""
        rule = _RULES.get(type(op))
        return None if rule is None else rule(op, [self.range(each) for each in op.operands])

    def _range(self, value: SSAValue) -> Range:
        if isinstance(value.type, IndexType):
            return self._forms.range(value) or ANY
        whole = range_of_type(value.type)
        if not isinstance(value, OpResult) or not isinstance(value.type, IntegerType):
            return whole
        op = value.op
        if isinstance(op, scf.IfOp):
            ends = (end.operands[value.index] for end in terminators_of(op))
            found = reduce(Range.union, map(self.range, ends))
        else:
            found = self.exact(op)
        return found if found is not None and whole.includes(found) else whole


def _constant(op: arith.ConstantOp, ranges: Sequence[Range]) -> Range | None:
    if not isinstance(op.value, IntegerAttr):
        return None
    number = op.value.value.data
    if op.value.type == IntegerType(1):
        number = abs(number)
    return Range(number, number)


def _extend_unsigned(op: Operation, ranges: Sequence[Range]) -> Range:
    kind = op.operands[0].type
    if ranges[0].lo >= 0 or not isinstance(kind, IntegerType):
        return ranges[0]
    return Range(0, (1 << kind.bitwidth) - 1)


def _shift(op: Operation, ranges: Sequence[Range]) -> Range | None:
    """Return the range of a shift by a constant."""
    lhs, (count, most) = ranges
    kind = op.results[0].type
    if count != most or not isinstance(kind, IntegerType) or not 0 <= count < kind.bitwidth:
        return None
    if isinstance(op, arith.ShLIOp):
        return Range(lhs.lo << count, lhs.hi << count)
    if isinstance(op, arith.ShRUIOp) and lhs.lo < 0:
        return Range(0, ((1 << kind.bitwidth) - 1) >> count) if count else None
    return Range(lhs.lo >> count, lhs.hi >> count)


_RULES: dict[type[Operation], _IntegerRule] = {
    **{kind: rules[0] for kind, rules in RESULT_RULES.items()},
    arith.ConstantOp: _constant,
    arith.AddiOp: lambda _, ranges: Range(ranges[0].lo + ranges[1].lo, ranges[0].hi + ranges[1].hi),
    arith.SubiOp: lambda _, ranges: Range(ranges[0].lo - ranges[1].hi, ranges[0].hi - ranges[1].lo),
    arith.ShLIOp: _shift,
    arith.ShRSIOp: _shift,
    arith.ShRUIOp: _shift,
    arith.ExtSIOp: lambda _, ranges: ranges[0],
    arith.TruncIOp: lambda _, ranges: ranges[0],
    arith.IndexCastOp: lambda _, ranges: ranges[0],
    arith.ExtUIOp: _extend_unsigned,
}
"""The range of a result before it wraps around, from those of the operands."""
