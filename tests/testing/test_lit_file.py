"""RUN lines in this process, and lit files as pytest's tests."""

import subprocess
import sys

import pytest

from hidet.testing.lit_file import LitFailure, needs_shell, read_run_lines, run_line

PROGRAM = """
// CHECK:     func.func @add_zero
// CHECK-NOT: arith
func.func @add_zero(%x: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = arith.addi %x, %zero : i32
  func.return %sum : i32
}
"""


@pytest.fixture
def program(tmp_path):
    """A lit file without RUN lines."""
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return path


def test_read_run_lines(tmp_path):
    """RUN lines are found in order; a backslash joins two."""
    path = tmp_path / "a.mlir"
    path.write_text("// RUN: one %s | two\n// CHECK: RUN\n// RUN: three \\\n// RUN: four\n")
    assert read_run_lines(path) == ["one %s | two", "three  four"]


def test_needs_shell(tmp_path):
    """A file can ask for a shell."""
    path = tmp_path / "a.mlir"
    path.write_text("// REQUIRES: shell\n")
    assert needs_shell(path)
    path.write_text("// A file that requires no shell.\n")
    assert not needs_shell(path)


@pytest.mark.parametrize(
    "line",
    [
        "hidet-opt %s -p 'canonicalize' | filecheck %s",
        'hidet-opt %s -p "canonicalize,cse" --print-op-generic | hidet-opt | filecheck %s',
        "not hidet-opt %s -p 'no-such-pass'",
        "hidet-opt %s | not filecheck %s",
    ],
)
def test_lines_that_hold(line, program):
    """Each of these does what it says."""
    run_line(line, program)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("hidet-opt %s | filecheck %s", "CHECK"),
        ("HIDET_ROUNDTRIP", "arith"),
        ("HIDET_VERIFY", "arith"),
        ("not hidet-opt %s", "ended with status 0"),
        ("hidet-opt %s -p 'no-such-pass' | filecheck %s", "ended with status 1"),
        ("hidet-opt %s --no-such-option", "ended with status 2"),
        ("hidet-opt %s | grep arith", "'grep' is not known here"),
        ("hidet-opt %s |", "a command is missing"),
        ("hidet script %s", "has no script module among its global names|is no Python file"),
        ("hidet-opt %s --disable-verify", "REQUIRES: shell"),
    ],
)
def test_lines_that_fail(line, message, program):
    """Each of these fails, and says why."""
    with pytest.raises(LitFailure, match=message):
        run_line(line, program)


def test_the_input_of_what_failed_is_shown(program):
    """The first command of a pipe has none."""
    with pytest.raises(LitFailure, match=r"(?s)its input was:\n.*arith"):
        run_line("hidet-opt %s | filecheck %s", program)
    with pytest.raises(LitFailure) as caught:
        run_line("hidet-opt %s --no-such-option", program)
    assert "its input was" not in str(caught.value)


def test_errors_can_be_matched(program):
    """`2>&1` hands the errors on."""
    program.write_text("// CHECK: Unrecognized passes\n")
    run_line("not hidet-opt %s -p 'no-such-pass' 2>&1 | filecheck %s", program)
    with pytest.raises(LitFailure):
        run_line("not hidet-opt %s -p 'no-such-pass' | filecheck %s", program)


def test_collected_by_pytest(tmp_path):
    """Every RUN line below a lit.cfg.py is a test; a file without one fails."""
    (tmp_path / "lit.cfg.py").write_text("")
    folder = tmp_path / "dialects"
    folder.mkdir()
    run = "// RUN: hidet-opt %s -p '{}' | filecheck %s\n"
    (folder / "good.mlir").write_text(run.format("canonicalize") + PROGRAM)
    (folder / "bad.mlir").write_text(run.format("") + PROGRAM)
    (folder / "none.mlir").write_text(PROGRAM)
    (folder / "options.py").write_text("# RUN: hidet option\n")
    (folder / "shell.mlir").write_text("// REQUIRES: shell\n" + run.format("") + PROGRAM)
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rsf", "-p", "hidet.testing.plugin", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 failed, 2 passed, 1 skipped" in result.stdout
    assert "FAILED dialects/bad.mlir::run0" in result.stdout
    assert "FAILED dialects/none.mlir::run0 - the file has no RUN line" in result.stdout
    assert "REQUIRES: shell; lit runs this file" in result.stdout
    assert "Traceback" not in result.stdout
