"""Source locations and value names from FX nodes."""

import re
from pathlib import Path
from traceback import extract_tb

import torch
from torch import fx
from xdsl.dialects.builtin import FileLineColLoc, UnknownLoc

from hidet.dialects.locations import line_location

_FRAME = re.compile(r'^\s*File "(?P<file>.*)", line (?P<line>\d+)', re.MULTILINE)
_VARIANT = re.compile(r"^_?native_|_legit|_no_training|_default$")
_NUMBER_AT_END = re.compile(r"_(\d+)$")


_LIBRARIES = (str(Path(torch.__file__).parent), str(Path(__file__).parents[2]))


def user_frame(node: fx.Node) -> tuple[str, int] | None:
    """Return file and line of the innermost frame of the user's code in a node's stack trace.

    Frames inside torch (`nn.Linear.forward`) and hidet are skipped, unless there are no others.
    """
    frames = _FRAME.findall(node.stack_trace or "")
    if not frames:
        return None
    users = [frame for frame in frames if not frame[0].startswith(_LIBRARIES)]
    file, line = (users or frames)[-1]
    return file, int(line)


def raised_at(error: Exception) -> str | None:
    """Return the innermost line of the user's code in an error's traceback, if there is one."""
    frames = extract_tb(error.__traceback__)
    users = [frame for frame in frames if not frame.filename.startswith(_LIBRARIES)]
    return f"{users[-1].filename}:{users[-1].lineno}" if users else None


def location_of(node: fx.Node) -> FileLineColLoc | UnknownLoc:
    """Return the location of a node in the user's code; FX does not record columns."""
    frame = user_frame(node)
    if frame is None:
        return UnknownLoc()
    return line_location(*frame)


def describe(node: fx.Node) -> str:
    """Return the operator and the source line of a node, for messages."""
    target = str(node.target)
    frame = user_frame(node)
    return target if frame is None else f"{target} ({frame[0]}:{frame[1]})"


def name_hint(node: fx.Node) -> str:
    """Return a name for the value of a node: `relu_1` becomes `relu1`.

    xDSL's parser strips `_<digits>` at the end of a name. Variants in the names of ATen are
    dropped: `_native_batch_norm_legit_no_training` becomes `batch_norm`.
    """
    return _VARIANT.sub("", _NUMBER_AT_END.sub(r"\1", node.name)).lstrip("_")
