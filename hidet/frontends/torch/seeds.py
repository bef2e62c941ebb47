"""Lifts the seeds of random operators out of graphs: programs take them as an argument.

The decomposition of each random operator draws a seed. All seeds of a graph become one tensor,
which one small kernel of torch draws per call. It is an argument of the program, so random
operators do not partition a graph, and programs do not access generators. A joint graph saves the
seeds for the backward graph, which recomputes the numbers: loading them would take longer.
"""

from typing import TypeAlias

import torch
from torch import fx
from torch.utils.checkpoint import CheckpointPolicy

from hidet.frontends.torch.compiling import Boxed, boxed
from hidet.frontends.torch.philox import DRAW, RANDOM, draw

Draws: TypeAlias = list[tuple[int, torch.device]]
"""The number of seeds to draw on each device."""


def merge_draws(graph: fx.Graph) -> None:
    """Merge the draws of each device into one at the beginning of a graph."""
    draws: dict[torch.device, list[fx.Node]] = {}
    for node in graph.find_nodes(op="call_function", target=DRAW):
        draws.setdefault(node.meta["val"].device, []).append(node)
    for device, nodes in draws.items():
        first = next(node for node in graph.nodes if node.op != "placeholder")
        with graph.inserting_before(first):
            merged = graph.call_function(DRAW, (len(nodes), device))
        merged.meta = dict(nodes[0].meta)
        merged.meta["val"] = nodes[0].meta["val"].new_empty((len(nodes), 2))
        for number, node in enumerate(nodes):
            for user in list(node.users):
                assert user.target is RANDOM, "nothing else reads a seed"
                user.args = (merged, number, *user.args[2:])
            graph.erase_node(node)


def save_seeds(graph: fx.Graph) -> None:
    """Mark seeds of a joint graph to be saved for backward, and random numbers to be recomputed.

    Inside a checkpoint too, seeds are never drawn again.
    """
    tangents = [n for n in graph.find_nodes(op="placeholder") if "tangents" in str(n.target)]
    if not any(node.users for node in tangents):
        return  # there is no backward graph
    for node in graph.find_nodes(op="call_function", target=DRAW):
        node.meta["recompute"] = CheckpointPolicy.MUST_SAVE
    for node in graph.find_nodes(op="call_function", target=RANDOM):
        node.meta["recompute"] = CheckpointPolicy.PREFER_RECOMPUTE


def numbers_of(graph: fx.Graph) -> set[fx.Node]:
    """Return the seeds of a graph, and what is computed from them alone."""
    found = {node.args[0] for node in graph.find_nodes(op="call_function", target=RANDOM)}
    for node in graph.nodes:
        inputs = set(node.all_input_nodes)
        if node.op == "call_function" and inputs and inputs <= found:
            found.add(node)
    return found


def lift_draws(module: fx.GraphModule) -> tuple[fx.GraphModule, Draws]:
    """Turn the seeds that a graph draws into additional arguments at the end; return both.

    What is computed from seeds alone comes first, so that its consumers are fused with their other
    producers, such as a matmul.
    """
    graph = module.graph
    drawn, early = graph.find_nodes(op="call_function", target=DRAW), numbers_of(graph)
    if not drawn and not early:
        return module, []
    new, copies = fx.Graph(), dict[fx.Node, fx.Node]()
    for node in graph.find_nodes(op="placeholder"):
        copies[node] = new.node_copy(node)
    for node in drawn:
        copies[node] = new.placeholder(node.name)
        copies[node].meta = dict(node.meta)
    for node in sorted(graph.nodes, key=lambda node: node not in early):  # stable
        if node not in copies:
            copies[node] = new.node_copy(node, copies.__getitem__)
    return fx.GraphModule(module, new), [node.args for node in drawn]


def drawing(function: Boxed, draws: Draws) -> Boxed:
    """Return a function that draws seeds and passes them after its arguments."""
    if not draws:
        return function
    return boxed(lambda arguments: function([*arguments, *drawn(draws)]))


def drawn(draws: Draws) -> list[torch.Tensor]:
    """Return fresh seeds."""
    return [draw(*each) for each in draws]
