"""Sliding windows of convolutions and pools."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.utils.exceptions import VerifyException


@dataclass(frozen=True)
class Window:
    """A window over the spatial dimensions; every field has one number per dimension.

    Args:
        kernel: the size of the window.
        stride: the distance of window positions.
        padding: the padding on both sides.
        dilation: the distance of window elements.
        ceil_mode: whether a last position that exceeds the end counts, if it begins in the image
            or its leading padding.
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...] = (1, 1)
    ceil_mode: bool = False

    def count(self, name: str, sizes: Sequence[int]) -> list[int]:
        """Return the number of positions in each dimension of an image."""
        fields = (self.kernel, self.stride, self.padding, self.dilation)
        if any(len(field) != len(sizes) for field in fields):
            raise VerifyException(
                f"{name}: kernel {list(self.kernel)}, stride {list(self.stride)}, padding "
                f"{list(self.padding)} and dilation {list(self.dilation)} must have "
                f"{len(sizes)} numbers each"
            )
        return [self._positions(name, size, axis) for axis, size in enumerate(sizes)]

    def _positions(self, name: str, size: int, axis: int) -> int:
        kernel, stride = self.kernel[axis], self.stride[axis]
        padding, dilation = self.padding[axis], self.dilation[axis]
        if min(kernel, stride, dilation) < 1 or padding < 0:
            raise VerifyException(
                f"{name}: kernel {kernel}, stride {stride} and dilation {dilation} must be at "
                f"least 1, and padding {padding} not negative"
            )
        room = size + 2 * padding - dilation * (kernel - 1) - 1
        if room < 0:
            raise VerifyException(
                f"{name}: a window of {kernel} with dilation {dilation} is larger than {size} "
                f"elements with padding {padding}"
            )
        if not self.ceil_mode:
            return room // stride + 1
        positions = -(-room // stride) + 1
        return positions - 1 if (positions - 1) * stride >= size + padding else positions


def per_dimension(value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """Return one number per dimension, where a single one applies to all."""
    values = (value,) if isinstance(value, int) else tuple(value)
    return values * rank if len(values) == 1 else values
