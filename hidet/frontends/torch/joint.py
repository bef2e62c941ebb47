"""Partitions joint graphs of AOTAutograd into a forward and a backward graph."""

from typing import Any

import torch
from torch import fx
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.utils.checkpoint import CheckpointPolicy

from hidet.frontends.torch.constants import simplify_masks
from hidet.frontends.torch.imported import updates_of
from hidet.frontends.torch.saved import pack_saved
from hidet.frontends.torch.seeds import merge_draws, save_seeds


def partition_joint(
    module: fx.GraphModule, joint_inputs: Any, **named: Any
) -> tuple[fx.GraphModule, fx.GraphModule]:
    """Partition a joint graph into a forward and a backward graph; seeds are saved for backward."""
    _keep_old_content(module.graph)
    simplify_masks(module)  # the backward graph has no constants, but tensors that are saved
    merge_draws(module.graph)
    save_seeds(module.graph)
    forward, backward = min_cut_rematerialization_partition(module, joint_inputs, **named)
    pack_saved(forward, backward, named["num_fwd_outputs"])
    return forward, backward


def _keep_old_content(graph: fx.Graph) -> None:
    """Let a backward graph read what arguments held before the forward graph wrote them.

    It finds the new content in an argument. So what it reads of the old one is saved.
    """
    first = next(node for node in graph.nodes if node.op != "placeholder")
    for write, argument in updates_of(graph).items():
        with graph.inserting_before(first):
            old = graph.call_function(torch.ops.aten.clone.default, (argument,))
        value = argument.meta["val"].clone()
        old.meta = {**argument.meta, "val": value, "recompute": CheckpointPolicy.MUST_SAVE}
        for user in set(argument.users) - {write, old}:
            user.replace_input_with(argument, old)
