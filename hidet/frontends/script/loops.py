"""Loops of a script: those of the kernel, and those that Python unrolls."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, UnitAttr, i64
from xdsl.ir import Block, Region, SSAValue

from hidet.dialects.task import ForeachOp
from hidet.frontends.script.assignments import Assignments
from hidet.frontends.script.facts import are_assigned, has_break
from hidet.frontends.script.types import I32, INDEX
from hidet.frontends.script.values import (
    Grid,
    Pointer,
    Range,
    Scalar,
    Tasks,
    Tensor,
    Variable,
    describe,
)
from hidet.lowering.builder import UNROLL


@dataclass(frozen=True)
class Left:
    """Statements have ended early.

    Attributes:
        by: `return`, `continue` or `break`.
        value: what is returned.
    """

    by: str
    value: object = None


class Loops(Assignments):
    """Executes the loops of one function."""

    running: Variable | None = None
    """Tells the loop of the kernel around whether it goes on; None where nothing leaves it."""

    @abstractmethod
    def run(self, statements: Sequence[ast.stmt]) -> Left | None:
        """Execute statements; return how they ended early, if they did."""

    @contextmanager
    def scope(self) -> Generator[dict[str, object]]:
        """Open a scope that the kernel decides about; gives its names, also after its end."""
        names: dict[str, object] = {}
        self.scopes.enter(runtime=True)
        yield names
        names.update(self.scopes.exit())

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
            with self._running(None):
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
                self.named(name, bound)

    def _body(self, node: ast.For | ast.While, value: object = None) -> None:
        """Execute the body of a loop of the kernel."""
        with self.scope() as names:
            if isinstance(node, ast.For):
                self._bind_target(node, value)
            self.run(node.body)
        for name in names:
            self.scopes.lose(name, f"the loop in line {self.source.line_of(node)} assigns it")

    def _refuse(self, node: ast.For | ast.While, wanted: type[ast.stmt], word: str) -> None:
        """Raise the error about a way out of a loop that is not there."""
        raise self.source.error(
            next((each for each in ast.walk(node) if isinstance(each, wanted)), node),
            f"'{word}' out of this loop of the kernel is not supported yet",
            "let the loop run to its end, and guard its body by a condition",
        )

    def _check_exits(self, node: ast.For | ast.While) -> None:
        """Check that nothing returns from inside of a loop of the kernel."""
        if any(isinstance(each, ast.Return) for each in ast.walk(node)):
            self._refuse(node, ast.Return, "return")

    def breaks(self, node: ast.Break) -> Left:
        """Leave a loop: one of the kernel looks at a variable, one of Python ends at once."""
        if self.running is not None:
            self.emitter.write(False, self.running)
        return Left("break")

    @contextmanager
    def _running(self, variable: Variable | None) -> Generator[None]:
        """Note which variable tells the loop around whether it goes on."""
        outer, self.running = self.running, variable
        yield
        self.running = outer

    def while_loop(self, node: ast.While) -> None:
        """Execute a loop whose condition is looked at before each iteration."""
        if node.orelse:
            raise self.source.error(node.orelse[0], "a loop of a script has no 'else'")
        self._check_exits(node)
        is_left = has_break(node.body)
        running = self.emitter.variable("running", True) if is_left else None

        def test() -> object:
            return self.condition(node.test)

        with self._running(running):
            self._repeat(node, running, test, lambda: self._body(node))

    def _repeat(
        self,
        node: ast.For | ast.While,
        running: Variable | None,
        test: Callable[[], object],
        body: Callable[[], None],
    ) -> None:
        """Insert `while (running && test) { body }`."""
        with self.emitter.arm() as before:
            condition = self.both(running, test)
        if not isinstance(condition, Scalar):
            if not condition:
                return
            raise self.source.error(
                node, "this loop never ends", "leave it by 'break', or give it a condition"
            )
        with self.emitter.inside(before):
            self.emitter.insert(scf.ConditionOp(condition.ssa))
        with self.emitter.arm() as after:
            body()
            self.emitter.insert(scf.YieldOp())
        self.emitter.insert(scf.WhileOp([], [], Region(before), Region(after)))

    def _range_with_break(self, node: ast.For, over: Range) -> None:
        """Make a loop over a range that may be left."""
        fits = all(
            isinstance(bound, int) and abs(bound) < 1 << 30 for bound in (over.start, over.stop)
        )
        counter = self.emitter.variable("counter", over.start, I32 if fits else INDEX)
        running = self.emitter.variable("running", True)

        def test() -> object:
            value = self.emitter.read(counter)
            return value < over.stop if over.step > 0 else value > over.stop

        def body() -> None:
            self._body(node, self.emitter.cast(self.emitter.read(counter), INDEX))
            self.emitter.write(self.emitter.read(counter) + over.step, counter)

        with self._running(running):
            self._repeat(node, running, test, body)

    def _grid_loop(self, node: ast.For, ranges: list[Range], *, single: bool) -> None:
        """Make nested loops of the kernel."""
        self._check_exits(node)
        if not has_break(node.body):
            with self._running(None):
                self._nest(node, ranges, [], single=single)
        elif single:
            self._range_with_break(node, ranges[0])
        else:
            self._refuse(node, ast.Break, "break")

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
        self._check_exits(node)
        if has_break(node.body):
            self._refuse(node, ast.Break, "break")
        worker: SSAValue = self.emitter.cast(tasks.worker, INDEX).ssa
        self.emitter.set_column(self.source.column_of(node.iter))
        foreach = self.emitter.insert(ForeachOp(tasks.map, worker))
        with self.emitter.inside(foreach.body.block):
            indices = tuple(Scalar(self.emitter, i, INDEX) for i in foreach.indices)
            single = len(indices) == 1 and isinstance(node.target, ast.Name)
            self._body(node, indices[0] if single else indices)
