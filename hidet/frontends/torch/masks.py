"""Recognizes constant masks of attention that are causal, or hide nothing.

Models of transformers compute masks from positions, without inputs. As data, a mask is loaded for
each score, and no hidden tile of keys is skipped.
"""

from typing import Literal

import torch
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily

from hidet.frontends.torch.attention import WHOLE
from hidet.frontends.torch.constants import erase_unused, value_of

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
    erase_unused(mask for mask, shape in shapes.items() if shape is not None)


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


__all__ = ["simplify_masks"]
