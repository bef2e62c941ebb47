"""Pattern application without a worklist: each matching op is rewritten once, in one walk.

xDSL's greedy driver offers every op to every pattern and maintains a worklist. Most passes know the
op classes that they match and never create ops that they would have to match again.
"""

from collections.abc import Mapping

from xdsl.ir import Operation, Region
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from hidet.rewriting.locations import location_setter


def rewrite_once(
    region: Region,
    patterns: Mapping[type[Operation], RewritePattern],
    *,
    backwards: bool = False,
    inner_first: bool = False,
) -> bool:
    """Apply to each op of a region the pattern for its class; return whether any op was rewritten.

    Ops are collected before the first rewrite. Ops that have been erased since are skipped. New ops
    get the location of the op that the pattern matched.

    Args:
        region: the region, including nested regions.
        patterns: patterns by exact op class.
        backwards: whether to walk in reverse order.
        inner_first: whether to visit the ops in the regions of an op before the op.
    """
    ops = region.walk(reverse=backwards, region_first=inner_first)
    changed = False
    for op in [op for op in ops if type(op) in patterns]:
        if op.parent is not None:
            rewriter = PatternRewriter(op)
            rewriter.operation_insertion_handler = [location_setter(op.location)]
            patterns[type(op)].match_and_rewrite(op, rewriter)
            changed |= rewriter.has_done_action
    return changed
