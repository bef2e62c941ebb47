"""Contractions: matmuls, convolutions, attention."""

from collections.abc import Sequence

import torch
from torch.nn import functional as nn

from hidet.frontends.trace.recording import T, operator

Ints = int | tuple[int, ...]
"""A number for all dimensions, or one for each."""


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


@operator
def conv1d_transpose(
    data: T,
    weight: T,
    stride: Ints = 1,
    padding: Ints = 0,
    groups: int = 1,
    output_padding: Ints = 0,
) -> T:
    """Return a transposed convolution of data [n, c, w] with a weight [c, oc / groups, kw]."""
    return nn.conv_transpose1d(data, weight, None, stride, padding, output_padding, groups)


@operator
def conv2d_transpose(
    data: T, weight: T, stride: Ints, padding: Ints, groups: int = 1, output_padding: Ints = 0
) -> T:
    """Return a transposed convolution of images with a weight [c, oc / groups, kh, kw]."""
    return nn.conv_transpose2d(data, weight, None, stride, padding, output_padding, groups)


@operator
def conv3d_transpose(
    data: T,
    weight: T,
    stride: Ints = (1, 1, 1),
    padding: Ints = (0, 0, 0),
    groups: int = 1,
    output_padding: Ints = 0,
) -> T:
    """Return a transposed convolution of volumes with a weight [c, oc / groups, ...]."""
    return nn.conv_transpose3d(data, weight, None, stride, padding, output_padding, groups)


@operator
def attention(q: T, k: T, v: T, mask: T | None = None, is_causal: bool = False) -> T:
    """Return softmax(q @ k + mask) @ v, without scaling.

    q is [..., length, size], k is [..., size, keys], and v is [..., keys, size].
    """
    keys = k.transpose(-1, -2)
    return nn.scaled_dot_product_attention(q, keys, v, mask, is_causal=is_causal, scale=1.0)
