"""The source keeps the limits of size that CONTRIBUTING.md sets, and holds no examples."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST_FILE = 500
LONGEST_FUNCTION = 60

FILES = sorted((ROOT / "hidet").rglob("*.py"))
NEW = ROOT / "hidet" / "tools" / "new"


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


def test_what_hidet_new_writes_is_replaced():
    """No text of its templates is left; they mark what the author replaces."""
    headers = (ROOT / "hidet" / "backend" / "device").glob("*.h*")
    files = [path for path in (*FILES, *headers) if NEW not in path.parents]
    left = [str(path.relative_to(ROOT)) for path in files if "Replace: " in path.read_text()]
    assert not left, f"write what 'Replace:' stands for in {', '.join(left)}"
