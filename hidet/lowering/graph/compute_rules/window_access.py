"""Element accesses of sliding windows, with bounds checks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from hidet.dialects.graph.window import Window
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder
from hidet.rewriting.builder import Index


@dataclass(frozen=True)
class WindowAccess:
    """A window over the last dimensions of a tensor."""

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
        """Load an element of a window, or build the scalar outside of the image.

        The element is at `offset` in the window at `position`.
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
        """Return the range of the unchecked index of window elements, inclusive."""
        w = self.window
        first = -w.padding[axis]
        last = (self.positions[axis] - 1) * w.stride[axis]
        return first, first + last + (w.kernel[axis] - 1) * w.dilation[axis]

    def _place(self, b: GridBuilder, axis: int, position: Index, offset: Index) -> SSAValue:
        w = self.window
        begin = b.mul(position, w.stride[axis])
        shifted = b.add(begin, b.mul(offset, w.dilation[axis]))
        return b.index(b.subtract(shifted, w.padding[axis]))
