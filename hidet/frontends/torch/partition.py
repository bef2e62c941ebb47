"""Graphs that cannot be compiled as a whole: parts of them are, the rest stays in eager torch.

Every node is of a kind: eager, or the device that it is compiled for. Its level is the number of
changes between kinds on the longest way to it. All nodes of one kind and level make a part: what
leads from one part to another leads to a higher level, so the parts, taken in the order of their
levels, have what they need.

What depends on weights and scalars alone is in no part. It is computed again wherever it is needed,
because a program computes such things only once for its weights. So are random numbers, which are
part of the kernels that read them.
"""

import operator
import warnings
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

import torch
from functorch.compile import make_boxed_func
from torch import fx

from hidet.frontends.torch.imported import ImportedGraph
from hidet.frontends.torch.importer import import_graph
from hidet.frontends.torch.locations import describe
from hidet.frontends.torch.notices import UnsupportedOperatorWarning
from hidet.frontends.torch.operators.emitter import (
    Overload,
    draws_numbers,
    first_tensor,
    raises_errors,
)
from hidet.frontends.torch.program import CompiledProgram
from hidet.frontends.torch.seeds import lift_draws, numbers_of
from hidet.frontends.torch.settings import Settings
from hidet.frontends.torch.updates import updates_of

EAGER = "eager"
"""The kind of the nodes that are not compiled."""
Kind: TypeAlias = torch.device | str
"""The device that a node is compiled for, or EAGER."""
Part: TypeAlias = tuple[int, Kind]
"""The level and the kind of the nodes of a part."""


def report(imported: ImportedGraph, settings: Settings) -> None:
    """Say which operators are left to eager torch, in one warning.

    Those that draw numbers are not among them: they belong to torch, which has the generators. Nor
    are those that raise torch's errors, such as for a matrix without an inverse.

    Raises:
        HidetError: the settings want the whole graph compiled; says what the first problem is.
    """
    refused = {
        node: error
        for node, error in imported.unsupported.items()
        if not draws_numbers(node) and not raises_errors(node)
    }
    if not refused:
        return
    if not settings.fallback:
        raise next(iter(refused.values()))
    reasons: dict[str, str] = {}
    for node, error in refused.items():
        reasons.setdefault(str(node.target), f"{describe(node)}: {error.what}")
    listed = "\n".join(f"  {reason}" for reason in reasons.values())
    warnings.warn(
        f"hidet leaves {len(reasons)} operator{'s'[: len(reasons) > 1]} of a graph to eager torch:"
        f"\n{listed}",
        UnsupportedOperatorWarning,
        stacklevel=2,
    )


def partition(
    module: fx.GraphModule,
    imported: ImportedGraph,
    static: Collection[int],
    settings: Settings,
) -> Callable[[list[Any]], Sequence[Any]]:
    """Compile the parts of a graph that can be, and give a function for the whole graph.

    Returns:
        A function of the list of arguments.
    """
    placeholders = list(module.graph.find_nodes(op="placeholder"))
    weights = {placeholders[position] for position in static}
    known = _known_nodes(module.graph, imported, weights)
    whole = _Copier(known)
    whole.copy_all(placeholders)
    updates = updates_of(module.graph)
    for number, ((_, kind), nodes) in enumerate(_parts(module.graph, imported, known).items()):
        if kind == EAGER or all(_is_view(node) for node in nodes):
            whole.copy_all(nodes)
            continue
        part = _Copier(known)
        part.copy_all(nodes)
        results = [node for node in nodes if _is_used_outside(node, nodes)]
        part.graph.output([part.copies[node] for node in results])
        part_static = [n for n, node in enumerate(part.inputs) if node in weights]
        ordered, _ = lift_draws(fx.GraphModule(module, part.graph))
        program = CompiledProgram(import_graph(ordered, part_static), settings)
        name = f"hidet_part{number}"
        module.add_submodule(name, _Part(program, part.inputs))
        arguments = tuple(whole.bring(node) for node in part.inputs)
        call = whole.graph.call_module(name, arguments)
        for index, node in enumerate(results):
            whole.copies[node] = whole.graph.call_function(operator.getitem, (call, index))
    # When nothing reads the old content any more.
    whole.copy_all([*updates, *module.graph.find_nodes(op="output")])
    return make_boxed_func(fx.GraphModule(module, whole.graph))


