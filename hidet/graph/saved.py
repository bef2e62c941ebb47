"""Saves graphs: a file with the program as text, its weights, and optionally its binaries.

    hidet.save_graph(graph, "model.hidet")
    hidet.load_graph("model.hidet")(x)

The text is that of the graph dialect, before all passes. A loaded graph runs no pass if the cache
has its program. `save_compiled` adds the plan and the binaries, which run without a compiler.
`hidet.graph.loaded` reads the files.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

import torch

import hidet
from hidet.driver.compiler import binaries_of, machine_of, own_key
from hidet.errors import HidetError
from hidet.frontends.torch.direct import DirectCall
from hidet.frontends.torch.imported import Interface, Returned
from hidet.frontends.torch.program import output_of, read
from hidet.frontends.torch.storage import Spec, View
from hidet.frontends.trace.flow_graph import BuiltGraph, FlowGraph
from hidet.runtime.container import write
from hidet.runtime.plan import Plan
from hidet.runtime.specs import DtypeName
from hidet.runtime.tensors import DTYPES, in_memory

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
        machine: the architecture of the binaries; "" without binaries.
        taken: the inputs that the program takes.
        weights: the constants of the program, "p0", "p1" ...
        outputs: `source` and `copy` number the inputs, then the weights.
    """

    hidet: str
    device: Literal["cpu", "cuda"]
    machine: str
    inputs: tuple[SavedTensor, ...]
    taken: tuple[Input, ...]
    weights: tuple[SavedTensor, ...]
    outputs: tuple[Output, ...]


_NAMES: dict[torch.dtype, DtypeName] = {dtype: name for name, dtype in DTYPES.items()}

Saveable: TypeAlias = FlowGraph | BuiltGraph | DirectCall


class _Writer:
    """Collects the content of a file.

    Of each input, `arguments` has the spec, or the weight; None for a number.
    """

    def __init__(
        self, interface: Interface, arguments: Sequence[Spec | torch.Tensor | None]
    ) -> None:
        self.interface = interface
        self.arguments = arguments
        passed = [n for n, argument in enumerate(arguments) if isinstance(argument, Spec)]
        self.numbers = {number: place for place, number in enumerate(passed)}
        self.weights = [in_memory(read(source, arguments)) for source in interface.constants]
        self.outputs = [self._output(returned) for returned in interface.outputs]

    def _output(self, returned: Returned) -> Output:
        """Return the record of an output; one that is a weight is added to the weights."""
        if returned.kind == "value":
            raise HidetError(
                f"a graph that gives {returned.origin!r}, which is no tensor, cannot be saved"
            )
        if returned.dtype is not None:
            raise HidetError(f"a graph that gives elements of {returned.dtype} cannot be saved")
        views = () if returned.view is None else (returned.view,)
        if returned.kind == "result" or returned.origin in self.numbers:
            is_result = returned.kind == "result"
            origin = returned.origin if is_result else self.numbers[returned.origin]
            return Output(returned.kind, origin, views)
        self.weights.append(output_of(returned, (), self.arguments))
        return Output("copy", len(self.numbers) + len(self.weights) - 1, ())

    def write(self, path: Path, text: str, plan: Plan | None) -> None:
        device = self.interface.device
        parts: dict[str, Any] = {PROGRAM: text.encode()}
        for number, weight in enumerate(self.weights):
            flat = weight.detach().cpu().contiguous().reshape(-1)
            parts[weight_part(number)] = flat.view(torch.uint8).numpy()
        if plan is not None:
            parts[PLAN] = plan.to_json().encode()
            parts |= binaries_of(plan, device)
        specs = [a for a in self.arguments if isinstance(a, Spec)]
        taken = [
            Input(self.numbers[s.origin], -1 if s.span is None else s.span)
            for s in self.interface.inputs
            if isinstance(s.origin, int)
        ]
        content = Content(
            hidet.__version__,
            "cpu" if device.type == "cpu" else "cuda",
            "" if plan is None else machine_of(device),
            tuple(SavedTensor(_dtype(s.dtype), s.shape, s.strides) for s in specs),
            tuple(taken),
            tuple(SavedTensor(_dtype(w.dtype), tuple(w.shape), ()) for w in self.weights),
            tuple(self.outputs),
        )
        write(path, content, parts, own_key())


def _dtype(dtype: torch.dtype) -> DtypeName:
    if dtype not in _NAMES:
        raise HidetError(f"a graph that takes tensors of {dtype} cannot be saved")
    return _NAMES[dtype]


def save_graph(graph: Saveable, file: str | PathLike[str]) -> None:
    """Save a graph: its program before all passes, and its current weights.

    The file is written atomically. What is loaded of a result of `hidet.compile` takes its tensors
    flat, and returns a list, or its only output.

    Raises:
        HidetError: the graph has inputs or outputs that a file cannot represent.
        OSError: the file cannot be written.
    """
    if isinstance(graph, FlowGraph):
        imported = graph.imported()
        recorded = graph.recorded
        arguments = [*(Spec.of(symbol.example) for symbol in recorded.inputs)]
        writer = _Writer(imported, [*arguments, *(each.torch() for each in recorded.constants)])
        writer.write(Path(file), str(imported.module), None)
    else:
        _save_program(graph, Path(file), binaries=False)


def save_compiled(graph: Saveable, file: str | PathLike[str]) -> None:
    """Save a graph with its binaries, for this architecture; see `save_graph`.

    Raises:
        CacheError: the binaries are no longer in the cache.
    """
    built = graph.build() if isinstance(graph, FlowGraph) else graph
    _save_program(built, Path(file), binaries=True)


def _save_program(graph: BuiltGraph | DirectCall, path: Path, *, binaries: bool) -> None:
    if isinstance(graph, BuiltGraph):
        arguments = [*graph.specs, *graph.constants]
    elif not isinstance(graph, DirectCall):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise HidetError(
            f"a {type(graph).__name__} cannot be saved",
            hint="hidet.compile(model, *examples) returns what can be, and so do traces of symbols",
        )
    elif graph.draws:
        raise HidetError(
            "a model that draws random numbers cannot be saved",
            hint="call model.eval() before hidet.compile, so that dropout does nothing",
        )
    else:
        arguments = [*graph.weights, *graph.wanted]
    compiled = graph.program.runnable
    if compiled is None:
        raise HidetError("a graph without a program cannot be saved")
    writer = _Writer(graph.program.interface, arguments)
    writer.write(path, compiled.text, compiled.plan if binaries else None)


save_compiled_graph = save_compiled
