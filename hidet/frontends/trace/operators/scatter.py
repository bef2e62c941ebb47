"""Scatter operators and embedding bags."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

import torch
from torch.nn import functional as nn

from hidet.frontends.trace.recording import T, operator

P = ParamSpec("P")


def in_place(function: Callable[Concatenate[T, P], T]) -> Callable[..., Any]:
    """Return an operator that overwrites its first tensor with the result, unless symbolic."""
    compute = operator(function)

    @wraps(function)
    def call(input: Any, *arguments: object, **keywords: object) -> Any:
        result = compute(input, *arguments, **keywords)
        if result.is_symbolic():
            return result
        input.torch().copy_(result.torch())
        return input

    return call


@in_place
def scatter_(input: T, dim: int, index: T, src: T, reduce: str | None = None) -> T:
    """Return `input`, modified unless symbolic, with the elements of `src` scattered along `dim`.

    `index` is that of each element; `reduce`, "add" or "multiply", combines with existing elements.
    """
    names = {"add": "sum", "multiply": "prod"}
    if reduce is None or reduce == "replace":
        return torch.scatter(input, dim, index, src)
    return torch.scatter_reduce(input, dim, index, src, names.get(reduce, reduce))


@in_place
def scatter_add_(input: T, dim: int, index: T, src: T) -> T:
    """Return `input` with the elements of `src` added; see `scatter_`."""
    return torch.scatter_add(input, dim, index, src)


@operator
def embedding_bag(indices: T, weight: T, offsets: T | None = None, mode: str = "mean") -> T:
    """Return the mean, sum or maximum of the table rows in each bag of indices [bags, size]."""
    if offsets is not None:
        return nn.embedding_bag(indices, weight, offsets, mode=mode)
    rows = nn.embedding(indices, weight)
    return rows.amax(1) if mode == "max" else rows.sum(1) if mode == "sum" else rows.mean(1)
