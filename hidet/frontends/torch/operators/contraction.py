"""ATen contractions: matmuls, convolutions, attention."""

from collections.abc import Sequence
from typing import Any

import torch
from xdsl.ir import SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import Number, element_type, shape_of
from hidet.dialects.graph.contraction import per_dimension
from hidet.frontends.torch.attention import GRADIENTS, WHOLE
from hidet.frontends.torch.decomposed.convolution import FILTER_GRADIENT
from hidet.frontends.torch.nodes import named
from hidet.frontends.torch.operators.emitter import (
    Emitter,
    Results,
    Table,
    Translation,
    unsupported,
)

aten = torch.ops.aten


def matmul(g: Emitter, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """A matmul, possibly batched."""
    weight = _transposed(rhs)
    if weight is not None:
        return linear(g, lhs, weight)
    left, right = _before_reshape(lhs, 2), _before_reshape(rhs, 2)
    if shape_of(left)[:-2] == shape_of(right)[:-2]:
        lhs, rhs = left, right
    product = g.emit(graph.MatmulOp(lhs, rhs, precision=g.precision("matmul")))
    return g.reshape(product, g.shape)


def addmm(
    g: Emitter,
    bias: SSAValue,
    lhs: SSAValue,
    rhs: SSAValue,
    *,
    beta: Number = 1,
    alpha: Number = 1,
) -> SSAValue:
    """A scaled matmul plus a scaled tensor, which broadcasts."""
    weight = _transposed(rhs)
    if weight is not None and shape_of(bias) == shape_of(weight)[:1] and (alpha, beta) == (1, 1):
        return linear(g, lhs, weight, bias)
    product = matmul(g, lhs, rhs)
    if alpha != 1:
        product = g.emit(graph.MulOp(product, g.scalar(alpha, g.element)))
    if beta == 0:
        return product
    if beta != 1:
        bias = g.emit(graph.MulOp(bias, g.scalar(beta, g.element)))
    return g.emit(graph.AddOp(product, bias))


def grouped_matmul(
    g: Emitter,
    lhs: SSAValue,
    rhs: SSAValue,
    ends: SSAValue | None = None,
    bias: SSAValue | None = None,
    out_dtype: torch.dtype | None = None,
) -> SSAValue:
    """Matmuls of groups of rows with a matrix each, such as tokens with those of their experts."""
    ranks = len(shape_of(lhs)), len(shape_of(rhs))
    if ends is None or bias is not None or ranks != (2, 3):
        raise unsupported("a grouped matmul other than of [M, K], [G, K, N] and the ends of groups")
    how: dict[str, Any] = {"precision": g.precision("matmul"), "result_element": g.element}
    return g.emit(graph.GroupedMatmulOp(lhs, rhs, ends, **how))


def linear(g: Emitter, x: SSAValue, weight: SSAValue, bias: SSAValue | None = None) -> SSAValue:
    """A linear layer."""
    x = _before_reshape(x, 1)
    result = g.emit(graph.LinearOp(x, weight, bias, precision=g.precision("matmul")))
    return g.reshape(result, g.shape)


# torch decomposes `nn.Linear` and `@` on batches: it flattens leading dimensions, transposes the
# weight, multiplies, and unflattens. These functions recover the operands.


def _transposed(matrix: SSAValue) -> SSAValue | None:
    """Return the operand of a transpose, if a matrix is one."""
    permute = matrix.owner
    if isinstance(permute, graph.PermuteOp) and permute.dims.get_values() == (1, 0):
        return permute.x
    return None


def _before_reshape(x: SSAValue, last: int) -> SSAValue:
    """Return the operand of a reshape that flattens leading dimensions, if x is one."""
    reshape = x.owner
    if isinstance(reshape, graph.ReshapeOp):
        before, after = shape_of(reshape.x), shape_of(x)
        if len(before) > len(after) and before[-last:] == after[-last:]:
            return reshape.x
    return x


def convolution(
    g: Emitter,
    x: SSAValue,
    weight: SSAValue,
    bias: SSAValue | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> SSAValue:
    """A 1D or 2D convolution."""
    if transposed:
        raise unsupported("a transposed convolution")
    rank = len(shape_of(x)) - 2
    if rank not in (1, 2):
        raise unsupported(f"a convolution over {rank} dimensions; supported are 1 and 2")
    window = _window_2d(rank, stride=stride, padding=padding, dilation=dilation)
    how: dict[str, Any] = {"groups": groups, "precision": g.precision("conv"), **window}
    op = graph.Conv2dOp(_as_images(g, x), _as_images(g, weight), bias, **how)
    return g.reshape(g.emit(op), g.shape)


def _as_images(g: Emitter, x: SSAValue) -> SSAValue:
    """Return images, or filters, themselves; sequences are images of height 1."""
    shape = shape_of(x)
    return x if len(shape) == 4 else g.reshape(x, [*shape[:2], 1, shape[2]])


def _window_2d(rank: int, **fields: Sequence[int]) -> dict[str, Sequence[int]]:
    """Return the fields of a window over images, also of one over sequences."""
    if rank == 1:
        fields = {name: [int(name != "padding"), *values] for name, values in fields.items()}
    return {name: per_dimension(values, 2) for name, values in fields.items()}


def filter_gradient(
    g: Emitter,
    image: SSAValue,
    grad: SSAValue,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> SSAValue:
    """The gradient of the filters of a 1D or 2D convolution."""
    fields = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    window = _window_2d(len(kernel), **fields)
    how: dict[str, Any] = {"groups": groups, "precision": g.precision("conv"), **window}
    op = graph.Conv2dFilterGradientOp(_as_images(g, image), _as_images(g, grad), **how)
    return g.reshape(g.emit(op), g.shape)


def attention(g: Emitter, *arguments: Any, **keywords: Any) -> Results:
    """Attention in any of its forms; the schema says which argument is which."""
    given = named(g.node.target, arguments, keywords)
    if given.get("dropout_p"):
        raise unsupported("attention with dropout")
    heads = shape_of(given["query"])[-3]
    op = graph.ScaledDotProductAttentionOp(
        given["query"],
        _shared(g, given["key"], heads),
        _shared(g, given["value"], heads),
        given.get("attn_mask", given.get("attn_bias")),
        causal=given.get("is_causal", False),
        scale=given.get("scale"),
        precision=g.precision("matmul"),
    )
    # The forms of devices have more results, for their gradients.
    return g.emit(op) if g.node.target is WHOLE else (g.emit(op),)


def attention_gradients(
    g: Emitter,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    mask: SSAValue | None,
    causal: bool,
    scale: float | None,
    result: SSAValue,
    grad: SSAValue,
) -> Results:
    """The gradients of query, key and value."""
    how: dict[str, Any] = {"causal": causal, "scale": scale, "precision": g.precision("matmul")}
    logsumexp = g.emit(graph.AttentionLogsumexpOp(query, key, mask, **how))
    wide = element_type(logsumexp)
    product = g.emit(graph.MulOp(g.cast(grad, wide), g.cast(result, wide)))
    delta = g.emit(graph.SumOp(product, [-1], keepdims=True))
    operands = (query, key, value, grad, logsumexp, delta, mask)
    of_query = g.emit(graph.AttentionQueryGradientOp(*operands, **how))
    both = g.emit(graph.AttentionKeyValueGradientsOp(*operands, **how))
    parts = (g.slice(both, 0, number, number + 1) for number in range(2))
    return (of_query, *(g.reshape(part, shape_of(key)) for part in parts))


def _shared(g: Emitter, x: SSAValue, heads: int) -> SSAValue:
    """Return keys or values, with heads repeated for grouped queries."""
    *batch, own, length, size = shape_of(x)
    if own == heads:
        return x
    x = g.reshape(x, [*batch, own, 1, length, size])
    x = g.expand(x, [*batch, own, heads // own, length, size])
    return g.reshape(x, [*batch, heads, length, size])


CONTRACTION: Table = {
    WHOLE: attention,
    GRADIENTS: attention_gradients,
    FILTER_GRADIENT: filter_gradient,
    aten.mm.default: matmul,
    aten.bmm.default: matmul,
    aten.addmm.default: addmm,
    aten._grouped_mm.default: grouped_matmul,
    aten.linear.default: linear,
    aten.convolution.default: convolution,
    aten._scaled_dot_product_flash_attention_for_cpu.default: attention,
    aten._scaled_dot_product_flash_attention.default: attention,
    aten._scaled_dot_product_efficient_attention.default: attention,
    aten._scaled_dot_product_cudnn_attention.default: attention,
}
"""The translations of contractions."""

LIBRARIES: dict[str, Translation] = {"transformers.grouped_mm_fallback.default": grouped_matmul}
"""The translations of operators that packages define, by their names."""
