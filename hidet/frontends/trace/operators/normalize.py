"""Norms: what scales elements by statistics of them.

`accumulate_dtype` says what statistics are kept in; that is float32 at least, as always.
"""

import torch
from torch.nn import functional as nn

from hidet.frontends.trace.recording import operator


@operator
def batch_norm_infer(
    x: torch.Tensor,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
    epsilon: float = 1e-5,
    axis: int = 1,
) -> torch.Tensor:
    """Return (x - mean) / sqrt(variance + epsilon), with statistics for each index of an axis."""
    moved = x.movedim(axis, 1)
    return nn.batch_norm(moved, running_mean, running_var, eps=epsilon).movedim(1, axis)


@operator
def group_norm(
    x: torch.Tensor, num_groups: int, epsilon: float = 1e-5, accumulate_dtype: str = "float32"
) -> torch.Tensor:
    """Return x with mean 0 and variance 1 in each group of channels, dimension 1, of a sample."""
    return nn.group_norm(x, num_groups, eps=epsilon)


@operator
def instance_norm(
    x: torch.Tensor, epsilon: float = 1e-5, accumulate_dtype: str = "float32"
) -> torch.Tensor:
    """Return x with mean 0 and variance 1 in each channel, dimension 1, of a sample."""
    return nn.group_norm(x, x.shape[1], eps=epsilon)


@operator
def layer_norm(
    x: torch.Tensor,
    num_last_dims: int = 1,
    epsilon: float = 1e-5,
    accumulate_dtype: str = "float32",
) -> torch.Tensor:
    """Return x with mean 0 and variance 1 over the last dimensions."""
    return nn.layer_norm(x, x.shape[x.dim() - num_last_dims :], eps=epsilon)


@operator
def lp_norm(x: torch.Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> torch.Tensor:
    """Return x over its p-norm along a dimension, or over eps where that is larger."""
    return nn.normalize(x, p, dim, eps)
