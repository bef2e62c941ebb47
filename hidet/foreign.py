"""Tensors that are not torch's own, but stand for one: what functions that take any tensor ask."""

import torch as _torch


class HoldsTensor:
    """Something that stands for a tensor of torch.

    Args:
        data: the tensor, which is not copied.
    """

    __slots__ = ("_data",)

    def __init__(self, data: _torch.Tensor) -> None:
        self._data = data

    def torch(self) -> _torch.Tensor:
        """Return the tensor of torch, in the same memory."""
        return self._data


def plain(value: object) -> object:
    """Return torch's tensor for what holds one, or what DLPack knows; else the value itself."""
    if isinstance(value, HoldsTensor):
        return value.torch()
    is_foreign = hasattr(value, "__dlpack__") and not isinstance(value, _torch.Tensor)
    return _torch.from_dlpack(value) if is_foreign else value
