"""Keeps attention as one operator through AOTAutograd and torch.export.

Torch decomposes `scaled_dot_product_attention` before any decomposition table applies: into one of
its own kernels if that supports the arguments, else into some twenty operators on f32 scores (on a
GPU with a mask of 197 keys, for instance).
"""

from importlib import import_module
from typing import Any

import torch
from torch import Tensor
from torch.library import custom_op
from torch.overrides import TorchFunctionMode

from hidet.frontends.torch.decomposed.attention import gradients

_SDPA = torch.nn.functional.scaled_dot_product_attention

_NAMES = (_SDPA, torch.ops.aten.scaled_dot_product_attention.default)
"""Attention as models call it, and as exported programs do."""


@custom_op("hidet::scaled_dot_product_attention", mutates_args=())
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    is_causal: bool,
    scale: float | None,
) -> Tensor:
    """Return attention [N, H, L, V] of query [N, H, L, E], key and value [N, G, S, E or V].

    G divides H. The mask is one of `scaled_dot_product_attention`.
    """
    grouped = key.shape[1] != query.shape[1]
    result = _SDPA(query, key, value, attn_mask, 0.0, is_causal, scale=scale, enable_gqa=grouped)
    return result.contiguous()


@attention.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, *_: object) -> Tensor:
    return query.new_empty((*query.shape[:-1], value.shape[-1]))


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    *tensors, ctx.is_causal, ctx.scale = inputs
    ctx.save_for_backward(*tensors)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """Return the gradients; attention weights are recomputed."""
    query, key, value, mask = ctx.saved_tensors
    causal, scale = ctx.is_causal, ctx.scale
    *found, of_scores = gradients(grad, query, key, value, causal, mask, scale)
    if not ctx.needs_input_grad[3]:
        return *found, None, None, None
    return *found, of_scores.sum_to_size(mask.shape).to(mask.dtype), None, None


attention.register_autograd(_backward, setup_context=_save)

WHOLE: Any = torch.ops.hidet.scaled_dot_product_attention.default
"""`attention` as graphs have it."""


class WholeAttention(TorchFunctionMode):
    """Replaces attention without dropout by `attention` in graphs that are being traced."""

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Call a torch function, or `attention` instead of it."""
        kwargs = kwargs or {}
        if func in _NAMES and (given := _given(*args, **kwargs)) is not None:
            query, key, value, *how = given
            if query.dim() == 4:
                return attention(*given)
            return attention(query[None], key[None], value[None], *how)[0]
        return func(*args, **kwargs)


def _given(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Any, ...] | None:
    """Return the arguments of `attention`; None if torch should handle the call."""
    given = (query, key, value)
    if query.dim() not in (3, 4) or dropout_p:
        return None
    if any(each.dim() != query.dim() or each.dtype is not query.dtype for each in given):
        return None
    if attn_mask is not None and attn_mask.dtype not in (torch.bool, query.dtype):
        return None
    bindings: Any = import_module("torch._C")
    if bindings._functorch.peek_interpreter_stack() is not None:  # inside a torch.func transform
        return None
    device = query.device.type
    if torch.is_autocast_enabled(device) and query.dtype is not torch.get_autocast_dtype(device):
        return None
    batch, heads = query.shape[:-3], query.shape[-3]
    groups = key.shape[-3]
    if key.shape[:-3] != batch or value.shape[:-2] != key.shape[:-2]:
        return None
    if groups != heads and not (enable_gqa and heads % groups == 0):
        return None
    return (*given, attn_mask, is_causal, scale)
