"""Largest and smallest elements with their positions, by one reduction of both."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from hidet.frontends.torch.decomposed.refusal import require
from hidet.frontends.torch.decomposed.sorting import back, keys_of, rows_of

aten = torch.ops.aten


def _place(rows: Tensor, largest: bool) -> Tensor:
    """Return the position of the first largest or smallest element, or NaN, of rows, [..., 1].

    A key and its distance from the end are one integer, unless the key has 64 bits.
    """
    size = rows.shape[-1]
    places, bits = torch.arange(size, device=rows.device), size.bit_length()
    keys = keys_of(rows, descending=not largest, nan_is_last=True)
    if keys.dtype is torch.int64:
        return torch.where(keys == keys.amax(-1, True), places, size).amin(-1, True)
    kind = torch.int32 if 8 * keys.itemsize + bits <= 32 else torch.int64
    best = (keys.to(kind) << bits | (size - places).to(kind)).amax(-1, True)
    return (size - (best & ((1 << bits) - 1))).long()


def _position(largest: bool) -> Callable[..., Any]:
    """Return the decomposition of argmax or argmin: the first position; NaN counts as either."""

    def position(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
        require(not x.is_complex())
        rows = rows_of(x.reshape(-1) if dim is None else x, 0 if dim is None else dim)
        found = _place(rows, largest)
        if dim is None:
            return found.reshape([1] * x.dim() if keepdim else [])
        found = back(found, dim, x)
        return found if keepdim or x.dim() == 0 else found.squeeze(dim)

    return position


def _extremum(largest: bool) -> Callable[..., Any]:
    """Return the decomposition of the largest or smallest elements with their positions."""
    position = _position(largest)

    def extremum(x: Tensor, dim: int, keepdim: bool = False) -> Any:
        place = position(x, dim, True)
        if x.dim() == 0:
            return x.clone(), place
        found = x.gather(dim, place), place
        return found if keepdim else tuple(each.squeeze(dim) for each in found)

    return extremum


EXTREMA: dict[Any, Callable[..., Any]] = {
    aten.argmax.default: _position(True),
    aten.argmin.default: _position(False),
    aten.max.dim: _extremum(True),
    aten.min.dim: _extremum(False),
}
"""The decompositions of extrema."""
