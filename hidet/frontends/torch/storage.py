"""Strides: how the flat storage of a tensor relates to its elements.

Programs compute on contiguous tensors. A tensor with other strides comes in as the span of storage
that it lies in, and goes out as a view of a contiguous tensor.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef


@dataclass(frozen=True)
class View:
    """A strided view of the storage of another tensor.

    Attributes:
        shape: sizes of the dimensions.
        strides: for each dimension, how many elements apart its neighbours are.
        offset: where the view begins, in elements after the beginning of the other tensor.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Give the view of a tensor."""
        start = tensor.storage_offset() + self.offset
        return tensor.as_strided(self.shape, self.strides, start)


def span_of(tensor: torch.Tensor) -> int | None:
    """Count the elements of storage from the first to the last of a tensor; None if contiguous."""
    if tensor.is_contiguous():
        return None
    strides = tensor.stride()
    return 1 + sum((size - 1) * s for size, s in zip(tensor.shape, strides, strict=True))


def physical_order(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """Give the order of dimensions in which a tensor is contiguous; None if there is none."""
    strides = tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda dim: -strides[dim])
    return tuple(order) if tensor.permute(order).is_contiguous() else None


def share_storage(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Tell whether two tensors, with data or without, are views of one storage."""
    first: Any = StorageWeakRef(one.untyped_storage())
    second: Any = StorageWeakRef(other.untyped_storage())
    return bool(first == second)


def view_from(tensor: torch.Tensor, owner: torch.Tensor) -> View | None:
    """Give the view that makes one tensor of another that shares its storage; None if none is."""
    offset = int(tensor.storage_offset() - owner.storage_offset())
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    if (shape, strides, offset) == (tuple(owner.shape), tuple(owner.stride()), 0):
        return None
    return View(shape, strides, offset)
