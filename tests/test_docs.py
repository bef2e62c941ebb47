"""The pages in docs/ tell the truth: their programs run."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hidet.testing.lit_file import read_run_lines, run_line

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
CODE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


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


@pytest.mark.parametrize(
    "page", [*ROOT.glob("*.md"), *PAGES], ids=lambda page: str(page.relative_to(ROOT))
)
def test_links(page):
    """What a page links to is there."""
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists()


@pytest.mark.parametrize("text", cases("python"))
def test_python(text):
    """Python blocks run."""
    exec(compile(text, "block", "exec"), {})


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
    for name, module in (("hidet-opt", "hidet.tools.hidet_opt"), ("filecheck", "filecheck")):
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
