"""The page of names has every function that `hidet.lang.cuda` and `hidet.lang.math` hand out.

`python tests/test_names_page.py` writes the page.
"""

import importlib
import inspect
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "script" / "names.md"
MODULES = ("hidet.lang.cuda", "hidet.lang.math")


def rows(module):
    """Give what a module hands out: the names of each thing, and the first line about it."""
    handed_out = importlib.import_module(module)
    names = {}
    for name in handed_out.__all__:
        value = getattr(handed_out, name)
        names.setdefault(id(value), (value, []))[1].append(name)
    for value, known in names.values():
        summary, *_ = (inspect.getdoc(value) or "").splitlines()
        spelled = ", ".join(f"`{name}`" for name in sorted(known, key=lambda n: (n[0] == "_", n)))
        yield f"| {spelled} | {summary.replace('|', '&#124;')} |"


def page():
    """Return the text of the page."""
    parts = [
        "# Names of scripts",
        "What kernels may call, from the docstrings: [the guide](../script.md) shows how.",
    ]
    for module in MODULES:
        table = [f"| `{module}` | |", "| --- | --- |", *sorted(rows(module), key=str.lower)]
        parts.append("\n".join(table))
    return "\n\n".join(parts) + "\n"


@pytest.mark.parametrize("module", MODULES)
def test_everything_says_what_it_is(module):
    """Each thing has a docstring that ends its first sentence, or has a colon in it."""
    for row in rows(module):
        summary = row.split("|")[2].strip()
        assert summary.endswith((".", ":")), row


def test_page():
    """The page is what the docstrings say."""
    assert PAGE.read_text() == page(), "python tests/test_names_page.py writes the page"


if __name__ == "__main__":
    PAGE.write_text(page())
