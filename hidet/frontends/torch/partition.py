"""Partitions graphs that cannot be compiled as a whole: the rest runs in eager torch.

Every node has a kind: eager, or the device that it is compiled for. Its level is the number of
changes of kind on the longest path to it. The nodes of one kind and level form a part. Edges
between parts lead to higher levels, so running the parts in the order of their levels is valid.

What depends on weights and scalars alone is in no part. Each part recomputes what it needs of it,
as a program computes such values only once per weight set. The same holds for random numbers, which
are fused into the kernels that read them.
"""

import operator
import warnings
from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

import torch
from functorch.compile import make_boxed_func
from torch import fx

from hidet.frontends.torch.compiling import Boxed
from hidet.frontends.torch.imported import ImportedGraph, updates_of
from hidet.frontends.torch.importer import import_graph
from hidet.frontends.torch.locations import describe
from hidet.frontends.torch.nodes import Overload, draws_numbers, first_tensor, raises_errors
from hidet.frontends.torch.program import CompiledProgram
from hidet.frontends.torch.seeds import lift_draws, numbers_of
from hidet.frontends.torch.settings import Settings
from hidet.frontends.torch.storage import Spec

EAGER = "eager"
"""The kind of nodes that are not compiled."""
Kind: TypeAlias = torch.device | str
"""The device that a node is compiled for, or EAGER."""
Part: TypeAlias = tuple[int, Kind]
"""The level and the kind of the nodes of a part."""


class UnsupportedOperatorWarning(UserWarning):
    """Operators of a graph run in eager torch; the message names them."""


def _report(imported: ImportedGraph, settings: Settings) -> None:
    """Warn about the operators that run in eager torch.

    Except those that draw random numbers, which need torch's generators, and those that raise
    torch's errors, such as for a singular matrix.

    Raises:
        HidetError: the first problem, if the settings do not allow a fallback.
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
    *,
    changing: bool,
) -> Boxed:
    """Compile the supported parts of a graph, and return a function for the whole graph.

    The others are reported. See `compile_aten`.
    """
    _report(imported, settings)
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
        results = [node for node in nodes if any(user not in nodes for user in node.users)]
        part.graph.output([part.copies[node] for node in results])
        part_static = [n for n, node in enumerate(part.inputs) if node in weights]
        ordered, _ = lift_draws(fx.GraphModule(module, part.graph))
        program = CompiledProgram(import_graph(ordered, part_static), settings, changing=changing)
        name = f"hidet_part{number}"
        module.add_submodule(name, _Part(program, part.inputs))
        arguments = tuple(whole.bring(node) for node in part.inputs)
        call = whole.graph.call_module(name, arguments)
        for index, node in enumerate(results):
            whole.copies[node] = whole.graph.call_function(operator.getitem, (call, index))
    # Last, as other nodes read the old content.
    whole.copy_all([*updates, *module.graph.find_nodes(op="output")])
    return make_boxed_func(fx.GraphModule(module, whole.graph))


def _known_nodes(
    graph: fx.Graph, imported: ImportedGraph, weights: Collection[fx.Node]
) -> set[fx.Node]:
    """Return the supported nodes that depend on weights, scalars and seeds alone."""
    known = set(weights)
    compiled = {node for node in imported.devices if node not in imported.unsupported}
    for node in graph.nodes:
        if node.op == "get_attr" or (node in compiled and known.issuperset(node.all_input_nodes)):
            known.add(node)
    # Views run in eager torch, which cannot compute our random numbers.
    readers = {node for node in compiled if not _is_view(node)}
    return known | {node for node in numbers_of(graph) & compiled if readers.issuperset(node.users)}


def _parts(
    graph: fx.Graph, imported: ImportedGraph, known: Collection[fx.Node]
) -> dict[Part, list[fx.Node]]:
    """Return the parts with their nodes, in a valid execution order."""
    updates = updates_of(graph)
    part_of: dict[fx.Node, Part] = {}
    nodes_of: dict[Part, list[fx.Node]] = {}
    for node in graph.nodes:
        if node.op in ("placeholder", "get_attr", "output") or node in known or node in updates:
            continue
        before = [part_of[source] for source in node.all_input_nodes if source in part_of]
        device = imported.devices.get(node)
        kind: Kind = EAGER if device is None or node in imported.unsupported else device
        if node.target is operator.getitem:  # stays with its operator
            kind = before[0][1]
        level = max((depth + (other != kind) for depth, other in before), default=0)
        part_of[node] = (level, kind)
        nodes_of.setdefault((level, kind), []).append(node)
    return dict(sorted(nodes_of.items(), key=lambda item: item[0][0]))


def _is_view(node: fx.Node) -> bool:
    """Return whether a node is free in eager torch."""
    if isinstance(node.target, Overload):
        return node.target.is_view
    return node.target is operator.getitem


class _Copier:
    """Copies nodes into a new graph, with operands that are in `known`; others become inputs."""

    def __init__(self, known: Collection[fx.Node]) -> None:
        self.graph = fx.Graph()
        self.known = known
        self.copies: dict[fx.Node, fx.Node] = {}
        self.inputs: list[fx.Node] = []
        """The nodes of the old graph that are inputs of the new one."""

    def copy_all(self, nodes: Sequence[fx.Node]) -> None:
        """Copy nodes in order."""
        for node in nodes:
            self.copies[node] = self.graph.node_copy(node, self.bring)

    def bring(self, node: fx.Node) -> fx.Node:
        """Return the copy of an operand, which may have to be made."""
        if node not in self.copies:
            if node in self.known and node.op != "placeholder":
                self.copy_all([node])
            else:
                self.inputs.append(node)
                self.copies[node] = self.graph.placeholder(node.name)
                self.copies[node].meta = node.meta
        return self.copies[node]


class _Part(torch.nn.Module):
    """A compiled part in the whole graph.

    Eager operators may return other strides than in the trace; such tensors are copied.
    """

    def __init__(self, program: CompiledProgram, inputs: Sequence[fx.Node]) -> None:
        super().__init__()
        self.program = program
        self.specs = [
            None if node.op == "placeholder" else Spec.of(first_tensor(node)) for node in inputs
        ]

    def forward(self, *tensors: torch.Tensor) -> Sequence[Any]:
        """Run the part."""
        with_strides = [
            each if spec is None or each.stride() == spec.strides else spec.empty().copy_(each)
            for each, spec in zip(tensors, self.specs, strict=True)
        ]
        return self.program(with_strides)
