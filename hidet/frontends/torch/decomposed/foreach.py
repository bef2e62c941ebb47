"""Operators on lists of tensors, as compiled optimizers call them: one operator per tensor."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def for_each(function: Callable[..., Tensor], *given: Any, **keywords: Any) -> list[Tensor]:
    """Call a function with the values of lists, one by one, and with what is no list each time."""
    count = next(len(values) for values in map(_listed, given) if values is not None)
    columns: list[Sequence[Any]] = [_listed(value) or [value] * count for value in given]
    return [function(*row, **keywords) for row in zip(*columns, strict=True)]


def _listed(value: Any) -> Sequence[Any] | None:
    return value if isinstance(value, list | tuple) else None  # pyright: ignore[reportUnknownVariableType]


def _with_elements(function: Callable[..., Tensor], *given: Any) -> list[Tensor]:
    """Call a function as `for_each` does, with the elements of the last argument."""
    *others, numbers = given
    return for_each(function, *others, numbers.unbind())


def _addcdiv(x: Tensor, one: Tensor, other: Tensor, value: Any = 1) -> Tensor:
    return x + value * (one / other)


def _addcmul(x: Tensor, one: Tensor, other: Tensor, value: Any = 1) -> Tensor:
    return x + value * (one * other)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{
        getattr(aten, f"_foreach_{name}"): getattr(torch, name)
        for name in ("abs", "exp", "log", "neg", "reciprocal", "rsqrt", "sign", "sqrt", "tanh")
    },
    aten._foreach_add: torch.add,
    aten._foreach_addcdiv: _addcdiv,
    aten._foreach_addcmul: _addcmul,
    aten._foreach_clamp_max: torch.clamp_max,
    aten._foreach_clamp_min: torch.clamp_min,
    aten._foreach_div: torch.div,
    aten._foreach_lerp: torch.lerp,
    aten._foreach_maximum: torch.clamp_min,
    aten._foreach_minimum: torch.clamp_max,
    aten._foreach_mul: torch.mul,
    aten._foreach_norm: torch.linalg.vector_norm,
    aten._foreach_pow: torch.pow,
    aten._foreach_sub: torch.sub,
    aten._foreach_zero: torch.zeros_like,
}
"""What each operator calls."""

FOREACH: dict[Any, Callable[..., Any]] = {
    **{
        getattr(packet, overload): partial(for_each, function)
        for packet, function in _FUNCTIONS.items()
        for overload in packet.overloads()
        if not overload.endswith("out")
    },
    aten._foreach_addcdiv.Tensor: partial(_with_elements, _addcdiv),
    aten._foreach_addcmul.Tensor: partial(_with_elements, _addcmul),
}
"""The decompositions of operators on lists."""
