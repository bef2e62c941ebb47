"""Ops that define tensors element by element: grids, reductions, sinks, loads and stores."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Self, TypeVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    IndexType,
    MemRefType,
    TensorType,
    i64,
)
from xdsl.dialects.utils import parse_assignment, print_assignment
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    MessageConstraint,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.dialects.effects import AccessingOp, Effects, PureOp, read, write
from hidet.dialects.fields import element_def, enum_attribute
from hidet.dialects.in_place import InPlaceOp
from hidet.dialects.shaped import element_of, is_memref, shape_of
from hidet.dialects.syntax import IndexedRegion, parse_body, print_body

_Each = TypeVar("_Each")


def single_block(argument_types: Sequence[Attribute]) -> Region:
    """Return a region with one empty block with arguments."""
    return Region(Block(arg_types=argument_types))


def terminator_of(region: Region) -> "YieldOp":
    """Return the `compute.yield` of a region; raise VerifyException if there is none."""
    last = region.block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException("the region must end in compute.yield")
    return last


@irdl_op_definition
class YieldOp(IRDLOperation):
    """`compute.yield`: terminates a body with its values."""

    name = "compute.yield"

    values = var_operand_def()

    assembly_format = "attr-dict ($values^ `:` type($values))?"
    traits = traits_def(IsTerminator(), Pure())

    def __init__(self, *values: SSAValue | Operation) -> None:
        Operation.__init__(self, operands=list(map(SSAValue.get, values)))


_INDEX = IndexType()

STORED = "compute.stored"
"""The attribute of a grid that only moves elements, but is materialized."""


class IndexedOp(PureOp, ABC):
    """An op whose body yields a scalar for every index of a domain."""

    body = region_def("single_block")

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The extents of the domain."""

    @property
    def indices(self) -> Sequence[SSAValue]:
        """The index arguments, one per dimension."""
        return self.regions[0].block.args

    @property
    def yielded(self) -> SSAValue:
        """The yielded scalar."""
        return terminator_of(self.body).values[0]

    def verify_body(self, element: Attribute, rank_error: str) -> None:
        """Check the index arguments and the type of the yielded scalar."""
        if any(not isinstance(argument.type, IndexType) for argument in self.indices):
            raise VerifyException(f"the arguments of {self.name} must be of type index")
        if len(self.indices) != len(self.shape):
            raise VerifyException(f"{self.name} has {len(self.indices)} indices {rank_error}")
        verify_yield(terminator_of(self.body), [element])


