"""The operators of the original Hidet, on `hidet.Tensor`.

    y = hidet.ops.relu(hidet.ops.matmul(a, b) + c)

On concrete tensors, an operator is compiled once per shapes, types and device, and run. If an
argument is a symbol, it returns a symbol, from which `hidet.trace_from` makes a graph.

Shapes, broadcasting and type promotion are those of torch's function of the same name; a Python
number takes the type of the other operand.
"""

from collections.abc import Callable
from typing import Any

import torch as _torch

from hidet.absent import missing
from hidet.frontends.trace.operators import OPERATORS
from hidet.frontends.trace.operators.arithmetic import positive as barrier
from hidet.frontends.trace.operators.by_kernel import BY_KERNEL
from hidet.tensor import Shape, Tensor, arange, linspace
from hidet.tensor import full as _full
from hidet.tensor import ones as _ones


def full(shape: Shape, value: float, dtype: object = None, device: object = "cpu") -> Tensor:
    """Return a tensor of one number; its type is that of the number, if none is given."""
    return _full(shape, value, _torch.asarray(value).dtype if dtype is None else dtype, device)


def tri(
    n: int, m: int | None = None, k: int = 0, dtype: object = "float32", device: object = "cpu"
) -> Tensor:
    """Return a matrix of ones up to a diagonal, and zeros above it."""
    return OPERATORS["tril"](_ones([n, n if m is None else m], dtype, device), k)


def transfer(x: Tensor, dst_device: object) -> Tensor:
    """Return a tensor on another device."""
    return x.to(device=dst_device)


def __getattr__(name: str) -> Callable[..., Any]:
    """Return an operator."""
    found = OPERATORS.get(name) or BY_KERNEL.get(name)
    if found is None:
        raise missing(__name__, name)
    return found


def __dir__() -> list[str]:
    """Return the names of the operators."""
    return sorted({*globals(), *OPERATORS, *BY_KERNEL})


__all__ = ["arange", "barrier", "full", "linspace", "transfer", "tri"]
