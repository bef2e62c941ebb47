"""The pass `inline-views`: inlines grids that only move elements, or compute weight vectors."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from hidet.analysis.grids import (
    is_cheap_to_inline,
    is_in_order,
    is_view,
    is_weight_vector,
    loads_of,
)
from hidet.dialects.compute import GridOp, LoadOp
from hidet.lowering.single_walk import rewrite_once
from hidet.rewriting.inlining import inline_into_loads, places_of


def inline_view(op: GridOp, rewriter: PatternRewriter) -> None:
    """A load of a view becomes a load of its source; unused views are erased.

    A load of a weight vector becomes its computation. A large view with several readers is kept. An
    output that is a view of rows that nothing else reads is computed itself, and read by others.
    """
    if (rows := rows_for_output(op)) is not None:
        inline_into_loads(rows)
        return
    if not is_view(op) and not is_weight_vector(op):
        return
    places = places_of(op)
    others = sum(not isinstance(use.operation, LoadOp) for use in op.result.uses)
    if is_cheap_to_inline(op, len(places) + others):
        inline_into_loads(op)


def rows_for_output(op: GridOp) -> GridOp | None:
    """Return the grid that only a view reads, in order, if the function returns that view."""
    is_output = any(isinstance(use.operation, ReturnOp) for use in op.result.uses)
    if not is_output or not is_view(op) or len(loads := loads_of(op)) != 1:
        return None
    source = loads[0].source
    if not isinstance(source.owner, GridOp) or not source.has_one_use() or source.owner.is_stored:
        return None
    is_same = is_in_order(op, source) and op.shape[-1:] == source.owner.shape[-1:]
    return source.owner if is_same else None


class InlineViewsPass(ModulePass):
    """Inline grids that only move elements (reshape, permute, slice, pad, expand, constants).

    Vectors that are computed elementwise from weights, such as the scale of a batch norm, are
    inlined too: recomputation is cheap and saves a kernel.

    A large view that is read at several elements is kept, which bounds code growth: `fuse` stores
    it.

    Expects functions of grids and anchors. Views that an anchor or the function's result reads are
    kept: `fuse` copies them into the kernel of each anchor.
    """

    name = "inline-views"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Inline views, producers first, so that chains are short when they are copied."""
        rewrite_once(op.body, {GridOp: inline_view})
