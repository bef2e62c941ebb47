"""Gradients of attention, computed from its weights, which are computed anew."""

from collections.abc import Callable
from math import sqrt
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def _gradients(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout: float,
    causal: bool,
    mask: Tensor | None,
    scale: float | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Give the gradients of query, key, value and of the scores, which is that of a mask."""
    if dropout:
        return NotImplemented
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
    if mask is not None:  # a query that may attend to no key
        weights = torch.where(scores.amax(-1, True) == -torch.inf, 0, weights)
    of_weights = (grad @ value.transpose(-1, -2)).to(wide)
    of_scores = weights * (of_weights - (weights * of_weights).sum(-1, True))
    scaled = (of_scores * scale).to(query.dtype)
    found = scaled @ key, scaled.transpose(-1, -2) @ query
    of_value = weights.to(grad.dtype).transpose(-1, -2) @ grad
    results = [each.to(dtype) for each, dtype in zip((*found, of_value), dtypes, strict=True)]
    for n, count in enumerate(shared, 1):
        if count > 1:  # the heads of queries that share one add up
            results[n] = results[n].unflatten(1, (-1, count)).sum(2)
    return results[0], results[1], results[2], of_scores


def on_cpu_backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Any:
    """The gradients of the form that attention takes on a CPU."""
    found = _gradients(grad, query, key, value, dropout_p, is_causal, attn_mask, scale)
    return found if found is NotImplemented else found[:3]


def flash_backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    cum_seq_q: Tensor | None,
    cum_seq_k: Tensor | None,
    max_q: int,
    max_k: int,
    dropout_p: float,
    is_causal: bool,
    philox_seed: Tensor,
    philox_offset: Tensor,
    *,
    scale: float | None = None,
) -> Any:
    """The gradients of the form that attention takes on a GPU in half precision."""
    found = _gradients(grad, query, key, value, dropout_p, is_causal, None, scale)
    return found if found is NotImplemented else found[:3]


def efficient_backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    out: Tensor,
    logsumexp: Tensor,
    philox_seed: Tensor,
    philox_offset: Tensor,
    dropout_p: float,
    grad_input_mask: list[bool],
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> Any:
    """The gradients of the form that attention takes on a GPU with a mask or in full precision."""
    found = _gradients(grad, query, key, value, dropout_p, is_causal, attn_bias, scale)
    if found is NotImplemented or attn_bias is None or not grad_input_mask[3]:
        return found if found is NotImplemented else (*found[:3], None)
    return *found[:3], found[3].sum_to_size(attn_bias.shape).to(attn_bias.dtype)


def cudnn_backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    philox_seed: Tensor,
    philox_offset: Tensor,
    attn_bias: Tensor | None,
    cum_seq_q: Tensor | None,
    cum_seq_k: Tensor | None,
    max_q: int,
    max_k: int,
    dropout_p: float,
    is_causal: bool,
    *,
    scale: float | None = None,
) -> Any:
    """The gradients of the form that attention takes by cuDNN."""
    found = _gradients(grad, query, key, value, dropout_p, is_causal, attn_bias, scale)
    return found if found is NotImplemented else found[:3]


ATTENTION: dict[Any, Callable[..., Any]] = {
    aten._scaled_dot_product_flash_attention_for_cpu_backward.default: on_cpu_backward,
    aten._scaled_dot_product_flash_attention_backward.default: flash_backward,
    aten._scaled_dot_product_efficient_attention_backward.default: efficient_backward,
    aten._scaled_dot_product_cudnn_attention_backward.default: cudnn_backward,
}
"""How gradients of attention are taken apart."""
