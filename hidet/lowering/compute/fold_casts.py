"""The pass `fold-casts`: removes narrowing casts that are widened again."""

from xdsl.context import Context
from xdsl.dialects.arith import ExtFOp, TruncFOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from hidet.dialects.cuda.marks import EXPLICIT
from hidet.lowering.single_walk import apply_rules
from hidet.rewriting.locations import LocatedBuilder


def fold_widened(b: LocatedBuilder, op: ExtFOp) -> SSAValue | None:
    """`extf(truncf(x))` becomes `x` if the types agree."""
    narrow = op.input.owner
    if isinstance(narrow, TruncFOp) and narrow.input.type == op.result.type:
        return narrow.input
    return None


class FoldCastsPass(ModulePass):
    """Drop the rounding of intermediate values inside a kernel.

    Expects kernels whose views are inlined; leaves chains of f16 ops computed in f32 from load to
    store. Results are more accurate than op by op. Kernels marked `cuda.explicit` are left alone.
    """

    name = "fold-casts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fold the casts of a module."""
        for each in op.ops:
            if EXPLICIT not in each.attributes:
                for region in each.regions:
                    apply_rules(region, LocatedBuilder, {ExtFOp: fold_widened})
