"""Matches CHECK comments against a text, by the filecheck package."""

from contextlib import redirect_stdout
from io import StringIO

from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser, pattern_for_opts


def match_checks(output: str, options: Options, checks: str) -> str | None:
    """Match CHECK comments against a text; return None, or the matcher's message."""
    parser = Parser(options, StringIO(checks), *pattern_for_opts(options))
    message = StringIO()
    with redirect_stdout(message):  # the matcher also prints notes
        matcher = Matcher(options, FInput(options.input_file, output), parser)
        matcher.stderr = message
        status = matcher.run()
    return message.getvalue() if status else None
