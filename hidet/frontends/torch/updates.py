"""Arguments that a graph writes: AOTAutograd leaves a `copy_` into each of them at its end."""

from typing import Any

import torch
from torch import fx


def updates_of(graph: fx.Graph) -> dict[fx.Node, fx.Node]:
    """Give the nodes that write an argument, each with the argument.

    A graph is functional but for these: all that it reads is what arguments hold before.
    """
    found: dict[fx.Node, fx.Node] = {}
    for node in graph.find_nodes(op="call_function", target=torch.ops.aten.copy_.default):
        target: Any = node.args[0]
        if target.op == "placeholder":
            found[node] = target
    return found
