"""Tools whose output nobody reads to its end."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "arguments", [["hidet.tools.cli", "option"], ["hidet.tools.hidet_opt", "--split-input-file"]]
)
def test_reader_leaves(arguments):
    """The tool ends without a word."""
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    process.stdout = None
    _, errors = process.communicate(b"func.func private @f()\n", timeout=120)
    assert (process.returncode, errors) == (1, b"")
