"""Keeps attention as one operator through AOTAutograd and torch.export.

Torch decomposes `scaled_dot_product_attention` before any decomposition table applies: into one of
its own kernels if that supports the arguments, else into some twenty operators on f32 scores (on a
GPU with a mask of 197 keys, for instance).
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from math import sqrt
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.library import custom_op
from torch.overrides import TorchFunctionMode

aten = torch.ops.aten

Gradients: TypeAlias = tuple[Tensor, Tensor, Tensor, Tensor | None]
"""The gradients of query, key, value and, if it is wanted, of the mask."""


def gradients(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    causal: bool,
    mask: Tensor | None,
    scale: float | None,
    result: Tensor | None,
    of_mask: bool,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of query, key and value, and that of the mask if it is wanted.

    Those of a result that is given are one operator where kernels may compute it.
    """
    shared = [query.shape[1] // each.shape[1] for each in (key, value)]
    key, value = map(_repeated, (key, value), shared)
    operands = (query, key, value, mask, causal, scale)
    is_possible = result is not None and not of_mask and grad.dtype is query.dtype
    if is_possible and may_be_fused(query, value):
        of_query, of_key, of_value = GRADIENTS(*operands, result, grad)
        found: Gradients = of_query, of_key, of_value, None
    else:
        found = decomposed_gradients(*operands, grad, of_mask)
    return found[0], *map(_summed, found[1:3], shared), found[3]


MOST_COLUMNS = 160
"""The most columns of queries and values of whose gradients a kernel can keep tiles."""


def may_be_fused(query: Tensor, value: Tensor) -> bool:
    """Return whether tensor cores may compute gradients of attention in kernels of their own."""
    is_half = query.dtype in (torch.float16, torch.bfloat16)
    width = query.shape[-1]
    return is_half and width == value.shape[-1] <= MOST_COLUMNS and width % 16 == 0


def _repeated(heads: Tensor, count: int) -> Tensor:
    """Return keys or values for each query head that shares them."""
    return heads if count == 1 else torch.repeat_interleave(heads, count, 1)


def _summed(grad: Tensor, count: int) -> Tensor:
    """Return a gradient summed over the query heads that share keys or values."""
    return grad if count == 1 else grad.view(len(grad), -1, count, *grad.shape[2:]).sum(2)


def decomposed_gradients(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    causal: bool,
    scale: float | None,
    grad: Tensor,
    of_mask: bool,
) -> Gradients:
    """Return the gradients of query, key and value, and that of the mask if it is wanted."""
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
    results = (each.to(dtype) for each, dtype in zip((*found, of_value), dtypes, strict=True))
    of_query, of_key, of_value = results
    if mask is None or not of_mask:
        return of_query, of_key, of_value, None
    return of_query, of_key, of_value, of_scores.sum_to_size(mask.shape).to(mask.dtype)


def _gradients_of(op: Any, *arguments: Any, **keywords: Any) -> Any:
    """Return the gradients that an operator computes, whose schema names the arguments."""
    names = [argument.name for argument in op._schema.arguments]
    given = dict(zip(names, arguments, strict=False)) | keywords
    if given["dropout_p"]:
        return NotImplemented
    mask = given.get("attn_bias", given.get("attn_mask"))
    grad, query, key, value = (given[name] for name in names[:4])
    causal, scale = given.get("is_causal", False), given.get("scale")
    wanted = given.get("grad_input_mask", ())
    of_mask = len(wanted) == 4 and wanted[3]
    found = gradients(grad, query, key, value, causal, mask, scale, given.get("out"), of_mask)
    return found if wanted else found[:3]


ATTENTION: dict[Any, Callable[..., Any]] = {
    op: partial(_gradients_of, op)
    for op in (
        aten._scaled_dot_product_flash_attention_for_cpu_backward.default,
        aten._scaled_dot_product_flash_attention_backward.default,
        aten._scaled_dot_product_efficient_attention_backward.default,
        aten._scaled_dot_product_cudnn_attention_backward.default,
    )
}
"""The decompositions of gradients of attention."""


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


@custom_op("hidet::attention_gradients", mutates_args=())
def attention_gradients(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    is_causal: bool,
    scale: float | None,
    result: Tensor,
    grad: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of query [N, H, L, E], key and value [N, H, S, E]."""
    of_query, of_key, of_value, _ = decomposed_gradients(
        query, key, value, attn_mask, is_causal, scale, grad, of_mask=False
    )
    return of_query.contiguous(), of_key.contiguous(), of_value.contiguous()


@attention_gradients.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, *_: object) -> tuple[Tensor, Tensor, Tensor]:
    of_query, of_key, of_value = (each.new_empty(each.shape) for each in (query, key, value))
    return of_query, of_key, of_value


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    *tensors, ctx.is_causal, ctx.scale = inputs
    query, _, value, _ = tensors
    ctx.save_for_backward(*tensors, output if may_be_fused(query, value) else None)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """Return the gradients; attention weights are recomputed."""
    query, key, value, mask, output = ctx.saved_tensors
    of_mask = ctx.needs_input_grad[3]
    found = gradients(grad, query, key, value, ctx.is_causal, mask, ctx.scale, output, of_mask)
    return *found, None, None


attention.register_autograd(_backward, setup_context=_save)

WHOLE: Any = torch.ops.hidet.scaled_dot_product_attention.default
"""`attention` as graphs have it."""

GRADIENTS: Any = torch.ops.hidet.attention_gradients.default
"""`attention_gradients` as graphs have it, whose first arguments are those of `attention`."""


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
