"""The properties of a tensor that a program is specialized to."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from hidet.errors import DeviceMismatchError, HidetError, UnsupportedDtypeError


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

        Args:
            value: the argument of a caller.
            what: its name in errors.
            number: its number in errors.

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


__all__ = ["Spec"]
