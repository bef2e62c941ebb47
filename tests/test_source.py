"""The source keeps the limits of size that CONTRIBUTING.md sets."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST_FILE = 500
LONGEST_FUNCTION = 60

FILES = sorted((ROOT / "hidet").rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sizes(path):
    """No file and no function is too long to be read in one go."""
    text = path.read_text()
    assert text.count("\n") <= LONGEST_FILE
    functions = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    lengths = {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in functions}
    too_long = {name: length for name, length in lengths.items() if length > LONGEST_FUNCTION}
    assert not too_long
