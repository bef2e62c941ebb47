"""Gradients of attention, with recomputed attention weights."""

from collections.abc import Callable
from math import sqrt
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def gradients(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    causal: bool,
    mask: Tensor | None,
    scale: float | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of query, key, value and the scores, which is also that of a mask."""
    shared = [query.shape[1] // each.shape[1] for each in (key, value)]
    key, value = (
        each.repeat_interleave(count, 1) if count > 1 else each
        for each, count in zip((key, value), shared, strict=True)
    )
    wide = torch.float64 if query.dtype is torch.float64 else torch.float32
    dtypes = [each.dtype for each in (query, key, value)]
    scale = 1 / sqrt(query.shape[-1]) if scale is None else scale
    scores = (query @ key.transpose(-1, -2)).to(wide) * scale
    if causal:
        rows, columns = (torch.arange(n, device=query.device) for n in scores.shape[-2:])
        scores = torch.where(columns <= rows[:, None], scores, -torch.inf)
    if mask is not None and mask.dtype is torch.bool:
        scores = torch.where(mask, scores, -torch.inf)
    elif mask is not None:
        scores = scores + mask
    weights = scores.softmax(-1)
    if mask is not None:  # a query may attend to no key
        weights = torch.where(scores.amax(-1, True) == -torch.inf, 0, weights)
    of_weights = (grad @ value.transpose(-1, -2)).to(wide)
    of_scores = weights * (of_weights - (weights * of_weights).sum(-1, True))
    scaled = (of_scores * scale).to(query.dtype)
    found = scaled @ key, scaled.transpose(-1, -2) @ query
    of_value = weights.to(grad.dtype).transpose(-1, -2) @ grad
    results = [each.to(dtype) for each, dtype in zip((*found, of_value), dtypes, strict=True)]
    for n, count in enumerate(shared, 1):
        if count > 1:  # sum over the query heads that share it
            results[n] = results[n].unflatten(1, (-1, count)).sum(2)
    return results[0], results[1], results[2], of_scores


def _backward(op: Any) -> Callable[..., Any]:
    """Return the decomposition of one form of the gradients, whose schema names the arguments."""
    names = [argument.name for argument in op._schema.arguments]

    def backward(*arguments: Any, **keywords: Any) -> Any:
        given = dict(zip(names, arguments, strict=False)) | keywords
        if given["dropout_p"]:
            return NotImplemented
        mask = given.get("attn_bias", given.get("attn_mask"))
        grad, query, key, value = (given[name] for name in names[:4])
        causal, scale = given.get("is_causal", False), given.get("scale")
        *found, of_scores = gradients(grad, query, key, value, causal, mask, scale)
        wanted = given.get("grad_input_mask")
        if wanted is None:
            return tuple(found)
        if mask is None or not wanted[3]:
            return *found, None
        return *found, of_scores.sum_to_size(mask.shape).to(mask.dtype)

    return backward


ATTENTION: dict[Any, Callable[..., Any]] = {
    op: _backward(op)
    for op in (
        aten._scaled_dot_product_flash_attention_for_cpu_backward.default,
        aten._scaled_dot_product_flash_attention_backward.default,
        aten._scaled_dot_product_efficient_attention_backward.default,
        aten._scaled_dot_product_cudnn_attention_backward.default,
    )
}
"""The decompositions of gradients of attention."""
