"""`cuda.kernel`: a function that runs on a grid of thread blocks."""

from collections.abc import Sequence
from math import prod
from typing import Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from hidet.arch.limits import MAX_BLOCK, MAX_CLUSTER, MAX_GRID, MAX_THREADS_PER_BLOCK
from hidet.arch.roofline import Work
from hidet.dialects.cuda import marks
from hidet.dialects.cuda.attributes import BoundsAttr
from hidet.dialects.fields import FieldsOp
from hidet.dialects.syntax import int_array, parse_body, print_body

DYNAMIC = -1
"""An extent of grid or block that launches specify; printed as `?`."""

READONLY = "cuda.readonly"
"""Unit attribute of a kernel argument that the kernel only reads."""


@irdl_op_definition
class KernelOp(FieldsOp):
    """`cuda.kernel @f(%x : memref<..>) grid(16, 4) block(128) { ... }`: a CUDA kernel.

    Grid and block have one to three extents; those that every launch specifies are `?`, as in
    `grid(?, 4)`, and `limits` has their maxima if less than those of CUDA. Arguments are memrefs in
    global memory or scalars; read-only ones carry `{cuda.readonly}`. A compiled kernel has the key
    of its binary (`cuda.binary`) instead of a body.
    """

    name = "cuda.kernel"

    sym_name = prop_def(SymbolNameConstraint())
    grid = prop_def(ArrayAttr[IntAttr])
    block = prop_def(ArrayAttr[IntAttr])
    limits = opt_prop_def(ArrayAttr[IntAttr])
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface())

    def __init__(self, name: str, grid: Sequence[int], block: Sequence[int], body: Region) -> None:
        super().__init__(name, int_array(grid), int_array(block), body=body)

    @property
    def arguments(self) -> Sequence[SSAValue]:
        """The parameters of the kernel."""
        return self.body.block.args

    @property
    def grid_dims(self) -> tuple[int, int, int]:
        """The blocks along x, y and z; `DYNAMIC` if launches specify them."""
        return _three(self.grid)

    @property
    def block_dims(self) -> tuple[int, int, int]:
        """The threads of a block along x, y and z; `DYNAMIC` if launches specify them."""
        return _three(self.block)

    @property
    def threads(self) -> int:
        """The threads of a block; the maximum if launches specify them."""
        return min(prod(self.max_shape[1]), MAX_THREADS_PER_BLOCK)

    @property
    def max_shape(self) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """The grid and the block with the maximum of every dynamic extent."""
        limits = [each.data for each in self.limits] if self.limits else self._possible()
        return self.launch_shape(limits)

    def _possible(self) -> list[int]:
        largest = (*MAX_GRID, *MAX_BLOCK)
        extents = zip((*self.grid_dims, *self.block_dims), largest, strict=True)
        return [most for extent, most in extents if extent == DYNAMIC]

    @property
    def dynamic_extents(self) -> int:
        """The number of dynamic extents."""
        return (*self.grid_dims, *self.block_dims).count(DYNAMIC)

    def launch_shape(
        self, extents: Sequence[int] = ()
    ) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """Return grid and block of a launch with dynamic extents, in order."""
        given = iter(extents)
        x, y, z, *block = (
            next(given) if extent == DYNAMIC else extent
            for extent in (*self.grid_dims, *self.block_dims)
        )
        return (x, y, z), (block[0], block[1], block[2])

    def set_limits(self, limits: Sequence[int | None]) -> None:
        """Set the maximum of each dynamic extent, None if unknown."""
        self.limits = None
        possible = self._possible()
        known = [
            most if limit is None else max(min(limit, most), 0)
            for limit, most in zip(limits, possible, strict=True)
        ]
        self.limits = int_array(known) if known != possible else None

    @property
    def cluster(self) -> tuple[int, int, int]:
        """The blocks of a cluster along x, y and z; ones without clusters."""
        x, y, z = self._array(marks.CLUSTER) or (1, 1, 1)
        return x, y, z

    @cluster.setter
    def cluster(self, extents: tuple[int, int, int]) -> None:
        self.attributes[marks.CLUSTER] = DenseArrayBase.from_list(i64, extents)

    @property
    def shared_bytes(self) -> int:
        """The bytes of dynamic shared memory, which `cuda.dynamic_shared` refers to."""
        size = self.attributes.get(marks.SHARED_BYTES)
        return size.value.data if isinstance(size, IntegerAttr) else 0

    @shared_bytes.setter
    def shared_bytes(self, size: int) -> None:
        self.attributes[marks.SHARED_BYTES] = IntegerAttr(size, i64)

    @property
    def binary(self) -> str | None:
        """The key in the cache of the binary of a compiled kernel."""
        key = self.attributes.get(marks.BINARY)
        return key.data if isinstance(key, StringAttr) else None

    def replace_body(self, key: str) -> None:
        """Replace the body by the key of the kernel's binary."""
        old = self.detach_region(self.body).block
        new = Block(arg_types=[argument.type for argument in old.args])
        for argument, like in zip(new.args, old.args, strict=True):
            argument.name_hint = like.name_hint
        self.add_region(Region(new))
        self.attributes[marks.BINARY] = StringAttr(key)

    @property
    def work(self) -> Work | None:
        """The operations and the minimum memory traffic of a launch; None if unknown."""
        work = self.attributes.get(marks.WORK)
        if not isinstance(work, DictionaryAttr):
            return None
        operations, moved, kind = map(work.data.get, ("operations", "moved", "kind"))
        if not isinstance(operations, IntegerAttr) or not isinstance(kind, StringAttr):
            return None
        bytes_moved = moved.value.data if isinstance(moved, IntegerAttr) else None
        return Work(operations.value.data, bytes_moved, kind.data)

    @work.setter
    def work(self, work: Work) -> None:
        numbers = {"operations": work.operations, "moved": work.moved}
        known = {name: IntegerAttr(n, i64) for name, n in numbers.items() if n is not None}
        self.attributes[marks.WORK] = DictionaryAttr({**known, "kind": StringAttr(work.kind)})

    @property
    def launch_arguments(self) -> Sequence[int]:
        """The number of the argument of launches that each argument is, or is made of."""
        numbers = self._array(marks.LAUNCH_ARGUMENTS)
        return range(len(self.arguments)) if numbers is None else numbers

    @launch_arguments.setter
    def launch_arguments(self, numbers: Sequence[int]) -> None:
        self.attributes[marks.LAUNCH_ARGUMENTS] = DenseArrayBase.from_list(i64, tuple(numbers))

    def _array(self, name: str) -> Sequence[int] | None:
        array = self.attributes.get(name)
        is_array = isinstance(array, DenseArrayBase)
        return cast("DenseArrayBase[IntegerType]", array).get_values() if is_array else None

    def is_readonly(self, argument: int) -> bool:
        """Return whether an argument is only read."""
        return self.is_marked(READONLY, argument)

    def is_marked(self, mark: str, argument: int) -> bool:
        """Return whether an argument has a mark."""
        return self.argument_attribute(mark, argument) is not None

    def mark_arguments(self, mark: str, flags: Sequence[bool]) -> None:
        """Set or remove a mark of each argument."""
        for number, flag in enumerate(flags):
            self.set_argument_attribute(mark, number, UnitAttr() if flag else None)

    def argument_attribute(self, name: str, argument: int) -> Attribute | None:
        """Return an attribute of an argument."""
        return None if self.arg_attrs is None else self.arg_attrs.data[argument].data.get(name)

    def set_argument_attribute(self, name: str, argument: int, value: Attribute | None) -> None:
        """Set or remove an attribute of an argument."""
        if value is None and not self.is_marked(name, argument):
            return
        attributes = list(self.arg_attrs or [DictionaryAttr({})] * len(self.arguments))
        own = {key: other for key, other in attributes[argument].data.items() if key != name}
        attributes[argument] = DictionaryAttr(own if value is None else {**own, name: value})
        self.arg_attrs = ArrayAttr(attributes)

    def checks_of(self, argument: int) -> list[BoundsAttr]:
        """Return what a launch on the CPU checks of an argument before it runs the kernel."""
        checks = self.argument_attribute(marks.CHECKED, argument)
        return list(checks) if isa(checks, ArrayAttr[BoundsAttr]) else []

    def add_argument(self, kind: Attribute, name: str, like: int) -> BlockArgument:
        """Append an argument with the attributes of another one."""
        argument = self.body.block.insert_arg(kind, len(self.arguments))
        argument.name_hint = name
        if self.arg_attrs is not None:
            self.arg_attrs = ArrayAttr((*self.arg_attrs.data, self.arg_attrs.data[like]))
        return argument

    def drop_argument(self, number: int) -> None:
        """Drop an unused argument."""
        self.body.block.erase_arg(self.body.block.args[number])
        if self.arg_attrs is not None:
            attributes = self.arg_attrs.data
            self.arg_attrs = ArrayAttr((*attributes[:number], *attributes[number + 1 :]))

    def verify_(self) -> None:
        """Check the extents of grid, block and cluster, and the number of argument attributes."""
        for what, extents in (("grid", self.grid), ("block", self.block)):
            if not 1 <= len(extents) <= 3 or any(extent.data < DYNAMIC for extent in extents):
                raise VerifyException(f"{what} takes one to three extents that are not negative")
        threads = prod(extent for extent in self.block_dims if extent != DYNAMIC)
        if not 1 <= threads <= MAX_THREADS_PER_BLOCK:
            raise VerifyException(
                f"a block of {threads} threads; 1 to {MAX_THREADS_PER_BLOCK} are possible"
            )
        if not 1 <= prod(self.cluster) <= MAX_CLUSTER or any(
            blocks != DYNAMIC and blocks % extent
            for blocks, extent in zip(self.grid_dims, self.cluster, strict=True)
        ):
            raise VerifyException(
                f"clusters of {self.cluster} blocks in a grid of {self.grid_dims}; up to "
                f"{MAX_CLUSTER} blocks are one, and the grid has whole ones"
            )
        if self.limits is not None and len(self.limits) != self.dynamic_extents:
            raise VerifyException(
                f"{len(self.limits)} limits for {self.dynamic_extents} dynamic extents"
            )
        if self.binary is not None and self.body.block.ops:
            raise VerifyException(f"a body next to the binary '{self.binary}'")
        if self.arg_attrs is not None and len(self.arg_attrs) != len(self.arguments):
            raise VerifyException(
                f"{len(self.arg_attrs)} argument attributes for {len(self.arguments)} arguments"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse `@f(%x : type {attrs}, ...) grid(..) block(..) attributes {..} { body }`."""
        name = parser.parse_symbol_name().data
        attributes_of: list[DictionaryAttr] = []

        def parse_argument() -> Parser.Argument:
            argument = parser.parse_argument()
            attributes_of.append(DictionaryAttr(parser.parse_optional_dictionary_attr_dict()))
            return argument

        arguments = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parse_argument)
        grid, block, limits = _parse_shape(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(name, grid, block, parse_body(parser, arguments))
        op.limits = limits
        if any(entry.data for entry in attributes_of):
            op.arg_attrs = ArrayAttr(attributes_of)
        op.attributes |= attributes.data if attributes else {}
        return op

    def print(self, printer: Printer) -> None:
        """Print `@f(%x : type {attrs}, ...) grid(..) block(..) attributes {..} { body }`."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            for number, argument in enumerate(self.arguments):
                printer.print_string(", " if number else "")
                printer.print_ssa_value(argument)
                printer.print_string(" : ")
                printer.print_attribute(argument.type)
                if self.arg_attrs is not None and self.arg_attrs.data[number].data:
                    printer.print_string(" ")
                    printer.print_attribute(self.arg_attrs.data[number])
        for what, extents in (("grid", self.grid), ("block", self.block)):
            dims = ", ".join("?" if e.data == DYNAMIC else str(e.data) for e in extents)
            printer.print_string(f" {what}({dims})")
        if self.limits is not None:
            printer.print_string(f" limits({', '.join(str(e.data) for e in self.limits)})")
        print_body(printer, self.body, self.attributes)


def _parse_shape(parser: Parser) -> tuple[list[int], list[int], ArrayAttr[IntAttr] | None]:
    """Parse `grid(?, 4) block(256) limits(1024)`; limits are optional."""

    def parse_extent() -> int:
        if parser.parse_optional_punctuation("?") is not None:
            return DYNAMIC
        extent = parser.parse_integer()
        return extent if extent >= 0 else DYNAMIC - 1  # invalid

    parser.parse_keyword("grid")
    grid = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parse_extent)
    parser.parse_keyword("block")
    block = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parse_extent)
    if parser.parse_optional_keyword("limits") is None:
        return grid, block, None
    limits = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_integer)
    return grid, block, int_array(limits) if limits else None


def _three(extents: ArrayAttr[IntAttr]) -> tuple[int, int, int]:
    x, y, z = ([extent.data for extent in extents] + [1, 1])[:3]
    return x, y, z


def is_unsigned(value: SSAValue) -> bool:
    """Return whether a kernel argument or an allocation is unsigned."""
    owner = value.owner
    if not isinstance(owner, Block):
        return marks.UNSIGNED in owner.attributes
    kernel = owner.parent_op()
    assert isinstance(value, BlockArgument)
    return isinstance(kernel, KernelOp) and kernel.is_marked(marks.UNSIGNED, value.index)


def mark_unsigned(value: SSAValue, like: SSAValue | None = None) -> None:
    """Mark an allocation as unsigned; with `like`, only if that memref is."""
    if like is None or is_unsigned(like):
        assert not isinstance(value.owner, Block)
        value.owner.attributes[marks.UNSIGNED] = UnitAttr()
