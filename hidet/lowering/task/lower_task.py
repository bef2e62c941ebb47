"""The pass `lower-task`: lowers block-level task ops to per-thread code."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from types import MappingProxyType
from typing import TypeAlias, cast

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import i1, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from hidet.analysis.kernels import kernel_of
from hidet.arch.fragments import ends_in
from hidet.arch.limits import WARP
from hidet.dialects.compute import LoadOp, ReduceKind, StoreOp
from hidet.dialects.cuda import KernelOp, ShflOp, ShuffleKind, Space, mark_unsigned, space_of
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.effects import redirect_accesses
from hidet.dialects.shaped import bytes_of, element_of, is_memref, memref_type, shape_of
from hidet.dialects.task import CombineOp, CopyOp, ForeachOp, GroupOp, MatmulOp
from hidet.dialects.task.group import group_around
from hidet.dialects.task.layout import SharedLayoutAttr, map_of
from hidet.dialects.task.marks import ASYNC
from hidet.dialects.walking import ops_in
from hidet.errors import ScheduleError
from hidet.lowering.single_walk import Pattern, rewrite_once
from hidet.lowering.task.expand import expand_copy
from hidet.lowering.task.groups import insert_barrier, thread_index, workers_of
from hidet.lowering.task.tensor_cores import group_start, lower_mma, lower_wgmma
from hidet.mapping import TaskMap
from hidet.mapping.factors import UNROLLED
from hidet.rewriting.builder import Index, KernelBuilder
from hidet.rewriting.kernel_pass import KernelPass

SEGMENT = 16
"""The bytes of a swizzle segment."""

LINE = 128
"""The bytes of all shared memory banks."""


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
        if not isinstance(access, memref.LoadOp | memref.StoreOp | InstructionOp):
            space = space_of(tile.type).value
            raise ScheduleError(f"{access.name} cannot take a {space} tile after lower-task")
        builder = KernelBuilder.like(access)

        def moved(indices: Sequence[SSAValue], b: KernelBuilder = builder) -> list[SSAValue]:
            return [b.index(index) for index in place(b, indices)]

        redirect_accesses(access, tile, array, moved)


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


MAX_UNROLLED = 64
"""Loops over the tasks of a thread are unrolled up to this many iterations."""

MAX_REGISTERS = 256
"""Loops over the registers of a tile are unrolled up to this many iterations: only elements at
constant indices stay in registers (PTX ISA: a thread has up to 255 of them)."""


Digits: TypeAlias = dict[tuple[int, int], Index]
"""The values of repeat digits of an index, by stride and extent."""


def lower_foreach(digits: dict[SSAValue, Digits], op: ForeachOp, rewriter: PatternRewriter) -> None:
    """`task.foreach` becomes a loop nest over the repeat digits of its map.

    `digits` collects the digits of its indices, which index register tiles of the same map.
    """
    builder = KernelBuilder.like(op)
    tasks = op.tasks
    task = group_start(builder, tasks, op.worker)
    limit = MAX_REGISTERS if _uses_tiles(op) else MAX_UNROLLED
    hints = [hint.data for hint in op.unroll or ()] or [0] * tasks.rank
    unroll = [
        tasks.tasks_per_worker <= limit if hint == 0 else hint == UNROLLED or hint
        for hint in (hints[digit.dim] for digit in tasks.repeat_digits)
    ]
    extents = [digit.extent for digit in tasks.repeat_digits]
    marks = {ASYNC: op.attributes[ASYNC]} if ASYNC in op.attributes else {}
    with builder.loops(extents, unroll=unroll, marks=marks) as counters:
        for digit, counter in zip(tasks.repeat_digits, counters, strict=True):
            task[digit.dim] = builder.add(task[digit.dim], builder.mul(counter, digit.stride))
        indices = [builder.index(index) for index in task]
        for digit, counter in zip(tasks.repeat_digits, counters, strict=True):
            known = digits.setdefault(indices[digit.dim], {})
            known[digit.stride, digit.extent] = counter
        conditions = [
            builder.less(index, bound)
            for index, bound, extent in zip(indices, op.extents, tasks.shape, strict=True)
            if bound < extent
        ]
        with builder.when_all(conditions):
            builder.unwrap(op.body, indices)
    rewriter.erase(op)


def _uses_tiles(op: ForeachOp) -> bool:
    return any(
        is_memref(operand.type) and space_of(operand.type) is Space.REGISTER
        for each in ops_in(op.body)
        for operand in each.operands
    )


def lower_copy(op: CopyOp, rewriter: PatternRewriter) -> None:
    """A `task.copy` between a tile and a buffer becomes a `task.foreach` over its elements."""
    expand_copy(op)


def lower_matmul(op: MatmulOp, rewriter: PatternRewriter) -> None:
    """`task.matmul` becomes mma.sync or wgmma instructions, or scalar FMA with k outermost."""
    if op.instruction is not None:
        lower = lower_wgmma if op.can_be_async else lower_mma
        lower(op, op.instruction)
        rewriter.erase(op)
        return
    builder = KernelBuilder.like(op)
    result = element_of(op.accumulator)
    with builder.loop(op.depth, unroll=True, name="k") as k:
        foreach = builder.insert(ForeachOp(op.accumulator, op.worker))
        with builder.inside(foreach.body.block):
            i, j = foreach.indices
            place = (k, j) if op.rhs_depth == 0 else (j, k)
            operands = [
                _extended(builder, builder.load(op.lhs, [*op.lhs_offsets, i, k]), result),
                _extended(builder, builder.load(op.rhs, [*op.rhs_offsets, *place]), result),
            ]
            product = builder.combine(ReduceKind.MUL, *operands)
            total = builder.combine(ReduceKind.ADD, builder.load(op.accumulator, [i, j]), product)
            builder.store(total, op.accumulator, [i, j])
    rewriter.erase(op)


def _extended(builder: KernelBuilder, value: SSAValue, kind: Attribute) -> SSAValue:
    return value if value.type == kind else builder.insert(arith.ExtFOp(value, kind)).result


def lower_combine(op: CombineOp, rewriter: PatternRewriter) -> None:
    """`task.combine` becomes butterfly shuffles within each warp, then an exchange between warps.

    Lanes that hold the same element differ in the replicate digits of the map. Partial values of
    different warps are exchanged through shared memory: each lane reads a share of them, which
    shuffles combine.
    """
    threads = workers_of(op)
    _check_owners(op, threads)
    builder = KernelBuilder.like(op)
    offsets = [
        digit.weight << bit
        for digit in reversed(map_of(op.tile.type).replicate_digits)
        for bit in range(digit.extent.bit_length() - 1)
    ]
    lanes, warps = ([o for o in offsets if (o < WARP) is is_lane] for is_lane in (True, False))
    for offset in lanes:
        _shuffle(builder, op, offset)
    if warps:
        _exchange(builder, op, lanes, warps, threads)
        for offset in lanes[: len(warps)]:
            _shuffle(builder, op, offset)
    rewriter.erase(op)


def _shuffle(builder: KernelBuilder, op: CombineOp, offset: int) -> None:
    """Combine every element with that of the lane that differs in one bit."""
    foreach = builder.insert(ForeachOp(op.tile, op.worker))
    with builder.inside(foreach.body.block):
        mine = builder.load(op.tile, foreach.indices)
        other = _from_lane(builder, mine, offset)
        total = builder.combine(op.kind.data, mine, other)
        builder.store(total, op.tile, foreach.indices)


def _exchange(
    builder: KernelBuilder, op: CombineOp, lanes: list[int], warps: list[int], threads: int
) -> None:
    """Store the values of each thread, then combine those of a share of its partners' warps.

    Lanes of the same element have different shares. Offsets of lanes and of warps are in threads.
    Each copy of a group has its own shared memory.
    """
    thread = builder.mod(op.worker, threads)
    tasks, group = map_of(op.tile.type), group_around(op)
    copies = 1 if group is None else group.multiplicity
    copy: Sequence[SSAValue] = () if group is None else group.body.block.args[1:]
    extents = [copies] * len(copy) + [digit.extent for digit in tasks.repeat_digits]
    scratch = builder.shared_tile(element_of(op.tile), [*extents, threads])

    def bit(offset: int) -> Index:
        return builder.mod(builder.div(thread, offset), 2)

    first = thread
    for warp in warps:
        first = builder.subtract(first, builder.mul(bit(warp), warp))
    for lane, warp in zip(lanes, warps, strict=False):
        first = builder.add(first, builder.mul(bit(lane), warp))
    partners = [first]
    for warp in warps[len(lanes) :]:
        partners += [builder.add(partner, warp) for partner in partners]
    foreach = builder.insert(ForeachOp(op.tile, op.worker))
    with builder.inside(foreach.body.block):
        value = builder.load(op.tile, foreach.indices)
        place = registers_of(builder, tasks, foreach.indices)
        builder.store(value, scratch, [*copy, *place, thread])
    insert_barrier(builder, op)
    foreach = builder.insert(ForeachOp(op.tile, op.worker))
    with builder.inside(foreach.body.block):
        place = registers_of(builder, tasks, foreach.indices)
        values = [builder.load(scratch, [*copy, *place, partner]) for partner in partners]
        total = reduce(partial(builder.combine, op.kind.data), values)
        builder.store(total, op.tile, foreach.indices)
    if not isinstance(op.parent_op(), KernelOp):  # it may be executed again
        insert_barrier(builder, op)


def _from_lane(builder: KernelBuilder, value: SSAValue, offset: int) -> SSAValue:
    """Return the value of the lane that differs in one bit; i1 and i8 are shuffled as i32."""
    byte = next((kind for kind in (i1, i8) if kind == value.type), None)
    if byte is not None:
        value = builder.insert(arith.ExtUIOp(value, i32)).result
    other = builder.insert(ShflOp(ShuffleKind.XOR, value, builder.scalar(offset, i32))).result
    return other if byte is None else builder.insert(arith.TruncIOp(other, byte)).result


def _check_owners(op: CombineOp, threads: int) -> None:
    """Check that the owners of an element differ in bits of the thread index."""
    tasks = map_of(op.tile.type)
    digits = tasks.replicate_digits
    if any(number & (number - 1) for d in digits for number in (d.weight, d.extent)):
        raise ScheduleError(
            f"task.combine over {tasks}: the count and the stride of the owners of an element must "
            "be powers of two",
            hint="replicate over 2, 4, 8, ... workers, with spatial factors of 2, 4, 8, ... inside",
        )
    if any(d.weight * d.extent > threads for d in digits):
        raise ScheduleError(
            f"task.combine over {tasks}: the owners of an element are in several blocks",
            hint=f"a block has {threads} threads",
        )


def lower_group(op: GroupOp, rewriter: PatternRewriter) -> None:
    """`task.group` becomes a branch on the thread index."""
    kernel = kernel_of(op)
    builder = KernelBuilder.like(op)
    thread = builder.index(thread_index(builder, kernel))
    first, stop = op.threads.start, op.threads.stop
    conditions = [builder.less(thread, stop)] if stop < kernel.threads else []
    if first > 0:
        since = arith.CmpiOp(thread, builder.index(first), "sge")
        conditions.append(builder.insert(since).result)
    arguments = [builder.subtract(thread, first)]
    if op.multiplicity > 1:  # a quotient of the thread is known to be uniform in warps
        copy = builder.subtract(builder.div(thread, op.workers), first // op.workers)
        arguments = [builder.mod(thread, op.workers), copy]
    values = [builder.index(each) for each in arguments]
    if first > 0:
        values[0].name_hint = op.worker.name_hint
    with builder.when_all(conditions):
        builder.unwrap(op.body, values)
    rewriter.erase(op)


def lower_access(op: LoadOp | StoreOp, rewriter: PatternRewriter) -> None:
    """A load or store of a buffer becomes that of `memref`."""
    builder = KernelBuilder.like(op)
    if isinstance(op, LoadOp):
        rewriter.replace(op, [], [builder.load(op.source, op.indices)])
    else:
        builder.store(op.value, op.target, op.indices)
        rewriter.erase(op)


def lower_tile(
    digits: dict[SSAValue, Digits], op: memref.AllocaOp, rewriter: PatternRewriter
) -> None:
    """A tile becomes a plain array.

    That of a register tile is per thread, with one dimension per repeat digit; that of a swizzled
    shared tile consists of panels. `digits` are known digits of indices.
    """
    tile, kind = op.memref, memref_type(op.memref)
    if isinstance(kind.layout, SharedLayoutAttr):
        builder = KernelBuilder.like(op)
        array = builder.shared_tile(kind.element_type, kind.layout.data.memory_shape(kind))
        replace_tile(op, array, lambda builder, indices: swizzled(builder, tile, indices))
        rewriter.erase(op)
    elif space_of(kind) is Space.REGISTER:
        _lower_registers(op, digits)
        rewriter.erase(op)


def _lower_registers(op: memref.AllocaOp, digits: dict[SSAValue, Digits]) -> None:
    tasks = map_of(op.memref.type)
    shape = extents = [digit.extent for digit in tasks.repeat_digits]
    instructions = [u.operation for u in op.memref.uses if isinstance(u.operation, InstructionOp)]
    for each in instructions:
        _check_fragments(each, op.memref)
    if instructions:  # they access adjacent elements
        shape = [tasks.tasks_per_worker]
    array = KernelBuilder.like(op).local_array(element_of(op.memref), shape)
    mark_unsigned(array, like=op.memref)

    def place(builder: KernelBuilder, indices: Sequence[SSAValue]) -> list[Index]:
        registers = registers_of(builder, tasks, indices, digits)
        return [builder.linearize(registers, extents)] if instructions else registers

    replace_tile(op, array, place)


def registers_of(
    builder: KernelBuilder,
    tasks: TaskMap,
    indices: Sequence[SSAValue],
    digits: Mapping[SSAValue, Digits] = MappingProxyType({}),
) -> list[Index]:
    """Return the repeat digits of an element, which number it among those of its owner."""
    registers: list[Index] = []
    for d in tasks.repeat_digits:
        value = digits.get(indices[d.dim], {}).get((d.stride, d.extent))
        if value is None:
            value = builder.div(indices[d.dim], d.stride)
            if d.stride * d.extent < tasks.shape[d.dim]:
                value = builder.mod(value, d.extent)
        registers.append(value)
    return registers


def _check_fragments(op: InstructionOp, tile: SSAValue) -> None:
    """Check that a tile consists of the fragments that an instruction takes."""
    layout = map_of(tile.type)
    for operand, element in zip(op.instruction.operands, op.elements, strict=True):
        if element.memref is tile and not (
            operand.fragment is None or ends_in(layout, operand.fragment)
        ):
            raise ScheduleError(
                f"{op.name}: the tile {layout} does not consist of fragments {operand.fragment}"
            )


class LowerTaskPass(KernelPass):
    """Lower the task dialect to the code of one thread.

    Expects kernels without views (after `inline-compute`), with known task maps and barriers in
    place. Leaves loops over the repeat digits of each map, index arithmetic on the worker for its
    spatial digits, local arrays for register tiles, and shuffles. Indices are not simplified.
    """

    name = "lower-task"

    def run(self, kernel: KernelOp) -> None:
        """Lower one kernel."""
        digits: dict[SSAValue, Digits] = {}
        steps: tuple[dict[type[Operation], Pattern], ...] = (
            {CopyOp: lower_copy, MatmulOp: lower_matmul, CombineOp: lower_combine},
            {
                ForeachOp: partial(lower_foreach, digits),
                GroupOp: lower_group,
                LoadOp: lower_access,
                StoreOp: lower_access,
            },
            {memref.AllocaOp: partial(lower_tile, digits)},
        )
        for patterns in steps:
            rewrite_once(kernel.body, patterns, inner_first=True)
