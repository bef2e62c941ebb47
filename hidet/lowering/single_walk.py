"""Pattern application without a worklist: each matching op is rewritten once, in one walk.

xDSL's greedy driver offers every op to every pattern and maintains a worklist. Most passes know the
op classes that they match and never create ops that they would have to match again.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from xdsl.ir import Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from hidet.dialects.walking import ops_in
from hidet.rewriting.locations import LocatedBuilder, locate

Pattern = Callable[[Any, PatternRewriter], None]
"""Rewrites an op of the class that it is registered for; others are never passed to it."""


def rewrite_once(
    region: Region,
    patterns: Mapping[type[Operation], Pattern],
    *,
    backwards: bool = False,
    inner_first: bool = False,
) -> bool:
    """Apply to each op of a region the pattern for its class; return whether any op was rewritten.

    Ops are collected before the first rewrite. Ops that have been erased since are skipped. New ops
    get the location of the op that the pattern matched. The order is that of `ops_in`.
    """
    ops = ops_in(region, backwards=backwards, inner_first=inner_first)
    matched = [op for op in ops if type(op) in patterns]
    if not matched:
        return False
    rewriter = PatternRewriter(matched[0])
    for op in matched:
        if op.parent is not None:
            rewriter.insertion_point = InsertPoint.before(op)
            rewriter.operation_insertion_handler = [partial(locate, location=op.location)]
            patterns[type(op)](op, rewriter)
    return rewriter.has_done_action


BuilderT = TypeVar("BuilderT", bound=LocatedBuilder)

Rule = Callable[[BuilderT, Any], SSAValue | None]
"""Builds the replacement of an op and returns its result, or None to keep the op."""


def apply_rules(
    region: Region,
    builder_class: type[BuilderT],
    rules: Mapping[type[Operation], Rule[BuilderT]],
) -> None:
    """Replace each op of a region by what the rule of its class builds, in one backward walk.

    A rule sees the original operands. The ops that it builds are final and not visited again.
    Unused ops are erased.
    """

    def replace(op: Operation, rewriter: PatternRewriter) -> None:
        if not any(result.uses for result in op.results):
            rewriter.erase(op)
            return
        result = rules[type(op)](builder_class.like(op), op)
        if result is not None:
            rewriter.replace(op, [], [result])

    rewrite_once(region, dict.fromkeys(rules, replace), backwards=True)
