"""What the header of a saved graph says; the list of its parts is that of any container."""

from dataclasses import dataclass
from typing import Literal

from hidet.runtime.specs import DtypeName

PROGRAM = "program"
"""The part that holds the text of the graph dialect."""

PLAN = "plan"
"""The part that holds the plan of the binaries, whose names are their keys."""


def weight_part(number: int) -> str:
    """Return the name of the part that holds a weight."""
    return f"p{number}"


@dataclass(frozen=True)
class SavedTensor:
    """A tensor that a caller passes, or a weight, which is contiguous."""

    dtype: DtypeName
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Input:
    """An argument of the program: a tensor of the caller, and its span of storage, or -1."""

    origin: int
    span: int


@dataclass(frozen=True)
class View:
    """How an output looks at a tensor; see `hidet.frontends.torch.storage.View`."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


@dataclass(frozen=True)
class Output:
    """An output; see `hidet.frontends.torch.imported.Returned`. There is one view at most."""

    kind: Literal["result", "source", "copy"]
    origin: int
    views: tuple[View, ...]


@dataclass(frozen=True)
class Content:
    """What a file holds.

    Attributes:
        hidet: the version that has written it.
        device: where the graph runs.
        machine: what the binaries are for; "" where there are none.
        inputs: the tensors that a caller passes.
        taken: which of them the program takes.
        weights: the constants of the program, "p0", "p1" ...
        outputs: what a caller gets; `source` and `copy` count the inputs, and then the weights.
    """

    hidet: str
    device: Literal["cpu", "cuda"]
    machine: str
    inputs: tuple[SavedTensor, ...]
    taken: tuple[Input, ...]
    weights: tuple[SavedTensor, ...]
    outputs: tuple[Output, ...]
