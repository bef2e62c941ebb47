"""Elementwise functions, which broadcast."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import torch
from torch.nn import functional as nn

from hidet.errors import UnsupportedOperatorError
from hidet.frontends.onnx.table import Number, T, row, rows
from hidet.frontends.onnx.values import dtype_of


def _of_all(function: Callable[[T, T], T]) -> Callable[..., T]:
    """Return a function of any number of tensors."""
    return lambda *xs: reduce(function, xs)


_SAME_NAME = """
Abs Acos Acosh Add Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor IsNaN Log Mul Neg Reciprocal
Relu Round Sigmoid Sign Sin Sinh Sqrt Sub Tan Tanh Where
"""
_OF_LAYERS = "Celu Elu Gelu HardSwish Mish Softplus Softsign"
_BINARY: dict[str, Callable[[T, T], T]] = {
    # Of integers, rounded towards zero.
    "Div": lambda x, y: torch.div(x, y, rounding_mode=None if x.is_floating_point() else "trunc"),
    "PRelu": lambda x, slope: torch.where(x < 0, x * slope, x),
    "Pow": lambda x, y: torch.pow(x, y).to(x.dtype),
}
rows({name: getattr(torch, name.lower()) for name in _SAME_NAME.split()})
rows({name: getattr(nn, name.lower()) for name in _OF_LAYERS.split()})
rows(_BINARY)
rows(
    {
        "And": torch.logical_and,
        "BitwiseAnd": torch.bitwise_and,
        "BitwiseNot": torch.bitwise_not,
        "BitwiseOr": torch.bitwise_or,
        "BitwiseXor": torch.bitwise_xor,
        "Equal": torch.eq,
        "Greater": torch.gt,
        "GreaterOrEqual": torch.ge,
        "Identity": torch.clone,
        "Less": torch.lt,
        "LessOrEqual": torch.le,
        "Max": _of_all(torch.maximum),
        "Min": _of_all(torch.minimum),
        "Not": torch.logical_not,
        "Or": torch.logical_or,
        "Sum": _of_all(torch.add),
        "Xor": torch.logical_xor,
    }
)


@row("BitShift")
def bit_shift(x: T, y: T, *, direction: str) -> T:
    """Return x with its bits shifted by y."""
    return x << y if direction == "LEFT" else x >> y


@row("Cast")
def cast(x: T, *, to: int, saturate: int = 1, round_mode: str = "up") -> T:
    """Return x in another type; `saturate` and `round_mode` only affect 8-bit floats."""
    return x.to(dtype_of(to))


@row("Clip")
def clip(x: T, low: T | None = None, high: T | None = None) -> T:
    """Return x clamped to [low, high]."""
    x = x if low is None else torch.maximum(x, low)
    return x if high is None else torch.minimum(x, high)


@row("Dropout")
def dropout(
    x: T, ratio: Number | None = None, training: Number | None = None, *, seed: int = 0
) -> list[T]:
    """Return x, and a mask of ones, as in inference."""
    if training and ratio != 0:
        raise UnsupportedOperatorError("it only drops nothing, as in inference")
    return [x, torch.ones_like(x, dtype=torch.bool)]


@row("HardSigmoid")
def hard_sigmoid(x: T, *, alpha: float = 0.2, beta: float = 0.5) -> T:
    """Return alpha x + beta clamped to [0, 1]."""
    return (alpha * x + beta).clamp(0, 1)


@row("IsInf")
def is_inf(x: T, *, detect_negative: int = 1, detect_positive: int = 1) -> T:
    """Return whether x is infinite."""
    signs = [torch.isneginf(x)] * detect_negative + [torch.isposinf(x)] * detect_positive
    return reduce(torch.logical_or, signs, torch.zeros_like(x, dtype=torch.bool))


@row("LeakyRelu")
def leaky_relu(x: T, *, alpha: float = 0.01) -> T:
    """Return x, and alpha x where it is negative."""
    return nn.leaky_relu(x, alpha)


@row("Mean")
def mean(*xs: T) -> T:
    """Return the mean of some tensors."""
    return reduce(torch.add, xs) / len(xs)


@row("Mod")
def mod(x: T, y: T, *, fmod: int = 0) -> T:
    """Return the remainder, with the sign of y, or of x with `fmod`."""
    return torch.fmod(x, y) if fmod else torch.remainder(x, y)


@row("Selu")
def selu(
    x: T, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875
) -> T:
    """Return gamma x, and gamma alpha (exp(x) - 1) where it is negative."""
    return gamma * nn.elu(x, alpha)
