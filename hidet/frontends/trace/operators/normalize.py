"""Normalization.

`accumulate_dtype` is the type of the statistics, at least float32.
"""

from torch.nn import functional as nn

from hidet.frontends.trace.recording import T, operator


@operator
def batch_norm_infer(
    x: T, running_mean: T, running_var: T, epsilon: float = 1e-5, axis: int = 1
) -> T:
    """Return (x - mean) / sqrt(variance + epsilon), with statistics per channel along `axis`."""
    moved = x.movedim(axis, 1)
    return nn.batch_norm(moved, running_mean, running_var, eps=epsilon).movedim(1, axis)


@operator
def group_norm(
    x: T, num_groups: int, epsilon: float = 1e-5, accumulate_dtype: str = "float32"
) -> T:
    """Return x normalized over each group of channels (dimension 1) of each sample."""
    return nn.group_norm(x, num_groups, eps=epsilon)


@operator
def instance_norm(x: T, epsilon: float = 1e-5, accumulate_dtype: str = "float32") -> T:
    """Return x normalized over each channel (dimension 1) of each sample."""
    return nn.group_norm(x, x.shape[1], eps=epsilon)


@operator
def layer_norm(
    x: T, num_last_dims: int = 1, epsilon: float = 1e-5, accumulate_dtype: str = "float32"
) -> T:
    """Return x normalized over the last dimensions."""
    return nn.layer_norm(x, x.shape[x.dim() - num_last_dims :], eps=epsilon)


@operator
def lp_norm(x: T, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> T:
    """Return x / max(p-norm along a dimension, eps)."""
    return nn.normalize(x, p, dim, eps)
