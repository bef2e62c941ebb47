"""Where the elements under a sliding window are, and which of them are inside the image."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from hidet.dialects.graph.window import Window
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder
from hidet.rewriting.builder import Index


@dataclass(frozen=True)
class WindowAccess:
    """A window over the last dimensions of a tensor.

    Args:
        x: the tensor.
        sizes: the spatial shape of the tensor.
        window: the window.
        positions: how many positions the window has in each dimension.
    """

    x: SSAValue
    sizes: tuple[int, ...]
    window: Window
    positions: tuple[int, ...]

    def element(
        self,
        b: GridBuilder,
        leading: Sequence[Index],
        position: Sequence[Index],
        offset: Sequence[Index],
        outside: Callable[[], SSAValue],
    ) -> SSAValue:
        """Load the element under a window as it is, or build what stands outside of the image.

        Args:
            b: the builder.
            leading: the indices of the dimensions in front of the spatial ones.
            position: the number of the position in each spatial dimension.
            offset: the number of the element in the window in each spatial dimension.
            outside: builds the scalar for elements that the image does not have, in its type.
        """
        place: list[SSAValue] = []
        inside: list[SSAValue] = []
        for axis, (at, inner) in enumerate(zip(position, offset, strict=True)):
            index = self._place(b, axis, at, inner)
            index.name_hint = "yx"[axis - len(self.sizes)]
            place.append(index)
            inside += b.in_range(index, 0, self.sizes[axis], self.bounds(axis))
        return b.choose(inside, lambda: b.element(self.x, [*leading, *place]), outside)

    def bounds(self, axis: int) -> tuple[int, int]:
        """Give the smallest and the largest place that an element under the window has."""
        w = self.window
        first = -w.padding[axis]
        last = (self.positions[axis] - 1) * w.stride[axis]
        return first, first + last + (w.kernel[axis] - 1) * w.dilation[axis]

    def _place(self, b: GridBuilder, axis: int, position: Index, offset: Index) -> SSAValue:
        w = self.window
        begin = b.mul(position, w.stride[axis])
        shifted = b.add(begin, b.mul(offset, w.dilation[axis]))
        return b.index(b.subtract(shifted, w.padding[axis]))
