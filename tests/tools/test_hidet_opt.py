"""hidet-opt: what it prints, how it fails. The command line itself is tested by lit_tests/tools."""

from dataclasses import dataclass
from io import BytesIO

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException, ShrinkException, VerifyException

import hidet
from hidet.errors import LegalityError, OptionError, PassError
from hidet.lowering.pipelines import PIPELINES
from hidet.tools import hidet_opt
from hidet.tools.hidet_opt import HidetOptMain
from hidet.universe import HIDET_UNIVERSE, multiverse

PROGRAM = """
func.func @add_zero(%x: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = arith.addi %x, %zero : i32
  func.return %sum : i32
}
"""


@dataclass(frozen=True)
class RaisePass(ModulePass):
    """A pass that raises what it is told to."""

    name = "raise"
    error = KeyError("lost")

    def apply(self, ctx, op):
        raise self.error


@dataclass(frozen=True)
class BreakPass(ModulePass):
    """A pass that leaves a program behind that does not verify."""

    name = "break"

    def apply(self, ctx, op):
        for inner in op.walk():
            if inner.name == "arith.constant":
                inner.properties["value"] = StringAttr("no number")


@pytest.fixture
def passes(monkeypatch):
    """Make the passes above known to hidet-opt."""
    monkeypatch.setitem(multiverse().all_passes, "raise", lambda: RaisePass)
    monkeypatch.setitem(multiverse().all_passes, "break", lambda: BreakPass)


def run(*arguments, text=PROGRAM):
    """Run hidet-opt on a text."""
    return hidet_opt.main(arguments, BytesIO(text.encode()))


def test_runs_passes(capsys):
    """Passes run in order, and the result is printed."""
    assert run("-p", "canonicalize") == 0
    assert "arith" not in capsys.readouterr().out


def test_reads_and_writes_files(tmp_path):
    """Programs come from files and go to files."""
    source, result = tmp_path / "program.mlir", tmp_path / "result.mlir"
    source.write_text(PROGRAM)
    assert hidet_opt.main([str(source), "-p", "canonicalize", "-o", str(result)]) == 0
    assert "func.return %x" in result.read_text()


def test_other_extensions(tmp_path, capsys):
    """Programs are MLIR, whatever the names of their files are."""
    (tmp_path / "program.txt").write_text(PROGRAM)
    assert hidet_opt.main([str(tmp_path / "program.txt")]) == 0
    assert "arith.addi %x, %zero" in capsys.readouterr().out


def test_missing_file(capsys):
    """A file that is not there is an error without a traceback."""
    assert hidet_opt.main(["no_such_file.mlir"]) == 1
    assert "no_such_file.mlir" in capsys.readouterr().err


def test_syntax_error(capsys):
    """A text that is no program is shown with the place of the mistake."""
    assert run(text="func.func 3") == 1
    assert capsys.readouterr().err.startswith("hidet-opt: stdin:1:11")


WRONG = {
    "if": (
        """func.func @f(%c: i1, %i: index) {
          %r = scf.if %c -> (i1) {
            scf.yield %c : i1
          } else {
            scf.yield %i : index
          }
          func.return
        }""",
        "a branch yields index, but the operation gives i1\n  at: scf.if in @f",
    ),
    "launch": (
        """cuda.kernel @k(%x : memref<4xf32>) grid(1) block(32) {
        }
        func.func @f() {
          cuda.launch @k() : () -> ()
          func.return
        }""",
        "0 arguments for @k, which takes 1\n  at: cuda.launch in @f",
    ),
    "float": (
        "func.func @f() {\n  %c = arith.constant 70000.0 : f16\n  func.return\n}",
        "too large",
    ),
    "worker": (
        """cuda.kernel @k(%x : memref<64xf32>) grid(1) block(64) {
          task.foreach (%i) in #task.map<spatial(64)> on %t {
          }
        }""",
        "values used but not defined: [%t]",
    ),
    "load": (
        """func.func @f(%x : memref<8x8xf32>, %i : index) {
          %y = memref.load %x[%i] : memref<8x8xf32>
          func.return
        }""",
        "expected an index for each dimension\n  at: ",
    ),
}
"""Programs that do not verify, with what is said about them."""


@pytest.mark.parametrize("name", WRONG)
def test_wrong_programs(name, capsys):
    text, message = WRONG[name]
    assert run(text=text) == 1
    assert message in capsys.readouterr().err


def test_planned_twice(capsys):
    """Memory is planned once."""
    kernel = "cuda.kernel @f(%x : memref<4xf32>, %y : memref<4xf32>) grid(1) block(4) {\n}"
    host = """func.func @forward(%x : tensor<4xf32>) -> tensor<4xf32> {
      %y = cuda.launch @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }"""
    texts = list[str]()
    for passes in ("plan-memory", "plan-memory,plan-memory"):
        assert run("-p", passes, text=f"{kernel}\n{host}") == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


def test_nothing_is_printed_of_what_is_not_lowered(capsys):
    graph = """func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = graph.relu %x : tensor<4xf32>
      func.return %y : tensor<4xf32>
    }"""
    assert run("-t", "cuda", text=graph) == 1
    assert "graph.relu is not in a kernel" in capsys.readouterr().err


def test_program_that_does_not_verify(capsys):
    """The operation that does not verify is shown."""
    assert run(text=PROGRAM.replace("return %sum : i32", "return")) == 1
    assert capsys.readouterr().err.endswith('  at: "func.return"() : () -> ()\n')


