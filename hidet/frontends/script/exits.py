"""Ways out of functions and loops that the kernel decides about: `return`, `break`, `continue`.

Where such a statement is the last thing that happens, its branch simply ends. Elsewhere the kernel
notes in a variable that it goes on no longer, and what comes after, be it statements or the next
iteration, looks at the variable.
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

Way = Literal["return", "break", "continue"]
"""The statements that leave something."""

NAMES: dict[Way, str] = {"return": "unreturned", "break": "running", "continue": "unskipped"}
"""How the variables are called; each is true as long as its way has not been taken."""


@dataclass(frozen=True)
class Left:
    """Statements have ended early, on all paths.

    Attributes:
        by: how; None if some paths end one way and some another.
        value: what is returned.
        kept: whether a variable holds what is returned.
    """

    by: Way | None
    value: object = None
    kept: bool = False


@dataclass(eq=False)
class Exit:
    """A way out of a function or a loop, with the variable that tells whether it was taken.

    Attributes:
        by: the statement that takes it.
        start: where the function, the loop or the iteration begins.
    """

    by: Way
    start: Bookmark
    _variable: Variable | None = None

    def variable(self) -> Variable:
        """Return the variable, which is true as long as the way has not been taken."""
        if self._variable is None:
            with current().at(self.start):
                self._variable = make_variable(NAMES[self.by], True)
        return self._variable


@dataclass(eq=False)
class Frame:
    """A function or a loop that statements can leave.

    Attributes:
        arms: so many branches and loops of the kernel are around it.
        exits: the ways out of it.
        unrolled: whether it is a loop that Python runs through.
        result: for a function, the variable that holds what is returned.
    """

    arms: int
    exits: dict[Way, Exit]
    unrolled: bool = False
    result: Variable | None = None


@dataclass
class Exits:
    """Where the statements that are being executed stand.

    Attributes:
        returns: the type that the function says it returns.
        frames: the function and the loops around, the innermost last.
        arms: so many branches and loops of the kernel are around.
        tail: whether the innermost frame ends with the statements that are being executed.
        taken: the ways out that statements may have taken, until what comes after looks at them.
    """

    returns: ScalarType | None = None
    frames: list[Frame] = field(default_factory=list[Frame])
    arms: int = 0
    tail: bool = True
    taken: dict[Exit, None] = field(default_factory=dict[Exit, None])

    def __post_init__(self) -> None:
        start = current().bookmark()
        self.frames.append(Frame(0, {"return": Exit("return", start)}))

    def leave(self, by: Way, value: object = None) -> Left:
        """Execute `return`, `break` or `continue`."""
        frame = self.frames[0] if by == "return" else self.frames[-1]
        is_known = self.arms == frame.arms and (frame.unrolled or by != "break")
        if is_known or (self.tail and frame is self.frames[-1] and by != "break"):
            return Left(by, value)
        if value is not None:
            self.keep(value)
        way = frame.exits[by]
        way.variable().write(False)
        self.taken[way] = None
        return Left(by, kept=value is not None)

    def keep(self, value: object) -> None:
        """Put what is returned into the variable for it.

        Raises:
            ScriptError: it is no scalar.
        """
        if not isinstance(value, Scalar) and not is_number(value):
            raise ScriptError(
                f"{describe(value)} is returned where the kernel decides whether it is",
                hint="return a scalar here, or write to a tensor that the caller gives",
            )
        function = self.frames[0]
        if function.result is None:
            kind = self.returns or scalar_of(value).type
            with current().at(function.exits["return"].start):
                function.result = make_variable("result", None, kind)
        function.result.write(value)

    def result(self, left: Left | None) -> object:
        """Return what the function returns, after all of its statements.

        Raises:
            ScriptError: only some paths return a value.
        """
        kept = self.frames[0].result
        if kept is None:
            return None if left is None else left.value
        if left is None or (left.value is None and not left.kept):
            raise ScriptError(
                "some paths through the function return a value, others nothing",
                hint="let it end with a 'return' too",
            )
        if left.value is not None:
            self.keep(left.value)
        return kept.read()

    @contextmanager
    def loop(self, *, unrolled: bool) -> Generator[Frame]:
        """Enter a loop; after it, the ways out of the loop itself are forgotten."""
        frame = Frame(self.arms, {"break": Exit("break", current().bookmark())}, unrolled)
        outer, self.taken = self.taken, {}
        tail = self.tail
        self.frames.append(frame)
        yield frame
        self.frames.pop()
        self.tail = tail
        outer.update((way, None) for way in self.taken if way.by == "return")
        self.taken = outer

    def begin_iteration(self) -> None:
        """Begin to execute the body of the innermost loop."""
        frame = self.frames[-1]
        frame.arms, self.tail = self.arms, True
        frame.exits["continue"] = Exit("continue", current().bookmark())

    def out_of_loop(self) -> list[Exit]:
        """Return the ways out of the innermost loop, not only of an iteration, that were taken."""
        return [way for way in self.taken if way.by != "continue"]

    def goes_on(self, ways: Iterable[Exit]) -> Scalar:
        """Return the condition that none of some ways out has been taken."""
        read = [way.variable().read() for way in ways]
        return reduce(lambda one, other: one & other, read)
