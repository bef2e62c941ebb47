"""In-process FileCheck: runs passes on text, and matches the result.

Starting `hidet-opt` takes 0.3 s, a test here a few milliseconds.
"""

from collections.abc import Sequence
from contextlib import redirect_stdout
from io import BytesIO, StringIO

from filecheck.options import Options
from xdsl.utils.exceptions import DiagnosticException, ParseError

from hidet.errors import HidetError
from hidet.tools.hidet_opt import HidetOptMain
from hidet.tools.match_checks import match_checks


def run_passes(text: str, pipeline: str = "", arguments: Sequence[str] = ()) -> str:
    """Run passes on a program and return the text of the result.

    The program is verified before and after every pass. The pipeline is that of `hidet-opt -p`;
    further arguments are such as ("-t", "cuda").

    Raises:
        HidetError: a pass failed.
        xdsl.utils.exceptions.DiagnosticException: the program does not verify.
        xdsl.utils.exceptions.ParseError: the text is not a program.
    """
    output = StringIO()
    with redirect_stdout(output):
        HidetOptMain(["-p", pipeline, *arguments], stdin=BytesIO(text.encode())).run()
    return output.getvalue()


def check_text(output: str, checks: str) -> None:
    """Match CHECK comments against a text.

    Raises:
        AssertionError: they do not match; the message has the comment and the text.
    """
    message = match_checks(output, Options("checks", input_file="output"), checks)
    if message is not None:
        raise AssertionError(f"{message}\n--- the text was:\n{output}")


def filecheck(program: str, pipeline: str = "", arguments: Sequence[str] = ()) -> None:
    """Run passes on a program (see `run_passes`), and match its own CHECK comments.

    Raises:
        AssertionError: the comments do not match.
    """
    check_text(run_passes(program, pipeline, arguments), program)


def roundtrip(text: str) -> str:
    """Return the custom form of a program, after checking that it and the generic form round-trip.

    Raises:
        AssertionError: the program changes.
    """
    custom = run_passes(text)
    for printed in (custom, run_passes(text, arguments=["--print-op-generic"])):
        again = run_passes(printed)
        if again != custom:
            raise AssertionError(f"the program\n{custom}\ncomes back from\n{printed}\nas\n{again}")
    return custom


def expect_error(text: str, pipeline: str, message: str) -> str:
    """Check that the parser, a verifier or a pass rejects a program; return the error's text.

    Raises:
        AssertionError: there is no error, or one without `message`.
    """
    try:
        output = run_passes(text, pipeline)
    except (HidetError, DiagnosticException, ParseError) as error:
        if message not in str(error):
            raise AssertionError(f"expected an error with {message!r}, got: {error}") from error
        return str(error)
    raise AssertionError(f"expected an error with {message!r}, got the program\n{output}")
