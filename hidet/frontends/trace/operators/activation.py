"""Activation functions."""

import torch
from torch.nn import functional as nn

from hidet.frontends.trace.recording import T, operator, unary

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
def celu(x: T, alpha: float) -> T:
    """Return max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)."""
    return nn.celu(x, alpha)


@operator
def clip(x: T, min_val: float | None = None, max_val: float | None = None) -> T:
    """Return x clamped to an interval; either bound may be omitted."""
    return torch.clamp(x, min_val, max_val)


@operator
def gelu(x: T, approximate: bool = False) -> T:
    """Return x times the normal CDF of x, or its tanh approximation."""
    return nn.gelu(x, approximate="tanh" if approximate else "none")


@operator
def hardshrink(x: T, lambda_val: float) -> T:
    """Return x where abs(x) > lambda_val, and 0 elsewhere."""
    return nn.hardshrink(x, lambda_val)


@operator
def hardtanh(x: T, min_val: float, max_val: float, inplace: bool = False) -> T:
    """Return x clamped to an interval; `inplace` is ignored."""
    return torch.clamp(x, min_val, max_val)


@operator
def leaky_relu(x: T, alpha: float) -> T:
    """Return x where it is positive, and alpha * x elsewhere."""
    return nn.leaky_relu(x, alpha)


@operator
def logsoftmax(x: T, axis: int = 1) -> T:
    """Return the logarithm of the softmax along an axis."""
    return torch.log_softmax(x, axis)


@operator
def prelu(x: T, slope: T) -> T:
    """Return x where it is positive, and slope * x elsewhere; shapes broadcast from the right."""
    return torch.where(x >= 0, x, x * slope)


@operator
def softmax(x: T, axis: int = 1) -> T:
    """Return exp(x) / sum(exp(x)) along an axis."""
    return torch.softmax(x, axis)


@operator
def softmin(x: T, axis: int) -> T:
    """Return the softmax of -x along an axis."""
    return torch.softmax(-x, axis)


@operator
def softplus(x: T, beta: float = 1, threshold_val: float = 20) -> T:
    """Return log(1 + exp(beta * x)) / beta, and x where beta * x is above a threshold."""
    return nn.softplus(x, beta, threshold_val)


@operator
def softshrink(x: T, lambda_val: float) -> T:
    """Return sign(x) * max(abs(x) - lambda_val, 0)."""
    return nn.softshrink(x, lambda_val)
