"""Lowering of shared tiles with a layout to arrays, with swizzled indices."""

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects import memref
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.dialects.cuda.attributes import space_of
from hidet.dialects.cuda.table_ops import Element, InstructionOp
from hidet.dialects.shaped import bytes_of, element_of, memref_type, shape_of
from hidet.dialects.task.layout import SharedLayoutAttr
from hidet.errors import ScheduleError
from hidet.rewriting.builder import Index, KernelBuilder

SEGMENT = 16
"""The bytes of a swizzle segment."""

LINE = 128
"""The bytes of all shared memory banks."""


class LowerSharedTile(RewritePattern):
    """A shared tile with a layout becomes a plain array, in panels if it is swizzled."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.AllocaOp, rewriter: PatternRewriter) -> None:
        tile, kind = op.memref, memref_type(op.memref)
        if not isinstance(kind.layout, SharedLayoutAttr):
            return
        builder = KernelBuilder(InsertPoint.before(op))
        array = builder.shared_tile(kind.element_type, kind.layout.data.memory_shape(kind))
        replace_tile(op, array, lambda builder, indices: swizzled(builder, tile, indices))
        rewriter.erase(op)


def replace_tile(
    op: memref.AllocaOp,
    array: SSAValue,
    place: Callable[[KernelBuilder, Sequence[SSAValue]], Sequence[Index]],
) -> None:
    """Replace a tile by an array in all accesses.

    `place` returns the array indices of a tile element.
    """
    tile = op.memref
    array.name_hint = tile.name_hint
    if op.alignment is not None and isinstance(array.owner, memref.AllocaOp):
        array.owner.alignment = op.alignment
    for access in list(dict.fromkeys(use.operation for use in tile.uses)):
        builder = KernelBuilder.like(access)
        match access:
            case memref.LoadOp():
                loaded = builder.load(array, place(builder, access.indices))
                access.res.replace_all_uses_with(loaded)
                Rewriter.erase_op(access)
            case memref.StoreOp():
                builder.store(access.value, array, place(builder, access.indices))
                Rewriter.erase_op(access)
            case InstructionOp():
                name = access.field_of(tile)
                indices = map(builder.index, place(builder, access.element(name).indices))
                access.move(name, Element(array, list(indices)))
            case _:
                space = space_of(tile.type).value
                raise ScheduleError(f"{access.name} cannot take a {space} tile after lower-task")


def swizzled(builder: KernelBuilder, tile: SSAValue, indices: Sequence[SSAValue]) -> list[Index]:
    """Return the array indices of an element of a shared tile with a layout.

    Of the n rows that start at the same bank, row r has its segments permuted by XOR with r % n, so
    that no two rows have the same segment in the same bank.
    """
    layout = cast("SharedLayoutAttr", memref_type(tile).layout).data
    *lead, row, column = indices
    pitch, run = (row, column) if layout.contiguous else (column, row)
    if not layout.swizzle:
        return [*lead, pitch, run]
    span, size = layout.span(element_of(tile)), SEGMENT // bytes_of(element_of(tile))
    panel, inner = builder.div(run, span), builder.mod(run, span)
    segment, rest = builder.div(inner, size), builder.mod(inner, size)
    turn = builder.mod(builder.div(pitch, LINE // layout.swizzle), layout.swizzle // SEGMENT)
    moved = builder.add(builder.mul(builder.xor(segment, turn), size), rest)
    panels = [panel] if shape_of(tile)[layout.contiguous - 2] > span else []
    return [*lead, *panels, pitch, moved]
