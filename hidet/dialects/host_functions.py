"""Host functions of a program: their names and attributes."""

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument
from xdsl.utils.exceptions import VerifyException

from hidet.errors import LegalityError

FORWARD = "forward"
"""The function of every call."""

PREPARE = "prepare"
"""The optional function that runs once per weight set."""

OUTPUT_COUNT = "outputs"
ARENA_BYTES = "arena_bytes"
PREPARED_BYTES = "prepared_bytes"
"""The attributes of a function after memory planning."""

UPDATES = "updates"
"""The attribute of a function whose last results are new contents of some of its arguments: the
positions of these arguments."""

PACKED_INPUTS = "packed_inputs"
PACKED_OUTPUTS = "packed_outputs"
"""The attributes of `@forward` if its last arguments, or its last results before the updates, lie
in one tensor of bytes: the offset of each, a multiple of 256, and the size of that tensor. Callers
pass it after the other inputs, and get it after the other outputs."""


def packing_of(function: FuncOp, name: str) -> tuple[int, ...]:
    """Return the offsets of packed inputs or outputs, and the size of their tensor at the end.

    Raises:
        LegalityError: they are not ascending.
    """
    found = function.attributes.get(name)
    if not isinstance(found, DenseArrayBase):
        return ()
    bounds = tuple(map(int, found.get_values()))
    if len(bounds) < 2 or bounds[0] < 0 or list(bounds) != sorted(set(bounds)):
        raise LegalityError(
            f"'{name}' of @{function.sym_name.data} are {list(bounds)}, not ascending offsets and "
            "a size"
        )
    return bounds


def updates_of(function: FuncOp) -> list[tuple[BlockArgument, int]]:
    """Return the updated arguments of a function, each with the position of its result.

    Raises:
        VerifyException: they are no positions of arguments, or more than there are results.
    """
    found = function.attributes.get(UPDATES)
    if not isinstance(found, DenseArrayBase):
        return []
    arguments = [int(number) for number in found.get_values()]
    count = len(function.function_type.outputs)
    numbers = range(count - len(arguments), count)
    block = function.body.block
    if len(arguments) > count or any(not 0 <= a < len(block.args) for a in arguments):
        raise VerifyException(
            f"'{UPDATES}' of @{function.sym_name.data} are {arguments}, for {len(block.args)} "
            f"arguments and {count} results"
        )
    return [(block.args[a], number) for a, number in zip(arguments, numbers, strict=True)]


def prepared_name(position: int) -> str:
    """Return the name of the constant in `@forward` of a result of `@prepare`."""
    return f"prepared{position}"
