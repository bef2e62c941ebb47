"""Recognizes im2col views of convolutions, which TMA can load in im2col mode."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, SSAValue

from hidet.analysis.algebra import Condition, FormAlgebra, bounded_algebra
from hidet.analysis.conditions import decide, predicate_of
from hidet.analysis.forms import Atom, LinearForm, Quotient, Range, Remainder
from hidet.analysis.grids import is_view, loads_of
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.inverse import digits_of
from hidet.analysis.value_ranges import terminators_of
from hidet.analysis.windows import Window, window_of
from hidet.dialects.compute import GridOp, LoadOp
from hidet.dialects.constants import is_zero
from hidet.dialects.cuda.tensor_map import ALIGNMENT, SPATIAL, Pixels, corner_bits
from hidet.dialects.shaped import bytes_of, element_of, shape_of


@dataclass(frozen=True)
class Axis:
    """The convolution parameters of one spatial dimension.

    Attributes:
        extent: the size of the image.
        positions: the number of output positions.
        taps: the size of the filter.
        stride: the distance of adjacent output positions.
        dilation: the distance of adjacent taps.
        padding: the padding before the first pixel.
    """

    extent: int
    positions: int
    taps: int
    stride: int
    dilation: int
    padding: int

    @property
    def last(self) -> int:
        """The pixel of the first tap at the last output position."""
        return (self.positions - 1) * self.stride - self.padding

    @property
    def reach(self) -> int:
        """The distance from the first tap to the last one."""
        return (self.taps - 1) * self.dilation


@dataclass(frozen=True)
class Im2col:
    """An im2col view `[.., n * position, tap * c]` of images `[n, .., c]`.

    Rows are output positions in row-major order; a row contains the channels of each filter tap.
    Leading dimensions split a row into parts; `columns` is the length of a row, or of a part. The
    shape is that of the images.
    """

    images: Window
    shape: tuple[int, ...]
    axes: tuple[Axis, ...]
    columns: int

    @property
    def channels(self) -> int:
        """The number of channels."""
        return self.shape[-1]

    @property
    def pixels(self) -> Pixels:
        """The base pixels of the copies."""
        return Pixels(
            tuple(-axis.padding for axis in self.axes),
            tuple(axis.last for axis in self.axes),
            tuple(axis.stride for axis in self.axes),
        )


def has_tiles(columns: int, channels: int, length: int) -> bool:
    """Return whether each tile of an im2col view is within one tap, so that TMA can load it.

    A tile starts at a multiple of its columns; the view has `length` of them.
    """
    return columns <= channels and channels % columns == 0 and length % columns == 0


def im2col_of(view: SSAValue) -> Im2col | None:
    """Return the geometry of an im2col view; None if it is none, or if TMA cannot load it.

    The geometry is proved: the loaded indices are those of positions and taps, every pixel inside
    of the image is loaded, and all elements outside are 0.
    """
    grid = view.owner
    if not isinstance(grid, GridOp) or not is_view(grid) or len(grid.shape) < 2:
        return None
    loads = loads_of(grid)
    images = window_of(loads[0].source) if len(loads) == 1 else None
    if images is None or element_of(loads[0].source) != element_of(view):
        return None
    found = _Recognition(grid, loads[0]).geometry(images)
    return found if found is not None and _can_be_fetched(found, element_of(view)) else None


class _Recognition:
    """Derives the geometry of a view from the indices of its only load, and proves it."""

    def __init__(self, grid: GridOp, load: LoadOp) -> None:
        self.grid = grid
        self.load = load
        *leading, self.row, self.column = grid.indices
        *parts, self.rows, columns = grid.shape
        # From here on, rows are whole: the indices of their parts are digits of the column.
        self.columns = prod(parts) * columns
        sizes = {self.row: self.rows, self.column: self.columns}
        self.sizes = {each: max(size, 1) for each, size in sizes.items()}
        self.algebra = bounded_algebra(self.sizes)
        self._forms = IndexForms()
        self._known: dict[Atom, LinearForm] = {}
        weight = 1
        for index, extent in zip(
            (self.column, *leading[::-1]), (columns, *parts[::-1]), strict=True
        ):
            self._known[index] = self._digit(LinearForm.of(self.column), weight, max(extent, 1))
            weight *= max(extent, 1)

    def geometry(self, images: Window) -> Im2col | None:
        """Return the geometry of the view, None if it is not an im2col view."""
        shape = shape_of(self.load.source)
        forms = [self._form(index) for index in self.load.indices]
        images, shape, forms = self._split_windows(images, shape, forms)
        axes = [self._axis(*each) for each in zip(forms, shape, strict=True)]
        if len(shape) - 2 not in SPATIAL:
            return None
        known = tuple(axis for axis in axes[1:-1] if axis is not None)
        if len(known) < len(shape) - 2:
            return None
        found = Im2col(images, shape, known, self.grid.shape[-1])
        is_whole = self.rows == shape[0] * prod(axis.positions for axis in known) and (
            self.columns == prod(axis.taps for axis in known) * found.channels
        )
        matches = is_whole and self._loaded_indices(found) == forms
        return found if matches and self._is_padded(forms, known) else None

    def _split_windows(
        self, images: Window, shape: tuple[int, ...], forms: list[LinearForm]
    ) -> tuple[Window, tuple[int, ...], list[LinearForm]]:
        """Split the last dimension into positions and channels if it holds a window per position.

        Windows may overlap, as `merge-taps` makes them: their stride is that of a dimension.
        """
        digits = digits_of(forms[-1], self.sizes) or ()
        by_index = {digit.variable: (factor, digit) for factor, digit in digits}
        if len(digits) != 2 or by_index.keys() != {self.row, self.column}:
            return images, shape, forms
        (step, position), (unit, channel) = by_index[self.row], by_index[self.column]
        if unit != 1 or channel.weight != 1:
            return images, shape, forms
        where = self._digit(LinearForm.of(self.row), position.weight, position.extent)
        inside = self._digit(LinearForm.of(self.column), 1, channel.extent)
        return (
            Window(images.buffer, images.offset, (*images.strides[:-1], step, 1)),
            (*shape[:-1], position.extent, channel.extent),
            [*forms[:-1], where, inside],
        )

    def _form(self, index: SSAValue) -> LinearForm:
        """Return the form of an index, in terms of rows and columns of whole rows."""
        return self._of_whole_rows(self._forms.form(index))

    def _of_whole_rows(self, form: LinearForm) -> LinearForm:
        found = LinearForm.number(form.constant)
        for atom, factor in form.terms.items():
            match atom:
                case Quotient(inner, divisor):
                    value = self.algebra.floordiv(self._of_whole_rows(inner), divisor)
                case Remainder(inner, divisor):
                    value = self.algebra.mod(self._of_whole_rows(inner), divisor)
                case _:
                    value = self._known.get(atom, LinearForm.of(atom))
            found = self.algebra.add(found, value, factor)
        return found

    def _axis(self, form: LinearForm, extent: int) -> Axis | None:
        """Derive the unproved parameters of a dimension from the form of the loaded index."""
        if not all(leaf in self.sizes for leaf in form.leaves()):
            return None
        digits = digits_of(form.without_constant, self.sizes)
        by_index = {digit.variable: (factor, digit.extent) for factor, digit in digits or ()}
        if digits is None or len(by_index) < len(digits):
            return None
        stride, positions = by_index.get(self.row, (1, 1))
        dilation, taps = by_index.get(self.column, (1, 1))
        return Axis(extent, positions, taps, stride, dilation, -form.constant)

    def _loaded_indices(self, found: Im2col) -> list[LinearForm]:
        """Return the indices that a view of this geometry loads."""
        row, column = LinearForm.of(self.row), LinearForm.of(self.column)
        forms = [self.algebra.mod(column, found.channels)]
        row_weight, column_weight = 1, found.channels
        for axis in reversed(found.axes):
            start = self._digit(row, row_weight, axis.positions) * axis.stride
            tap = self._digit(column, column_weight, axis.taps)
            forms.insert(0, self.algebra.add(start, tap, axis.dilation) + -axis.padding)
            row_weight *= axis.positions
            column_weight *= axis.taps
        return [self._digit(row, row_weight, found.shape[0]), *forms]

    def _digit(self, form: LinearForm, weight: int, extent: int) -> LinearForm:
        return self.algebra.mod(self.algebra.floordiv(form, weight), extent)

    def _is_padded(self, forms: Sequence[LinearForm], axes: Sequence[Axis]) -> bool:
        """Return whether the view loads all pixels inside of the image, and is 0 elsewhere.

        Loads are in bounds, so the converse need not be proved.
        """
        value = self.grid.yielded
        if value is self.load.result:
            return True
        branch = value.owner
        if not isinstance(branch, scf.IfOp):
            return False
        inside, outside = (end.operands[0] for end in terminators_of(branch))
        known: list[Condition] = [
            (form.without_constant, Range(-form.constant, axis.extent - 1 - form.constant))
            for form, axis in zip(forms[1:-1], axes, strict=True)
        ]
        return (
            inside is self.load.result
            and is_zero(outside)
            and self._holds(branch.cond, self.algebra.under(known))
        )

    def _holds(self, condition: SSAValue, algebra: FormAlgebra) -> bool:
        """Return whether a condition is statically true."""
        match condition.owner:
            case arith.AndIOp() as op:
                return self._holds(op.lhs, algebra) and self._holds(op.rhs, algebra)
            case arith.CmpiOp() as op if isinstance(op.lhs.type, IndexType):
                lhs, rhs = self._form(op.lhs), self._form(op.rhs)
                return decide(predicate_of(op), lhs, rhs, algebra) is True
            case _:
                return False


def _can_be_fetched(view: Im2col, element: Attribute) -> bool:
    """Return whether a tensor map can describe the images and the offsets of all taps."""
    size, images, pixels = bytes_of(element), view.images, view.pixels
    return (
        images.strides[-1] == 1
        and all(step > 0 and step * size % ALIGNMENT == 0 for step in images.strides[:-1])
        and images.offset >= 0
        and images.offset * size % ALIGNMENT == 0
        and pixels.problem(view.shape, (1, 1)) is None
        and all(axis.dilation > 0 for axis in view.axes)
        and max(axis.reach for axis in view.axes) < 1 << corner_bits(len(view.axes))
    )
