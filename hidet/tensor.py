"""Tensors with the names of the original Hidet: each is one of torch's. Scripts take both.

    a = hidet.randn([3, 4], device="cuda")
    module(a, hidet.zeros([3, 4], device="cuda"))
    a.torch(), a.numpy()

There are no operators: these tensors are arguments. What computes is a script, or torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import torch as _torch

from hidet.errors import HidetError
from hidet.frontends.script.types import SCALAR_TYPES, ScalarType, scalar_type

if TYPE_CHECKING:
    import numpy as np

Shape = Sequence[int]
"""The extents of a tensor."""


class Tensor:
    """A tensor; what holds it is one of torch's.

    Args:
        data: the tensor of torch, which is not copied.

    Raises:
        HidetError: scripts have no type for its elements.
    """

    __slots__ = ("_data",)

    def __init__(self, data: _torch.Tensor) -> None:
        name = str(data.dtype).removeprefix("torch.")
        if name not in SCALAR_TYPES:
            raise HidetError(
                f"a tensor of {data.dtype}", hint=f"the types are {', '.join(SCALAR_TYPES)}"
            )
        self._data = data

    def torch(self) -> _torch.Tensor:
        """Return the tensor of torch, in the same memory."""
        return self._data

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the tensor as an array of numpy, in the same memory.

        Raises:
            TypeError: it is on a GPU.
        """
        return self._data.detach().numpy()

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return tuple(self._data.shape)

    @property
    def dtype(self) -> ScalarType:
        """The type of the elements."""
        return scalar_type(str(self._data.dtype).removeprefix("torch."))

    @property
    def device(self) -> _torch.device:
        """Where it is."""
        return self._data.device

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._data.numel()

    @property
    def nbytes(self) -> int:
        """The bytes of its elements."""
        return self._data.nbytes

    def to(self, dtype: object = None, device: object = None) -> Tensor:
        """Return the tensor in another type, or on another device; itself if it is so already."""
        data = self._data if dtype is None else self._data.to(_dtype(dtype))
        return Tensor(data if device is None else data.to(_device(device)))

    def cpu(self) -> Tensor:
        """Return the tensor on the CPU."""
        return self.to(device="cpu")

    def cuda(self, device: int | None = None) -> Tensor:
        """Return the tensor on a GPU, the current one if none is named."""
        return self.to(device="cuda" if device is None else f"cuda:{device}")

    def copy(self) -> Tensor:
        """Return a copy."""
        return Tensor(self._data.clone())

    def contiguous(self) -> Tensor:
        """Return the tensor with its elements in row-major order."""
        return Tensor(self._data.contiguous())

    def reshape(self, shape: Shape) -> Tensor:
        """Return the tensor with another shape."""
        return Tensor(self._data.reshape(tuple(shape)))

    def item(self) -> Any:
        """Return the only element."""
        return self._data.item()

    def tolist(self) -> Any:
        """Return the elements as nested lists."""
        return methodcaller("tolist")(self._data)

    def __dlpack__(self, **options: Any) -> object:
        return self._data.__dlpack__(**options)  # pyright: ignore[reportUnknownVariableType]

    def __dlpack_device__(self) -> object:
        return self._data.__dlpack_device__()

    def __str__(self) -> str:
        where = f"device='{self.device}'"
        return f"Tensor(shape={self.shape}, dtype='{self.dtype.name}', {where})\n{self._data}"

    __repr__ = __str__


def _dtype(dtype: object) -> _torch.dtype:
    """Return torch's type for one of ours, or for its name."""
    if isinstance(dtype, _torch.dtype):
        return dtype
    found: _torch.dtype = getattr(_torch, scalar_type(dtype).name)
    return found


def _device(device: object) -> _torch.device:
    return device if isinstance(device, _torch.device) else _torch.device(str(device))


def from_torch(torch_tensor: _torch.Tensor) -> Tensor:
    """Return a tensor of torch as one of ours, in the same memory."""
    return Tensor(torch_tensor)


def asarray(obj: object, *, dtype: object = None, device: object = None) -> Tensor:
    """Return numbers, an array or a tensor as a tensor."""
    data = obj.torch() if isinstance(obj, Tensor) else _torch.asarray(obj)
    return Tensor(data).to(dtype, device)


def empty(shape: Shape, dtype: object = "float32", device: object = "cpu") -> Tensor:
    """Return a tensor with any elements."""
    return Tensor(_torch.empty(tuple(shape), dtype=_dtype(dtype), device=_device(device)))


def full(
    shape: Shape, fill_value: float, dtype: object = "float32", device: object = "cpu"
) -> Tensor:
    """Return a tensor with one number everywhere."""
    where = _device(device)
    return Tensor(_torch.full(tuple(shape), fill_value, dtype=_dtype(dtype), device=where))


def zeros(shape: Shape, dtype: object = "float32", device: object = "cpu") -> Tensor:
    """Return a tensor of zeros."""
    return full(shape, 0, dtype, device)


def ones(shape: Shape, dtype: object = "float32", device: object = "cpu") -> Tensor:
    """Return a tensor of ones."""
    return full(shape, 1, dtype, device)


def randn(
    shape: Shape,
    dtype: object = "float32",
    mean: float = 0.0,
    stddev: float = 1.0,
    device: object = "cpu",
) -> Tensor:
    """Return a tensor of random numbers from a normal distribution, by torch's generator."""
    data = _torch.randn(tuple(shape), device=_device(device)) * stddev + mean
    return Tensor(data.to(_dtype(dtype)))


def randint(
    low: int, high: int | None = None, shape: Shape = (), dtype: object = "int32"
) -> Tensor:
    """Return a tensor of random integers: from `low`, or 0 with one bound, to before the other."""
    first, last = (0, low) if high is None else (low, high)
    return Tensor(_torch.randint(first, last, tuple(shape), dtype=_dtype(dtype)))


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: object = None,
    device: object = "cpu",
) -> Tensor:
    """Return the numbers from `start`, or 0 with one bound, to before the other."""
    first, last = (0, start) if stop is None else (start, stop)
    kind = None if dtype is None else _dtype(dtype)
    return Tensor(_torch.arange(first, last, step, dtype=kind, device=_device(device)))


def empty_like(data: Tensor) -> Tensor:
    """Return a tensor like another one, with any elements."""
    return Tensor(_torch.empty_like(data.torch()))


def zeros_like(data: Tensor) -> Tensor:
    """Return a tensor of zeros like another one."""
    return Tensor(_torch.zeros_like(data.torch()))


def ones_like(data: Tensor) -> Tensor:
    """Return a tensor of ones like another one."""
    return Tensor(_torch.ones_like(data.torch()))


def plain(value: object) -> object:
    """Return torch's tensor for one of ours, or for what DLPack knows; else the value itself."""
    if isinstance(value, Tensor):
        return value.torch()
    is_foreign = hasattr(value, "__dlpack__") and not isinstance(value, _torch.Tensor)
    return _torch.from_dlpack(value) if is_foreign else value


__all__ = [
    "Tensor",
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "from_torch",
    "full",
    "ones",
    "ones_like",
    "plain",
    "randint",
    "randn",
    "zeros",
    "zeros_like",
]
