"""`return`, `break` and `continue` under run-time control flow.

An exit at the end of its function or iteration simply ends its branch. Any other one clears a flag
variable, and the statements and iterations that follow are guarded by the flag, so that all passes
see structured control flow. Where C++ can exit by `break`, `continue` or `return`, a `cuda.leave`
follows as well. The guards that it skips are marked `cuda.guard`; the pass `restore-exits` removes
them before printing.
"""

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Literal

from hidet.dialects.cuda import LeaveKind, LeaveOp
from hidet.errors import ScriptError
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Scalar, is_number, negated, scalar_of
from hidet.frontends.script.tracing import current, insert
from hidet.frontends.script.types import ScalarType
from hidet.frontends.script.variables import Variable, make_variable
from hidet.rewriting.builder import Bookmark

ExitKind = Literal["return", "break", "continue"]

NAMES: dict[ExitKind, str] = {"return": "unreturned", "break": "running", "continue": "unskipped"}
"""The names of the flags; each is true while its exit has not been taken."""


@dataclass(frozen=True)
class Ended:
    """All paths through some statements have exited.

    Attributes:
        kind: the exit; None if paths take different ones.
        stored: whether a variable holds the value returned.
    """

    kind: ExitKind | None
    value: object = None
    stored: bool = False


@dataclass(eq=False)
class Exit:
    """An exit of a function or a loop, with its flag variable."""

    kind: ExitKind
    start: Bookmark

    @cached_property
    def variable(self) -> Variable:
        """The flag, which is true while the exit has not been taken."""
        with current().at(self.start):
            return make_variable(NAMES[self.kind], True)


@dataclass(eq=False)
class Frame:
    """A function or a loop that statements can exit.

    Attributes:
        arms: the number of run-time branches and loops around it.
        is_last: whether nothing follows it in the frame around it.
        loops: for each loop of its nest that is being emitted, the number of loops that it becomes
            in C++, -1 if unknown; empty for a Python iterable.
        result: the variable that holds the value returned, of a function.
    """

    arms: int
    exits: dict[ExitKind, Exit]
    is_last: bool = False
    loops: list[int] = field(default_factory=list[int])
    result: Variable | None = None


@dataclass
class Exits:
    """The exits of the statements that are being executed.

    Attributes:
        frames: the function and the enclosing loops, the innermost last.
        arms: the number of enclosing run-time branches and loops.
        tail: whether the innermost frame ends with the statements that are being executed.
        taken: exits that may have been taken and are not guarded against yet, and whether a guard
            has to test them because no `cuda.leave` skips it.
    """

    returns: ScalarType | None = None
    frames: list[Frame] = field(default_factory=list[Frame])
    arms: int = 0
    tail: bool = True
    taken: dict[Exit, bool] = field(default_factory=dict[Exit, bool])

    def __post_init__(self) -> None:
        start = current().bookmark()
        self.frames.append(Frame(0, {"return": Exit("return", start)}))

    def take(self, kind: ExitKind, value: object = None) -> Ended:
        """Execute `return`, `break` or `continue`."""
        frame = self.frames[0] if kind == "return" else self.frames[-1]
        is_known = self.arms == frame.arms and not (kind == "break" and frame.loops)
        if is_known or (self.tail and frame is self.frames[-1] and kind != "break"):
            return Ended(kind, value)
        if value is not None:
            self.store_result(value)
        taken_exit = frame.exits[kind]
        taken_exit.variable.write(False)
        leave = self._leave_kind(kind, self.frames.index(frame))
        if leave is not None:
            insert(LeaveOp(leave))
        self.add({taken_exit: leave is None})
        return Ended(kind, stored=value is not None)

    def add(self, taken: Mapping[Exit, bool]) -> None:
        """Add exits that may have been taken."""
        for each, is_tested in taken.items():
            self.taken[each] = is_tested or self.taken.get(each, False)

    def _leave_kind(self, kind: ExitKind, number: int) -> LeaveKind | None:
        """Return how C++ exits the frame of a number, or a loop inside it; None if it cannot."""
        frame = self.frames[number]
        if current().kind == "public":
            return None
        if number == 0 and not current().is_nested:
            return LeaveKind.RETURN
        if kind == "continue":
            return LeaveKind.CONTINUE if frame.loops and frame.loops[-1] > 0 else None
        counts = [count for each in self.frames[number:] for count in each.loops if count]
        if counts:
            return LeaveKind.BREAK if counts[-1] == 1 else None
        return self._leave_kind("continue", number - 1) if frame.is_last else None

    def store_result(self, value: object) -> None:
        """Assign the value returned to its variable."""
        if not isinstance(value, Scalar) and not is_number(value):
            raise ScriptError(
                f"{describe(value)} is returned under run-time control flow",
                hint="return a scalar here, or write to a tensor that the caller gives",
            )
        function = self.frames[0]
        if function.result is None:
            kind = self.returns or scalar_of(value).type
            with current().at(function.exits["return"].start):
                function.result = make_variable("result", None, kind)
        function.result.write(value)

    def result(self, left: Ended | None) -> object:
        """Return the value that the function returns, after all of its statements."""
        kept = self.frames[0].result
        if kept is None:
            return None if left is None else left.value
        if left is None or (left.value is None and not left.stored):
            raise ScriptError(
                "some paths through the function return a value, others nothing",
                hint="let it end with a 'return' too",
            )
        if left.value is not None:
            self.store_result(left.value)
        return kept.read()

    @contextmanager
    def loop(self) -> Generator[None]:
        """Enter a loop; the exits of the loop itself end with it."""
        exits: dict[ExitKind, Exit] = {"break": Exit("break", current().bookmark())}
        outer, self.taken = self.taken, {}
        tail = self.tail
        self.frames.append(Frame(self.arms, exits, is_last=tail))
        yield
        self.frames.pop()
        self.tail = tail
        taken, self.taken = self.taken, outer
        self.add({each: tested for each, tested in taken.items() if each.kind == "return"})

    @contextmanager
    def iterations(self, count: int) -> Generator[None]:
        """Enter a loop of the innermost frame's nest, which becomes `count` loops in C++."""
        loops = self.frames[-1].loops
        loops.append(count)
        yield
        loops.pop()

    def leave_outer(self) -> None:
        """After a loop, also exit the loop around it if the target of an exit is further out."""
        for each in self.loop_exits():
            is_break = each.kind == "break"
            if not (self.frames[-1].loops if is_break else current().is_nested):
                continue  # the loop was the target, or the kernel has returned
            leave = self._leave_kind(each.kind, len(self.frames) - 1 if is_break else 0)
            self.taken[each] = leave is None
            if leave is not None:
                with current().when(negated(each.variable.read()).ssa):
                    insert(LeaveOp(leave))

    def begin_iteration(self) -> None:
        """Begin the body of the innermost loop."""
        frame = self.frames[-1]
        frame.arms, self.tail = self.arms, True
        frame.exits["continue"] = Exit("continue", current().bookmark())

    def loop_exits(self) -> dict[Exit, bool]:
        """Return the exits taken that leave the innermost loop, not only an iteration."""
        return {each: tested for each, tested in self.taken.items() if each.kind != "continue"}

    def none_taken(self, pending: Iterable[Exit]) -> Scalar:
        """Return the condition that none of some exits has been taken."""
        return reduce(Scalar.__and__, [each.variable.read() for each in pending])
