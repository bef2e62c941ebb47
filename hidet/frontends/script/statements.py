"""Executes the statements of a script: at compile time where possible, else by emitting IR."""

import ast
from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects import scf
from xdsl.ir import Block, Region

from hidet.dialects.cuda import AssertOp
from hidet.dialects.cuda.names import hint_of
from hidet.errors import ScriptError
from hidet.frontends.script.calls import bind
from hidet.frontends.script.exits import Ended, Exits
from hidet.frontends.script.launches import convert_number
from hidet.frontends.script.loops import Loops
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Scalar, common_kind, convert, is_number, negated
from hidet.frontends.script.syntax_analysis import always_exits, are_assigned, read_names
from hidet.frontends.script.tensors import Pointer, Tensor
from hidet.frontends.script.threads import WarpGroups
from hidet.frontends.script.tracing import current, insert
from hidet.frontends.script.types import (
    PointerType,
    ScalarType,
    TensorType,
    VectorType,
    scalar_type,
)
from hidet.frontends.script.variables import Scopes, Variable


class Statements(Loops):
    """Executes the statements of a function."""

    def run(self, statements: Sequence[ast.stmt]) -> Ended | None:
        """Execute statements; return how they ended if all paths exited."""
        outer, tail, taken = self.rest, self.exits.tail, self.exits.taken
        left = None
        for number, statement in enumerate(statements):
            after = statements[number + 1 :]
            self.rest = (*outer, after)
            if isinstance(statement, ast.If):
                statement, after = self._structured(statement, after)
                self.rest = (*outer, after)
            self.exits.taken, self.exits.tail = {}, tail and not after
            left = self.execute(statement)
            pending, self.exits.taken, self.exits.tail = self.exits.taken, taken, tail
            self.exits.add(pending)
            if left is not None or not after:
                break
            if pending:
                self.rest = outer
                left = self.guarded(pending, statement, lambda after=after: self.run(after))
                break
        self.rest = outer
        return left

    def execute(self, statement: ast.stmt) -> Ended | None:
        """Execute one statement."""
        current().set_line(self.source.file, self.source.line_of(statement))
        with self.source.at(statement):
            return self.visit(statement)

    def _structured(
        self, statement: ast.If, after: Sequence[ast.stmt]
    ) -> tuple[ast.If, Sequence[ast.stmt]]:
        """Move what follows `if c: return` into its `else`."""
        then_leaves, else_leaves = always_exits(statement.body), always_exits(statement.orelse)
        if not after or not (then_leaves or else_leaves):
            return statement, after
        body, orelse = list(statement.body), list(statement.orelse)
        (orelse if then_leaves else body).extend(after)
        moved = ast.copy_location(ast.If(statement.test, body, orelse), statement)
        return moved, ()

    # Functions.

    def run_function(
        self,
        function: ast.FunctionDef,
        arguments: Mapping[str, object],
        returns: ScalarType | None = None,
    ) -> object:
        """Execute the body of a function; return its result."""
        self.exits = Exits(returns)
        self.rest = (function.body,)
        for name, value in arguments.items():
            self.assign_name(name, value)
        self.rest = ()
        left = self.run(function.body)
        with self.source.at(function):
            return self.exits.result(left)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Define a nested function, which is inlined at each call."""
        for decorator in node.decorator_list:
            raise self.source.error(
                decorator, f"'{node.name}' is decorated in a script", "write a plain 'def'"
            )
        signature = self.signature(node.args)
        parameters = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        types = {each.arg: self._annotation(each.annotation) for each in parameters}
        returns = self._annotation(node.returns)
        captured = self.captured(node)

        def function(*values: object, **keywords: object) -> object:
            given = bind(f"'{node.name}'", signature, values, keywords)
            inner = type(self)(self.source, self.outside, Scopes(captured))
            converted = {
                name: self._as(value, types.get(name), is_changed=are_assigned(name, node.body))
                for name, value in given.items()
            }
            with current().nested(node.name):
                return self._as(inner.run_function(node, converted, returns), returns)

        captured[node.name] = function
        self.scopes.define(node.name, function)

    def _annotation(self, node: ast.expr | None) -> ScalarType | None:
        """Return the scalar type of an annotation; other annotations are ignored."""
        kind = None if node is None else self.evaluate(node)
        is_memory = isinstance(kind, TensorType | PointerType | VectorType)
        return None if kind is None or is_memory else scalar_type(kind)

    def _as(self, value: object, kind: ScalarType | None, *, is_changed: bool = False) -> object:
        if kind is None or value is None:
            return value
        return convert_number(value, kind, is_changed=is_changed)

    # Simple statements.

    def visit_Expr(self, node: ast.Expr) -> None:
        """Evaluate an expression for its effects."""
        self.evaluate(node.value)

    def visit_Pass(self, node: ast.Pass) -> None:
        """Do nothing."""

    def visit_Return(self, node: ast.Return) -> Ended:
        """Exit the function."""
        value = None if node.value is None else self.evaluate(node.value)
        return self.exits.take("return", value)

    def visit_Break(self, node: ast.Break | ast.Continue) -> Ended:
        """Exit the loop or the iteration."""
        return self.exits.take("break" if isinstance(node, ast.Break) else "continue")

    visit_Continue = visit_Break

    def visit_Assert(self, node: ast.Assert) -> None:
        """Check a condition at compile time, or emit an assertion."""
        value = self.condition(node.test)
        known = not isinstance(value, Scalar)
        if known and value:
            return
        message = None if node.msg is None else self.evaluate(node.msg)
        if isinstance(message, Scalar | Tensor | Pointer):
            raise ScriptError(
                f"the message of an assertion is text, not {describe(message)}",
                hint='print values by printf("%f", x)',
            )
        if known:
            raise ScriptError("the assertion does not hold" + (f": {message}" if message else ""))
        assert isinstance(value, Scalar)
        if current().in_parallel:
            raise ScriptError(
                "an assertion in a parallel loop", hint="check before the loop, or after it"
            )
        text = str(message or ast.unparse(node.test))
        insert(AssertOp(value.ssa, f"{self.source.where(node)}: {text}"))

    # Branches.

    def visit_If(self, node: ast.If) -> Ended | None:
        """Execute one side of a branch, or emit a run-time branch."""
        self.rest = (*self.rest, (*node.body, *node.orelse))
        condition = self.condition(node.test)
        self.rest = self.rest[:-1]
        return self._branch(node, condition)

    def visit_With(self, node: ast.With) -> Ended | None:
        """Execute `with warp_groups([0]) as thread:`, a branch taken by some threads."""
        first, *others = node.items
        entered = self.evaluate(first.context_expr)
        if not isinstance(entered, WarpGroups):
            raise self.source.error(
                first.context_expr,
                f"a script has no 'with' of {describe(entered)}",
                "only warp groups are supported: with warp_groups([0]) as thread",
            )
        condition, thread = entered.enter()
        body = node.body
        if others:
            body = [cast("ast.stmt", ast.copy_location(ast.With(others, node.body), node))]
        branch = ast.copy_location(ast.If(first.context_expr, body, []), node)
        with self.scopes.open(runtime=False):
            if first.optional_vars is not None:
                self.bind(first.optional_vars, thread)
            return self._branch(branch, condition)

    def _branch(self, node: ast.If, condition: object) -> Ended | None:
        """Execute one side of a branch with a known condition, or emit a run-time branch."""
        if not isinstance(condition, Scalar):
            return self.run(node.body if condition else node.orelse)
        blocks: list[Block] = []
        names: list[dict[str, object]] = []
        ends: list[Ended | None] = []
        for statements in (node.body, node.orelse):
            with current().arm() as block, self.scope() as scope:
                ends.append(self.run(statements))
            blocks.append(block)
            names.append(scope)
        merged = self._merged(node, names, ends)
        returned = self._returned(node, blocks, ends)
        pairs = list(merged.values()) + ([returned] if returned is not None else [])
        results = self._insert_branch(condition, blocks, pairs)
        for name, result in zip(merged, results, strict=False):
            result.ssa.name_hint = hint_of(name)
            self.assign_name(name, result)
        lefts = [left for left in ends if left is not None]
        if len(lefts) < len(ends):
            return None
        kind = lefts[0].kind if lefts[0].kind == lefts[1].kind else None
        stored = any(left.stored for left in lefts)
        return Ended(kind, results[-1] if returned is not None else None, stored)

    def _merged(
        self, node: ast.If, sides: list[dict[str, object]], ends: list[Ended | None]
    ) -> dict[str, tuple[object, object]]:
        """Return the names to be merged after the branch, with the value of each side."""
        then, otherwise = sides
        merged: dict[str, tuple[object, object]] = {}
        if any(left is not None for left in ends):
            return merged
        line = self.source.line_of(node)
        for name in dict.fromkeys([*then, *otherwise]):
            if name not in then or name not in otherwise:
                self.scopes.lose(name, f"only one side of the 'if' in line {line} assigns it")
                continue
            pair = then[name], otherwise[name]
            if pair[0] is pair[1]:
                self.scopes.define(name, pair[0])
            elif not all(isinstance(value, Scalar | Variable | int | float) for value in pair):
                kinds = " and ".join(describe(value) for value in pair)
                self.scopes.lose(name, f"after the 'if' in line {line} it is {kinds}")
            elif any(name in read_names(each) for part in self.rest for each in part):
                merged[name] = pair
            else:
                self.scopes.lose(name, f"it was assigned inside the 'if' in line {line}")
        return merged

    def _returned(
        self, node: ast.If, blocks: list[Block], ends: list[Ended | None]
    ) -> tuple[object, object] | None:
        if any(left is not None and left.stored for left in ends):
            for block, left in zip(blocks, ends, strict=True):
                if left is not None and left.value is not None:
                    with current().inside(block):
                        self.exits.store_result(left.value)
            return None
        values = [None if left is None else left.value for left in ends]
        if values[0] is None and values[1] is None:
            return None
        if not all(isinstance(value, Scalar) or is_number(value) for value in values):
            kinds = " and ".join("nothing" if v is None else describe(v) for v in values)
            raise self.source.error(
                node, f"the sides of this 'if' return {kinds}", "return a scalar from both sides"
            )
        return values[0], values[1]

    def _insert_branch(
        self, condition: Scalar, blocks: list[Block], pairs: list[tuple[object, object]]
    ) -> list[Scalar]:
        """Insert a branch with one result per pair of values."""
        yielded: list[list[Scalar]] = [[], []]
        kinds: list[ScalarType] = []
        for pair in pairs:
            alternatives: list[object] = []
            for block, value in zip(blocks, pair, strict=True):
                with current().inside(block):
                    if isinstance(value, Variable):
                        value = value.read()
                    alternatives.append(value)
            kind = common_kind(*alternatives)
            kinds.append(kind)
            for block, values, value in zip(blocks, yielded, alternatives, strict=True):
                with current().inside(block):
                    values.append(convert(value, kind))
        then, otherwise = blocks
        if not pairs and then.first_op is None and otherwise.first_op is not None:
            condition, then, otherwise = negated(condition), otherwise, then
        current().finish_arm(then, [each.ssa for each in yielded[0]])
        false_region = None
        if pairs or otherwise.first_op is not None:
            current().finish_arm(otherwise, [each.ssa for each in yielded[1]])
            false_region = Region(otherwise)
        types = [kind.ir for kind in kinds]
        op = insert(scf.IfOp(condition.ssa, types, Region(then), false_region))
        return [Scalar(r, k) for r, k in zip(op.results, kinds, strict=True)]
