"""Reduced precision, where the settings ask for it: autocast to float16, precision of matmuls."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch.fx.node import map_arg
from xdsl.dialects.builtin import ModuleOp, StringAttr, f16

from hidet.dialects import graph
from hidet.dialects.graph.base import element_type
from hidet.frontends.torch.settings import Settings


def in_half(module: fx.GraphModule, example_inputs: Sequence[Any]) -> fx.GraphModule:
    """Return one of dynamo's graphs under torch's autocast to float16.

    Matmuls and convolutions compute in float16; what needs a wider range stays in float32. Weights
    keep their type, since a program converts them once, and so do results.
    """
    devices = {each.device.type for each in example_inputs if isinstance(each, torch.Tensor)}
    device = "cuda" if "cuda" in devices else "cpu"
    autocast: Any = torch.amp.autocast_mode
    new = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    mode = None
    for node in module.graph.nodes:
        if mode is None and node.op != "placeholder":
            mode = new.call_function(autocast._enter_autocast, (device, torch.float16, True, True))
        if node.op == "output":
            new.call_function(autocast._exit_autocast, (mode,))
            new.output(map_arg(node.args[0], lambda each: _restored(new, each, copies[each])))
        else:
            copies[node] = new.node_copy(node, copies.__getitem__)
    return fx.GraphModule(module, new)


def _restored(new: fx.Graph, node: fx.Node, copy: fx.Node) -> fx.Node:
    """Return the copy of a node, cast back to float32 if that is the node's data type."""
    value: Any = node.meta.get("example_value")
    if not isinstance(value, torch.Tensor) or value.dtype is not torch.float32:
        return copy
    return new.call_method("to", (copy, torch.float32))


def set_precision(module: ModuleOp, settings: Settings) -> None:
    """Set the precision of the matmuls of a GPU program according to the settings."""
    for op in module.walk():
        if not isinstance(
            op,
            graph.MatmulOp
            | graph.LinearOp
            | graph.ConvolutionOp
            | graph.ScaledDotProductAttentionOp,
        ):
            continue
        if not settings["use_tensor_core"]:
            op.precision = StringAttr("fma")
        elif settings["use_fp16_reduction"] and element_type(op.operands[0]) == f16:
            op.precision = StringAttr("f16")
