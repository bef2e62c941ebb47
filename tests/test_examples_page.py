"""docs/script/examples.md tells the truth: lines of scripts, what becomes of them, and pictures."""

import importlib.util
import re
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

DRAWINGS = re.findall(r"^<!-- draw\((\d+)\): ([^\n]*) -->\n```text\n(.*?)\n```$", TEXT, re.M | re.S)


def load(name):
    """Import an example."""
    specification = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def rows(section):
    """Give the rows of the table of a section: the lines of a script, and those of CUDA."""
    for script, cuda in re.findall(r"^\| (`.*`) \| (.*) \|$", section, re.MULTILINE):
        yield script.strip("`"), [line.strip("`") for line in cuda.split("<br>")]


@pytest.mark.parametrize("name", SECTIONS)
def test_lines(name):
    """Each line of a table is one of the example, and becomes lines of its source, in order."""
    section = SECTIONS[name]
    (sizes,) = re.findall(r"^<!-- build:(.*)-->$", section, re.MULTILINE)
    script = {line.strip() for line in (EXAMPLES / f"{name}.py").read_text().splitlines()}
    build = load(name).build
    source = build(*[int(size) for size in sizes.split(",") if size.strip()]).source()
    lines = [line.strip() for line in source.splitlines()]
    shown = list(rows(section))
    assert shown
    for line, becomes in shown:
        assert line in script
        rest = iter(lines)
        assert [each for each in becomes if each not in rest] == [], f"of {line}"


@pytest.mark.parametrize(("limit", "mapping", "picture"), DRAWINGS, ids=lambda value: value[:40])
def test_pictures(limit, mapping, picture):
    """A picture shows its mapping."""
    assert eval(mapping, vars(lang).copy()).draw(int(limit)) == picture


def test_order():
    """The page goes through examples that are there."""
    assert next(iter(SECTIONS)) == "hello_world"
    assert set(SECTIONS) <= {path.stem for path in EXAMPLES.glob("*.py")}
    assert len(DRAWINGS) >= 5
