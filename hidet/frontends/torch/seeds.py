"""Seeds of the random operators of a graph: drawn at once, outside of programs, which take them.

A decomposition draws a seed for each operator. All that a graph draws becomes one tensor, which is
one small kernel of torch a call. That is an argument of the compiled program, so no program is cut
in two, and none asks a generator. A joint graph saves it for the backward graph, which computes the
numbers again: they take more memory, or time to load, than that takes.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import fx
from torch.utils.checkpoint import CheckpointPolicy

from hidet.frontends.torch.philox import DRAW, RANDOM, draw

Draws: TypeAlias = list[tuple[int, torch.device]]
"""How many seeds are drawn on which devices."""


def merge_draws(graph: fx.Graph) -> None:
    """Draw all seeds of a device at once, ahead of everything else."""
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
    """Have the partition of a joint graph save seeds, and compute numbers where they are needed.

    That holds inside of a checkpoint as well: numbers are never drawn anew.
    """
    tangents = [n for n in graph.find_nodes(op="placeholder") if "tangents" in str(n.target)]
    if not any(node.users for node in tangents):
        return  # there is no backward graph
    for node in graph.find_nodes(op="call_function", target=DRAW):
        node.meta["recompute"] = CheckpointPolicy.MUST_SAVE
    for node in graph.find_nodes(op="call_function", target=RANDOM):
        node.meta["recompute"] = CheckpointPolicy.PREFER_RECOMPUTE


def numbers_of(graph: fx.Graph) -> set[fx.Node]:
    """Return the seeds of a graph, and what is computed of them alone."""
    found = {node.args[0] for node in graph.find_nodes(op="call_function", target=RANDOM)}
    for node in graph.nodes:
        inputs = set(node.all_input_nodes)
        if node.op == "call_function" and inputs and inputs <= found:
            found.add(node)
    return found


def lift_draws(module: fx.GraphModule) -> tuple[fx.GraphModule, Draws]:
    """Make arguments of the seeds that a graph draws, behind its own.

    What is computed of seeds alone comes first, so that what reads it joins the kernel of what else
    it reads, such as a product, and takes it in.

    Returns:
        The graph, itself where nothing in it is random, and what a call has to draw.
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
    for node in sorted(graph.nodes, key=lambda node: node not in early):  # which keeps their order
        if node not in copies:
            copies[node] = new.node_copy(node, copies.__getitem__)
    return fx.GraphModule(module, new), [node.args for node in drawn]


def drawing(
    function: Callable[[list[Any]], Sequence[Any]], draws: Draws
) -> Callable[[list[Any]], Sequence[Any]]:
    """Return a function of the arguments of a graph, of one that takes seeds besides."""
    if not draws:
        return function

    def run(arguments: list[Any]) -> Sequence[Any]:
        return function([*arguments, *drawn(draws)])

    # Tells torch to pass one list.
    run._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
    return run


def drawn(draws: Draws) -> list[torch.Tensor]:
    """Return fresh seeds."""
    return [draw(*each) for each in draws]
