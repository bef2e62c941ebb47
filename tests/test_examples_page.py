"""docs/script/examples.md tells the truth: lines of scripts, what becomes of them, and pictures."""

import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest

from hidet import lang

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "script" / "examples.md").read_text()
EXAMPLES = ROOT / "examples" / "script"

SECTIONS = {
    part.partition("]")[0]: part for part in re.split(r"^## \[", TEXT, flags=re.MULTILINE)[1:]
}
"""The sections by the names of their examples."""

DRAWING = re.compile(r"^<!-- draw\((\d+)\): ([^\n]*) -->\n```text\n(.*?)\n```$", re.M | re.S)
DRAWINGS = [(name, *each) for name, part in SECTIONS.items() for each in DRAWING.findall(part)]
"""Of each picture its section, how much of it is drawn, the mapping, and the picture."""


@cache
def load(name):
    """Import an example."""
    specification = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def source(name):
    """Give the CUDA of an example, built for the sizes of its section, if it is built for some."""
    sizes = re.findall(r"^<!-- build:(.*)-->$", SECTIONS[name], re.MULTILINE)
    if not sizes:
        return load(name).kernels.source()
    return load(name).build(*[int(size) for size in sizes[0].split(",") if size.strip()]).source()


def rows(section):
    """Give the rows of the table of a section: the lines of a script, and those of CUDA."""
    for script, cuda in re.findall(r"^\| (`.*`) \| (.*) \|$", section, re.MULTILINE):
        yield script.strip("`"), [line.strip("`") for line in cuda.split("<br>")]


@pytest.mark.parametrize("name", SECTIONS)
def test_lines(name):
    """Each line of a table is one of the example, and becomes lines of its source, in order."""
    text = (EXAMPLES / f"{name}.py").read_text()
    script = {line.partition("  # ")[0].strip() for line in text.splitlines()}
    lines = [line.strip() for line in source(name).splitlines()]
    shown = list(rows(SECTIONS[name]))
    assert shown
    for line, becomes in shown:
        assert line in script
        rest = iter(lines)
        assert [each for each in becomes if each not in rest] == [], f"of {line}"


@pytest.mark.parametrize(
    ("name", "limit", "mapping", "picture"), DRAWINGS, ids=lambda value: value[:40]
)
def test_pictures(name, limit, mapping, picture):
    """A picture shows its mapping, which may be one of the example."""
    names = vars(lang) | vars(lang.cuda) | vars(load(name))
    assert eval(mapping, names).draw(int(limit)) == picture


def test_order():
    """The page goes through all examples, from the first on."""
    assert next(iter(SECTIONS)) == "hello_world"
    assert set(SECTIONS) == {path.stem for path in EXAMPLES.glob("*.py")}
    assert len(DRAWINGS) >= 5
