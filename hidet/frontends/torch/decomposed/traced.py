"""What is known of tensors in the graph that is being traced."""

from typing import Any

import torch
from torch import Tensor
from torch.fx import Node
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot

from hidet.dialects.walking import reached

aten = torch.ops.aten

_SAME_ELEMENTS = {
    each.default for each in (aten.alias, aten.clone, aten.expand, aten.permute, aten.view)
} | {aten._unsafe_view.default, aten.slice.Tensor}


def _node_of(x: Tensor) -> Node | None:
    """Return the node of a tensor in the graph that is being traced, if there is one."""
    tracing = get_proxy_mode()
    traced: Any = None if tracing is None else get_proxy_slot(x, tracing.tracer, None)
    return traced and traced.proxy.node


def is_constant(x: Tensor) -> bool:
    """Return whether a tensor depends on no input, as masks do that are computed from positions."""
    node = _node_of(x)
    if node is None:
        return False
    nodes = reached([node], lambda each: each.all_input_nodes)
    return all(each.op == "call_function" for each in nodes)


def step_of(x: Tensor) -> int | None:
    """Return the step of a range from 0; None of other tensors.

    torch makes the offsets of bags in a tensor of two dimensions this way.
    """
    match _node_of(x):
        case Node(target=torch.ops.aten.arange.start_step, args=(0, _, int(step))):
            return step
        case _:
            return None


def known_bits(x: Tensor) -> int | None:
    """Return the number of bits of integers that are masked, so not negative; None of others.

    The positions that sorting and `topk` return are masked.
    """
    node = _node_of(x)
    while node is not None and node.target in _SAME_ELEMENTS:
        (node, *_) = node.all_input_nodes
    match node:
        case Node(target=aten.bitwise_and.Scalar | aten.bitwise_and.Tensor, args=(_, int(mask))):
            return mask.bit_length() if mask >= 0 else None
        case _:
            return None
