"""C++ expressions: rules shared by `demote-scf-values` and `form-expressions`."""

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from hidet.analysis.memory import is_arithmetic

MAX_CONDITIONAL = 12
"""The most operators of a branch that is printed as `c ? a : b`."""

# Predicates of `arith.cmpf` without a C++ operator: operands are printed twice.
_TWICE = frozenset(
    number for number, name in enumerate(arith.CMPF_COMPARISON_OPERATIONS) if name in ("one", "ueq")
)


def prints_operands_twice(op: Operation) -> bool:
    """Return whether an op is printed with repeated operands, which then need names."""
    return isinstance(op, arith.CmpfOp) and op.predicate.value.data in _TWICE


def operators_of(op: scf.IfOp) -> int | None:
    """Return the number of operators of a branch that can be printed as `c ? a : b`, else None.

    Both arms must be trees of arithmetic and loads.
    """
    if len(op.results) != 1 or not op.false_region.blocks:
        return None
    total = 1
    for region in op.regions:
        operators = _operators_of_arm(region.block)
        if operators is None:
            return None
        total += operators
    return total if total <= MAX_CONDITIONAL else None


def _operators_of_arm(arm: Block) -> int | None:
    """Return the number of operators of an arm, None if it is not an expression."""
    total = 0
    for op in arm.ops:
        if isinstance(op, arith.ConstantOp | scf.YieldOp):
            continue
        operators = operators_of(op) if isinstance(op, scf.IfOp) else _operators_of_leaf(op, arm)
        if operators is None or not op.results[0].has_one_use():
            return None
        total += operators
    return total


def _operators_of_leaf(op: Operation, arm: Block) -> int | None:
    """Return 1 if an op of an arm can be part of an expression, else None."""
    if not is_arithmetic(op) and not isinstance(op, memref.LoadOp):
        return None
    if prints_operands_twice(op) and any(_needs_name(operand, arm) for operand in op.operands):
        return None
    return 1


def _needs_name(value: SSAValue, arm: Block) -> bool:
    """Return whether a value that is printed twice is computed inside the arm."""
    owner = value.owner
    return (
        isinstance(owner, Operation)
        and owner.parent is arm
        and not isinstance(owner, arith.ConstantOp)
    )
