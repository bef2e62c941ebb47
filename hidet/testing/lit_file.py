"""Runs lit files in-process.

The first comments of a lit file are RUN lines:

    // RUN: hidet-opt %s -p 'canonicalize' | filecheck %s

A line is a shell pipeline of `hidet-opt`, `hidet` and `filecheck`, with `not` before a command that
must fail and `2>&1` after one whose errors are matched. lit runs the same files; a file whose lines
need more of a shell has `REQUIRES: shell`.
"""

import re
import shlex
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO
from pathlib import Path
from typing import TypeAlias

from filecheck.options import parse_argv_options

from hidet.tools import cli, hidet_opt
from hidet.tools.match_checks import match_checks

# Substitutions in RUN lines, for lit too. The first command checks the custom form, the second
# the round trip through the generic form.
MACROS = {
    "HIDET_ROUNDTRIP": (
        "hidet-opt %s --print-op-generic --split-input-file"
        " | hidet-opt --split-input-file | filecheck %s"
    ),
    "HIDET_VERIFY": "hidet-opt %s --verify-diagnostics --split-input-file | filecheck %s",
}

_RUN_COMMENT = re.compile(r"^\s*(?://|#)\s*RUN:\s*(.*)$", re.MULTILINE)
_SHELL_COMMENT = re.compile(r"^\s*(?://|#)\s*REQUIRES:.*\bshell\b", re.MULTILINE)


class LitFailure(Exception):
    """A command of a RUN line failed, or succeeded after `not`."""


_Result: TypeAlias = tuple[int, str, str]
"""The exit status, the output and the errors of a command."""


def read_run_lines(path: Path) -> list[str]:
    """Return the RUN lines of a file, with continuation lines joined."""
    text = "\n".join(_RUN_COMMENT.findall(path.read_text()))
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def needs_shell(path: Path) -> bool:
    """Return whether only lit itself can run the file."""
    return _SHELL_COMMENT.search(path.read_text()) is not None


def run_line(line: str, path: Path) -> None:
    """Run one RUN line of the file at `path`.

    Raises:
        LitFailure: a command fails, or succeeds after `not`, or is unknown.
    """
    for macro, meaning in MACROS.items():
        line = line.replace(macro, meaning)
    data = ""
    for command in _split_pipe(line):
        words = [word.replace("%s", str(path)) for word in command]
        must_fail = words[0] == "not"
        merge = "2>&1" in words
        words = [word for word in words[int(must_fail) :] if word != "2>&1"]
        if words[0] not in _COMMANDS:
            raise LitFailure(
                f"'{words[0]}' is not known here; a file that needs a shell says REQUIRES: shell"
            )
        status, output, errors = _COMMANDS[words[0]](words[1:], data)
        if must_fail != (status != 0):
            piped = f"\n--- its input was:\n{data}" if data else ""
            raise LitFailure(f"`{shlex.join(words)}` ended with status {status}\n{errors}{piped}")
        data = output + (errors if merge else "")


def _split_pipe(line: str) -> list[list[str]]:
    """Split a line into the words of its commands."""
    commands: list[list[str]] = [[]]
    for word in shlex.split(line):
        if word == "|":
            commands.append([])
        else:
            commands[-1].append(word)
    if not all(commands):
        raise LitFailure(f"a command is missing in the RUN line: {line}")
    return commands


def _run_hidet_opt(arguments: list[str], data: str) -> _Result:
    if "--disable-verify" in arguments:
        raise LitFailure("--disable-verify lasts for the whole process: say REQUIRES: shell")
    return _captured(lambda: hidet_opt.main(arguments, BytesIO(data.encode())))


def _captured(command: Callable[[], int]) -> _Result:
    """Run a command of this package in this process."""
    stdout, stderr = StringIO(), StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr):
        try:
            status = command()
        except SystemExit as end:  # of argparse
            status = int(end.code or 0)
    return status, stdout.getvalue(), stderr.getvalue()


def _run_filecheck(arguments: list[str], data: str) -> _Result:
    options = parse_argv_options(["filecheck", *arguments])
    message = match_checks(data, options, Path(options.match_filename).read_text())
    return 0 if message is None else 1, "", message or ""


_COMMANDS: dict[str, Callable[[list[str], str], _Result]] = {
    "hidet": lambda arguments, _: _captured(lambda: cli.main(arguments)),
    "hidet-opt": _run_hidet_opt,
    "filecheck": _run_filecheck,
}