def test_unexpected_error_in_a_pass(passes, capsys):
    """Whatever a pass raises comes out as an error that names the pass."""
    assert run("-p", "canonicalize,raise") == 1
    error = capsys.readouterr().err
    assert "hidet-opt: pass 'raise' failed: 'lost'" in error
    assert "cause: KeyError; HIDET_TRACEBACK=1 shows where" in error


def test_traceback_on_request(passes, monkeypatch):
    """HIDET_TRACEBACK=1 lets the exception through, with its cause."""
    monkeypatch.setenv("HIDET_TRACEBACK", "1")
    with pytest.raises(PassError) as caught:
        run("-p", "raise")
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.pass_name == "raise"


def test_errors_of_hidet_pass_through(passes, monkeypatch, capsys):
    """An error that is for the user already is shown as it is."""
    monkeypatch.setattr(RaisePass, "error", LegalityError("a task op is left", where="a.py:3"))
    assert run("-p", "raise") == 1
    assert capsys.readouterr().err == "hidet-opt: a task op is left\n  at: a.py:3\n"


def test_failed_pass(passes, monkeypatch, capsys):
    """A pass that says that it failed is named."""
    monkeypatch.setattr(RaisePass, "error", PassFailedException("no loop here"))
    assert run("-p", "raise") == 1
    assert "pass 'raise' failed: no loop here" in capsys.readouterr().err


@pytest.mark.parametrize("error", [LegalityError("left over"), VerifyException("left over")])
def test_verify_diagnostics(passes, monkeypatch, capsys, error):
    """With --verify-diagnostics an expected error is part of the output."""
    monkeypatch.setattr(RaisePass, "error", error)
    assert run("-p", "raise", "--verify-diagnostics") == 0
    assert "left over" in capsys.readouterr().out


def test_verify_diagnostics_wants_an_error_about_the_program(passes, capsys):
    """A mistake in a pass is no expected error."""
    assert run("-p", "raise", "--verify-diagnostics") == 1
    assert "KeyError" in capsys.readouterr().err


def test_shrink(passes, monkeypatch, capsys):
    """An exception for a reducer of test cases ends the run as the reducer wants it."""
    monkeypatch.setattr(RaisePass, "error", ShrinkException())
    with pytest.raises(SystemExit) as caught:
        run("-p", "raise", "--shrink")
    assert not caught.value.code
    assert "can shrink" in capsys.readouterr().out


def test_named_pipelines_run_pass_by_pass():
    """The passes of a pipeline are timed and verified one by one, with its options."""
    passes = HidetOptMain(["-p", "canonicalize,task-pipeline{arch=cpu},cse"]).pipeline.passes
    assert [each.name for each in passes] == ["canonicalize", *PIPELINES["task-pipeline"], "cse"]
    archs = {each.arch for each in passes if hasattr(each, "arch")}
    assert archs <= {"cpu"}


def test_pass_that_breaks_the_program(passes, capsys):
    """The program is verified after every pass, and the pass that broke it is named."""
    assert run("-p", "canonicalize,break,cse", text=PROGRAM.replace("0", "1")) == 1
    error = capsys.readouterr().err
    assert "pass 'break' failed: it leaves a program that does not verify" in error
    assert 'at: %zero = "arith.constant"()' in error


def test_bad_pipeline():
    """A pipeline that does not parse names itself."""
    for pipeline in ("no-such-pass", "canonicalize{", "canonicalize{speed=1}"):
        with pytest.raises(OptionError) as caught:
            HidetOptMain(["-p", pipeline])
        assert f"at: pipeline '{pipeline}'" in str(caught.value)


def test_bad_target_option():
    """An option that the target lacks is found before anything runs."""
    with pytest.raises(OptionError, match=r"at: target 'mlir\{speed=1\}'"):
        HidetOptMain(["-t", "mlir{speed=1}"])


def test_time_passes(capsys):
    """The table has a line for each pass, with the number of operations, and a total."""
    assert run("-p", "canonicalize,cse", "--time-passes") == 0
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert [line.split()[0] for line in lines] == ["pass", "canonicalize", "cse", "total"]
    assert lines[1].split()[-2:] == ["5", "3"]
    assert lines[2].split()[-2:] == ["3", "3"]
    assert "canonicalize" not in captured.out


def test_print_between_passes(capsys):
    """The program is shown between passes, as text that can be cut out."""
    assert run("-p", "canonicalize,cse", "--print-between-passes") == 0
    output = capsys.readouterr().out
    assert output.count("// IR after canonicalize:") == 1
    assert "// IR after cse:" not in output


def test_version(capsys):
    """--version names both projects."""
    with pytest.raises(SystemExit) as caught:
        HidetOptMain(["--version"])
    assert not caught.value.code
    assert capsys.readouterr().out.startswith(f"hidet-opt {hidet.__version__} on xDSL 0.74")


def test_knows_hidet_without_entry_points(monkeypatch):
    """In a checkout that is not installed hidet-opt knows hidet's dialects all the same."""
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [])
    multiverse.cache_clear()
    try:
        known = multiverse()
    finally:
        multiverse.cache_clear()
    assert set(HIDET_UNIVERSE.all_dialects) <= set(known.all_dialects)
    assert set(HIDET_UNIVERSE.all_targets) <= set(known.all_targets)
