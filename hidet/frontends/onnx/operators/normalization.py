"""Norms, and attention."""

from __future__ import annotations

import torch
from torch.nn import functional as nn

from hidet.frontends.onnx.table import T, row


@row("BatchNormalization")
def batch_norm(
    x: T,
    scale: T,
    bias: T,
    mean: T,
    variance: T,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
    spatial: int = 1,
) -> list[T]:
    """Return the batch norm of x; in training also the new statistics."""
    if not training_mode:
        return [nn.batch_norm(x, mean, variance, scale, bias, eps=epsilon)]
    axes = [axis for axis in range(x.dim()) if axis != 1]
    found, spread = x.mean(axes), x.var(axes, correction=0)
    y = nn.batch_norm(x, found, spread, scale, bias, eps=epsilon)
    blend = [
        old * momentum + new * (1 - momentum) for old, new in ((mean, found), (variance, spread))
    ]
    return [y, *blend]


@row("InstanceNormalization")
def instance_norm(x: T, scale: T, bias: T, *, epsilon: float = 1e-5) -> T:
    """Return the instance norm of x."""
    return nn.group_norm(x, x.shape[1], scale, bias, epsilon)


@row("LayerNormalization")
def layer_norm(
    x: T,
    scale: T,
    bias: T | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
    outputs: int,
) -> list[T]:
    """Return the layer norm of x from an axis on; also the mean, and 1 / deviation."""
    axes = list(range(axis % x.dim(), x.dim()))
    shape = x.shape[axes[0] :]
    y = nn.layer_norm(x, shape, scale.expand(shape), bias, epsilon)
    if outputs == 1:
        return [y]
    wide = x.to(torch.float32)
    return [
        y,
        wide.mean(axes, True),
        torch.rsqrt(wide.var(axes, correction=0, keepdim=True) + epsilon),
    ]


@row("LpNormalization")
def lp_normalization(x: T, *, axis: int = -1, p: int = 2) -> T:
    """Return x / p-norm along an axis, 0 where that is 0."""
    norm = x.abs().sum(axis, keepdim=True) if p == 1 else (x * x).sum(axis, keepdim=True).sqrt()
    return torch.where(norm == 0, torch.zeros_like(x), x / norm)


@row("LRN")
def local_response_norm(
    x: T, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> T:
    """Return the local response norm of x, over adjacent channels."""
    around = nn.pad(x * x, [0, 0] * (x.dim() - 2) + [(size - 1) // 2, size // 2])
    squares = sum(around.narrow(1, n, x.shape[1]) for n in range(size))
    return x / (bias + alpha / size * squares) ** beta
