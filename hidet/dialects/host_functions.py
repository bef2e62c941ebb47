"""The functions of a program that run on the host: their names and attributes."""

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument

FORWARD = "forward"
"""The function that runs in every call."""

PREPARE = "prepare"
"""The function that runs once for a set of weights; it need not exist."""

OUTPUT_COUNT = "outputs"
ARENA_BYTES = "arena_bytes"
PREPARED_BYTES = "prepared_bytes"
"""The attributes of a function that has its memory planned."""


UPDATES = "updates"
"""The attribute of a function whose last results are what some of its arguments hold afterwards:
the numbers of these arguments, one for each such result."""


def updates_of(function: FuncOp) -> list[tuple[BlockArgument, int]]:
    """Give the arguments that a function writes, each with the number of its result."""
    found = function.attributes.get(UPDATES)
    if not isinstance(found, DenseArrayBase):
        return []
    arguments = [int(number) for number in found.get_values()]
    count = len(function.function_type.outputs)
    numbers = range(count - len(arguments), count)
    block = function.body.block
    return [(block.args[a], number) for a, number in zip(arguments, numbers, strict=True)]


def prepared_name(position: int) -> str:
    """Name the constant of `@forward` that is the result of `@prepare` at a position."""
    return f"prepared{position}"
