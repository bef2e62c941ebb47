"""Layouts of tiles: task maps of register tiles, orders and swizzles of shared tiles."""

from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefLayoutAttr, MemRefType
from xdsl.ir import Attribute, Data, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.cuda.tensor_core import SWIZZLES
from hidet.dialects.shaped import bytes_of, memref_type
from hidet.mapping import MappingError, TaskMap


@irdl_attr_definition
class TaskMapAttr(MemRefLayoutAttr, Data["TaskMap | None"]):
    """`#task.map<repeat(2, 1) * spatial(8, 4)>`: a task map; `#task.map<?>` if not yet known.

    As the layout of a register tile it gives the owner and the register of each element.
    """

    name = "task.map"

    @property
    def known(self) -> TaskMap:
        """The map; raises VerifyException if it is `?`."""
        if self.data is None:
            raise VerifyException("the task map is still '?': the tile needs one")
        return self.data

    def get_affine_map(self) -> AffineMap:
        """Return the map from indices to registers of the owner."""
        register = AffineExpr.constant(0)
        for digit in self.known.repeat_digits:
            index = AffineExpr.dimension(digit.dim)
            register += index // digit.stride % digit.extent * digit.weight
        return AffineMap(self.known.rank, 0, (register,))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TaskMap | None:
        """Parse `<factor * factor * ...>` or `<?>`."""
        with parser.in_angle_brackets():
            if parser.parse_optional_punctuation("?") is not None:
                return None
            factors = [cls._parse_factor(parser)]
            while parser.parse_optional_characters("*") is not None:
                factors.append(cls._parse_factor(parser))
            try:
                return TaskMap.from_factors(factors)
            except MappingError as error:
                parser.raise_error(str(error))

    @staticmethod
    def _parse_factor(parser: AttrParser) -> tuple[str, list[int]]:
        kind = parser.parse_identifier()
        return kind, parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_integer)

    def print_parameter(self, printer: Printer) -> None:
        """Print `<factor * factor * ...>` or `<?>`."""
        with printer.in_angle_brackets():
            printer.print_string("?" if self.data is None else str(self.data))


@dataclass(frozen=True)
class SharedLayout:
    """The memory layout of a shared tile's matrices, its last two dimensions.

    Attributes:
        contiguous: the contiguous dimension of a matrix: 1 is row-major.
        swizzle: 0, or the span in bytes in which 16-byte segments are permuted, as by TMA and wgmma
            (PTX ISA, Tensor swizzling modes): 128, 64 or 32. Longer rows are split into consecutive
            panels of that width.
        padding: the unused bytes after each row, without a swizzle.
    """

    contiguous: int
    swizzle: int = 0
    padding: int = 0

    def span(self, element: Attribute) -> int:
        """Return the elements of a row of a panel."""
        return self.swizzle // bytes_of(element)

    def memory_shape(self, tile: MemRefType[Attribute]) -> tuple[int, ...]:
        """Return the shape of the array of a tile, in panels if it is swizzled."""
        *lead, rows, columns = tile.get_shape()
        pitches, run = (rows, columns) if self.contiguous else (columns, rows)
        if not self.swizzle:
            return (*lead, pitches, run + self.padding // bytes_of(tile.element_type))
        span = self.span(tile.element_type)
        panels = [run // span] if run > span else []
        return (*lead, *panels, pitches, span)

    def check(self, tile: MemRefType[Attribute]) -> None:
        """Raise VerifyException unless a tile can have this layout."""
        if tile.get_num_dims() < 2:
            raise VerifyException(f"{tile} has a matrix layout, but fewer than two dimensions")
        run = tile.get_shape()[-1 if self.contiguous else -2]
        if self.swizzle and run % self.span(tile.element_type):
            raise VerifyException(
                f"rows of {run} elements of {tile} are not divisible into {self.swizzle} bytes"
            )


@irdl_attr_definition
class SharedLayoutAttr(MemRefLayoutAttr, Data[SharedLayout]):
    """`#task.tile<row_major, swizzle 128>`: the memory layout of a shared tile.

    Instead of a swizzle, rows may have a `padding` in bytes.
    """

    name = "task.tile"

    def get_affine_map(self) -> AffineMap:
        """Raise NotImplementedError: a swizzle is not affine."""
        raise NotImplementedError("the layout of a shared tile is not affine")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SharedLayout:
        """Parse `<row_major>`, `<column_major, swizzle 64>` or `<column_major, padding 16>`."""
        with parser.in_angle_brackets():
            order = parser.parse_identifier()
            if order not in _ORDERS:
                parser.raise_error(f"{' or '.join(_ORDERS)} expected")
            swizzle = padding = 0
            if parser.parse_optional_punctuation(",") is not None:
                if parser.parse_optional_keyword("padding"):
                    padding = parser.parse_integer(allow_boolean=False, allow_negative=False)
                else:
                    parser.parse_keyword("swizzle")
                    swizzle = parser.parse_integer()
                if swizzle not in SWIZZLES:
                    parser.raise_error(f"a swizzle has {', '.join(map(str, SWIZZLES))} bytes")
            return SharedLayout(_ORDERS.index(order), swizzle, padding)

    def print_parameter(self, printer: Printer) -> None:
        """Print the order, and the swizzle or the padding if there is one."""
        swizzle = f", swizzle {self.data.swizzle}" if self.data.swizzle else ""
        padding = f", padding {self.data.padding}" if self.data.padding else ""
        with printer.in_angle_brackets():
            printer.print_string(f"{_ORDERS[self.data.contiguous]}{swizzle}{padding}")


_ORDERS = ("column_major", "row_major")


def shared_layout_of(tile: SSAValue | Attribute) -> SharedLayout:
    """Return the layout of a shared tile, row-major by default."""
    kind = memref_type(tile)
    return kind.layout.data if isinstance(kind.layout, SharedLayoutAttr) else SharedLayout(1)


def known_map_of(tile: SSAValue) -> TaskMap | None:
    """Return the map of a register tile, None if it is `?` or not a register tile."""
    kind = tile.type
    if isinstance(kind, MemRefType) and isinstance(kind.layout, TaskMapAttr):
        return kind.layout.data
    return None


def map_of(tile: Attribute) -> TaskMap:
    """Return the task map of a register tile type; raise VerifyException if it has none."""
    if not isinstance(tile, MemRefType) or not isinstance(tile.layout, TaskMapAttr):
        raise VerifyException(f"{tile} is not a register tile: its layout is not a task map")
    return tile.layout.known
