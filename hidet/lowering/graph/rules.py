"""Lowering rules: functions that replace one op of the graph dialect, by class.

A lowering of many operators is one pattern with a table of rules, since a lookup by class is free
whereas the patterns of a list are tried in turn.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from hidet.lowering.single_walk import rewrite_once
from hidet.rewriting.locations import location_setter

BuilderT = TypeVar("BuilderT", bound=Builder)

Rule = Callable[[BuilderT, Any], SSAValue | None]
"""Builds the replacement of an op and returns its result, or None to keep the op."""


@dataclass(frozen=True)
class ReplaceByRule(RewritePattern, Generic[BuilderT]):
    """An op is replaced by what the rule of its class builds, at the same location.

    Unused ops are erased.
    """

    builder_class: type[BuilderT]
    rules: Mapping[type[Operation], Rule[BuilderT]]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrite one op."""
        if not any(result.uses for result in op.results):
            rewriter.erase(op)
            return
        builder = self.builder_class(InsertPoint.before(op))
        builder.operation_insertion_handler.append(location_setter(op.location))
        result = self.rules[type(op)](builder, op)
        if result is not None:
            rewriter.replace(op, [], [result])


def apply_rules(
    module: ModuleOp,
    builder_class: type[BuilderT],
    rules: Mapping[type[Operation], Rule[BuilderT]],
) -> None:
    """Apply rules to every op of a module in one backward walk.

    A rule sees the original operands. The ops that it builds are final and not visited again.
    """
    pattern = ReplaceByRule(builder_class, rules)
    rewrite_once(module.body, dict.fromkeys(rules, pattern), backwards=True)
