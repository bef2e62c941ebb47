"""Queries on syntax trees: assigned and read names, exits, unsupported statements."""

import ast
from collections.abc import Iterable, Sequence
from functools import cache

_ASSIGNMENTS = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr


@cache
def assigned_names(code: ast.AST) -> frozenset[str]:
    """Return the names that a statement assigns, nested ones included, without `for` targets."""
    nodes = [node for node in ast.walk(code) if isinstance(node, _ASSIGNMENTS)]
    targets = [node.targets if isinstance(node, ast.Assign) else [node.target] for node in nodes]
    return frozenset(name for each in targets for target in each for name in names_of(target))


def names_of(target: ast.expr) -> list[str]:
    """Return the names that an assignment target binds."""
    names = [node for node in ast.walk(target) if isinstance(node, ast.Name)]
    return [name.id for name in names if isinstance(name.ctx, ast.Store)]


@cache
def read_names(statement: ast.stmt) -> frozenset[str]:
    """Return the names that a statement reads, nested ones included."""
    found: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.AugAssign):
            found.update(names_of(node.target))
    return frozenset(found)


@cache
def changed_names(code: ast.AST) -> frozenset[str]:
    """Return the names of which a statement assigns a component: `v.x`, `v[i]`."""
    return frozenset(
        node.value.id
        for node in ast.walk(code)
        if isinstance(node, ast.Attribute | ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
    )


def are_changed(name: str, statements: Iterable[ast.stmt]) -> bool:
    """Return whether any statement assigns a name or a component of it."""
    return any(name in assigned_names(each) or name in changed_names(each) for each in statements)


def are_assigned(name: str, statements: Iterable[ast.stmt]) -> bool:
    """Return whether any statement assigns a name."""
    return any(name in assigned_names(statement) for statement in statements)


def always_exits(statements: Sequence[ast.stmt]) -> bool:
    """Return whether the last statement always exits the loop body or the function."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return always_exits(last.body) and always_exits(last.orelse)
    return isinstance(last, ast.Return | ast.Continue | ast.Break)


@cache
def subscripted_paths(loop: ast.For, index: str) -> frozenset[tuple[str, ...]]:
    """Return the paths that a name subscripts in a loop, as `sizes[i]` or `self.sizes[i + 1]`."""
    paths = [
        ast.unparse(node.value).split(".")
        for statement in loop.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Subscript)
        and any(isinstance(each, ast.Name) and each.id == index for each in ast.walk(node.slice))
    ]
    return frozenset(tuple(path) for path in paths if all(map(str.isidentifier, path)))


REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.AsyncFunctionDef: ("'async def'", "synchronize threads by syncthreads()"),
    ast.ClassDef: ("'class'", "define it outside, and use its objects here"),
    ast.Delete: ("'del'", "leave it out; a name ends with its block"),
    ast.Global: ("'global'", "write to a tensor, or let a function return the value"),
    **dict.fromkeys((ast.Import, ast.ImportFrom), ("'import'", "import at the top of the file")),
    ast.Match: ("'match'", "use 'if' and 'elif'"),
    ast.Nonlocal: ("'nonlocal'", "write to a tensor, or let the function return the value"),
    ast.Raise: ("'raise'", "check by 'assert'; a kernel has no exceptions"),
    **dict.fromkeys(
        (ast.Try, ast.TryStar), ("'try'", "check by 'assert'; a kernel has no exceptions")
    ),
    **dict.fromkeys(
        (ast.Yield, ast.YieldFrom), ("'yield'", "return a value, or call a function for each")
    ),
}
"""The name of each unsupported statement or expression, and a hint."""


def refusal(node: ast.AST) -> tuple[str, str | None]:
    """Return the message and the hint about an unsupported node."""
    words, hint = REFUSED.get(type(node), (type(node).__name__, None))
    return f"a script has no {words}", hint
