"""What of Python's syntax means nothing in a kernel, and what to write instead."""

from __future__ import annotations

import ast

REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.AsyncFunctionDef: ("'async def'", "threads wait for each other by syncthreads()"),
    ast.ClassDef: ("'class'", "define it outside, and use its objects here"),
    ast.Delete: ("'del'", "leave it out; a name ends with the block that it stands in"),
    ast.Global: ("'global'", "write to a tensor, or let a function return the value"),
    ast.Import: ("'import'", "import at the top of the file"),
    ast.ImportFrom: ("'import'", "import at the top of the file"),
    ast.Match: ("'match'", "use 'if' and 'elif'"),
    ast.Nonlocal: ("'nonlocal'", "write to a tensor, or let the function return the value"),
    ast.Raise: ("'raise'", "check by 'assert'; a kernel has no exceptions"),
    ast.Try: ("'try'", "check by 'assert'; a kernel has no exceptions"),
    ast.TryStar: ("'try'", "check by 'assert'; a kernel has no exceptions"),
    ast.Yield: ("'yield'", "return a value, or call a function for each"),
    ast.YieldFrom: ("'yield'", "return a value, or call a function for each"),
}
"""For each statement and expression that a script cannot contain its words, and what is right."""


def refusal(node: ast.AST) -> tuple[str, str | None]:
    """Return what is wrong with a node that a script cannot contain, and what would be right."""
    words, hint = REFUSED.get(type(node), (type(node).__name__, None))
    return f"a script has no {words}", hint
