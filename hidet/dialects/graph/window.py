"""Windows that slide over the dimensions of an image: what convolutions and pools share."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.utils.exceptions import VerifyException


@dataclass(frozen=True)
class Window:
    """A window over the spatial dimensions; every field has a number for each.

    Args:
        kernel: the elements of the window.
        stride: the distance of two positions of the window.
        padding: the elements added on either side of the image.
        dilation: the distance of two elements of the window; by default of an image, 1 and 1.
        ceil_mode: a last position that hangs over the end of the image counts too, as long as it
            begins inside the image or its padding in front.
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...] = (1, 1)
    ceil_mode: bool = False

    def count(self, name: str, sizes: Sequence[int]) -> list[int]:
        """Count the positions of the window in each dimension of an image.

        Raises:
            VerifyException: the window is larger than the image, or its numbers make no sense.
        """
        fields = (self.kernel, self.stride, self.padding, self.dilation)
        if any(len(field) != len(sizes) for field in fields):
            raise VerifyException(
                f"{name}: kernel {list(self.kernel)}, stride {list(self.stride)}, padding "
                f"{list(self.padding)} and dilation {list(self.dilation)} must have "
                f"{len(sizes)} numbers each"
            )
        return [self._positions(name, size, axis) for axis, size in enumerate(sizes)]

    def _positions(self, name: str, size: int, axis: int) -> int:
        """Count the positions of the window in one dimension of an image."""
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
    """Give a number for each of `rank` dimensions, where one may stand for all."""
    values = (value,) if isinstance(value, int) else tuple(value)
    return values * rank if len(values) == 1 else values
