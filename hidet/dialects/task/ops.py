"""The ops of the `task` dialect: foreach, copy, matmul, combine."""

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IndexType,
    IntAttr,
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from hidet.arch.instructions import MmaInstruction
from hidet.arch.limits import WARP_GROUP
from hidet.arch.products import find_product
from hidet.dialects.compute import ReduceKindAttr, single_block
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.effects import AccessingOp, Effects, FieldAccessOp, read, write
from hidet.dialects.fields import SEGMENTED, FieldsOp
from hidet.dialects.shaped import holds_sums, is_memref, memref_type, shape_of, shaped_type
from hidet.dialects.syntax import int_array, parse_arguments, parse_body, print_body
from hidet.dialects.task.layout import TaskMapAttr, map_of
from hidet.mapping import TaskMap


def _nearness(kind: Attribute) -> int:
    """Return the level of a copy operand: views and global memory, shared memory, registers."""
    space = space_of(memref_type(kind)) if is_memref(kind) else Space.GLOBAL
    return {Space.GLOBAL: 0, Space.SHARED: 1}.get(space, 2)


@irdl_op_definition
class ForeachOp(FieldsOp):
    """`task.foreach (%i, %j) in #map on %w bound [M, N] { ... }`: runs the tasks of a worker.

    Worker `%w` runs the body for each of its tasks, in the order of the map; tasks outside of the
    bound are skipped. `unroll [-1, 4]` gives the unroll factor of the loops along each dimension:
    -1 unrolls fully, 0 leaves it to the lowering. `task.foreach (%i, %j) of %tile on %w : type {
    ... }` takes the map from a register tile: it visits the elements that the worker owns.
    """

    name = "task.foreach"

    worker = operand_def(IndexType)
    tile = opt_operand_def(MemRefType)
    map = opt_prop_def(TaskMapAttr)
    bound = opt_prop_def(ArrayAttr[IntAttr])
    unroll = opt_prop_def(ArrayAttr[IntAttr])
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(
        self,
        over: TaskMap | SSAValue,
        worker: SSAValue | Operation,
        body: Region | None = None,
        bound: Sequence[int] | None = None,
        unroll: Sequence[int] | None = None,
    ) -> None:
        if isinstance(over, SSAValue):
            tile, tasks, rank = over, None, len(shape_of(over))
        else:
            tile, tasks, rank = None, TaskMapAttr(over), over.rank
        super().__init__(
            worker,
            tile,
            tasks,
            None if bound is None else int_array(bound),
            None if unroll is None else int_array(unroll),
            body or single_block([IndexType()] * rank),
        )

    @property
    def tasks(self) -> TaskMap:
        """The task map."""
        if self.tile is not None:
            return map_of(self.tile.type)
        assert self.map is not None
        return self.map.known

    @property
    def indices(self) -> Sequence[SSAValue]:
        """The index arguments, one per dimension of the map."""
        return self.body.block.args

    @property
    def extents(self) -> tuple[int, ...]:
        """The exclusive upper bounds of the indices: the map's shape, limited by the bound."""
        shape = self.tasks.shape
        if self.bound is None:
            return shape
        return tuple(min(e, b.data) for e, b in zip(shape, self.bound, strict=True))

    def verify_(self) -> None:
        """Check that there is one map, and an argument and bound per dimension."""
        if (self.tile is None) == (self.map is None):
            raise VerifyException("task.foreach takes either a map or a tile")
        rank = self.tasks.rank if self.tile is None else len(shape_of(self.tile))
        if len(self.indices) != rank:
            raise VerifyException(
                f"task.foreach has {len(self.indices)} indices but its map has {rank} dimensions"
            )
        for what, numbers in (("bounds", self.bound), ("hints", self.unroll)):
            if numbers is not None and len(numbers) != rank:
                raise VerifyException(f"{len(numbers)} {what} for a map of {rank} dimensions")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse `(%i) in #map on %w bound [N] { }` or `(%i) of %tile on %w : type { }`."""
        arguments = parse_arguments(parser)
        over: TaskMap | SSAValue | UnresolvedOperand
        if parser.parse_optional_keyword("of") is not None:
            over = parser.parse_unresolved_operand()
        else:
            parser.parse_keyword("in")
            start, tasks = parser.pos, parser.parse_attribute()
            if not isinstance(tasks, TaskMapAttr):
                parser.raise_error("a task map (#task.map<...>) expected", start)
            if tasks.data is None:
                parser.raise_error(
                    "the map of a foreach must be known; only tiles can have '?'", start
                )
            over = tasks.data
        parser.parse_keyword("on")
        worker = parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())
        if isinstance(over, UnresolvedOperand):
            parser.parse_punctuation(":")
            start = parser.pos
            kind = parser.parse_type()
            if not is_memref(kind):
                parser.raise_error(f"task.foreach of a register tile, not of {kind}", start)
            over = parser.resolve_operand(over, kind)
        limits = {
            name: parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            for name in ("bound", "unroll")
            if parser.parse_optional_keyword(name) is not None
        }
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(over, worker, parse_body(parser, arguments), **limits)
        op.attributes |= attributes.data if attributes else {}
        return op

    def print(self, printer: Printer) -> None:
        """Print `(%i) in #map on %w bound [N] { }` or `(%i) of %tile on %w : type { }`."""
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.indices, printer.print_ssa_value)
        if self.tile is not None:
            printer.print_string(" of ")
            printer.print_ssa_value(self.tile)
        elif self.map is not None:
            printer.print_string(" in ")
            printer.print_attribute(self.map)
        printer.print_string(" on ")
        printer.print_ssa_value(self.worker)
        if self.tile is not None:
            printer.print_string(" : ")
            printer.print_attribute(self.tile.type)
        for name, numbers in (("bound", self.bound), ("unroll", self.unroll)):
            if numbers is not None:
                text = ", ".join(str(number.data) for number in numbers)
                printer.print_string(f" {name} [{text}]")
        print_body(printer, self.body, self.attributes)


@irdl_op_definition
class CopyOp(AccessingOp):
    """`task.copy %x[%m, %k] to %tile[] in #task.map<..> on %w`: copies a tile from or to memory.

    One side is a tile, in shared memory or registers; the other is a view or a global buffer, or a
    shared tile for a register tile, with one offset per dimension. A shared tile may have a leading
    dimension for the stages of a ring: `%tile[%stage]`. The copied dimensions are the last ones of
    both sides, the others stay at their offset. Elements out of bounds are read as zero and not
    written; `sizes [%m]` gives the extents that are `?`. The map distributes the copy over workers,
    `?` before `map-copies`; a register tile has its own. An `async` copy may be in flight until the
    next `cuda.cp_async_wait`.
    """

    name = "task.copy"

    source = operand_def(TensorType.constr() | MemRefType.constr())
    source_offsets = var_operand_def(IndexType)
    target = operand_def(TensorType.constr() | MemRefType.constr())
    target_offsets = var_operand_def(IndexType)
    worker = operand_def(IndexType)
    map = opt_prop_def(TaskMapAttr)
    sizes = var_operand_def(IndexType)
    is_async = opt_prop_def(UnitAttr, prop_name="async")

    irdl_options = SEGMENTED
    assembly_format = (
        "$source `[` $source_offsets `]` `to` $target `[` $target_offsets `]` "
        "(`sizes` `[` $sizes^ `]`)? (`in` qualified($map)^)? `on` $worker (`async` $async^)? "
        "attr-dict `:` type($source) `to` type($target)"
    )

    @property
    def effects(self) -> Effects:
        """The source is read and the target written; views and sinks may access any memory."""
        source, target = (v if is_memref(v.type) else None for v in (self.source, self.target))
        return read(source), write(target)

    @property
    def tile(self) -> SSAValue:
        """The side that is a tile."""
        source_is_nearer = _nearness(self.source.type) > _nearness(self.target.type)
        return self.source if source_is_nearer else self.target

    @property
    def tasks(self) -> TaskMap:
        """The task map of the tile's elements."""
        return self.map.known if self.map is not None else map_of(self.tile.type)

    @property
    def reads(self) -> bool:
        """Whether the tile is the target."""
        return self.tile is self.target

    @property
    def other(self) -> SSAValue:
        """The side that is not the tile."""
        return self.source if self.reads else self.target

    @property
    def offsets(self) -> Sequence[SSAValue]:
        """The offsets of the other side."""
        return self.source_offsets if self.reads else self.target_offsets

    @property
    def tile_offsets(self) -> Sequence[SSAValue]:
        """The leading offsets of the tile."""
        return self.target_offsets if self.reads else self.source_offsets

    def verify_(self) -> None:
        """Check the sides, the offsets, the element types and the map's shape."""
        source, target = shaped_type(self.source), shaped_type(self.target)
        if _nearness(source) == _nearness(target):
            raise VerifyException(f"one of {source} and {target} must be a shared or register tile")
        tile, other = memref_type(self.tile), shaped_type(self.other)
        lead = len(self.tile_offsets)
        has_stages = space_of(tile) is Space.SHARED and tile.get_num_dims() > 1
        if len(self.offsets) != other.get_num_dims() or lead > has_stages:
            raise VerifyException(
                f"{other} takes {other.get_num_dims()} offsets and the tile takes none, or that of "
                f"its stage; found {len(self.offsets)} and {lead}"
            )
        if tile.get_num_dims() - lead > other.get_num_dims():
            raise VerifyException(f"the tile {tile} has more dimensions than {other}")
        if source.get_element_type() != target.get_element_type():
            raise VerifyException(f"cannot copy elements of {source} to {target}")
        unknown = other.get_shape().count(DYNAMIC_INDEX)
        if len(self.sizes) != unknown:
            raise VerifyException(f"{len(self.sizes)} sizes for {other}, which has {unknown} '?'")
        self._verify_map(tile)

    def _verify_map(self, tile: MemRefType[Attribute]) -> None:
        if isinstance(tile.layout, TaskMapAttr):
            if self.map is not None:
                raise VerifyException(f"the tile {tile} has a map of its own, 'in' gives another")
        elif self.map is None:
            raise VerifyException(
                f"the tile {tile} has no map of its own: 'in #task.map' is missing"
            )
        elif self.map.data is not None and (
            self.map.known.shape != tile.get_shape()[len(self.tile_offsets) :]
        ):
            raise VerifyException(f"the map's shape is {self.map.known.shape}, the tile is {tile}")


