"""Layouts of tiles: the task map as the layout of a register tile."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefLayoutAttr, MemRefType
from xdsl.ir import Attribute, Data
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from hidet.mapping import MappingError, TaskMap


@irdl_attr_definition
class TaskMapAttr(MemRefLayoutAttr, Data["TaskMap | None"]):
    """`#task.map<repeat(2, 1) * spatial(8, 4)>`: a task mapping; `#task.map<?>` before it is known.

    As the layout of a register tile it says which worker owns an element, and in which register.
    """

    name = "task.map"

    @property
    def known(self) -> TaskMap:
        """The map; raises VerifyException where it is still `?`."""
        if self.data is None:
            raise VerifyException("the task map is still '?': the tile has to be given one")
        return self.data

    def get_affine_map(self) -> AffineMap:
        """Return the map from indices to the register of each worker that owns the element."""
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


def map_of(tile: Attribute) -> TaskMap:
    """Return the task map of a register tile's type; raises VerifyException where it has none."""
    if not isinstance(tile, MemRefType) or not isinstance(tile.layout, TaskMapAttr):
        raise VerifyException(f"{tile} is not a register tile: its layout is no task map")
    return tile.layout.known
