"""FileCheck in this process: what it accepts, and that it fails where it should."""

import pytest
from xdsl.utils.exceptions import ParseError

from hidet.errors import OptionError
from hidet.testing.filecheck import check_text, expect_error, filecheck, roundtrip, run_passes

PROGRAM = """
// CHECK:      func.func @add_zero(%x: i32)
// CHECK-NEXT:   func.return %x
func.func @add_zero(%x: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = arith.addi %x, %zero : i32
  func.return %sum : i32
}
"""

INVALID = """
func.func @wrong(%x: i32) -> i32 {
  func.return
}
"""


def test_run_passes():
    """Passes run in order."""
    assert "arith.addi" in run_passes(PROGRAM)
    assert "arith.addi" not in run_passes(PROGRAM, "canonicalize,cse")
    assert '"func.return"' in run_passes(PROGRAM, arguments=["--print-op-generic"])


def test_filecheck_matches(run_filecheck):
    """The fixture checks the comments of the program."""
    run_filecheck(PROGRAM, "canonicalize")


def test_filecheck_fails():
    """Without the pass the comments do not match; the message shows which and the text."""
    with pytest.raises(AssertionError) as caught:
        filecheck(PROGRAM)
    assert "func.return %x" in str(caught.value)
    assert "arith.addi" in str(caught.value)


def test_checks_without_a_comment_fail():
    """A program without CHECK comments checks nothing, which is a mistake."""
    with pytest.raises(AssertionError, match="No check strings found"):
        check_text("text", "no comment here")


def test_empty_text_fails():
    """An empty text matches nothing."""
    with pytest.raises(AssertionError, match="is empty"):
        check_text("", "// CHECK-NOT: a")


def test_roundtrip():
    """A program survives both forms."""
    assert "arith.constant 0 : i32" in roundtrip(PROGRAM)


def test_expect_error():
    """The error of a verifier is found by a part of its text, and given whole."""
    assert "function output types" in expect_error(INVALID, "", "arguments")


def test_expect_error_fails():
    """No error, or another one, is a failure."""
    with pytest.raises(AssertionError, match="got the program"):
        expect_error(PROGRAM, "canonicalize", "wrong")
    with pytest.raises(AssertionError, match="expected an error with 'tile'"):
        expect_error(INVALID, "", "tile")


def test_errors_come_out():
    """Mistakes of a test are not hidden."""
    with pytest.raises(OptionError, match="no-such-pass"):
        run_passes(PROGRAM, "no-such-pass")
    with pytest.raises(ParseError):
        run_passes("func.func 3")
