"""Executes the statements of a script: what Python knows runs now, the rest becomes IR."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, UnitAttr, i64
from xdsl.ir import Block, Region, SSAValue

from hidet.dialects.task import ForeachOp
from hidet.errors import ScriptError
from hidet.frontends.script.attributes import Attributes, set_attribute
from hidet.frontends.script.expressions import Expressions, common_kind, unpack
from hidet.frontends.script.facts import are_assigned, exit_in, leaves, read_names
from hidet.frontends.script.source import LocatedError
from hidet.frontends.script.types import INDEX, ScalarType, TensorType, scalar_type
from hidet.frontends.script.values import (
    Grid,
    Pointer,
    Range,
    Scalar,
    Tasks,
    Tensor,
    Variable,
    describe,
    is_number,
)
from hidet.lowering.builder import UNROLL

Result = TypeVar("Result")


@dataclass(frozen=True)
class Left:
    """Statements have ended early.

    Attributes:
        by: `return`, `continue` or `break`.
        value: what is returned.
    """

    by: str
    value: object = None


class Statements(Expressions):
    """Executes the statements of one function."""

    rest: tuple[Sequence[ast.stmt], ...] = ()
    """The statements after those that are executed, of all blocks around them."""

    def run(self, statements: Sequence[ast.stmt]) -> Left | None:
        """Execute statements; return how they ended early, if they did."""
        outer = self.rest
        for number, statement in enumerate(statements):
            after = statements[number + 1 :]
            self.rest = (*outer, after)
            if isinstance(statement, ast.If):
                statement, after = self._structured(statement, after)
                self.rest = (*outer, after)
            left = self.execute(statement)
            if left is not None:
                self.rest = outer
                return left
            if not after:
                break
        self.rest = outer
        return None

    def execute(self, statement: ast.stmt) -> Left | None:
        """Execute one statement.

        Raises:
            ScriptError: something is wrong with it; the error shows where.
        """
        rule = _RULES.get(type(statement))
        if rule is None:
            raise self.source.error(
                statement,
                f"a script cannot contain this statement ({type(statement).__name__})",
                "supported are assignments, calls, if, for, return, continue, pass, assert of "
                "what is known, and attributes",
            )
        self.emitter.set_line(self.source.file, self.source.line_of(statement))
        try:
            return rule(self, statement)
        except LocatedError:
            raise
        except Exception as error:
            raise self.source.locate(statement, error) from error

    def _structured(
        self, statement: ast.If, after: Sequence[ast.stmt]
    ) -> tuple[ast.If, Sequence[ast.stmt]]:
        """Move what comes after `if c: return` into its `else`, where it belongs.

        Raises:
            ScriptError: only some paths through a branch leave, so that there is no such place.
        """
        if not after or exit_in(statement) is None:
            return statement, after
        then_leaves, else_leaves = leaves(statement.body), leaves(statement.orelse)
        if not then_leaves and not else_leaves:
            inner = exit_in(statement)
            assert inner is not None
            raise self.source.error(
                inner,
                "only some paths through the 'if' around leave here, and statements follow it",
                "let the outer 'if' end with it, or write the rest under 'else'",
            )
        body, orelse = list(statement.body), list(statement.orelse)
        if then_leaves:
            orelse += after
        else:
            body += after
        moved = ast.copy_location(ast.If(statement.test, body, orelse), statement)
        return moved, ()

    # Simple statements.

    def expression(self, node: ast.Expr) -> None:
        """Evaluate an expression for what it does."""
        self.evaluate(node.value)

    def nothing(self, node: ast.stmt) -> None:
        """Do nothing."""

    def returns(self, node: ast.Return) -> Left:
        """Leave the function."""
        return Left("return", None if node.value is None else self.evaluate(node.value))

    def continues(self, node: ast.Continue) -> Left:
        """Leave the body of the loop for this iteration."""
        return Left("continue")

    def breaks(self, node: ast.Break) -> Left:
        """Leave a loop that Python unrolls."""
        return Left("break")

    def asserts(self, node: ast.Assert) -> None:
        """Check what is known when the script is defined."""
        value = self.evaluate(node.test)
        if isinstance(value, Scalar):
            raise ScriptError(
                "an assertion about values of the kernel is not supported yet",
                hint="assert what is known when the script is defined",
            )
        if not value:
            message = "" if node.msg is None else f": {self.evaluate(node.msg)}"
            raise ScriptError(f"the assertion does not hold{message}")

    # Assignments.

    def assign(self, node: ast.Assign) -> None:
        """Assign a value to names, elements or attributes of the kernel."""
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign_to(target, value)

    def assign_to(self, target: ast.expr, value: object) -> None:
        """Assign a value to one target."""
        match target:
            case ast.Name():
                self.assign_name(target.id, value)
            case ast.Tuple() | ast.List():
                values = self._at(target, lambda: unpack(value, len(target.elts)))
                for element, each in zip(target.elts, values, strict=True):
                    self.assign_to(element, each)
            case ast.Subscript():
                self.store(target, value)
            case ast.Attribute():
                base = self.evaluate(target.value)
                if not isinstance(base, Attributes):
                    raise self.source.error(target, f"{describe(base)} takes no attributes")
                self._at(target, lambda: set_attribute(self.emitter, base, target.attr, value))
            case _:
                raise self.source.error(target, "nothing can be assigned to this")

    def _at(self, node: ast.AST, action: Callable[[], Result]) -> Result:
        try:
            return action()
        except LocatedError:
            raise
        except ScriptError as error:
            raise self.source.locate(node, error) from error

    def store(self, target: ast.Subscript, value: object) -> None:
        """Store an element."""
        base = self.evaluate(target.value)
        if not isinstance(base, Tensor | Pointer):
            raise self.source.error(
                target,
                f"{describe(base)} cannot be changed by a kernel",
                "make a tensor: register_tensor('float32', [n])",
            )
        pointer = self._at(target, lambda: self.address(base, target))
        self.emitter.store_at(value, pointer)

    def assign_name(self, name: str, value: object, kind: ScalarType | None = None) -> None:
        """Assign a value to a name.

        A name that is assigned again later is a variable of the thread; any other one is the value
        itself.
        """
        scope = self.scopes.find(name)
        if scope is not None:
            bound = scope.names[name]
            if isinstance(bound, Variable):
                self.emitter.write(value, bound)
                return
            if self.scopes.crosses_runtime(scope):
                raise ScriptError(
                    f"'{name}' is {describe(bound)}, and cannot become {describe(value)} where "
                    "the kernel decides whether it does",
                    hint="take another name",
                )
            scope.names[name] = self._named(name, value)
            return
        if isinstance(value, Scalar | int | float):
            if any(are_assigned(name, statements) for statements in self.rest):
                self.scopes.define(name, self.emitter.variable(name, value, kind))
                return
            if kind is not None:
                value = self.emitter.cast(self.emitter.scalar_of(value, kind), kind)
        self.scopes.define(name, self._named(name, value))

    @staticmethod
    def _named(name: str, value: object) -> object:
        """Give a value the name of the user, where it has none."""
        if isinstance(value, Scalar) and value.ssa.name_hint is None:
            value.ssa.name_hint = name
        elif isinstance(value, Tensor) and value.memory.name_hint is None:
            value.memory.name_hint = name
        return value

    def annotated(self, node: ast.AnnAssign) -> None:
        """Declare a variable, `x: f32 = 0.0`; without a value it holds anything."""
        kind = self.evaluate(node.annotation)
        if isinstance(kind, TensorType) or not isinstance(node.target, ast.Name):
            raise ScriptError(
                "only scalars are declared by an annotation",
                hint="make tensors by register_tensor('float32', [n]) or shared_tensor",
            )
        kind = scalar_type(kind)
        name = node.target.id
        if node.value is None:
            self.scopes.define(name, self.emitter.variable(name, None, kind))
            return
        self.assign_name(name, self.evaluate(node.value), kind)

    def augmented(self, node: ast.AugAssign) -> None:
        """Change a variable or an element."""
        target = node.target
        if isinstance(target, ast.Subscript):
            base = self.evaluate(target.value)
            if isinstance(base, Tensor | Pointer):
                pointer = self._at(target, lambda: self.address(base, target))
                old = self.emitter.load_at(pointer)
                value = self.operate(node.op, old, self.evaluate(node.value))
                self.emitter.store_at(value, pointer)
                return
        if not isinstance(target, ast.Name):
            raise self.source.error(target, "this cannot be changed")
        old = self.evaluate(target)
        value = self.operate(node.op, old, self.evaluate(node.value))
        self.assign_name(target.id, value)

    # Branches.

    def branch(self, node: ast.If) -> Left | None:
        """Execute one side of a branch, or make one of the kernel."""
        condition = self.condition(node.test)
        if not isinstance(condition, Scalar):
            return self.run(node.body if condition else node.orelse)
        sides = [self._side(statements) for statements in (node.body, node.orelse)]
        ends = [left for _, _, left in sides]
        if any(left is not None and left.by == "break" for left in ends):
            raise self.source.error(
                next(each for each in ast.walk(node) if isinstance(each, ast.Break)),
                "'break' is not supported yet where the kernel decides whether it is reached",
                "let the loop run on and guard its body, or loop over fewer elements",
            )
        merged = self._merged(node, [names for _, names, _ in sides], ends)
        returned = self._returned(node, ends)
        pairs = list(merged.values()) + ([returned] if returned is not None else [])
        blocks = [block for block, _, _ in sides]
        results = self._insert_branch(condition, blocks, pairs)
        for name, result in zip(merged, results, strict=False):
            result.ssa.name_hint = name
            self.assign_name(name, result)
        if all(left is not None for left in ends):
            first = ends[0]
            assert first is not None
            return Left(first.by, results[-1] if returned is not None else None)
        return None

    def _side(
        self, statements: Sequence[ast.stmt]
    ) -> tuple[Block, dict[str, object], Left | None]:
        """Execute a side of a branch of the kernel in a scope of its own."""
        with self.emitter.arm() as block, self._scope() as scope:
            left = self.run(statements)
        return block, scope, left

    @contextmanager
    def _scope(self) -> Generator[dict[str, object]]:
        """Open a scope that the kernel decides about; gives its names, also after its end."""
        names: dict[str, object] = {}
        self.scopes.enter(runtime=True)
        yield names
        names.update(self.scopes.exit())

    def _merged(
        self, node: ast.If, sides: list[dict[str, object]], ends: list[Left | None]
    ) -> dict[str, tuple[object, object]]:
        """Return the names that both sides give a value that is read after the branch."""
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

    def _returned(self, node: ast.If, ends: list[Left | None]) -> tuple[object, object] | None:
        """Return the values that the sides return, None where they return none."""
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
        """Insert a branch with a result for each pair of values."""
        yielded: list[list[Scalar]] = [[], []]
        kinds: list[ScalarType] = []
        for pair in pairs:
            alternatives: list[object] = []
            for block, value in zip(blocks, pair, strict=True):
                with self.emitter.inside(block):
                    is_variable = isinstance(value, Variable)
                    alternatives.append(self.emitter.read(value) if is_variable else value)
            kind = common_kind(*alternatives)
            kinds.append(kind)
            for block, values, value in zip(blocks, yielded, alternatives, strict=True):
                with self.emitter.inside(block):
                    values.append(self.emitter.cast(self.emitter.scalar_of(value, kind), kind))
        then, otherwise = blocks
        if not pairs and then.first_op is None and otherwise.first_op is not None:
            condition, then, otherwise = self.emitter.negated(condition), otherwise, then
        self.emitter.finish_arm(then, yielded[0])
        regions = [Region(then)]
        if pairs or otherwise.first_op is not None:
            self.emitter.finish_arm(otherwise, yielded[1])
            regions.append(Region(otherwise))
        op = self.emitter.insert(scf.IfOp(condition.ssa, [k.ir for k in kinds], *regions))
        return [Scalar(self.emitter, r, k) for r, k in zip(op.results, kinds, strict=True)]

    # Loops.

    def loop(self, node: ast.For) -> Left | None:
        """Execute a loop: over a list of Python at once, over all else in the kernel."""
        if node.orelse:
            raise self.source.error(node.orelse[0], "a loop of a script has no 'else'")
        over = self.evaluate(node.iter)
        match over:
            case Range():
                self._grid_loop(node, [over], single=True)
            case Grid():
                self._grid_loop(node, list(over.ranges), single=len(over.ranges) == 1)
            case Tasks():
                self._task_loop(node, over)
            case Scalar() | Tensor() | Pointer():
                raise self.source.error(
                    node.iter,
                    f"{describe(over)} cannot be gone through",
                    "loop over range(n), grid(m, n), the tasks of a mapping, or a list",
                )
            case _:
                return self._unrolled(node)
        return None

    def _unrolled(self, node: ast.For) -> Left | None:
        """Execute the body of a loop once for each value of a list."""
        for value in self.python_values(node.iter):
            self.scopes.enter(runtime=False)
            self._bind_target(node, value)
            left = self.run(node.body)
            self.scopes.exit()
            if left is not None and left.by == "break":
                break
            if left is not None and left.by == "return":
                return left
        return None

    def _bind_target(self, node: ast.For, value: object) -> None:
        """Bind the variables of a loop; one that the body changes is a variable of the thread."""
        self.bind(node.target, value)
        for name in [each.id for each in ast.walk(node.target) if isinstance(each, ast.Name)]:
            scope = self.scopes.find(name)
            assert scope is not None
            bound = scope.names[name]
            if isinstance(bound, Scalar | int | float) and are_assigned(name, node.body):
                scope.names[name] = self.emitter.variable(name, bound)
            else:
                self._named(name, bound)

    def _body(self, node: ast.For, value: object) -> None:
        """Execute the body of a loop of the kernel."""
        with self._scope() as names:
            self._bind_target(node, value)
            left = self.run(node.body)
        if left is not None and left.by != "continue":
            wanted = ast.Return if left.by == "return" else ast.Break
            raise self.source.error(
                next((n for n in ast.walk(node) if isinstance(n, wanted)), node),
                f"'{left.by}' out of a loop of the kernel is not supported yet",
                "let the loop run to its end, and guard its body by a condition",
            )
        for name in names:
            self.scopes.lose(name, f"the loop in line {self.source.line_of(node)} assigns it")

    def _grid_loop(self, node: ast.For, ranges: list[Range], *, single: bool) -> None:
        """Make nested loops of the kernel."""
        refused = next((each for each in map(exit_in, node.body) if each is not None), None)
        if isinstance(refused, ast.Return):
            raise self.source.error(
                refused,
                "'return' out of a loop of the kernel is not supported yet",
                "let the loop run to its end, and guard its body by a condition",
            )
        self._nest(node, ranges, [], single=single)

    def _nest(
        self, node: ast.For, ranges: list[Range], outer: list[Scalar], *, single: bool
    ) -> None:
        """Make the loops that are left inside of those whose variables are given."""
        if not ranges:
            self._body(node, outer[0] if single else tuple(outer))
            return
        first, *others = ranges
        backwards = first.step < 0
        if backwards:  # counted upwards, since loops of the IR are
            count = (self._number(first.start) - self._number(first.stop) - first.step - 1) // (
                -first.step
            )
            bounds = 0, count, 1
        else:
            bounds = first.start, first.stop, first.step
        start, stop, step = (self.emitter.index_of(bound) for bound in bounds)
        body = Block(arg_types=[IndexType()])
        with self.emitter.inside(body):
            variable = Scalar(self.emitter, body.args[0], INDEX)
            value = self._number(first.start) + variable * first.step if backwards else variable
            self._nest(node, others, [*outer, value], single=single)
            self.emitter.insert(scf.YieldOp())
        op = self.emitter.insert(scf.ForOp(start, stop, step, [], body))
        if first.unroll is not False:
            is_full = first.unroll is True
            op.attributes[UNROLL] = UnitAttr() if is_full else IntegerAttr(first.unroll, i64)

    def _number(self, value: object) -> Scalar:
        return Scalar(self.emitter, self.emitter.index_of(value), INDEX)

    def _task_loop(self, node: ast.For, tasks: Tasks) -> None:
        """Make a loop over the tasks of a worker."""
        worker: SSAValue = self.emitter.cast(tasks.worker, INDEX).ssa
        self.emitter.set_column(self.source.column_of(node.iter))
        foreach = self.emitter.insert(ForeachOp(tasks.map, worker))
        with self.emitter.inside(foreach.body.block):
            indices = tuple(Scalar(self.emitter, i, INDEX) for i in foreach.indices)
            single = len(indices) == 1 and isinstance(node.target, ast.Name)
            self._body(node, indices[0] if single else indices)


_RULES: dict[type[ast.stmt], Callable[[Statements, ast.stmt], Left | None]] = cast(
    "dict[type[ast.stmt], Callable[[Statements, ast.stmt], Left | None]]",
    {
        ast.AnnAssign: Statements.annotated,
        ast.Assert: Statements.asserts,
        ast.Assign: Statements.assign,
        ast.AugAssign: Statements.augmented,
        ast.Break: Statements.breaks,
        ast.Continue: Statements.continues,
        ast.Expr: Statements.expression,
        ast.For: Statements.loop,
        ast.If: Statements.branch,
        ast.Pass: Statements.nothing,
        ast.Return: Statements.returns,
    },
)
