"""Loops of a script: those of the kernel, and those that Python unrolls."""

import ast
from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, UnitAttr, i64
from xdsl.ir import Block, Region, SSAValue

from hidet.dialects.cuda.marks import PARALLEL
from hidet.dialects.task import ForeachOp, GroupOp
from hidet.errors import ScriptError
from hidet.frontends.script.assignments import Assignments
from hidet.frontends.script.exits import Exit, Exits, Left
from hidet.frontends.script.iterables import Grid, Group, Range, Tasks
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Index, Scalar, convert, index_of
from hidet.frontends.script.syntax_analysis import are_assigned, picked_paths
from hidet.frontends.script.tensors import Pointer, Tensor
from hidet.frontends.script.tracing import current, insert
from hidet.frontends.script.types import INDEX
from hidet.frontends.script.variables import make_variable
from hidet.rewriting.builder import set_unroll


class Loops(Assignments):
    """Executes the loops of one function."""

    exits: Exits
    """The ways out of the function and of the loops around."""

    @abstractmethod
    def run(self, statements: Sequence[ast.stmt]) -> Left | None:
        """Execute statements; return how they ended early, if they did."""

    @contextmanager
    def scope(self) -> Generator[dict[str, object]]:
        """Open a scope that the kernel decides about; gives its names, also after its end."""
        names: dict[str, object] = {}
        self.scopes.enter(runtime=True)
        self.exits.arms += 1
        yield names
        self.exits.arms -= 1
        names.update(self.scopes.exit())

    def visit_For(self, node: ast.For) -> Left | None:
        """Execute a loop: over a list of Python at once, over all else in the kernel."""
        self._check_else(node, "for")
        over = self.evaluate(node.iter)
        match over:
            case Range() if self._picks(node, over):
                return self._unrolled(node)
            case Range():
                self._grid_loop(node, [over], single=True)
            case Grid():
                single = len(over.ranges) == 1 and not over.bind_tuple
                self._grid_loop(node, list(over.ranges), single=single)
            case Tasks():
                self._task_loop(node, over)
            case Group():
                self._group_loop(node, over)
            case Scalar() | Tensor() | Pointer():
                raise self.source.error(
                    node.iter,
                    f"{describe(over)} cannot be gone through",
                    "loop over range(n), grid(m, n), the tasks of a mapping, or a list",
                )
            case _:
                return self._unrolled(node)
        return None

    def _check_else(self, node: ast.For | ast.While, word: str) -> None:
        """Refuse the `else` of a loop.

        Raises:
            ScriptError: there is one.
        """
        if node.orelse:
            raise self.source.error(
                node.orelse[0],
                f"a '{word}' of a script has no 'else'",
                "set a variable where the loop is left by 'break', and look at it after the loop",
            )

    def _picks(self, node: ast.For, over: Range) -> bool:
        """Return whether the body takes parts of what Python knows by the loop's known number."""
        if not isinstance(node.target, ast.Name) or not over.is_known:
            return False
        return any(
            isinstance(self.known(path), list | tuple | dict)
            for path in picked_paths(node.body, node.target.id)
        )

    def _unrolled(self, node: ast.For) -> Left | None:
        """Execute the body of a loop once for each value of a list."""
        with self.exits.loop(unrolled=True):
            for value in self.python_values(node.iter):
                left = self._iteration(node, value)
                if left is not None and left.by == "break":
                    break
                if left is not None and left.by == "return":
                    return left
        return None

    def _iteration(self, node: ast.For, value: object) -> Left | None:
        """Execute the body for one value, unless an iteration before has left the loop."""
        ways = self.exits.out_of_loop()
        if ways:
            return self.guarded(ways, node, lambda: self._iterate(node, value))
        self.scopes.enter(runtime=False)
        left = self._iterate(node, value)
        self.scopes.exit()
        return left

    def _iterate(self, node: ast.For, value: object) -> Left | None:
        """Execute the body of a loop for one value."""
        self.exits.begin_iteration()
        self._bind_target(node, value)
        return self.run(node.body)

    def _bind_target(self, node: ast.For, value: object) -> None:
        """Bind the variables of a loop; one that the body changes is a variable of the thread."""
        self.bind(node.target, value)
        for name in [each.id for each in ast.walk(node.target) if isinstance(each, ast.Name)]:
            scope = self.scopes.find(name)
            assert scope is not None
            bound = scope.names[name]
            if isinstance(bound, Scalar | int | float) and are_assigned(name, node.body):
                scope.names[name] = make_variable(name, bound)
            else:
                self.named(name, bound)

    def _body(self, node: ast.For | ast.While, value: object = None) -> None:
        """Execute the body of a loop of the kernel."""
        with self.scope() as names:
            self.exits.begin_iteration()
            if isinstance(node, ast.For):
                self._bind_target(node, value)
            self.run(node.body)
        for name in names:
            self.scopes.lose(name, f"the loop in line {self.source.line_of(node)} assigns it")

    def visit_While(self, node: ast.While) -> Left | None:
        """Execute a loop whose condition is looked at before each iteration."""
        self._check_else(node, "while")
        with self.exits.loop(unrolled=False):
            with self.part("the condition of the loop") as test:
                condition = self.condition(node.test)
            if not isinstance(condition, Scalar) and not condition:
                return None
            with current().arm() as body:
                self._body(node)
                insert(scf.YieldOp())
            ways = self.exits.out_of_loop()
            if isinstance(condition, Scalar):
                known = condition
                self._insert_while(ways, lambda: self._adopted(test, known), body)
                return None
            if not ways:
                raise self.source.error(
                    node, "this loop never ends", "leave it by 'break', or give it a condition"
                )
            self._insert_while(ways, None, body)
        if all(way.by == "return" for way in ways):
            return Left("return", kept=self.exits.frames[0].result is not None)
        return None

    def _adopted(self, block: Block, value: Scalar) -> Scalar:
        """Insert the ops of a block here; return a value that they compute."""
        current().adopt(block)
        return value

    def _insert_while(
        self, ways: Sequence[Exit], test: Callable[[], Scalar] | None, body: Block
    ) -> None:
        """Insert a loop that goes on until a way out of it is taken, or a test fails."""
        with current().arm() as before:
            if not ways:
                assert test is not None
                condition = test()
            elif test is None:
                condition = self.exits.goes_on(ways)
            else:
                condition = self.shortcut(self.exits.goes_on(ways), True, test)
            insert(scf.ConditionOp(condition.ssa))
        insert(scf.WhileOp([], [], Region(before), Region(body)))

    def _grid_loop(self, node: ast.For, ranges: list[Range], *, single: bool) -> None:
        """Make nested loops of the kernel."""
        with self.exits.loop(unrolled=False):
            self._nest(node, ranges, [], single=single)

    def _nest(
        self, node: ast.For, ranges: list[Range], outer: list[Index], *, single: bool
    ) -> None:
        """Make the loops that are left inside of those whose variables are given."""
        if not ranges:
            self._body(node, outer[0] if single else tuple(outer))
            return
        first, *others = ranges
        if first.at_once:
            for number in first:
                ways = self.exits.out_of_loop()
                with current().arm() as body:
                    self._nest(node, others, [*outer, number], single=single)
                if ways:
                    self.insert_guard(ways, body)
                else:
                    current().adopt(body)
            return
        backwards = isinstance(first.step, int) and first.step < 0
        if backwards:  # counted upwards, since loops of the IR are
            count = self._number(first.start) - self._number(first.stop)
            if isinstance(first.step, int) and first.step < -1:
                count = (count - first.step - 1) // -first.step
            bounds = 0, count, 1
        else:
            bounds = first.start, first.stop, first.step
        start, stop, step = (index_of(bound) for bound in bounds)
        body = Block(arg_types=[IndexType()])
        with current().inside(body), self._parallel(first) as is_shared:
            with current().arm() as inner:
                variable = Scalar(body.args[0], INDEX)
                value = self._number(first.start) + variable * first.step if backwards else variable
                self._nest(node, others, [*outer, value], single=single)
            if is_shared and self.exits.out_of_loop():
                raise ScriptError(
                    "a parallel loop is left early",
                    hint="let all iterations run, since they do so at the same time",
                )
            self._insert_body(inner)
            insert(scf.YieldOp())
        op = insert(scf.ForOp(start, stop, step, [], body))
        set_unroll(op, first.unroll)
        if is_shared:
            is_all = first.parallel is True
            op.attributes[PARALLEL] = UnitAttr() if is_all else IntegerAttr(first.parallel, i64)

    @contextmanager
    def _parallel(self, over: Range) -> Generator[bool]:
        """Enter a loop; tells whether threads share it, which they do with the outermost one."""
        is_shared = over.parallel is not False
        if is_shared and current().kind != "cpu_kernel":
            raise ScriptError(
                f"a loop of a {current().kind} cannot be parallel",
                hint="leave 'p' out; the threads of CUDA are those of the block, and "
                "attrs.func_kind = 'cpu_kernel' makes a function of the CPU",
            )
        is_shared &= not current().in_parallel
        current().in_parallel |= is_shared
        yield is_shared
        current().in_parallel &= not is_shared

    def _number(self, value: object) -> Scalar:
        return Scalar(index_of(value), INDEX)

    def _task_loop(self, node: ast.For, tasks: Tasks) -> None:
        """Make a loop over the tasks of a worker; after a way out, the others are passed over."""
        worker: SSAValue = convert(tasks.worker, INDEX).ssa
        current().set_column(self.source.column_of(node.iter))
        over = tasks.map if tasks.tile is None else tasks.tile.memory
        hints = tasks.map.hints if any(tasks.map.hints) else None
        foreach = ForeachOp(over, worker, bound=tasks.bound, unroll=hints)
        indices = tuple(Scalar(i, INDEX) for i in foreach.indices)
        is_name = isinstance(node.target, ast.Name)
        single = len(indices) == 1 and is_name and not tasks.bind_tuple
        self._visit(node, foreach, indices[0] if single else indices)

    def _group_loop(self, node: ast.For, group: Group) -> None:
        """Make what the threads of a group do."""
        op = GroupOp(group.first, group.count)
        self._visit(node, op, Scalar(op.worker, INDEX))

    def _visit(self, node: ast.For, op: ForeachOp | GroupOp, value: object) -> None:
        """Insert an op with the body of a loop; after a way out, the rest is passed over."""
        with self.exits.loop(unrolled=False):
            insert(op)
            with current().arm() as body:
                self._body(node, value)
            with current().inside(op.body.block):
                self._insert_body(body)

    def _insert_body(self, body: Block) -> None:
        """Insert the ops of an iteration, which runs unless one before has left the loop."""
        ways = self.exits.out_of_loop()
        if ways:
            self.insert_guard(ways, body)
        else:
            current().adopt(body)

    def insert_guard(self, ways: Sequence[Exit], body: Block) -> None:
        """Insert ops that run unless one of some ways out has been taken."""
        condition = self.exits.goes_on(ways)
        current().finish_arm(body)
        insert(scf.IfOp(condition.ssa, [], Region(body)))

    def guarded(
        self, ways: Sequence[Exit], node: ast.AST, action: Callable[[], Left | None]
    ) -> Left | None:
        """Execute statements on those paths that have not taken one of some ways out."""
        with current().arm() as body, self.scope() as names:
            left = action()
            if left is not None and left.value is not None:
                self.exits.keep(left.value)
        self.insert_guard(ways, body)
        for name in names:
            self.scopes.lose(
                name, f"some paths leave in line {self.source.line_of(node)} or before"
            )
        if left is None:
            return None
        same = all(way.by == left.by for way in ways)
        return Left(left.by if same else None, kept=left.kept or left.value is not None)
