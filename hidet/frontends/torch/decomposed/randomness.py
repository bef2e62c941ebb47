"""Operators that draw numbers: the drawing stays with torch, what is made of them is compiled.

Numbers come from torch's generators, so that seeds mean what they mean in eager torch. A drawing
has no tensor among its inputs: so it is done before all else and cuts no program in two. What a
backward graph needs of it is saved, never drawn again.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def dropout(x: Tensor, p: float, train: bool | None = True) -> tuple[Tensor, Tensor]:
    """A part of the elements is zero, the others grow; and the mask of the latter."""
    if train is False or p == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(x), torch.zeros_like(x, dtype=torch.bool)
    shape = torch.empty(x.shape, dtype=torch.bool, device=x.device)
    mask = aten.bernoulli.p(shape, 1 - p)
    return x * mask * (1 / (1 - p)), mask


def dropout_backward(grad: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The gradient of what was not dropped."""
    return grad * mask * scale


def bernoulli(x: Tensor, p: float = 0.5, generator: object = None) -> Tensor:
    """A drawing that only asks for a shape does without a tensor."""
    if generator is not None or x.dtype is torch.bool:
        return NotImplemented
    shape = torch.empty(x.shape, dtype=torch.bool, device=x.device)
    return aten.bernoulli.p(shape, p).to(x.dtype)


def _without_input(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Draw numbers in the shape of a tensor without looking at the tensor."""

    def like(x: Tensor, *rest: Any, dtype: torch.dtype | None = None, **_: object) -> Tensor:
        return function(*rest, x.shape, dtype=dtype or x.dtype, device=x.device)

    return like


RANDOMNESS: dict[Any, Callable[..., Any]] = {
    aten.native_dropout.default: dropout,
    aten.native_dropout_backward.default: dropout_backward,
    aten.bernoulli.p: bernoulli,
    aten.rand_like.default: _without_input(aten.rand.default),
    aten.randn_like.default: _without_input(aten.randn.default),
    aten.randint_like.default: _without_input(aten.randint.default),
    aten.randint_like.low_dtype: _without_input(aten.randint.low),
}
"""How operators that draw numbers are taken apart."""