def _known_nodes(
    graph: fx.Graph, imported: ImportedGraph, weights: Collection[fx.Node]
) -> set[fx.Node]:
    """Find what depends on weights and scalars alone and can be compiled."""
    known = set(weights)
    compiled = {node for node in imported.devices if node not in imported.unsupported}
    for node in graph.nodes:
        if node.op == "get_attr" or (node in compiled and known.issuperset(node.all_input_nodes)):
            known.add(node)
    # Eager torch, which takes views, has no kernel for random numbers.
    readers = {node for node in compiled if not _is_view(node)}
    return known | {node for node in numbers_of(graph) & compiled if readers.issuperset(node.users)}


def _parts(
    graph: fx.Graph, imported: ImportedGraph, known: Collection[fx.Node]
) -> dict[Part, list[fx.Node]]:
    """Give the parts with their nodes, in an order in which they can be run."""
    updates = updates_of(graph)
    part_of: dict[fx.Node, Part] = {}
    nodes_of: dict[Part, list[fx.Node]] = {}
    for node in graph.nodes:
        if node.op in ("placeholder", "get_attr", "output") or node in known or node in updates:
            continue
        before = [part_of[source] for source in node.all_input_nodes if source in part_of]
        device = imported.devices.get(node)
        kind: Kind = EAGER if device is None or node in imported.unsupported else device
        if node.target is operator.getitem:  # stays with the operator whose result it picks
            kind = before[0][1]
        level = max((depth + (other != kind) for depth, other in before), default=0)
        part_of[node] = (level, kind)
        nodes_of.setdefault((level, kind), []).append(node)
    return dict(sorted(nodes_of.items(), key=lambda item: item[0][0]))


def _is_view(node: fx.Node) -> bool:
    """Tell whether a node costs eager torch nothing."""
    if isinstance(node.target, Overload):
        return node.target.is_view
    return node.target is operator.getitem


def _is_used_outside(node: fx.Node, nodes: Sequence[fx.Node]) -> bool:
    """Tell whether a node's value leaves the part of the given nodes."""
    return any(user not in nodes for user in node.users)


class _Copier:
    """Copies nodes into a new graph.

    What they need comes along if it is known in advance; what else they need becomes an input.
    """

    def __init__(self, known: Collection[fx.Node]) -> None:
        self.graph = fx.Graph()
        self.known = known
        self.copies: dict[fx.Node, fx.Node] = {}
        self.inputs: list[fx.Node] = []
        """The nodes of the old graph that are inputs of the new one."""

    def copy_all(self, nodes: Sequence[fx.Node]) -> None:
        """Copy nodes, in their order."""
        for node in nodes:
            self.copies[node] = self.graph.node_copy(node, self.bring)

    def bring(self, node: fx.Node) -> fx.Node:
        """Give the copy of a node that others need."""
        if node not in self.copies:
            if node in self.known and node.op != "placeholder":
                self.copy_all([node])
            else:
                self.inputs.append(node)
                self.copies[node] = self.graph.placeholder(node.name)
                self.copies[node].meta = node.meta
        return self.copies[node]


class _Part(torch.nn.Module):
    """A compiled part inside of the whole graph.

    Eager operators may give other strides than torch has foretold; such tensors are copied.
    """

    def __init__(self, program: CompiledProgram, inputs: Sequence[fx.Node]) -> None:
        super().__init__()
        self.program = program
        self.strides: list[tuple[int, ...] | None] = [
            None if node.op == "placeholder" else first_tensor(node).stride() for node in inputs
        ]

    def forward(self, *tensors: torch.Tensor) -> Sequence[Any]:
        """Run the part."""
        pairs = zip(tensors, self.strides, strict=True)
        return self.program([_with_strides(tensor, strides) for tensor, strides in pairs])


def _with_strides(tensor: torch.Tensor, strides: tuple[int, ...] | None) -> torch.Tensor:
    """Give a tensor with the strides that a program was compiled for; None is for any."""
    if strides is None or tensor.stride() == strides:
        return tensor
    return torch.empty_strided(
        tensor.shape, strides, dtype=tensor.dtype, device=tensor.device
    ).copy_(tensor)
