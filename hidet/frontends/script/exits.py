"""`return`, `break` and `continue` under run-time control flow.

An exit at the end of its function or iteration simply ends its branch. Any other one clears a flag
variable, and the statements and iterations that follow are guarded by the flag. The pass
`restore-exits` turns flags into `cuda.leave` again.
"""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal

from hidet.errors import ScriptError
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Scalar, is_number, scalar_of
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import ScalarType
from hidet.frontends.script.variables import Variable, make_variable
from hidet.rewriting.builder import Bookmark

ExitKind = Literal["return", "break", "continue"]
"""The exit statements."""

NAMES: dict[ExitKind, str] = {"return": "unreturned", "break": "running", "continue": "unskipped"}
"""The names of the flags; each is true while its exit has not been taken."""


@dataclass(frozen=True)
class Ended:
    """All paths through some statements have exited.

    Attributes:
        kind: the exit; None if paths take different ones.
        value: the value returned.
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
    _variable: Variable | None = None

    def variable(self) -> Variable:
        """Return the flag, which is true while the exit has not been taken."""
        if self._variable is None:
            with current().at(self.start):
                self._variable = make_variable(NAMES[self.kind], True)
        return self._variable


@dataclass(eq=False)
class Frame:
    """A function or a loop that statements can exit.

    Attributes:
        arms: the number of run-time branches and loops around it.
        exits: its exits.
        unrolled: whether it is a loop that is unrolled at compile time.
        result: the variable that holds the value returned, of a function.
    """

    arms: int
    exits: dict[ExitKind, Exit]
    unrolled: bool = False
    result: Variable | None = None


@dataclass
class Exits:
    """The exits of the statements that are being executed.

    Attributes:
        returns: the declared return type.
        frames: the function and the enclosing loops, the innermost last.
        arms: the number of enclosing run-time branches and loops.
        tail: whether the innermost frame ends with the statements that are being executed.
        taken: exits that may have been taken and are not guarded against yet.
    """

    returns: ScalarType | None = None
    frames: list[Frame] = field(default_factory=list[Frame])
    arms: int = 0
    tail: bool = True
    taken: dict[Exit, None] = field(default_factory=dict[Exit, None])

    def __post_init__(self) -> None:
        start = current().bookmark()
        self.frames.append(Frame(0, {"return": Exit("return", start)}))

    def take(self, kind: ExitKind, value: object = None) -> Ended:
        """Execute `return`, `break` or `continue`."""
        frame = self.frames[0] if kind == "return" else self.frames[-1]
        is_known = self.arms == frame.arms and (frame.unrolled or kind != "break")
        if is_known or (self.tail and frame is self.frames[-1] and kind != "break"):
            return Ended(kind, value)
        if value is not None:
            self.store_result(value)
        taken_exit = frame.exits[kind]
        taken_exit.variable().write(False)
        self.taken[taken_exit] = None
        return Ended(kind, stored=value is not None)

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
    def loop(self, *, unrolled: bool) -> Generator[Frame]:
        """Enter a loop; the exits of the loop itself end with it."""
        frame = Frame(self.arms, {"break": Exit("break", current().bookmark())}, unrolled)
        outer, self.taken = self.taken, {}
        tail = self.tail
        self.frames.append(frame)
        yield frame
        self.frames.pop()
        self.tail = tail
        outer.update((taken_exit, None) for taken_exit in self.taken if taken_exit.kind == "return")
        self.taken = outer

    def begin_iteration(self) -> None:
        """Begin the body of the innermost loop."""
        frame = self.frames[-1]
        frame.arms, self.tail = self.arms, True
        frame.exits["continue"] = Exit("continue", current().bookmark())

    def loop_exits(self) -> list[Exit]:
        """Return the exits taken that leave the innermost loop, not only an iteration."""
        return [taken_exit for taken_exit in self.taken if taken_exit.kind != "continue"]

    def none_taken(self, pending: Iterable[Exit]) -> Scalar:
        """Return the condition that none of some exits has been taken."""
        return reduce(Scalar.__and__, [each.variable().read() for each in pending])
