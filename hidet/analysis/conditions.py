"""Comparisons of forms: evaluation by ranges, and the conditions that they imply."""

from math import gcd
from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import SSAValue

from hidet.analysis.algebra import Condition, FormAlgebra
from hidet.analysis.forms import ANY, LinearForm, Range

if TYPE_CHECKING:
    from hidet.analysis.index_forms import IndexForms

_PAIRS = [("eq", "ne"), ("slt", "sge"), ("sgt", "sle"), ("ult", "uge"), ("ugt", "ule")]
OPPOSITES = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
"""The inverse of each predicate of `arith.cmpi`."""


def predicate_of(op: arith.CmpiOp) -> str:
    """Return the mnemonic of the predicate of a comparison."""
    return arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]


def decide(predicate: str, lhs: LinearForm, rhs: LinearForm, algebra: FormAlgebra) -> bool | None:
    """Return the result of a comparison if ranges and divisibility determine it, else None."""
    if predicate in ("eq", "ne"):
        equal = _decide_equal(algebra.add(lhs, rhs, -1), algebra)
        return equal if predicate == "eq" or equal is None else not equal
    if predicate.startswith("u") and not (
        algebra.is_nonnegative(lhs) and algebra.is_nonnegative(rhs)
    ):
        return None
    if predicate[1:] in ("gt", "le"):
        lhs, rhs = rhs, lhs
    difference = algebra.range(algebra.add(lhs, rhs, -1))
    # What remains is lhs < rhs, or lhs >= rhs for `ge` and `le`.
    less = True if difference.hi < 0 else False if difference.lo >= 0 else None
    return less if predicate[1:] in ("lt", "gt") or less is None else not less


def _decide_equal(difference: LinearForm, algebra: FormAlgebra) -> bool | None:
    """Return whether a difference is 0, or None if unknown."""
    lo, hi = algebra.range(difference)
    if lo == hi == 0:
        return True
    if lo > 0 or hi < 0:
        return False
    step = algebra.divisibility(difference.without_constant)
    return False if step and difference.constant % step else None


def conditions_of(forms: "IndexForms", condition: SSAValue, holds: bool) -> list[Condition]:
    """Return the conditions on forms that a condition of type i1 implies if it is true, or false.

    Conjunctions are split where they hold, and disjunctions where they do not. Only comparisons of
    indices imply conditions.
    """
    op = condition.owner
    if isinstance(op, arith.AndIOp if holds else arith.OrIOp):
        return conditions_of(forms, op.lhs, holds) + conditions_of(forms, op.rhs, holds)
    if not isinstance(op, arith.CmpiOp) or not isinstance(op.lhs.type, IndexType):
        return []
    predicate = predicate_of(op)
    if not holds:
        predicate = OPPOSITES[predicate]
    lhs, rhs = map(forms.form, op.operands)
    return _conditions_of_comparison(predicate, lhs, rhs, forms.algebra(op.parent))


def _conditions_of_comparison(
    predicate: str, lhs: LinearForm, rhs: LinearForm, algebra: FormAlgebra
) -> list[Condition]:
    if predicate in ("ugt", "uge"):
        lhs, rhs, predicate = rhs, lhs, "ult" if predicate == "ugt" else "ule"
    if predicate in ("ult", "ule"):
        # Anything unsigned below a nonnegative number is nonnegative.
        if not algebra.is_nonnegative(rhs):
            return []
        signed = "s" + predicate[1:]
        return [*_at_least(lhs, 0), *_conditions_of_comparison(signed, lhs, rhs, algebra)]
    difference = algebra.add(lhs, rhs, -1)
    if predicate in ("eq", "ne"):
        both = [*_at_least(difference, 0), *_at_least(-difference, 0)]
        return both if predicate == "eq" else []
    larger = -difference if predicate in ("slt", "sle") else difference
    return _at_least(larger, int(predicate in ("slt", "sgt")))


def _at_least(form: LinearForm, limit: int) -> list[Condition]:
    """Return the condition that `form >= limit`; none for a constant form."""
    if form.is_number:
        return []
    common = gcd(*form.terms.values())
    part = LinearForm({atom: factor // common for atom, factor in form.terms.items()})
    # common * part + constant >= limit
    return [(part, Range(-((form.constant - limit) // common), ANY.hi))]


def known_condition(forms: "IndexForms", condition: SSAValue) -> bool | None:
    """Return the value of a condition of type i1 if it is statically known, else None."""
    match condition.owner:
        case arith.ConstantOp(value=IntegerAttr() as value):
            return bool(value.value.data)
        case arith.CmpiOp() as op if isinstance(op.lhs.type, IndexType):
            return forms.decide(op)
        case arith.AndIOp() | arith.OrIOp() as op:
            decisive = isinstance(op, arith.OrIOp)
            sides = {known_condition(forms, op.lhs), known_condition(forms, op.rhs)}
            return decisive if decisive in sides else None if None in sides else not decisive
        case _:
            return None
