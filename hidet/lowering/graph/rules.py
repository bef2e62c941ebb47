"""Rules that replace one operation of the graph dialect, looked up by its class.

A lowering over many operators is one pattern and a table, and no pattern an operator: looking up a
class costs nothing, while a list of patterns is tried one after the other.
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
"""Builds what an operation becomes and gives the new result, or None to leave it as it is."""


@dataclass(frozen=True)
class ReplaceByRule(RewritePattern, Generic[BuilderT]):
    """Replaces an operation by what the rule for its class builds, at the operation's location.

    One whose result nothing uses is erased.
    """

    builder_class: type[BuilderT]
    rules: Mapping[type[Operation], Rule[BuilderT]]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrite one operation, for whose class there is a rule."""
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
    """Apply the rules to every operation of a module, in one walk from the last to the first.

    A rule meets its operands as they were. What it builds is not visited again: rules build what
    is to stay.
    """
    pattern = ReplaceByRule(builder_class, rules)
    rewrite_once(module.body, dict.fromkeys(rules, pattern), backwards=True)
