"""Lexically nested scopes of a script function, as in C."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hidet.errors import ScriptError


@dataclass
class Scope:
    """One scope."""

    runtime: bool
    names: dict[str, object] = field(default_factory=dict[str, object])


class Scopes:
    """The stack of open scopes, and the names that are no longer defined."""

    def __init__(self, outer: dict[str, object] | None = None) -> None:
        self._open = [Scope(runtime=False, names=dict(outer or {})), Scope(runtime=False)]
        self._lost: dict[str, str] = {}

    @contextmanager
    def open(self, *, runtime: bool, lost: str | None = None) -> Generator[dict[str, object]]:
        """Open a scope, and yield its names, which are undefined after it for the reason `lost`."""
        scope = Scope(runtime)
        self._open.append(scope)
        yield scope.names
        self._open.pop()
        if lost is not None:
            self._lost.update(dict.fromkeys(scope.names, lost))

    def find(self, name: str) -> Scope | None:
        """Return the innermost scope that binds a name, or None."""
        return next((scope for scope in reversed(self._open) if name in scope.names), None)

    def crosses_runtime(self, scope: Scope) -> bool:
        """Return whether a run-time scope lies between a scope and the innermost one."""
        inner = self._open[self._open.index(scope) + 1 :]
        return any(each.runtime for each in inner)

    def define(self, name: str, value: object) -> None:
        """Bind a name in the innermost scope."""
        self._open[-1].names[name] = value
        self._lost.pop(name, None)

    def lose(self, name: str, reason: str) -> None:
        """Record why a name is undefined from here on."""
        self._lost[name] = reason

    def check_lost(self, name: str) -> None:
        """Raise the error about a name that is no longer defined."""
        if name in self._lost:
            raise ScriptError(
                f"'{name}' may be undefined here: {self._lost[name]}",
                hint=f"give '{name}' a value before, for all cases",
            )

    def names(self) -> list[str]:
        """Return all bound names."""
        return [name for scope in self._open for name in scope.names]

    def flat(self) -> dict[str, object]:
        """Return the current bindings, inner ones over outer ones."""
        return {name: value for scope in self._open for name, value in scope.names.items()}
