"""The names of a function of a script, in nested scopes as C has them."""

from dataclasses import dataclass, field

from hidet.errors import ScriptError


@dataclass
class Scope:
    """One scope.

    Attributes:
        runtime: whether the kernel decides if, or how often, the statements of the scope run.
        names: what is bound in it.
    """

    runtime: bool
    names: dict[str, object] = field(default_factory=dict[str, object])


class Scopes:
    """The scopes that are open, the innermost last, and the names that have been lost.

    Args:
        outer: the names of the function around.
    """

    def __init__(self, outer: dict[str, object] | None = None) -> None:
        self._open = [Scope(runtime=False, names=dict(outer or {})), Scope(runtime=False)]
        self._lost: dict[str, str] = {}

    def enter(self, *, runtime: bool) -> None:
        """Open a scope."""
        self._open.append(Scope(runtime))

    def exit(self) -> dict[str, object]:
        """Close the innermost scope and return its names."""
        return self._open.pop().names

    def find(self, name: str) -> Scope | None:
        """Return the scope that binds a name, None where none does."""
        return next((scope for scope in reversed(self._open) if name in scope.names), None)

    def crosses_runtime(self, scope: Scope) -> bool:
        """Whether the kernel decides if what stands here runs, seen from an outer scope."""
        inner = self._open[self._open.index(scope) + 1 :]
        return any(each.runtime for each in inner)

    def define(self, name: str, value: object) -> None:
        """Bind a name in the innermost scope."""
        self._open[-1].names[name] = value
        self._lost.pop(name, None)

    def lose(self, name: str, reason: str) -> None:
        """Note why a name is not there any more."""
        self._lost[name] = reason

    def check_lost(self, name: str) -> None:
        """Raise the error about a name that is not there any more, where it was once.

        Raises:
            ScriptError: it was.
        """
        if name in self._lost:
            raise ScriptError(
                f"'{name}' may be undefined here: {self._lost[name]}",
                hint=f"give '{name}' a value before, for all cases",
            )

    def names(self) -> list[str]:
        """Return all names that are bound."""
        return [name for scope in self._open for name in scope.names]

    def flat(self) -> dict[str, object]:
        """Return what the names stand for at this moment."""
        return {name: value for scope in self._open for name, value in scope.names.items()}
