"""Imported graphs: a program, and how its inputs and outputs map to torch's tensors."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import fx
from torch.fx.node import map_arg

from hidet.errors import HidetError
from hidet.frontends.torch.seeds import Draws
from hidet.frontends.torch.storage import View
from hidet.runtime.tensors import Layout

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


@dataclass(frozen=True)
class Source:
    """A tensor that a program reads.

    Attributes:
        origin: the number of the FX graph's argument, or a constant of the graph.
        span: the number of elements of storage that the program takes; None for a tensor without
            gaps, which it takes as it is.
        layout: the shape and strides of such a tensor in another order than the program's.
        is_complex: whether the tensor is complex; the program takes its parts.
        start: the first byte of the tensor in `origin`, if that is a packed tensor.
    """

    origin: int | torch.Tensor
    span: int | None
    layout: Layout | None = None
    is_complex: bool = False
    start: int | None = None

    @property
    def order(self) -> tuple[int, int]:
        """The order of inputs: that of the arguments, and packed ones last."""
        if self.start is not None:
            return 1, self.start
        return 0, self.origin if isinstance(self.origin, int) else -1


@dataclass(frozen=True)
class Returned:
    """An output of the FX graph.

    Attributes:
        kind: what `origin` is: the number of a result of the program, -1 for the packed tensor; an
            argument or a constant, returned itself (`source`) or copied (`copy`); or a Python
            value.
        view: the view of that tensor that is returned; None for the tensor itself.
        dtype: the data type to reinterpret the elements as, complex for a tensor of parts; None for
            none.
    """

    kind: Literal["result", "source", "copy", "value"]
    origin: Any
    view: View | None = None
    dtype: torch.dtype | None = None


@dataclass
class Interface:
    """How a program takes and returns the tensors of an FX graph.

    Attributes:
        device: the device of the program.
        inputs: the tensors for the arguments of the program.
        constants: the tensors for its constants "p0", "p1", ...
        outputs: the outputs of the FX graph, in order.
        is_empty: the program has no results, so that there is nothing to compile.
        updates: the arguments of the FX graph to copy new content into after the program, with that
            content. The program writes others itself.
        draws: the seeds that are drawn in each call, and passed after the arguments.
        depends_on_flag: whether torch's flag for the precision of convolutions changes the program.
        program: the program, or its text; empty once it is compiled.
    """

    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    inputs: list[Source] = field(default_factory=list[Source])
    constants: list[Source] = field(default_factory=list[Source])
    outputs: list[Returned] = field(default_factory=list[Returned])
    is_empty: bool = True
    updates: list[tuple[int, Returned]] = field(default_factory=list[tuple[int, Returned]])
    draws: Draws = field(default_factory=Draws)
    depends_on_flag: bool = False
    program: "ModuleOp | str" = ""

    def with_program(self, text: str) -> "Interface":
        """Return the interface, without more, of the text of a program."""
        known: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(Interface)}
        return replace(Interface(**known), program=text)


@dataclass
class ImportedGraph(Interface):
    """An imported FX graph. The program is valid only if nothing is unsupported.

    Attributes:
        unsupported: the error of each node that cannot be compiled.
        devices: the device of each node that can; None for a constant scalar.
    """

    unsupported: dict[fx.Node, HidetError] = field(default_factory=dict[fx.Node, HidetError])
    devices: dict[fx.Node, torch.device | None] = field(
        default_factory=dict[fx.Node, torch.device | None]
    )

    @property
    def module(self) -> "ModuleOp":
        """The program."""
        assert not isinstance(self.program, str)
        return self.program

    @property
    def used_devices(self) -> set[torch.device]:
        """The devices that the operators run on."""
        return {device for device in self.devices.values() if device is not None}


def returning(module: fx.GraphModule, results: Sequence[Any]) -> fx.GraphModule:
    """Return a copy of a graph that returns only these results: nodes, or Python values."""
    graph = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    graph.graph_copy(module.graph, copies)
    graph.output(tuple(map_arg(list(results), copies.__getitem__)))
    return fx.GraphModule(module, graph)


def updates_of(graph: fx.Graph) -> dict[fx.Node, fx.Node]:
    """Return the nodes that mutate an argument, each with the argument.

    AOTAutograd appends a `copy_` per mutated argument to a graph that is otherwise functional.
    """
    copies = graph.find_nodes(op="call_function", target=torch.ops.aten.copy_.default)
    targets: dict[fx.Node, Any] = {node: node.args[0] for node in copies}
    return {node: target for node, target in targets.items() if target.op == "placeholder"}
