"""What a user sees of an error of a script: his own lines and the message."""

import subprocess
import sys
import textwrap
import traceback
from pathlib import Path

import pytest
import torch

import hidet
from hidet import option
from hidet.errors import HidetError, PassError, ScriptError
from hidet.lang import attrs, f32
from hidet.tracebacks import public

PACKAGE = str(Path(hidet.__file__).parent)


def own_frames(error):
    """Count the frames of the compiler that Python would show."""
    return sum(
        PACKAGE in line for line in traceback.format_exception(error) if line.startswith("  File")
    )


def helper(value):
    """Divide by what cannot divide."""
    return value / 0


def define(mistake):
    """Define a kernel with a mistake."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[8]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            x[0] = helper(1) if mistake == "helper" else unknown  # noqa: F821

    return module


def test_definition():
    """Of a mistake in a script the user's frames are left."""
    with pytest.raises(ScriptError, match="unknown name 'unknown'") as caught:
        define("name")
    assert own_frames(caught.value) == 0
    assert [entry.name for entry in caught.traceback] == ["test_definition", "define"]
    assert caught.value.__cause__ is None


def test_option_shows_all():
    """The option keeps the frames, and what the error was before its place was known."""
    with option.context(full_traceback=True), pytest.raises(ScriptError) as caught:
        define("name")
    assert own_frames(caught.value) > 5
    assert caught.value.__cause__ is not None


def test_cause_of_the_user():
    """What went wrong in a function of the user stays the cause, with his frames."""
    with pytest.raises(ScriptError, match="ZeroDivisionError: division by zero") as caught:
        define("helper")
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert own_frames(caught.value) == 0
    assert [frame.name for frame in traceback.extract_tb(cause.__traceback__)] == ["helper"]


def test_build_and_call():
    """So it is of an empty module, and of a call with the wrong arguments."""
    with pytest.raises(ScriptError, match="the module is empty") as caught:
        hidet.script_module().build()
    assert own_frames(caught.value) == 0
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[8]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            x[0] = 1.0

    with pytest.raises(HidetError) as caught:
        module.build()(torch.zeros(7))
    assert own_frames(caught.value) == 0


def test_bug_of_the_compiler():
    """What is no mistake of the user keeps all frames."""

    @public
    def fail(error, cause=None):
        raise error from cause

    for error, cause in ((PassError("x", pass_name="p"), KeyError(1)), (KeyError(2), None)):
        with pytest.raises(type(error)) as caught:
            fail(error, cause)
        assert caught.traceback[-1].name == "fail"
        assert caught.value.__cause__ is cause


@pytest.mark.parametrize("full", [False, True])
def test_file_that_a_user_runs(full, tmp_path):
    """Python prints a handful of lines, the last of which are the message."""
    path = tmp_path / "script.py"
    path.write_text(
        textwrap.dedent(
            """
            import hidet
            from hidet.lang import attrs, f32

            with hidet.script_module() as module:
                @hidet.script
                def kernel(x: f32[8]):
                    attrs.cuda.grid_dim = 1
                    attrs.cuda.block_dim = 1
                    for i in range(8):
                        x[i] = y
            """
        )
    )
    result = subprocess.run(
        [sys.executable, path],
        env={
            "PYTHONPATH": str(Path(PACKAGE).parent),
            "HIDET_FULL_TRACEBACK": str(int(full)),
            "HIDET_CACHE_DIR": str(tmp_path / "cache"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    lines = result.stderr.splitlines()
    assert lines[-4:] == [
        f"  at: {path}:11",
        "      x[i] = y",
        "             ^",
        "  hint: assign or import it before",
    ]
    assert (PACKAGE in result.stderr) == full
    assert full or len(lines) <= 12