@irdl_op_definition
class GridOp(IndexedOp):
    """`compute.grid`: the tensor whose element (i, j, ...) the body yields.

    With the attribute `compute.stored` it is no view even if it only moves elements: its consumers
    need contiguous memory.
    """

    name = "compute.grid"

    result = result_def(TensorType)

    assembly_format = "custom<IndexedRegion>($body) attr-dict `:` type($result)"
    custom_directives = (IndexedRegion,)

    def __init__(self, result_type: Attribute, body: Region | None = None) -> None:
        if body is None:
            body = single_block([_INDEX] * len(shape_of(result_type)))
        Operation.__init__(self, result_types=[result_type], regions=[body])

    @property
    def is_stored(self) -> bool:
        """Whether the tensor is materialized for its consumers."""
        return STORED in self.attributes

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the domain, those of the result."""
        return shape_of(self.results[0])

    def verify_(self) -> None:
        """Check the arguments and the yielded type against the result."""
        self.verify_body(element_of(self.result), f"but defines {self.result.type}")


def verify_yield(op: YieldOp, types: Sequence[Attribute]) -> None:
    """Check the types of yielded values."""
    found = [value.type for value in op.values]
    if found != list(types):
        want = ", ".join(map(str, types))
        have = ", ".join(map(str, found)) or "nothing"
        raise VerifyException(f"the body must yield {want}, not {have}")


ReduceKind = StrEnum("ReduceKind", "ADD MUL MAX MIN")
"""The reduction of `compute.reduce` and `task.combine`; `max` and `min` propagate NaN."""

ReduceKindAttr = enum_attribute("compute.kind", ReduceKind)


@irdl_op_definition
class ReduceOp(IndexedOp):
    """`compute.reduce`: reduces what the body yields over the extents.

    An empty domain yields the neutral element (infinities for `max` and `min` of floats, extreme
    values for integers).
    """

    name = "compute.reduce"

    kind = prop_def(ReduceKindAttr)
    extents = prop_def(DenseArrayBase.constr(i64))
    result = result_def()

    assembly_format = "$kind $extents custom<IndexedRegion>($body) attr-dict `:` type($result)"
    custom_directives = (IndexedRegion,)

    @property
    def shape(self) -> tuple[int, ...]:
        """The reduced extents."""
        return self.extents.get_values()

    def verify_(self) -> None:
        """Check the arguments and the yielded type."""
        if any(extent < 0 for extent in self.shape):
            raise VerifyException(f"compute.reduce has the negative extents {list(self.shape)}")
        self.verify_body(self.result.type, f"for {len(self.extents)} extents")


_T = VarConstraint("T", AnyAttr())
_ARRAY = MessageConstraint(
    TensorType.constr(_T) | MemRefType.constr(_T),
    "what is accessed is a tensor or a memref of such elements",
)
_ELEMENT = MessageConstraint(_T, "an element has the type that the tensor or memref says")


@irdl_op_definition
class LoadOp(AccessingOp):
    """`compute.load`: element (i, j, ...) of a view or a buffer; indices are in bounds."""

    name = "compute.load"

    source, indices = element_def(_ARRAY)
    result = result_def(_ELEMENT)

    assembly_format = "$source `[` $indices `]` attr-dict `:` type($source)"

    @property
    def effects(self) -> Effects:
        """A buffer is read; a view is a value."""
        return (read(self.source),) if is_memref(self.source.type) else ()

    def __init__(self, source: SSAValue | Operation, indices: Sequence[SSAValue]) -> None:
        source = SSAValue.get(source)
        element = element_of(source)
        Operation.__init__(self, operands=[source, *indices], result_types=[element])


@irdl_op_definition
class StoreOp(AccessingOp):
    """`compute.store`: stores a scalar to element (i, j, ...) of a sink or a buffer."""

    name = "compute.store"

    value = operand_def(_ELEMENT)
    target, indices = element_def(_ARRAY)

    assembly_format = "$value `,` $target `[` $indices `]` attr-dict `:` type($target)"

    @property
    def effects(self) -> Effects:
        """A buffer is written; what a sink writes is unknown until it is inlined."""
        return (write(self.target if is_memref(self.target.type) else None),)


@irdl_op_definition
class SinkOp(PureOp):
    """`compute.sink`: a tensor to store to; the body defines a store of `%v` at (i, j).

    The last argument of the body is the stored scalar, the others are the indices. The body stores
    to one or several buffers, so a kernel can have several outputs.
    """

    name = "compute.sink"

    body = region_def("single_block")
    result = result_def(TensorType)

    assembly_format = "custom<IndexedRegion>($body) attr-dict `:` type($result)"
    custom_directives = (IndexedRegion,)
    traits = traits_def(NoTerminator())

    def __init__(self, result_type: Attribute) -> None:
        indices = [IndexType()] * len(shape_of(result_type))
        super().__init__(single_block([*indices, element_of(result_type)]), result_type)

    @property
    def indices(self) -> Sequence[SSAValue]:
        """The index arguments, one per dimension."""
        return self.body.block.args[:-1]

    @property
    def value(self) -> SSAValue:
        """The stored scalar."""
        return self.body.block.args[-1]

    def verify_(self) -> None:
        """Check the arguments against the result type."""
        expected = [*[IndexType()] * len(shape_of(self.result)), element_of(self.result)]
        if list(self.body.block.arg_types) != expected:
            want = ", ".join(map(str, expected))
            raise VerifyException(f"a sink of type {self.result.type} has the arguments ({want})")


@irdl_op_definition
class FusionOp(InPlaceOp):
    """`compute.fusion`: grids and anchors that become one kernel.

    It is isolated: `(%x_ = %x : type, ...)` lists its arguments. The normalized text of the region
    is the key of its kernel. `inits [0, 2]` are the results that are updated in place, and whose
    initial contents are the last arguments. With `segments [3, 3]` different blocks compute the
    first three results and the other three.
    """

    name = "compute.fusion"

    arguments = var_operand_def(TensorType)
    results_ = var_result_def(TensorType)
    body = region_def("single_block")
    config = opt_prop_def(DictionaryAttr)
    segments = opt_prop_def(DenseArrayBase.constr(i64))

    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect())

    @property
    def segment_sizes(self) -> Sequence[int]:
        """The number of results of each segment."""
        return (len(self.results_),) if self.segments is None else self.segments.get_values()

    def by_segment(self, values: Sequence[_Each]) -> list[Sequence[_Each]]:
        """Return the values of each segment, of which there is one for each result."""
        bounds = accumulate(self.segment_sizes, initial=0)
        return [values[start:stop] for start, stop in pairwise(bounds)]

    def verify_(self) -> None:
        """Check block arguments, yield, in-place results and segments."""
        super().verify_()
        own = [argument.type for argument in self.body.block.args]
        if own != [value.type for value in self.arguments]:
            raise VerifyException("the arguments of compute.fusion differ in type from its block's")
        verify_yield(terminator_of(self.body), [r.type for r in self.results_])
        sizes = self.segment_sizes
        if sum(sizes) != len(self.results_) or (self.segments is not None and min(sizes) < 1):
            raise VerifyException(
                f"{self.name} has segments of {list(sizes)} results, but {len(self.results_)}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse `(%x_ = %x : type, ...) -> (types) inits [..] segments [..] config {...} { }`."""
        inner: list[Parser.Argument] = []
        arguments: list[SSAValue] = []

        def parse_argument() -> None:
            argument, operand = parse_assignment(parser)
            parser.parse_punctuation(":")
            kind = parser.parse_type()
            inner.append(argument.resolve(kind))
            arguments.append(parser.resolve_operand(operand, kind))

        parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parse_argument)
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
        lists: dict[str, list[int] | None] = {}
        for name in ("inits", "segments"):
            if parser.parse_optional_keyword(name) is not None:
                lists[name] = parser.parse_comma_separated_list(
                    Parser.Delimiter.SQUARE, parser.parse_integer
                )
        config = None
        if parser.parse_optional_keyword("config") is not None:
            start = parser.pos
            config = parser.parse_attribute()
            if not isinstance(config, DictionaryAttr):
                parser.raise_error("config must be a dictionary", start)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parse_body(parser, inner)
        op = cls(arguments, results, body=body, config=config, **lists)
        op.attributes |= attributes.data if attributes else {}
        return op

    def print(self, printer: Printer) -> None:
        """Print what `parse` takes."""
        printer.print_string(" ")
        with printer.in_parens():
            for number, (argument, value) in enumerate(
                zip(self.body.block.args, self.arguments, strict=True)
            ):
                printer.print_string(", " if number else "")
                print_assignment(printer, argument, value)
                printer.print_string(" : ")
                printer.print_attribute(value.type)
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list([r.type for r in self.results_], printer.print_attribute)
        for name in ("inits", "segments"):
            if isinstance(numbers := self.properties.get(name), DenseArrayBase):
                printer.print_string(f" {name} {list(numbers.get_values())}")
        if self.config is not None:
            printer.print_string(" config ")
            printer.print_attribute(self.config)
        print_body(printer, self.body, self.attributes)
