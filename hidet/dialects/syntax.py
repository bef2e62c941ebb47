"""Assembly directives shared by several dialects."""

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntAttr
from xdsl.ir import Attribute, Block, Region
from xdsl.irdl import IRDLOperation
from xdsl.irdl import declarative_assembly_format as assembly
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer


def parse_arguments(parser: Parser) -> list[Parser.Argument]:
    """Parse `(%a, %b : type)`; an argument without a type is an index."""

    def parse_argument() -> Parser.Argument:
        unresolved = parser.parse_argument(expect_type=False)
        has_type = parser.parse_optional_punctuation(":") is not None
        return unresolved.resolve(parser.parse_type() if has_type else IndexType())

    return parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parse_argument)


def int_array(values: Iterable[int]) -> ArrayAttr[IntAttr]:
    """Return integers as an attribute."""
    return ArrayAttr([IntAttr(value) for value in values])


def parse_int_array(parser: AttrParser) -> ArrayAttr[IntAttr]:
    """Parse `[1, 2, 3]`."""
    return int_array(
        parser.parse_comma_separated_list(AttrParser.Delimiter.SQUARE, parser.parse_integer)
    )


def parse_body(parser: Parser, arguments: Sequence[Parser.Argument]) -> Region:
    """Parse `{ ... }`: a single-block region with arguments, which may be empty."""
    region = parser.parse_region(arguments)
    if not region.blocks:
        region.add_block(Block())
    return region


def print_body(
    printer: Printer, region: Region, attributes: Mapping[str, Attribute] | None = None
) -> None:
    """Print ` attributes {..} { ... }`: a single-block region whose arguments are printed."""
    printer.print_op_attributes(attributes or {}, print_keyword=True)
    printer.print_string(" ")
    printer.print_region(region, print_entry_block_args=False, print_empty_block=False)


@assembly.irdl_custom_directive
class IndexedRegion(assembly.CustomDirective):
    """`(%i, %j, %v : f32) { ... }`: block arguments and a region; `index` types are omitted."""

    region: assembly.RegionVariable

    def parse(self, parser: Parser, state: assembly.ParsingState) -> None:
        """Parse the arguments and the region."""
        arguments = parse_arguments(parser)
        self.region.set(state, parse_body(parser, arguments))

    def print(self, printer: Printer, state: assembly.PrintingState, op: IRDLOperation) -> None:
        """Print the arguments and the region."""
        state.print_whitespace(printer)
        region = self.region.get(op)
        with printer.in_parens():
            for number, argument in enumerate(region.block.args):
                if number:
                    printer.print_string(", ")
                printer.print_ssa_value(argument)
                if not isinstance(argument.type, IndexType):
                    printer.print_string(" : ")
                    printer.print_attribute(argument.type)
        print_body(printer, region)
        state.last_was_punctuation = False
        state.should_emit_space = True
