"""Strides and storage of tensors, and the specs that programs are specialized to.

Programs compute on contiguous tensors. An input in another order is passed as its elements in
memory, one with gaps as the span of storage that it covers. A strided output is allocated so, or a
view of a contiguous result.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch import fx
from torch.multiprocessing.reductions import StorageWeakRef

from hidet.errors import DeviceMismatchError, HidetError, UnsupportedDtypeError
from hidet.runtime.tensors import Layout


@dataclass(frozen=True)
class View:
    """A strided view of the storage of another tensor; strides and offset are in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return the view of a tensor."""
        start = tensor.storage_offset() + self.offset
        return tensor.as_strided(self.shape, self.strides, start)


def span_of(tensor: torch.Tensor) -> int | None:
    """Return the number of elements of storage that a tensor spans; None if it is contiguous."""
    if tensor.is_contiguous():
        return None
    strides = tensor.stride()
    return 1 + sum((size - 1) * s for size, s in zip(tensor.shape, strides, strict=True))


def physical_order(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """Return the permutation that makes a tensor contiguous; None if there is none."""
    strides = tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda dim: -strides[dim])
    return tuple(order) if tensor.permute(order).is_contiguous() else None


def layout_of(tensor: torch.Tensor) -> Layout | None:
    """Return the layout of a tensor without gaps that is not contiguous; else None."""
    if tensor.is_contiguous() or physical_order(tensor) is None:
        return None
    return tuple(tensor.shape), tensor.stride()


def parts_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return the parts of a complex tensor, in a last dimension of 2; a real tensor itself."""
    if not tensor.is_complex():
        return tensor
    if tensor.is_conj():  # its parts are not in memory
        tensor = Spec.of(tensor).empty().copy_(tensor)
    return torch.view_as_real(tensor)


def share_storage(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two tensors, which may be fake, share their storage."""
    first: Any = StorageWeakRef(one.untyped_storage())
    second: Any = StorageWeakRef(other.untyped_storage())
    return bool(first == second)


def storage_owner(node: fx.Node) -> fx.Node:
    """Return the node at the beginning of a chain of views that share its storage."""
    while True:
        source = node
        if source.target is operator.getitem:  # of the results of a split, for example
            source = source.all_input_nodes[0]
        if source.op != "call_function" or not source.all_input_nodes:
            return node
        source = source.all_input_nodes[0]
        old: Any = source.meta.get("val")
        new: Any = node.meta.get("val")
        if not isinstance(old, torch.Tensor) or not isinstance(new, torch.Tensor):
            return node
        if old.dtype != new.dtype or not share_storage(old, new):
            return node
        node = source


def view_from(tensor: torch.Tensor, owner: torch.Tensor) -> View | None:
    """Return the view of `owner` that is `tensor`; None if they are the same."""
    offset = int(tensor.storage_offset() - owner.storage_offset())
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    if (shape, strides, offset) == (tuple(owner.shape), tuple(owner.stride()), 0):
        return None
    return View(shape, strides, offset)


def guard_of(tensors: Sequence[torch.Tensor]) -> Callable[..., bool]:
    """Return a function that returns whether as many arguments are tensors like these.

    It is the native guard of dynamo. It takes 0.2 us, and compares types, dispatch keys (with the
    device and modes of this thread, such as inference mode), data types, sizes and strides.
    """
    guards: Any = import_module("torch._C._dynamo.guards")
    sizes, strides = [[*t.shape] for t in tensors], [[*t.stride()] for t in tensors]
    guard = guards.TensorGuards(*tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides)
    return guard.check


@dataclass(frozen=True)
class Spec:
    """The metadata of a tensor."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    @staticmethod
    def of(tensor: torch.Tensor) -> Spec:
        """Return the spec of a tensor, which may be fake."""
        return Spec(tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.device)

    def empty(self) -> torch.Tensor:
        """Return a tensor that is so, with any elements; without, in a mode of examples."""
        return torch.empty_strided(self.shape, self.strides, dtype=self.dtype, device=self.device)

    def checked(self, value: object, what: str, number: int) -> torch.Tensor:
        """Return a tensor that matches the spec; one that differs only in strides is copied.

        Errors name it by `what` and `number`.

        Raises:
            HidetError: it is not a tensor, or has another shape.
            UnsupportedDtypeError: it has another data type.
            DeviceMismatchError: it is on another device.
        """
        if not isinstance(value, torch.Tensor):
            raise HidetError(f"{what} {number} is not a tensor, but {type(value).__name__}")
        if value.shape == self.shape and value.dtype is self.dtype and value.device == self.device:
            if value.stride() == self.strides:
                return value
            return self.empty().copy_(value)
        kinds: dict[bool, type[HidetError]] = {
            value.dtype != self.dtype: UnsupportedDtypeError,
            value.device != self.device: DeviceMismatchError,
        }
        raise kinds.get(True, HidetError)(
            f"{what} {number} is {Spec.of(value)}, but this was compiled for {self}",
            hint="compile it once more for such tensors, or convert them",
        )

    def __str__(self) -> str:
        return f"{list(self.shape)} of {self.dtype} on {self.device}"
