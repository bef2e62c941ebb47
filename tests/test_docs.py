"""The pages in docs/ tell the truth: their programs run."""

import importlib
import inspect
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from itertools import dropwhile
from pathlib import Path

import pytest
import torch
from xdsl.parser import Parser

from hidet import option
from hidet.analysis.kernels import kernels_of
from hidet.backend.printer.kernel import print_kernels
from hidet.context import make_context
from hidet.lowering.pipelines import PIPELINES, PassOptions, passes_of
from hidet.testing.lit_file import read_run_lines, run_line
from hidet.tools import cli, hidet_opt
from hidet.universe import PASSES, load

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
MATMUL = ROOT / "docs" / "matmul.md"
CODE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
LINE = 100
"""The characters of a line that is no row of a table and no long link."""


def blocks(page, language):
    """Give the code blocks of a page that are in a language."""
    return [text for name, text in CODE.findall(page.read_text()) if name == language]


def cases(language):
    """Give every code block in a language, as cases of a test."""
    return [
        pytest.param(text, id=f"{page.stem}-{number}")
        for page in PAGES
        for number, text in enumerate(blocks(page, language))
    ]


def test_faults_have_tests():
    """Each row of the page on faults names tests, and they are where it says."""
    rows = re.findall(
        r"^\| (?!fault |---).*", (ROOT / "docs" / "faults.md").read_text(), re.MULTILINE
    )
    assert len(rows) == 16
    for row in rows:
        files = re.findall(r"\((\S*test_\w+\.py)\): ((?:`test_\w+`(?:, )?)+)", row)
        assert files, row
        for path, names in files:
            text = (ROOT / "docs" / path).read_text()
            for name in re.findall(r"\w+", names):
                assert f"\ndef {name}(" in text, (path, name)


def anchors(page):
    """Give the names by which the headings of a page are linked to."""
    titles = HEADING.findall(re.sub(r"\[(.*?)\]\(.*?\)", r"\1", page.read_text()))
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize(
    "page", sorted({*ROOT.glob("*.md"), *PAGES}), ids=lambda page: str(page.relative_to(ROOT))
)
def test_links(page):
    """What a page links to is there, and so is the heading that it means."""
    for target, anchor in LINK.findall(page.read_text()):
        linked = page.parent / target if target else page
        assert linked.exists()
        assert not anchor or anchor in anchors(linked)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines(page):
    """Lines of a page can be read in an editor."""
    rows = page.read_text().splitlines()
    lines = [row for row in rows if not row.startswith("|") and "](https:" not in row]
    assert [line for line in lines if len(line) > LINE] == []


@pytest.mark.parametrize("text", cases("python"))
@pytest.mark.sample(26)
def test_python(text, tmp_path):
    """Python blocks run, from a file: scripts are read from their source."""
    path = tmp_path / "block.py"
    path.write_text(text)
    torch._dynamo.reset()  # what it has seen in other blocks makes shapes dynamic
    runpy.run_path(str(path))


@pytest.mark.parametrize("text", cases("mlir"))
def test_mlir(text, tmp_path):
    """Programs do what their RUN lines say, and have one."""
    path = tmp_path / "program.mlir"
    path.write_text(text)
    lines = read_run_lines(path)
    assert lines
    for line in lines:
        run_line(line, path)