@irdl_op_definition
class MatmulOp(FieldAccessOp):
    """`task.matmul %a, %b to %c on %w`: `c[i, j] += sum over k of a[i, k] * b[k, j]`.

    `%a` (M x K) and `%b` (K x N) are shared tiles, `%c` (M x N) is a register tile, whose map
    distributes the work. `%a[%stage]` is a stage of a ring. `%b transposed` is an N x K tile. `%a`
    may be a register tile, of fragments, and so may `%b` with FMA. FMA sums K in ascending order;
    `via "m16n8k16_f16_f32"` selects a tensor core instruction
    (`hidet.arch.products.find_product`), with unspecified order. An `async` matmul (`wgmma`) is
    only issued: its tiles and `%c` must not be accessed until a `cuda.wgmma_wait` for its group.
    With `overwrite` (`wgmma`) it overwrites `%c`.
    """

    name = "task.matmul"
    READS: ClassVar = ("lhs", "rhs", "accumulator")
    WRITES: ClassVar = ("accumulator",)

    lhs = operand_def(MemRefType)
    lhs_offsets = var_operand_def(IndexType)
    rhs = operand_def(MemRefType)
    rhs_offsets = var_operand_def(IndexType)
    accumulator = operand_def(MemRefType)
    worker = operand_def(IndexType)
    via = opt_prop_def(StringAttr)
    transposed = opt_prop_def(UnitAttr)
    is_async = opt_prop_def(UnitAttr, prop_name="async")
    overwrites = opt_prop_def(UnitAttr, prop_name="overwrite")

    irdl_options = SEGMENTED
    assembly_format = (
        "$lhs (`[` $lhs_offsets^ `]`)? `,` $rhs (`[` $rhs_offsets^ `]`)? "
        "(`transposed` $transposed^)? `to` $accumulator `on` $worker (`via` $via^)? "
        "(`async` $async^)? (`overwrite` $overwrite^)? attr-dict "
        "`:` type($lhs) `,` type($rhs) `to` type($accumulator)"
    )

    @property
    def instruction(self) -> MmaInstruction | None:
        """The tensor core instruction, None for FMA."""
        return None if self.via is None else find_product(self.via.data)

    @property
    def can_be_async(self) -> bool:
        """Whether the instruction is asynchronous: `wgmma`."""
        instruction = self.instruction
        return instruction is not None and instruction.group == WARP_GROUP

    @property
    def depth(self) -> int:
        """The extent of K."""
        return memref_type(self.lhs).get_shape()[-1]

    @property
    def rhs_depth(self) -> int:
        """The dimension of `%b` that is K."""
        return 0 if self.transposed is None else 1

    def verify_(self) -> None:
        """Check the spaces, shapes and element types of the three tiles."""
        if self.via is not None and self.instruction is None:
            raise VerifyException(f"there is no instruction {self.via.data!r} of tensor cores")
        if self.is_async is not None and not self.can_be_async:
            raise VerifyException("only wgmma is asynchronous")
        if self.overwrites is not None and not self.can_be_async:
            raise VerifyException("only wgmma overwrites its accumulator")
        lhs, rhs, result = map(memref_type, (self.lhs, self.rhs, self.accumulator))
        leads = len(self.lhs_offsets), len(self.rhs_offsets), 0
        operand = (Space.SHARED, Space.REGISTER)
        tiles = operand, operand if self.via is None else operand[:1], operand[1:]
        for tile, spaces, lead in zip((lhs, rhs, result), tiles, leads, strict=True):
            if space_of(tile) not in spaces:
                wanted = " or ".join(map(str, spaces))
                raise VerifyException(f"task.matmul wants {tile} in space {wanted}")
            if tile.get_num_dims() != 2 + lead:
                raise VerifyException(
                    f"task.matmul takes tiles of two dimensions and their stages, not {tile}"
                )
        if lhs.element_type != rhs.element_type:
            raise VerifyException(f"cannot multiply elements of {lhs} and {rhs}")
        if not holds_sums(result.element_type, lhs.element_type):
            raise VerifyException(f"products of elements of {lhs} do not fit {result}")
        (m, k), sizes = lhs.get_shape()[-2:], rhs.get_shape()[-2:]
        k2, n = sizes if self.transposed is None else sizes[::-1]
        if k != k2 or result.get_shape() != (m, n):
            raise VerifyException(f"{m}x{k} times {k2}x{n} cannot be added to {result}")


@irdl_op_definition
class CombineOp(FieldAccessOp):
    """`task.combine add %tile on %w`: an all-reduce of each element over its owners.

    The tile's map replicates elements over adjacent workers; every owner has a partial value
    before, and the reduction of all of them after the op.
    """

    name = "task.combine"
    READS: ClassVar = ("tile",)
    WRITES: ClassVar = ("tile",)

    kind = prop_def(ReduceKindAttr)
    tile = operand_def(MemRefType)
    worker = operand_def(IndexType)

    assembly_format = "$kind $tile `on` $worker attr-dict `:` type($tile)"

    def verify_(self) -> None:
        """Check that the tile has a map, or `?`."""
        if memref_type(self.tile).layout != TaskMapAttr(None):
            map_of(self.tile.type)
