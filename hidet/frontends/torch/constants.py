"""Constants of FX graphs: tensors that a graph holds, and what is computed from them alone.

Masks of attention are such constants, as models of transformers compute them from positions.
"""

from collections.abc import Iterable
from functools import partial
from operator import attrgetter
from typing import Any, Literal, cast

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.fx.node import map_arg

from hidet.dialects.walking import reached
from hidet.frontends.torch.attention import GRADIENTS, WHOLE
from hidet.frontends.torch.nodes import draws_numbers, first_tensor
from hidet.frontends.torch.operators import OPERATORS

MAX_BYTES = 1 << 30
"""The limit of memory for computing a constant at compile time."""


def hold(module: fx.GraphModule, tensor: torch.Tensor) -> fx.Node:
    """Return a new node, at the insertion point, of a tensor that the graph holds from now on."""
    number = 0
    while hasattr(module, name := f"constant{number}"):
        number += 1
    module.register_buffer(name, tensor)
    return module.graph.get_attr(name)


def fold_constants(module: fx.GraphModule) -> None:
    """Replace constants by their values where an operator on another device reads them.

    Models compute numbers, positions and masks on the CPU, and torch lets tensors on a GPU meet
    them there; a program has one device.
    """
    folded: dict[tuple[fx.Node, torch.device], fx.Node] = {}
    for node in list(module.graph.nodes):
        if node.target not in OPERATORS:
            continue
        device = first_tensor(node).device
        for operand in node.all_input_nodes:
            if not _is_elsewhere(module, operand, device):
                continue
            if (operand, device) not in folded:
                value = value_of(module, operand)
                if value is None:
                    continue
                with module.graph.inserting_before(node):
                    # A number is on any device.
                    new = hold(module, value.to(device) if value.dim() else value)
                folded[operand, device] = new
            node.replace_input_with(operand, folded[operand, device])
    _erase_unused(operand for operand, _ in folded)


def _is_elsewhere(module: fx.GraphModule, node: fx.Node, device: torch.device) -> bool:
    """Return whether a node is a tensor on another device, and not yet a number."""
    is_held = node.op == "get_attr"
    tensor: Any = held_by(module, node) if is_held else node.meta.get("val")
    if not isinstance(tensor, torch.Tensor) or tensor.device == device:
        return False
    return not is_held or tensor.dim() > 0


def value_of(module: fx.GraphModule, node: fx.Node) -> torch.Tensor | None:
    """Return the value of a constant, on the CPU; None if a node is no constant, or too large."""
    nodes = _computing(node)
    if not all(map(_is_constant, nodes)) or sum(map(_bytes, nodes)) > MAX_BYTES:
        return None
    with torch.no_grad(), unset_fake_temporarily():
        values: dict[fx.Node, Any] = {}
        for each in nodes:
            values[each] = _evaluate(module, each, values)
            if _has_no_data(values[each]):
                return None
    return values[node]


def integers_of(module: fx.GraphModule, node: fx.Node) -> list[int] | None:
    """Return the elements of a constant tensor of integers, None if a node is none."""
    value = value_of(module, node)
    if value is None or value.dtype not in (torch.int32, torch.int64):
        return None
    with unset_fake_temporarily():
        return cast("list[int]", value.flatten().tolist())


def _erase_unused(constants: Iterable[fx.Node]) -> None:
    """Erase constants that nothing uses, and what only they were computed from."""
    for constant in constants:
        for each in reversed(_computing(constant)):
            if not each.users:
                each.graph.erase_node(each)


def _computing(node: fx.Node) -> list[fx.Node]:
    """Return a node and those that it is computed from, in the order of the graph."""
    return sorted(reached([node], lambda each: each.all_input_nodes))


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


def held_by(module: fx.GraphModule, node: fx.Node) -> Any:
    """Return the attribute of a graph that a node names."""
    return attrgetter(str(node.target))(module)


def _has_no_data(value: torch.Tensor) -> bool:
    return isinstance(value, FakeTensor) or value.is_meta


def _evaluate(module: fx.GraphModule, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
    """Return the value of a node, on the CPU."""
    if node.op == "get_attr":
        value = held_by(module, node)
        return value if _has_no_data(value) else value.cpu()
    args: Any = map_arg(node.args, values.__getitem__)  # pyright: ignore[reportArgumentType]
    kwargs: Any = map_arg(node.kwargs, values.__getitem__)  # pyright: ignore[reportArgumentType]
    device = {"device": torch.device("cpu")} if "device" in kwargs else {}
    target: Any = node.target
    return target(*args, **{**kwargs, **device})


# -------------------------------------------------------------------- masks of attention

Shape = Literal["causal", "empty"]
"""What a mask hides: keys after the query, or nothing."""


def simplify_masks(module: fx.GraphModule) -> None:
    """Replace constant masks by `is_causal`, or drop them, where that is the same.

    As data, a mask is loaded for each score, and no hidden tile of keys is skipped.
    """
    shapes: dict[fx.Node, Shape | None] = {}
    find = partial(module.graph.find_nodes, op="call_function")
    for node in (*find(target=WHOLE), *find(target=GRADIENTS)):
        query, key, value, mask, causal, scale, *rest = node.args
        if not isinstance(mask, fx.Node) or causal:
            continue
        if mask not in shapes:
            lengths = [each.meta["val"].shape[-2] for each in (query, key)]
            shapes[mask] = _shape_of(module, mask, *lengths)
        if (shape := shapes[mask]) is not None:
            node.args = (query, key, value, None, shape == "causal", scale, *rest)
    _erase_unused(mask for mask, shape in shapes.items() if shape is not None)


def _shape_of(module: fx.GraphModule, mask: fx.Node, queries: int, keys: int) -> Shape | None:
    """Return what a mask hides, None if it is no constant or of another shape."""
    value = value_of(module, mask)
    if value is None:
        return None
    with torch.no_grad(), unset_fake_temporarily():
        visible = _visible(value)
        if visible is None:
            return None
        visible = visible.expand(*visible.shape[:-2], queries, keys)
        if visible.all():
            return "empty"
        causal = torch.ones(queries, keys, dtype=torch.bool).tril()
        return "causal" if (visible == causal).all() else None


def _visible(mask: torch.Tensor) -> torch.Tensor | None:
    """Return which scores a mask leaves alone, None if it changes others than it hides."""
    if mask.dtype is torch.bool:
        return mask
    is_kept, is_hidden = mask == 0, mask <= torch.finfo(mask.dtype).min
    return is_kept if (is_kept | is_hidden).all() else None
