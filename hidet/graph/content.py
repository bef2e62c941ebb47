"""The header of a saved graph."""

from dataclasses import dataclass
from typing import Literal

from hidet.runtime.specs import DtypeName

PROGRAM = "program"
"""The part with the text of the program."""

PLAN = "plan"
"""The part with the plan; the parts of binaries are named by their keys."""


def weight_part(number: int) -> str:
    """Return the name of the part of a weight."""
    return f"p{number}"


@dataclass(frozen=True)
class SavedTensor:
    """An input, or a weight, which is contiguous."""

    dtype: DtypeName
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Input:
    """An argument of the program: the number of an input, and its span of storage, or -1."""

    origin: int
    span: int


@dataclass(frozen=True)
class View:
    """The view that an output is; see `hidet.frontends.torch.storage.View`."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


@dataclass(frozen=True)
class Output:
    """An output; see `hidet.frontends.torch.imported.Returned`. There is at most one view."""

    kind: Literal["result", "source", "copy"]
    origin: int
    views: tuple[View, ...]


@dataclass(frozen=True)
class Content:
    """The description of a saved graph.

    Attributes:
        hidet: the version of hidet that wrote it.
        device: the device.
        machine: the architecture of the binaries; "" without binaries.
        inputs: the inputs.
        taken: the inputs that the program takes.
        weights: the constants of the program, "p0", "p1" ...
        outputs: the outputs; `source` and `copy` number the inputs, then the weights.
    """

    hidet: str
    device: Literal["cpu", "cuda"]
    machine: str
    inputs: tuple[SavedTensor, ...]
    taken: tuple[Input, ...]
    weights: tuple[SavedTensor, ...]
    outputs: tuple[Output, ...]
