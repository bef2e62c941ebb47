"""Messages of errors: where in the source of a script they are, and how they name values."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

from hidet.errors import HidetError, ScriptError
from hidet.escape import one_line, without_addresses

MAX_SHOWN = 100
"""The longest repr in a message, in characters."""


class Value:
    """A value of a traced script; its `repr` names it in messages."""

    __slots__ = ()


def describe(value: object) -> str:
    """Return the name of a value in messages."""
    match value:
        case Value():
            return repr(value)
        case type():
            return f"the class {value.__qualname__}"
        case ModuleType():
            return f"the module {value.__name__}"
        case _ if callable(value) and hasattr(value, "__name__"):
            return f"the function {value.__name__}"
        case _:
            text = one_line(" ".join(without_addresses(repr(value)).split()))
            shown = text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 4]} ..."
            return f"the {type(value).__name__} {shown}"


class LocatedError(ScriptError):
    """A ScriptError that already has a location."""


@dataclass(frozen=True)
class Source:
    """The source of a script function.

    Attributes:
        first_line: the number of its first line in the file, decorators included.
        lines: its lines, without the common indentation.
        indent: the common indentation.
    """

    file: str
    first_line: int
    lines: list[str]
    indent: int
    function: ast.FunctionDef

    @staticmethod
    def of(function: Callable[..., object]) -> "Source":
        """Read the source of a function."""
        name = getattr(function, "__name__", repr(function))
        try:
            lines, first_line = inspect.getsourcelines(function)
        except (OSError, TypeError) as error:
            raise ScriptError(
                f"the source of '{name}' cannot be read: {error}",
                hint="define scripts in a file or in a notebook, not in a string",
            ) from error
        text = textwrap.dedent("".join(lines))
        file = inspect.getsourcefile(function) or "<unknown>"
        try:
            tree = ast.parse(text).body[0]
        except SyntaxError:  # the source of a lambda is a part of a statement
            tree = None
        if not isinstance(tree, ast.FunctionDef):
            raise ScriptError(
                f"'{name}' cannot be a script",
                where=f"{one_line(file)}:{first_line}",
                hint="@hidet.script stands above a plain 'def'",
            )
        indent = len(lines[0]) - len(lines[0].lstrip())
        return Source(file, first_line, text.splitlines(), indent, tree)

    def line_of(self, node: ast.AST) -> int:
        """Return the line number of a node in the file."""
        return self.first_line + getattr(node, "lineno", 1) - 1

    def column_of(self, node: ast.AST) -> int:
        """Return the 1-based column of a node in the file."""
        return self.indent + getattr(node, "col_offset", 0) + 1

    def where(self, node: ast.AST) -> str:
        """Return the location of a node as `kernel.py:12`."""
        return f"{one_line(self.file)}:{self.line_of(node)}"

    def excerpt(self, line: int, column: int) -> str:
        """Return a line of the file with a caret below a column."""
        text = self.lines[line - self.first_line]
        stripped = text.lstrip()
        caret = max(column - 1 - self.indent - (len(text) - len(stripped)), 0)
        return f"{stripped}\n{' ' * caret}^"

    def error(self, node: ast.AST, what: str, hint: str | None = None) -> ScriptError:
        """Return an error located at a node."""
        return LocatedError(
            without_addresses(what),
            where=self.where(node),
            source=self.excerpt(self.line_of(node), self.column_of(node)),
            hint=hint,
        )

    @contextmanager
    def at(self, node: ast.AST) -> Generator[None]:
        """Turn exceptions of the body into a ScriptError at a node, unless they have a location."""
        try:
            yield
        except LocatedError:
            raise
        except HidetError as error:
            raise self.error(node, error.what, error.hint) from error
        except Exception as error:
            raise self.error(node, f"{type(error).__name__}: {error}") from error
