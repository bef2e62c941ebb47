"""Activation functions."""

import torch
from torch.nn import functional as nn

from hidet.frontends.trace.recording import operator, unary

hardsigmoid = unary(nn.hardsigmoid, "clamp(x / 6 + 1/2, 0, 1)")
hardswish = unary(nn.hardswish, "x * hardsigmoid(x)")
logsigmoid = unary(nn.logsigmoid, "the logarithm of the sigmoid", "logsigmoid")
relu = unary(torch.relu, "max(x, 0)")
relu6 = unary(nn.relu6, "clamp(x, 0, 6)")
sigmoid = unary(torch.sigmoid, "1 / (1 + exp(-x))")
silu = unary(nn.silu, "x * sigmoid(x)")
softsign = unary(nn.softsign, "x / (1 + abs(x))")
tanhshrink = unary(nn.tanhshrink, "x - tanh(x)")


@operator
def celu(x: torch.Tensor, alpha: float) -> torch.Tensor:
    """Return max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)."""
    return nn.celu(x, alpha)


@operator
def clip(
    x: torch.Tensor, min_val: float | None = None, max_val: float | None = None
) -> torch.Tensor:
    """Return each element kept between two numbers, of which one may be missing."""
    return torch.clamp(x, min_val, max_val)


@operator
def gelu(x: torch.Tensor, approximate: bool = False) -> torch.Tensor:
    """Return x times the normal distribution function of x, or an approximation by tanh."""
    return nn.gelu(x, approximate="tanh" if approximate else "none")


@operator
def hardshrink(x: torch.Tensor, lambda_val: float) -> torch.Tensor:
    """Return x, and 0 in place of what is between -lambda_val and lambda_val."""
    return nn.hardshrink(x, lambda_val)


@operator
def hardtanh(
    x: torch.Tensor, min_val: float, max_val: float, inplace: bool = False
) -> torch.Tensor:
    """Return each element kept between two numbers; the result is a new tensor in any case."""
    return torch.clamp(x, min_val, max_val)


@operator
def leaky_relu(x: torch.Tensor, alpha: float) -> torch.Tensor:
    """Return x where it is positive, and alpha * x elsewhere."""
    return nn.leaky_relu(x, alpha)


@operator
def logsoftmax(x: torch.Tensor, axis: int = 1) -> torch.Tensor:
    """Return the logarithm of the softmax along an axis."""
    return torch.log_softmax(x, axis)


@operator
def prelu(x: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """Return x where it is positive, and slope * x elsewhere: one slope, or one a channel."""
    return nn.prelu(x, slope)


@operator
def softmax(x: torch.Tensor, axis: int = 1) -> torch.Tensor:
    """Return exp(x) / sum(exp(x)) along an axis."""
    return torch.softmax(x, axis)


@operator
def softmin(x: torch.Tensor, axis: int) -> torch.Tensor:
    """Return the softmax of -x along an axis."""
    return torch.softmax(-x, axis)


@operator
def softplus(x: torch.Tensor, beta: float = 1, threshold_val: float = 20) -> torch.Tensor:
    """Return log(1 + exp(beta * x)) / beta, and x where beta * x is above a threshold."""
    return nn.softplus(x, beta, threshold_val)


@operator
def softshrink(x: torch.Tensor, lambda_val: float) -> torch.Tensor:
    """Return x moved by lambda_val towards 0, and 0 for what is nearer than that."""
    return nn.softshrink(x, lambda_val)
