"""The pass `inline-views`: what only moves elements, or computes a vector of weights."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from hidet.analysis.grids import is_view, is_weight_vector, stays_small
from hidet.dialects.compute import GridOp, LoadOp
from hidet.lowering.single_walk import rewrite_once
from hidet.rewriting.inlining import inline_into_loads, places_of


class InlineView(RewritePattern):
    """A load of a view becomes a load of what the view shows; a view without users goes.

    So does a load of a vector of weights: the vector's element is computed where it is loaded.
    A long view with several readers stays.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GridOp, rewriter: PatternRewriter) -> None:
        """Inline one grid into its loads."""
        if not is_view(op) and not is_weight_vector(op):
            return
        places = places_of(op)
        others = sum(not isinstance(use.operation, LoadOp) for use in op.result.uses)
        if stays_small(op, len(places) + others):
            inline_into_loads(op)


@dataclass(frozen=True)
class InlineViewsPass(ModulePass):
    """Inline grids that only move elements (reshape, permute, slice, pad, expand, constants).

    Vectors that are computed element by element from weights, as the scale of a batch norm is, are
    inlined too: what that takes again and again is little, and no kernel has to run before.

    A view of many operations that is read at several places is left, so that no program grows
    beyond measure: `fuse` stores it. A place is an element in a block; loads of it share a copy.

    Expects functions of grids and anchors. Views are left where an anchor or the function's
    result takes them: `fuse` puts a copy of a view into the kernel of each anchor that reads it.
    """

    name = "inline-views"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Inline views; producers first, so that chains are short when they are copied."""
        rewrite_once(op.body, {GridOp: InlineView()})
