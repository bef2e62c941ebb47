"""`IntegerRanges`: the ranges of integers of 1 to 64 bits and of indices.

Unlike index arithmetic, that of fixed-width integers wraps around. If it may overflow, the range of
the result is that of its type.
"""

from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import Any, TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from hidet.analysis.forms import ANY, Range
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.value_ranges import RESULT_RULES, terminators_of

_Rule: TypeAlias = Callable[[Any, Sequence[Range]], Range | None]


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
        """Return the range of an integer or an index."""
        if isinstance(value.type, IndexType):
            limits = self._forms.range(value) or ANY
            if isinstance(value.owner, arith.IndexCastOp):
                return limits.intersect(self.range(value.owner.input))
            return limits
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


def _add(op: Operation, ranges: Sequence[Range]) -> Range:
    lhs, rhs = ranges
    return Range(lhs.lo + rhs.lo, lhs.hi + rhs.hi)


def _subtract(op: Operation, ranges: Sequence[Range]) -> Range:
    lhs, rhs = ranges
    return Range(lhs.lo - rhs.hi, lhs.hi - rhs.lo)


def _unchanged(op: Operation, ranges: Sequence[Range]) -> Range:
    return ranges[0]


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


_RULES: dict[type[Operation], _Rule] = {
    **{kind: rules[0] for kind, rules in RESULT_RULES.items()},
    arith.ConstantOp: _constant,
    arith.AddiOp: _add,
    arith.SubiOp: _subtract,
    arith.ShLIOp: _shift,
    arith.ShRSIOp: _shift,
    arith.ShRUIOp: _shift,
    arith.ExtSIOp: _unchanged,
    arith.TruncIOp: _unchanged,
    arith.IndexCastOp: _unchanged,
    arith.ExtUIOp: _extend_unsigned,
}
"""The range of a result before it wraps around, from those of the operands."""
