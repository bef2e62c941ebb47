"""Loops of a script: run-time loops, and loops that are unrolled at compile time."""

import ast
from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, UnitAttr, i64
from xdsl.ir import Block, Region, SSAValue

from hidet.dialects.cuda.marks import GUARD, PARALLEL
from hidet.dialects.task import ForeachOp, GroupOp
from hidet.errors import ScriptError
from hidet.frontends.script.assignments import Assignments
from hidet.frontends.script.exits import Ended, Exit, Exits
from hidet.frontends.script.iterables import Grid, Group, Range, Tasks
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Index, Scalar, branch_of, constant, convert, index_of
from hidet.frontends.script.syntax_analysis import are_assigned, names_of, subscripted_paths
from hidet.frontends.script.tensors import Pointer, Tensor
from hidet.frontends.script.tracing import current, insert
from hidet.frontends.script.types import BOOL, INDEX
from hidet.frontends.script.variables import make_variable
from hidet.rewriting.builder import set_unroll


class Loops(Assignments):
    """Executes the loops of a function."""

    exits: Exits

    @abstractmethod
    def run(self, statements: Sequence[ast.stmt]) -> Ended | None:
        """Execute statements; return how they ended if all paths exited."""

    @contextmanager
    def scope(self, lost: str | None = None) -> Generator[dict[str, object]]:
        """Open a run-time scope, and yield its names, which are undefined after it."""
        with self.scopes.open(runtime=True, lost=lost) as names:
            self.exits.arms += 1
            yield names
            self.exits.arms -= 1

    def visit_For(self, node: ast.For) -> Ended | None:
        """Execute a loop: unroll it over a Python iterable, else emit a run-time loop."""
        self._check_else(node, "for")
        over = self.evaluate(node.iter)
        match over:
            case Range() if self._indexes_python_values(node, over):
                return self._unrolled(node)
            case Range() | Grid():
                ranges = [over] if isinstance(over, Range) else list(over.ranges)
                is_tuple = isinstance(over, Grid) and (len(ranges) != 1 or over.bind_tuple)
                with self.exits.loop():
                    self._nest(node, ranges, [], single=not is_tuple)
            case Tasks():
                self._task_loop(node, over)
            case Group():
                op = GroupOp(over.first, over.count)
                self._visit(node, op, Scalar(op.worker, INDEX), count=0)
            case Scalar() | Tensor() | Pointer():
                raise self.source.error(
                    node.iter,
                    f"{describe(over)} is not iterable",
                    "loop over range(n), grid(m, n), the tasks of a mapping, or a list",
                )
            case _:
                return self._unrolled(node)
        return None

    def _check_else(self, node: ast.For | ast.While, word: str) -> None:
        if node.orelse:
            raise self.source.error(
                node.orelse[0],
                f"a '{word}' of a script has no 'else'",
                "set a variable where the loop is left by 'break', and test it after the loop",
            )

    def _indexes_python_values(self, node: ast.For, over: Range) -> bool:
        """Return whether the body subscripts Python values by the loop's compile-time index."""
        if not isinstance(node.target, ast.Name) or not over.is_known:
            return False
        for name, *attributes in subscripted_paths(node, node.target.id):
            scope = self.scopes.find(name)
            value = self.outside.get(name) if scope is None else scope.names[name]
            for attribute in attributes:
                value = None if isinstance(value, Scalar) else getattr(value, attribute, None)
            if isinstance(value, list | tuple | dict):
                return True
        return False

    def _unrolled(self, node: ast.For) -> Ended | None:
        """Execute the body of a loop once per value of a Python iterable."""
        with self.exits.loop():
            for value in self.python_values(node.iter):
                if pending := self.exits.loop_exits():
                    left = self.guarded(pending, node, partial(self._iterate, node, value))
                else:
                    with self.scopes.open(runtime=False):
                        left = self._iterate(node, value)
                if left is not None and left.kind == "break":
                    break
                if left is not None and left.kind == "return":
                    return left
        return None

    def _iterate(self, node: ast.For | ast.While, value: object) -> Ended | None:
        """Execute the body of a loop for one value, if it is one over values."""
        self.exits.begin_iteration()
        if isinstance(node, ast.For):
            self.bind(node.target, value)
            for name in names_of(node.target):
                scope = self.scopes.find(name)
                assert scope is not None
                bound = scope.names[name]
                # One that the body assigns becomes a local variable.
                if isinstance(bound, Scalar | int | float) and are_assigned(name, node.body):
                    scope.names[name] = make_variable(name, bound)
                else:
                    self.named(name, bound)
        return self.run(node.body)

    def _body(self, node: ast.For | ast.While, value: object = None) -> None:
        with self.scope(f"the loop in line {self.source.line_of(node)} assigns it"):
            self._iterate(node, value)

    def visit_While(self, node: ast.While) -> Ended | None:
        """Execute a `while` loop."""
        self._check_else(node, "while")
        with self.exits.loop():
            with self.part("the condition of the loop") as test:
                condition = self.condition(node.test)
            if not isinstance(condition, Scalar) and not condition:
                return None
            with current().arm() as body, self.exits.iterations(1):
                self._body(node)
                insert(scf.YieldOp())
            pending = self.exits.loop_exits()
            is_endless = not isinstance(condition, Scalar)
            if is_endless and not pending:
                raise self.source.error(
                    node, "this loop never ends", "exit by 'break', or give it a condition"
                )
            with current().inside(test):
                value = convert(bool(condition) if is_endless else condition, BOOL)
            with current().arm() as before:
                if pending:  # false once an exit has been taken
                    with current().arm() as block:
                        false = block, constant(False, BOOL)
                    value = branch_of(self.exits.none_taken(pending), (test, value), false)
                    if not any(pending.values()):
                        assert isinstance(value.ssa.owner, scf.IfOp)
                        value.ssa.owner.attributes[GUARD] = UnitAttr()
                else:
                    current().adopt(test)
                insert(scf.ConditionOp(value.ssa))
            insert(scf.WhileOp([], [], Region(before), Region(body)))
            self.exits.leave_outer()
        if is_endless and all(each.kind == "return" for each in pending):
            return Ended("return", stored=self.exits.frames[0].result is not None)
        return None

    def _nest(
        self, node: ast.For, ranges: list[Range], outer: list[Index], *, single: bool
    ) -> None:
        """Emit the remaining loops inside of those whose variables are given."""
        if not ranges:
            self._body(node, outer[0] if single else tuple(outer))
            return
        first, *others = ranges
        if first.trace_unrolled:
            for number in first:
                pending = self.exits.loop_exits()
                with current().arm() as body, self.exits.iterations(0):
                    self._nest(node, others, [*outer, number], single=single)
                self.insert_guard(pending, body)
            return
        backwards = isinstance(first.step, int) and first.step < 0
        if backwards:  # loops of the IR count upwards
            count = self._number(first.start) - self._number(first.stop)
            if isinstance(first.step, int) and first.step < -1:
                count = (count - first.step - 1) // -first.step
            bounds = 0, count, 1
        else:
            bounds = first.start, first.stop, first.step
        start, stop, step = (index_of(bound) for bound in bounds)
        body = Block(arg_types=[IndexType()])
        with current().inside(body), self._parallel(first) as is_shared:
            with current().arm() as inner, self.exits.iterations(1):
                variable = Scalar(body.args[0], INDEX)
                value = self._number(first.start) + variable * first.step if backwards else variable
                self._nest(node, others, [*outer, value], single=single)
            exits = self.exits.loop_exits()
            if is_shared and exits:
                raise ScriptError(
                    "a parallel loop is left early",
                    hint="all iterations run, since they run concurrently",
                )
            self.insert_guard(exits, inner)
            insert(scf.YieldOp())
        op = insert(scf.ForOp(start, stop, step, [], body))
        self.exits.leave_outer()
        set_unroll(op, first.unroll)
        if is_shared:
            is_all = first.parallel is True
            op.attributes[PARALLEL] = UnitAttr() if is_all else IntegerAttr(first.parallel, i64)

    @contextmanager
    def _parallel(self, over: Range) -> Generator[bool]:
        """Enter a loop; yields whether it is parallel, which only the outermost one can be."""
        is_shared = over.parallel is not False
        if is_shared and current().kind != "cpu_kernel":
            raise ScriptError(
                f"a loop of a {current().kind} cannot be parallel",
                hint="remove 'p', or set attrs.func_kind = 'cpu_kernel'",
            )
        is_shared &= not current().in_parallel
        current().in_parallel |= is_shared
        yield is_shared
        current().in_parallel &= not is_shared

    def _number(self, value: object) -> Scalar:
        return Scalar(index_of(value), INDEX)

    def _task_loop(self, node: ast.For, tasks: Tasks) -> None:
        worker: SSAValue = convert(tasks.worker, INDEX).ssa
        current().set_column(self.source.column_of(node.iter))
        over = tasks.map if tasks.tile is None else tasks.tile.memory
        hints = tasks.map.hints if any(tasks.map.hints) else None
        foreach = ForeachOp(over, worker, bound=tasks.bound, unroll=hints)
        indices = tuple(Scalar(i, INDEX) for i in foreach.indices)
        is_name = isinstance(node.target, ast.Name)
        single = len(indices) == 1 and is_name and not tasks.bind_tuple
        count = len(tasks.map.repeat_digits) if tasks.tile is None else -1
        self._visit(node, foreach, indices[0] if single else indices, count=count)

    def _visit(self, node: ast.For, op: ForeachOp | GroupOp, value: object, *, count: int) -> None:
        """Insert an op with the body of a loop, which becomes `count` loops in C++."""
        with self.exits.loop():
            insert(op)
            with current().arm() as body, self.exits.iterations(count):
                self._body(node, value)
            with current().inside(op.body.block):
                self.insert_guard(self.exits.loop_exits(), body)
            if count:
                self.exits.leave_outer()

    def insert_guard(self, pending: Mapping[Exit, bool], body: Block) -> None:
        """Insert ops that run unless one of some exits has been taken."""
        for is_tested in (True, False):
            exits = [each for each, tested in pending.items() if tested is is_tested]
            if exits:
                current().finish_arm(body)
                with current().arm() as outer:
                    condition = self.exits.none_taken(exits)
                    op = insert(scf.IfOp(condition.ssa, [], Region(body)))
                if not is_tested:
                    op.attributes[GUARD] = UnitAttr()
                body = outer
        current().adopt(body)

    def guarded(
        self, pending: Mapping[Exit, bool], node: ast.AST, action: Callable[[], Ended | None]
    ) -> Ended | None:
        """Execute statements on the paths that have not taken one of some exits."""
        lost = f"some paths leave in line {self.source.line_of(node)} or before"
        with current().arm() as body, self.scope(lost):
            left = action()
            if left is not None and left.value is not None:
                self.exits.store_result(left.value)
        self.insert_guard(pending, body)
        if left is None:
            return None
        same = all(each.kind == left.kind for each in pending)
        return Ended(left.kind if same else None, stored=left.stored or left.value is not None)
