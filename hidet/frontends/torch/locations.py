"""From the stack trace of an FX node to a location and a name in the program."""

import re
from functools import cache
from pathlib import Path

import torch
from torch import fx
from xdsl.dialects.builtin import FileLineColLoc, UnknownLoc

import hidet
from hidet.dialects.locations import line_location

_FRAME = re.compile(r'^\s*File "(?P<file>.*)", line (?P<line>\d+)', re.MULTILINE)
_VARIANT = re.compile(r"^_?native_|_legit|_no_training|_default$")
_NUMBER_AT_END = re.compile(r"_(\d+)$")


@cache
def _passed_over() -> tuple[str, ...]:
    """Give the folders of torch itself, and of what calls kernels of scripts."""
    return str(Path(torch.__file__).parent), str(Path(hidet.__file__).parent)


def user_frame(node: fx.Node) -> tuple[str, int] | None:
    """Give file and line of the innermost frame of the user's code that a node comes from.

    Frames inside torch (`nn.Linear.forward`) and of the call of a script are passed over, unless
    there is nothing else.
    """
    frames = _FRAME.findall(node.stack_trace or "")
    if not frames:
        return None
    users = [frame for frame in frames if not frame[0].startswith(_passed_over())]
    file, line = (users or frames)[-1]
    return file, int(line)


def location_of(node: fx.Node) -> FileLineColLoc | UnknownLoc:
    """Give the location of a node in the user's code; FX keeps lines, but no columns."""
    frame = user_frame(node)
    if frame is None:
        return UnknownLoc()
    return line_location(*frame)


def describe(node: fx.Node) -> str:
    """Name the operator of a node and the line that it comes from, for messages."""
    target = str(node.target)
    frame = user_frame(node)
    return target if frame is None else f"{target} ({frame[0]}:{frame[1]})"


def name_hint(node: fx.Node) -> str:
    """Give a name for the value of a node: `relu_1` becomes `relu1`.

    xDSL drops `_<digits>` at the end of a name when it reads a program. What ATen's own names say
    about their variants is left out: `_native_batch_norm_legit_no_training` is `batch_norm`.
    """
    return _VARIANT.sub("", _NUMBER_AT_END.sub(r"\1", node.name)).lstrip("_")
