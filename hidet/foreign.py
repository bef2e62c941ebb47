"""Conversion of foreign tensors to torch."""

import torch as _torch


class HoldsTensor:
    """A wrapper of a torch tensor, which is not copied."""

    __slots__ = ("_data",)

    def __init__(self, data: _torch.Tensor) -> None:
        self._data = data

    def torch(self) -> _torch.Tensor:
        """Return the torch tensor, which shares the memory."""
        return self._data


def plain(value: object) -> object:
    """Return the torch tensor of a wrapper or of a DLPack tensor; else the value itself."""
    if isinstance(value, HoldsTensor):
        return value.torch()
    is_foreign = hasattr(value, "__dlpack__") and not isinstance(value, _torch.Tensor)
    return _torch.from_dlpack(value) if is_foreign else value
