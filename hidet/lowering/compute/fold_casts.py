"""The pass `fold-casts`: removes narrowing casts that are widened again."""

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.arith import ConstantOp, DivfOp, ExtFOp, MulfOp, TruncFOp
from xdsl.dialects.builtin import FloatAttr, FloatData, ModuleOp, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from hidet.dialects.cuda.arithmetic import FunctionOp
from hidet.dialects.cuda.marks import EXPLICIT
from hidet.lowering.single_walk import apply_rules
from hidet.rewriting.locations import LocatedBuilder


def fold_widened(b: LocatedBuilder, op: ExtFOp) -> SSAValue | None:
    """`extf(truncf(x))` becomes `x` if the types agree, also if a branch yields the latter."""
    return _wide(op.input, op.result.type)


def _wide(x: SSAValue, wide: Attribute) -> SSAValue | None:
    """Return a value as it was before its rounding, None if it was not rounded."""
    narrow = x.owner
    if isinstance(narrow, TruncFOp):
        return narrow.input if narrow.input.type == wide else None
    if not isinstance(narrow, scf.IfOp) or len(narrow.results) > 1 or not x.has_one_use():
        return None
    ends = [region.block.last_op for region in narrow.regions]
    values = [end.operands[0] for end in ends if end is not None]
    found = [_wide(value, wide) for value in values]
    if not any(found):
        return None
    for end, value, known in zip(ends, values, found, strict=True):
        assert end is not None
        end.operands[0] = known or LocatedBuilder.like(end).insert(ExtFOp(value, wide)).result
    return Rewriter.replace_value_with_new_type(x, wide)


SMALLEST = 2.0**-64
"""Divisors of this size and their inverses are far from the subnormals of f32."""


def divide_fast(b: LocatedBuilder, op: TruncFOp) -> SSAValue | None:
    """A quotient that is rounded to 16 bits may be off by 2 units in the last place of an f32.

    By a constant it is a product with its inverse.
    """
    quotient = op.input.owner
    if not isinstance(quotient, DivfOp) or op.input.type != f32 or not op.input.has_one_use():
        return None
    match quotient.rhs.owner:
        case ConstantOp(value=FloatAttr(value=FloatData(data=divisor))) if (
            SMALLEST <= abs(divisor) <= 1 / SMALLEST
        ):
            inverse = b.insert(ConstantOp(FloatAttr(1 / divisor, f32))).result
            fast = b.insert(MulfOp(quotient.lhs, inverse)).result
        case _:
            fast = b.insert(FunctionOp("fast_divide", quotient.operands, f32)).result
    return b.insert(TruncFOp(fast, op.result.type)).result


class FoldCastsPass(ModulePass):
    """Drop the rounding of intermediate values inside a kernel.

    Expects kernels whose views are inlined; leaves chains of f16 ops computed in f32 from load to
    store. Results are more accurate than op by op. A quotient that is rounded to 16 bits then is an
    approximate one: exact quotients stay exact. Kernels marked `cuda.explicit` are left alone.
    """

    name = "fold-casts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fold the casts of a module."""
        for each in op.ops:
            if EXPLICIT not in each.attributes:
                for region in each.regions:
                    apply_rules(region, LocatedBuilder, {ExtFOp: fold_widened})
                    apply_rules(region, LocatedBuilder, {TruncFOp: divide_fast})
