"""`compute.fusion`: the ops of one kernel."""

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import DictionaryAttr, TensorType
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.compute.ops import terminator_of, verify_yield
from hidet.dialects.fields import FieldsOp
from hidet.dialects.syntax import parse_body, print_body


@irdl_op_definition
class FusionOp(FieldsOp):
    """`compute.fusion`: grids and anchors that become one kernel.

    It is isolated: `(%x_ = %x : type, ...)` lists its inputs. The normalized text of the region is
    the key of its kernel.
    """

    name = "compute.fusion"

    inputs = var_operand_def(TensorType)
    results_ = var_result_def(TensorType)
    config = opt_prop_def(DictionaryAttr)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect())

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        body: Region,
        config: DictionaryAttr | None = None,
    ) -> None:
        super().__init__(inputs, result_types, config, body)

    def verify_(self) -> None:
        """Check the arguments against the inputs and the yield against the results."""
        arguments = [argument.type for argument in self.body.block.args]
        if arguments != [value.type for value in self.inputs]:
            raise VerifyException("the arguments of compute.fusion differ in type from its inputs")
        verify_yield(terminator_of(self.body), [r.type for r in self.results_])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse `(%x_ = %x : type, ...) -> (types) config {...} { body }`."""
        arguments: list[Parser.Argument] = []
        inputs: list[SSAValue] = []

        def parse_input() -> None:
            argument = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            operand = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            kind = parser.parse_type()
            arguments.append(argument.resolve(kind))
            inputs.append(parser.resolve_operand(operand, kind))

        parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parse_input)
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
        config = None
        if parser.parse_optional_keyword("config") is not None:
            start = parser.pos
            config = parser.parse_attribute()
            if not isinstance(config, DictionaryAttr):
                parser.raise_error("config must be a dictionary", start)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(inputs, results, parse_body(parser, arguments), config)
        op.attributes |= attributes.data if attributes else {}
        return op

    def print(self, printer: Printer) -> None:
        """Print `(%x_ = %x : type, ...) -> (types) config {...} { body }`."""
        printer.print_string(" ")
        with printer.in_parens():
            for number, (argument, value) in enumerate(
                zip(self.body.block.args, self.inputs, strict=True)
            ):
                printer.print_string(", " if number else "")
                printer.print_ssa_value(argument)
                printer.print_string(" = ")
                printer.print_ssa_value(value)
                printer.print_string(" : ")
                printer.print_attribute(value.type)
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list([r.type for r in self.results_], printer.print_attribute)
        if self.config is not None:
            printer.print_string(" config ")
            printer.print_attribute(self.config)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        print_body(printer, self.body)
