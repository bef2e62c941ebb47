"""Recognizes constant masks of attention that are causal, or hide nothing.

Models of transformers compute masks from positions, without inputs. As data, a mask is loaded for
each score, and no hidden tile of keys is skipped.
"""

from collections.abc import Iterator
from typing import Any, Literal

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.fx.node import map_arg

from hidet.frontends.torch.attention import WHOLE
from hidet.frontends.torch.operators.emitter import draws_numbers

MAX_BYTES = 1 << 30
"""The limit of memory for computing a mask at compile time."""

Shape = Literal["causal", "empty"]
"""What a mask hides: keys after the query, or nothing."""


def simplify_masks(module: fx.GraphModule) -> None:
    """Replace constant masks by `is_causal`, or drop them, where that is the same."""
    shapes: dict[fx.Node, Shape | None] = {}
    for node in module.graph.find_nodes(op="call_function", target=WHOLE):
        query, key, value, mask, causal, scale = node.args
        if not isinstance(mask, fx.Node) or causal:
            continue
        if mask not in shapes:
            lengths = [each.meta["val"].shape[-2] for each in (query, key)]
            shapes[mask] = _shape_of(module, mask, *lengths)
        if (shape := shapes[mask]) is not None:
            node.args = (query, key, value, None, shape == "causal", scale)
    for mask, shape in shapes.items():
        if shape is not None:
            for each in list(_computing(mask)):
                if not each.users:
                    each.graph.erase_node(each)


def _shape_of(module: fx.GraphModule, mask: fx.Node, queries: int, keys: int) -> Shape | None:
    """Return what a mask hides, None if it is no constant or of another shape."""
    nodes = list(reversed(list(_computing(mask))))
    if not all(map(_is_constant, nodes)) or sum(map(_bytes, nodes)) > MAX_BYTES:
        return None
    with torch.no_grad(), unset_fake_temporarily():
        values: dict[fx.Node, Any] = {}
        for node in nodes:
            values[node] = _evaluate(module, node, values)
            if isinstance(values[node], FakeTensor):
                return None
        visible = _visible(values[mask])
        if visible is None:
            return None
        visible = visible.expand(*visible.shape[:-2], queries, keys)
        if visible.all():
            return "empty"
        causal = torch.ones(queries, keys, dtype=torch.bool).tril()
        return "causal" if (visible == causal).all() else None


def _computing(node: fx.Node) -> Iterator[fx.Node]:
    """Yield a node and those that it is computed from; users come before their operands."""
    found = {node}
    for each in reversed(node.graph.nodes):
        if each in found:
            found.update(each.all_input_nodes)
            yield each


def _is_constant(node: fx.Node) -> bool:
    """Return whether a node with constant operands is a constant tensor, which ATen computes."""
    if node.op == "get_attr":
        return True
    target: Any = node.target
    if getattr(target, "namespace", "") != "aten" or target._schema.is_mutable:
        return False
    return isinstance(node.meta.get("val"), torch.Tensor) and not draws_numbers(node)


def _bytes(node: fx.Node) -> int:
    """Return the size of the value of a node."""
    value = node.meta.get("val")
    return value.numel() * value.element_size() if isinstance(value, torch.Tensor) else 0


def _evaluate(module: fx.GraphModule, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
    """Return the value of a node, on the CPU."""
    if node.op == "get_attr":
        value: Any = module
        for name in str(node.target).split("."):
            value = getattr(value, name)
        return value if isinstance(value, FakeTensor) else value.cpu()
    args: Any = map_arg(node.args, values.__getitem__)  # pyright: ignore[reportArgumentType]
    kwargs: Any = map_arg(node.kwargs, values.__getitem__)  # pyright: ignore[reportArgumentType]
    device = {"device": torch.device("cpu")} if "device" in kwargs else {}
    target: Any = node.target
    return target(*args, **{**kwargs, **device})


def _visible(mask: torch.Tensor) -> torch.Tensor | None:
    """Return which scores a mask leaves alone, None if it changes others than it hides."""
    if mask.dtype is torch.bool:
        return mask
    is_kept, is_hidden = mask == 0, mask <= torch.finfo(mask.dtype).min
    return is_kept if (is_kept | is_hidden).all() else None


__all__ = ["simplify_masks"]