def test_commands_of_the_walk_through(tmp_path):
    """The commands of write-a-lowering-test.md work in a shell, as they are written."""
    page = ROOT / "docs" / "write-a-lowering-test.md"
    (tmp_path / "readonly.mlir").write_text(blocks(page, "mlir")[0])
    (tmp_path / "reverse.py").write_text(blocks(page, "python")[0])
    tools = {"hidet": "hidet.tools.cli", "hidet-opt": "hidet.tools.hidet_opt"}
    for name, module in {**tools, "filecheck": "filecheck"}.items():
        script = tmp_path / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        script.chmod(0o755)
    for command in blocks(page, "sh"):
        result = subprocess.run(
            [shutil.which("sh"), "-ec", command],
            cwd=tmp_path,
            env={"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr


COMMANDS = {
    line: shlex.split(line, comments=True)
    for page in ("README.md", "CONTRIBUTING.md")
    for line in "".join(blocks(ROOT / page, "sh")).splitlines()
    # tests/tools/test_new.py runs those that write, in a copy.
    if line.startswith(("hidet ", "hidet-opt lit_tests/")) and not line.startswith("hidet new")
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(command, monkeypatch, capsys):
    """The commands of the pages work; those on a dump are in tests/end_to_end/test_dump.py."""
    monkeypatch.chdir(ROOT)
    tool, *arguments = COMMANDS[command]
    assert (cli.main if tool == "hidet" else hidet_opt.main)(arguments) == 0
    assert capsys.readouterr().out


def first_paragraph(pass_name):
    """Give what the docstring of a pass begins with, on one line."""
    text = inspect.getdoc(load(PASSES[pass_name]))
    return " ".join(text.partition("\n\n")[0].split())


def test_passes_of_the_architecture():
    """The table has every pass of the pipeline, in order, in the words of its docstring."""
    rows = re.findall(r"^\| `[\w-]+` \| .* \|$", ARCHITECTURE.read_text(), re.MULTILINE)
    names = dict.fromkeys([*PIPELINES["hidet-pipeline"], "verify-level"])
    assert rows == [f"| `{name}` | {first_paragraph(name)} |" for name in names]


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    """Run the program of the architecture page; give the folder of its dump."""
    folder = tmp_path_factory.mktemp("dump")
    (program,) = blocks(ARCHITECTURE, "python")
    torch._dynamo.reset()
    with option.context(dump_dir=folder, cache_dir=folder / "cache"):
        exec(compile(program, "block", "exec"), {})
    (graph,) = folder.glob("graph_*")
    return graph


@pytest.fixture(scope="module")
def stages():
    """Run the program of the page on products; give its text after each pass, and as source."""
    (program,) = blocks(MATMUL, "mlir")
    context = make_context()
    module = Parser(context, program).parse_module()
    found = {}
    for each in passes_of("kernels-pipeline", PassOptions()):
        each.apply(context, module)
        found[each.name] = str(module)
    return found | {"source": print_kernels(*kernels_of(module))}


EXCERPT = re.compile(
    r"^<!-- (after|kernel) (\S+) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


def words(line):
    """Reduce a line to what does not change with names of values and numbers of a schedule."""
    return re.sub(r"\d+", "0", re.sub(r"%\w+", "%", line.strip()))


def shows(shown, line):
    """Tell whether a line is the one that a page shows, which may leave out parts of it: `...`."""
    pattern = ".*".join(map(re.escape, words(shown).split("...")))
    return re.fullmatch(pattern, words(line)) is not None


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    EXCERPT.findall(ARCHITECTURE.read_text()),
    ids=lambda value: value if len(value) < 40 else "",
)
def test_excerpts_of_the_architecture(dump, kind, name, text):
    """The lines that the page shows of a stage are in its text, in their order."""
    (path,) = dump.glob(f"*_{name}.mlir" if kind == "after" else f"kernels/{name}.cu")
    check_excerpt(text, path.read_text())


@pytest.mark.parametrize(
    ("name", "text"), [found[1:] for found in EXCERPT.findall(MATMUL.read_text())]
)
def test_excerpts_of_the_product(stages, name, text):
    """The same of the page on products."""
    check_excerpt(text, stages[name])


def check_excerpt(excerpt, whole):
    """Assert that the lines of an excerpt are in a text, in their order."""
    rest = iter(whole.splitlines())
    for shown in excerpt.splitlines():
        if shown.strip() == "...":
            continue
        rest = dropwhile(lambda line, shown=shown: not shows(shown, line), rest)
        assert next(rest, None) is not None, f"the text does not go on with: {shown}"


def test_tutorial_names_the_module_of_each_function():
    """Each function that the tutorial speaks of stands in its table of modules."""
    page = (ROOT / "docs" / "script.md").read_text()
    table = page.partition("## Imports\n")[2].partition("\n##")[0]
    listed = {}
    for module, names in re.findall(r"^\| `?([\w.]+)`? \| (.*) \|$", table, re.MULTILINE):
        for name in re.findall(r"`(\w+)`", names):
            listed.setdefault(name, []).append(module)
    prose = CODE.sub("", page)
    called = set(re.findall(r"`(\w+)\(", prose)) - {"f", "layout"}
    assert not called - set(listed)
    for name, modules in listed.items():
        for module in modules:
            found = "builtins" if module == "Python" else module
            assert name == "math" or hasattr(importlib.import_module(found), name), (name, module)
