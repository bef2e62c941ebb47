"""Rewriting each op of some classes once, in one walk.

xDSL's greedy driver hands every op to every pattern and keeps a worklist up to date. Most passes
know beforehand which ops they are about, and make none that they would have to meet again.
"""

from collections.abc import Mapping

from xdsl.ir import Operation, Region
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern


def rewrite_once(
    region: Region,
    patterns: Mapping[type[Operation], RewritePattern],
    *,
    backwards: bool = False,
    inner_first: bool = False,
) -> None:
    """Apply to every op of a region the pattern for its class, if there is one.

    Ops are found ahead of the first rewrite. One that has been erased by then is left out.

    Args:
        region: the region; ops in regions of its ops count, too.
        patterns: by the class of an op; subclasses are classes of their own.
        backwards: whether the last op comes first.
        inner_first: whether an op comes after those in its regions.
    """
    ops = region.walk(reverse=backwards, region_first=inner_first)
    for op in [op for op in ops if type(op) in patterns]:
        if op.parent is not None:
            patterns[type(op)].match_and_rewrite(op, PatternRewriter(op))
