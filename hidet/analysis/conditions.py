"""Comparisons of forms: whether ranges decide them, and what is known where they hold."""

from __future__ import annotations

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
"""For each predicate of `arith.cmpi` its opposite."""


def predicate_of(op: arith.CmpiOp) -> str:
    """Return the predicate of a comparison as it is spelled."""
    return arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]


def decide(predicate: str, lhs: LinearForm, rhs: LinearForm, algebra: FormAlgebra) -> bool | None:
    """Return what a comparison gives if ranges and divisibility decide it, else None."""
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
    # Now the question is lhs < rhs, or lhs >= rhs for `ge` and `le`.
    less = True if difference.hi < 0 else False if difference.lo >= 0 else None
    return less if predicate[1:] in ("lt", "gt") or less is None else not less


def _decide_equal(difference: LinearForm, algebra: FormAlgebra) -> bool | None:
    """Return whether a difference is 0, if that is known."""
    lo, hi = algebra.range(difference)
    if lo == hi == 0:
        return True
    if lo > 0 or hi < 0:
        return False
    step = algebra.divisibility(difference.without_constant)
    return False if step and difference.constant % step else None


def conditions_of(forms: IndexForms, condition: SSAValue, holds: bool) -> list[Condition]:
    """Return what is known of forms where a condition is true, or where it is false.

    Conjunctions are taken apart where they hold, disjunctions where they do not; anything but
    comparisons of indices says nothing.
    """
    op = condition.owner
    if isinstance(op, arith.AndIOp if holds else arith.OrIOp):
        return conditions_of(forms, op.lhs, holds) + conditions_of(forms, op.rhs, holds)
    if not isinstance(op, arith.CmpiOp) or not isinstance(op.lhs.type, IndexType):
        return []
    predicate = predicate_of(op)
    if not holds:
        predicate = OPPOSITES[predicate]
    return _conditions_of_comparison(
        predicate, forms.form(op.lhs), forms.form(op.rhs), forms.algebra(op.parent)
    )


def _conditions_of_comparison(
    predicate: str, lhs: LinearForm, rhs: LinearForm, algebra: FormAlgebra
) -> list[Condition]:
    """Return what is known where a comparison holds."""
    if predicate in ("ugt", "uge"):
        lhs, rhs, predicate = rhs, lhs, "ult" if predicate == "ugt" else "ule"
    if predicate in ("ult", "ule"):
        # Below a number that is not negative, nothing is negative.
        if not algebra.is_nonnegative(rhs):
            return []
        signed = "s" + predicate[1:]
        return [*_at_least(lhs, 0), *_conditions_of_comparison(signed, lhs, rhs, algebra)]
    difference = algebra.add(lhs, rhs, -1)
    match predicate:
        case "slt":
            return _at_least(-difference, 1)
        case "sle":
            return _at_least(-difference, 0)
        case "sgt":
            return _at_least(difference, 1)
        case "sge":
            return _at_least(difference, 0)
        case "eq":
            return [*_at_least(difference, 0), *_at_least(-difference, 0)]
        case _:
            return []


def _at_least(form: LinearForm, limit: int) -> list[Condition]:
    """Return the condition that a form is at least a number."""
    if form.is_number:
        return []
    common = gcd(*form.terms.values())
    part = LinearForm({atom: factor // common for atom, factor in form.terms.items()})
    # common * part + constant >= limit
    return [(part, Range(-((form.constant - limit) // common), ANY.hi))]


def known_truth(forms: IndexForms, condition: SSAValue) -> bool | None:
    """Return the truth value of a condition of type i1 if it is known before it is computed."""
    match condition.owner:
        case arith.ConstantOp(value=IntegerAttr() as value):
            return bool(value.value.data)
        case arith.CmpiOp() as op if isinstance(op.lhs.type, IndexType):
            return forms.decide(op)
        case arith.AndIOp() as op:
            sides = known_truth(forms, op.lhs), known_truth(forms, op.rhs)
            return False if False in sides else True if sides == (True, True) else None
        case arith.OrIOp() as op:
            sides = known_truth(forms, op.lhs), known_truth(forms, op.rhs)
            return True if True in sides else False if sides == (False, False) else None
        case _:
            return None
