"""hidet-opt on malformed programs: an error with a place, in little time and memory."""

import subprocess
import sys
from pathlib import Path

import pytest

from hidet.tools import hidet_opt

MUTATIONS = Path(__file__).with_name("mutations.py")


@pytest.mark.parametrize(
    ("seed", "count"), [(1_000_000, 100), pytest.param(0, 4000, marks=pytest.mark.slow)]
)
def test_mutations(seed, count):
    """Tokens of the lit tests that are dropped, doubled, swapped, huge, deep."""
    command = [sys.executable, str(MUTATIONS), str(seed), str(count)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stdout.endswith("\n0 failed\n") or result.stdout == "0 failed\n", (
        result.stdout + result.stderr
    )


BROKEN = {
    "string": (
        '"test.op"() {a = "' + "a" * 60 + "} : () -> ()",
        18,
    ),
    "escape": (
        '"test.op"() {a = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\q"} : () -> ()',
        18,
    ),
    "deep": ('"test.op"() : ' + "(" * 5000, 5014),
    "range": ('"test.op"() {a = dense<99999999999999999999> : tensor<2xi64>} : () -> ()', 61),
    "stride": (
        '%x = "test.op"() : () -> memref<8xf16> '
        "%m = cuda.tensor_map %x offset 0 strides [99999999999999999999] : memref<8xf16> -> "
        "!cuda.tensor_map<tensor<8x8xf16>, box [8, 8]>",
        104,
    ),
    "bytes": (b'"test.op"() {a = "\xff"} : () -> ()', 19),
}


@pytest.mark.parametrize("name", BROKEN)
def test_place_of_what_the_parser_does_not_survive(name, tmp_path, capsys):
    """Strings that xDSL's lexer would not be done with, depth, values and bytes."""
    text, column = BROKEN[name]
    path = tmp_path / "program.mlir"
    path.write_bytes(b"\n%b\n" % (text if isinstance(text, bytes) else text.encode()))
    assert hidet_opt.main([str(path)]) == 1
    assert f"at: {path}:2:{column}" in capsys.readouterr().err


def test_verifiers_that_raise_anything(tmp_path, capsys):
    """xDSL's own raise plain exceptions here and there; the error names the operation."""
    path = tmp_path / "program.mlir"
    path.write_text(
        "func.func @f(%m : memref<4x4xf32>, %i : index) {\n"
        "  %v = memref.load %m[%i] : memref<4x4xf32>\n  func.return\n}\n"
    )
    assert hidet_opt.main([str(path)]) == 1
    assert "'memref.load' does not verify: expected an index" in capsys.readouterr().err


def test_values_that_define_each_other(tmp_path, capsys):
    """No pass gets a program in which values have no order."""
    path = tmp_path / "program.mlir"
    path.write_text(
        "cuda.kernel @circle(%x : memref<8xindex>) grid(1) block(32) {\n"
        "  %t = cuda.thread_id x\n  %a = arith.addi %b, %t : index\n"
        "  %b = arith.addi %a, %t : index\n  memref.store %b, %x[%t] : memref<8xindex>\n}\n"
    )
    assert hidet_opt.main([str(path), "-p", "index-width"]) == 1
    assert "operand 0, %b, is used before it is defined" in capsys.readouterr().err


def test_tasks_are_not_listed_without_end(tmp_path, capsys):
    """A map may have any extents, of which no list is made."""
    path = tmp_path / "program.mlir"
    text = (Path(__file__).parents[2] / "lit_tests/lowering/task/lower_task.mlir").read_text()
    part = next(part for part in text.split("// -----") if "32x16xf16, #task.map" in part)
    path.write_text(part.replace("repeat(2, 2) *", "repeat(2, 1099511627776) *"))
    assert hidet_opt.main([str(path), "-p", "lower-task"]) == 1
    assert "too many to list" in capsys.readouterr().err
