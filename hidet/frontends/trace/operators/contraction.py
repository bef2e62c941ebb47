"""Contractions: matmuls, convolutions, attention."""

from collections.abc import Callable, Sequence

import torch
from torch.nn import functional as nn

from hidet.frontends.trace.recording import Ints, T, named_operator, operator


@operator
def matmul(a: T, b: T, require_prologue: bool = False) -> T:
    """Return a batched matrix product, whose leading dimensions broadcast.

    Prologues are always fused where possible, regardless of `require_prologue`.
    """
    return torch.matmul(a, b)


@operator
def matmul_nt(a: T, b: T, require_prologue: bool = False) -> T:
    """Return a @ b.T, batched; a vector b stays."""
    return torch.matmul(a, b if b.dim() == 1 else b.mT)


@operator
def einsum(equation: str, operands: Sequence[T]) -> T:
    """Return the contraction given by an equation such as "bij,bjk->bik"."""
    return torch.einsum(equation, *operands)


@operator
def conv1d(data: T, weight: T, stride: Ints = 1, dilations: Ints = 1, groups: int = 1) -> T:
    """Return a convolution of data [n, c, w] with a weight [oc, c / groups, kw]."""
    return nn.conv1d(data, weight, stride=stride, dilation=dilations, groups=groups)


@operator
def conv2d(
    data: T,
    weight: T,
    stride: Ints = (1, 1),
    dilations: Ints = (1, 1),
    groups: int = 1,
    padding: Ints = (0, 0),
) -> T:
    """Return a convolution of images [n, c, h, w] with a weight [oc, c / groups, kh, kw]."""
    return nn.conv2d(data, weight, None, stride, padding, dilations, groups)


@operator
def conv2d_channel_last(
    data: T,
    weight: T,
    stride: Ints = (1, 1),
    dilations: Ints = (1, 1),
    groups: int = 1,
    padding: Ints = (0, 0),
) -> T:
    """Return a convolution of images [n, h, w, c]; the weight layout is that of `conv2d`."""
    images = data.permute(0, 3, 1, 2)
    return nn.conv2d(images, weight, None, stride, padding, dilations, groups).permute(0, 2, 3, 1)


@operator
def conv3d(
    data: T, weight: T, stride: Ints = (1, 1, 1), dilations: Ints = (1, 1, 1), groups: int = 1
) -> T:
    """Return a convolution of volumes [n, c, d, h, w] with a weight [oc, c / groups, ...]."""
    return nn.conv3d(data, weight, stride=stride, dilation=dilations, groups=groups)


def _transposed(rank: int, step: Ints, pad: Ints, what: str) -> Callable[..., T]:
    function: Callable[..., T] = getattr(nn, f"conv_transpose{rank}d")

    def call(
        data: T,
        weight: T,
        stride: Ints = step,
        padding: Ints = pad,
        groups: int = 1,
        output_padding: Ints = 0,
    ) -> T:
        return function(data, weight, None, stride, padding, output_padding, groups)

    document = f"Return a transposed convolution of {what} with a weight [c, oc / groups, ...]."
    return named_operator(call, f"conv{rank}d_transpose", document)


conv1d_transpose = _transposed(1, 1, 0, "data [n, c, w]")
conv2d_transpose = _transposed(2, (1, 1), (0, 0), "images [n, c, h, w]")
conv3d_transpose = _transposed(3, (1, 1, 1), (0, 0, 0), "volumes [n, c, d, h, w]")


@operator
def attention(q: T, k: T, v: T, mask: T | None = None, is_causal: bool = False) -> T:
    """Return softmax(q @ k + mask) @ v, without scaling.

    q is [..., length, size], k is [..., size, keys], and v is [..., keys, size].
    """
    keys = k.transpose(-1, -2)
    return nn.scaled_dot_product_attention(q, keys, v, mask, is_causal=is_causal, scale=1.0)
