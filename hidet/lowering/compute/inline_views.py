"""The pass `inline-views`: what only moves elements is read through."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)

from hidet.analysis.grids import is_view
from hidet.dialects.compute import GridOp
from hidet.lowering.inlining import inline_into_loads


class InlineView(RewritePattern):
    """A load of a view becomes a load of what the view shows; a view without users goes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GridOp, rewriter: PatternRewriter) -> None:
        """Inline one view into its loads."""
        if not is_view(op):
            return
        inline_into_loads(op, rewriter)
        if not op.result.uses:
            rewriter.erase(op)


@dataclass(frozen=True)
class InlineViewsPass(ModulePass):
    """Inlines grids that only move elements (reshape, permute, slice, pad, expand, constants).

    Expects functions of grids and anchors. Views are left where an anchor or the function's
    result takes them: `fuse` puts a copy of a view into the kernel of each anchor that reads it.
    """

    name = "inline-views"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Inline views; producers first, so that chains are short when they are copied."""
        PatternRewriteWalker(InlineView(), apply_recursively=False).rewrite_module(op)
