"""Block-level verbs of a script: collective copy, matmul and combine of tiles.

A tile is a shared tensor, or a register tensor whose layout distributes it over threads. A verb
becomes one operation of the `task` dialect, which all threads of the block or group execute.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import SSAValue

from hidet.analysis.memory import memory_space
from hidet.arch.limits import MAX_THREADS_PER_BLOCK
from hidet.dialects.compute import GridOp, ReduceKind, SinkOp, YieldOp
from hidet.dialects.cuda.attributes import Space
from hidet.dialects.task import CombineOp, CopyOp, ForeachOp, MatmulOp, TaskMapAttr
from hidet.dialects.task.group import WARP
from hidet.dialects.task.layout import known_map_of
from hidet.errors import ScriptError
from hidet.frontends.script.iterables import Group, Tasks
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Index, Scalar, convert, index_of, is_integer, scalar_of
from hidet.frontends.script.tensors import Tensor, address_of, check_rank, load_at, store_at
from hidet.frontends.script.tracing import current, insert
from hidet.frontends.script.types import F32, I32, INDEX, ScalarType
from hidet.frontends.script.variables import make_variable

_PLACES = ("in global memory", "in shared memory", "in registers")
"""The memory spaces, from far to near."""


@dataclass(frozen=True)
class Window:
    """A window of a tensor, as large as the tile that is copied."""

    tensor: Tensor
    offsets: tuple[Index, ...]

    def __repr__(self) -> str:
        return f"window of {describe(self.tensor)}"


def window(tensor: object, *offsets: object) -> Window:
    """Return a window of a tensor for a copy, as large as the tile on the other side.

    There is one offset for each dimension; the tile spans the last ones. Out of bounds of the
    tensor, zeros are read and nothing is written.

    Raises:
        ScriptError: it is no tensor, or the offsets do not match it.
    """
    if not isinstance(tensor, Tensor):
        raise ScriptError(f"a window is one of a tensor, not of {describe(tensor)}")
    check_rank(tensor, offsets)
    return Window(tensor, offsets)  # pyright: ignore[reportArgumentType]


def copy(source: object, target: object, on: object) -> None:
    """Copy a tile between global memory, shared memory and registers.

    Args:
        source: a tensor, or a window of one.
        target: another one. The side nearer to the threads is the tile, which is copied as a whole;
            the other side is a window, or a tensor at offset 0.
        on: the mapping of elements to threads. Of a shared tile a mapping with its worker,
            `auto_map(64, 8, workers=256).on(threadIdx.x)`, or the worker alone, and the pass
            `map-copies` chooses the mapping; of a register tile, which has a layout, the worker.

    Raises:
        ScriptError: the sides, or tile and mapping, do not match.
    """
    read, written = _side(source), _side(target)
    near = [_nearness("copy", side.tensor) for side in (read, written)]
    if near[0] == near[1]:
        raise ScriptError(
            f"copy from {describe(read.tensor)} to {describe(written.tensor)}, which are both "
            f"{_PLACES[near[0]]}",
            hint="copy between global memory, shared memory and registers",
        )
    reads = near[1] > near[0]
    tile, other = (written, read) if reads else (read, written)
    if tile is (target if reads else source):
        raise ScriptError(
            f"the tile {describe(tile.tensor)} is copied as a whole, but a window of it is given",
            hint="take the window of the other side",
        )
    if len(tile.tensor.shape) > len(other.tensor.shape):
        raise ScriptError(
            f"the tile {describe(tile.tensor)} has more dimensions than {describe(other.tensor)}"
        )
    if tile.tensor.element != other.tensor.element:
        raise ScriptError(
            f"a copy between {tile.tensor.element} and {other.tensor.element}",
            hint="a copy does not convert: loop over the tasks of a mapping",
        )
    tasks, worker = _workers("copy", tile.tensor, on)
    memory, sizes = _memory(other.tensor, reads=reads)
    offsets = [index_of(offset) for offset in other.offsets]
    if reads:
        op = CopyOp(memory, offsets, tile.tensor.memory, [], worker, tasks, sizes)
    else:
        op = CopyOp(tile.tensor.memory, [], memory, offsets, worker, tasks, sizes)
    insert(op)


def matmul(
    lhs: object, rhs: object, accumulator: object, on: object, *, transposed: bool = False
) -> None:
    """Accumulate the matmul of two tiles in a register tile.

    Args:
        lhs: a shared tile [m, k]; or a register tile of tensor core fragments, such as the
            accumulator of an earlier matmul.
        rhs: a shared tile [k, n] of the same type.
        accumulator: a register tile [m, n] of this type or a wider float.
        on: the worker.
        transposed: whether rhs is a tile [n, k].

    Raises:
        ScriptError: a tile is in the wrong memory, or shapes or types do not match.
    """
    tiles: list[Tensor] = []
    for name, tile, *places in (
        ("lhs", lhs, 1, 2),
        ("rhs", rhs, 1),
        ("accumulator", accumulator, 2),
    ):
        if not isinstance(tile, Tensor) or _nearness("matmul", tile) not in places:
            raise ScriptError(
                f"'{name}' of matmul is a tile {_PLACES[places[0]]}, not {describe(tile)}",
                hint="the operands are shared tiles, the accumulator is a register tile",
            )
        tiles.append(tile)
    a, b, c = tiles
    shapes = [tile.shape for tile in tiles]
    if transposed:
        shapes[1] = shapes[1][::-1]
    if [len(shape) for shape in shapes] != [2, 2, 2] or shapes != [
        (m := c.shape[0], k := a.shape[1]),
        (k, n := c.shape[1]),
        (m, n),
    ]:
        raise ScriptError(
            f"the shapes of {', '.join(map(describe, tiles))} do not match",
            hint="lhs is [m, k], rhs [k, n], transposed [n, k], the accumulator [m, n]",
        )
    is_longer = a.element.is_float and c.element.is_float and a.element.bits < c.element.bits
    if a.element != b.element or not (a.element == c.element or is_longer):
        raise ScriptError(
            f"matmul of {a.element} and {b.element} cannot accumulate in {c.element}",
            hint="the operands have one type, and the accumulator that or a wider float",
        )
    _, worker = _workers("matmul", c, on)
    insert(MatmulOp(a.memory, (), b.memory, (), c.memory, worker, transposed=transposed))


def combine(value: object, kind: str, on: object) -> Scalar | None:
    """All-reduce the copies of an element that several workers hold.

    `combine(tile, "add", threadIdx.x)` works in place on a register tile whose layout replicates
    elements; `combine(x, "max", (spatial(8) * replicate(32)).on(threadIdx.x))` reduces a scalar
    over the workers that the mapping assigns the same task, and returns the result. The kinds are
    `add`, `mul`, `max` and `min`.

    Raises:
        ScriptError: the value, the kind or the layout is not supported.
    """
    if kind not in list(ReduceKind):
        raise ScriptError(
            f"unknown reduction {kind!r}", hint=f"the reductions are {', '.join(ReduceKind)}"
        )
    if isinstance(value, Tensor):
        if _nearness("combine", value) != 2:
            raise ScriptError(
                f"combine takes a scalar or a register tile, not {describe(value)}",
                hint="memory needs no combining",
            )
        _check_type(value.element)
        _, worker = _workers("combine", value, on)
        _combine_tile(value.memory, ReduceKind(kind), worker)
        return None
    scalar = scalar_of(value)
    is_short = scalar.type.is_float and scalar.type.bits < 32
    wide = convert(scalar, F32) if is_short else scalar
    wide = convert(wide, I32) if wide.type is INDEX else wide
    _check_type(wide.type)
    if not isinstance(on, Tasks) or on.map.tasks_per_worker != 1:
        raise ScriptError(
            "the workers whose scalars are combined are not given",
            hint='combine(x, "add", (spatial(8) * replicate(32)).on(threadIdx.x)), with one task '
            "per worker",
        )
    return convert(_combine_scalar(wide, ReduceKind(kind), on), scalar.type)


def group(first: object, count: object) -> Group:
    """Return a group of consecutive warps that execute the body of a loop alone.

    In `for worker in group(first=0, count=128):` the threads `first` to `first + count - 1`, both
    multiples of 32, execute the body once, with their index in the group; the others skip it. Verbs
    in the body are collective over the group.

    Raises:
        ScriptError: it is no group of whole warps of the block.
    """
    block = current("group").shape.block_dim
    limit = MAX_THREADS_PER_BLOCK
    if block is not None and all(isinstance(extent, int) for extent in block):
        limit = prod(cast("tuple[int, ...]", block))
    if (
        not isinstance(first, int)
        or not isinstance(count, int)
        or first % WARP
        or count % WARP
        or not 0 <= first < first + count <= limit
    ):
        raise ScriptError(
            f"there is no group of {count!r} threads, from {first!r} on, in a block of {limit}",
            hint="both are compile-time multiples of 32",
        )
    return Group(first, count)


def _combine_scalar(value: Scalar, kind: ReduceKind, on: Tasks) -> Scalar:
    """Combine scalars through a register tile with one element per worker."""
    tile = current().register_tile(value.type.ir, on.map)
    result = make_variable("combined", None, value.type)
    worker = convert(on.worker, INDEX).ssa
    foreach = insert(ForeachOp(tile, worker))
    with current().inside(foreach.body.block):
        current().store(value.ssa, tile, foreach.indices)
    _combine_tile(tile, kind, worker)
    foreach = insert(ForeachOp(tile, worker))
    with current().inside(foreach.body.block):
        current().store(current().load(tile, foreach.indices), result.memory)
    return result.read()


def _combine_tile(tile: SSAValue, kind: ReduceKind, worker: SSAValue) -> None:
    tasks = known_map_of(tile)
    digits = () if tasks is None else tasks.replicate_digits
    if any(number & (number - 1) for digit in digits for number in (digit.weight, digit.extent)):
        raise ScriptError(
            f"the workers that share an element of {tasks} cannot be combined: their "
            "number or their stride is no power of two",
            hint="replicate over 2, 4, 8, ... workers, with spatial factors of 2, 4, 8, ... inside",
        )
    insert(CombineOp(kind, tile, worker))


def _check_type(kind: ScalarType) -> None:
    if kind.kind == "unsigned":
        raise ScriptError(
            f"combine of {kind} is not supported", hint="convert to i32, i64, f32 or f64"
        )


def _side(value: object) -> Window:
    """Return a side of a copy as a window; a tensor is a window at offset 0."""
    if isinstance(value, Window):
        return value
    if not isinstance(value, Tensor):
        raise ScriptError(
            f"copy takes tensors and windows of them, not {describe(value)}",
            hint="a tile, or window(x, i, j)",
        )
    if value.part is not None:
        raise ScriptError(
            f"copy takes no slices, such as this part of {describe(value.part.tensor)}",
            hint="window(x, i, j), which is as large as the tile",
        )
    return Window(value, (0,) * len(value.shape))


def _nearness(verb: str, tensor: Tensor) -> int:
    """Return the index in `_PLACES` of a tensor's memory; reject tensors that verbs do not take."""
    space = memory_space(tensor.memory) or Space.GLOBAL  # that of a view
    if space is Space.LOCAL:
        raise ScriptError(
            f"{describe(tensor)} belongs to one thread, but {verb} is collective",
            hint="give it a layout that distributes it: local_layout(..) * row_major(..)",
        )
    if space is Space.SHARED and (tensor.layout or tensor.swizzle or tensor.base):
        raise ScriptError(
            f"{describe(tensor)} is not row-major in memory of its own, as {verb} requires",
            hint="leave the layout out, or loop over the tasks of a mapping",
        )
    return {Space.GLOBAL: 0, Space.SHARED: 1}.get(space, 2)


def _workers(verb: str, tile: Tensor, on: object) -> tuple[TaskMapAttr | None, SSAValue]:
    """Return the mapping of a tile without a layout, `?` by default, and the worker."""
    has_layout = memory_space(tile.memory) is Space.REGISTER
    if not isinstance(on, Tasks):
        if not is_integer(on):
            raise ScriptError(
                f"the worker of {verb} is an integer, not {describe(on)}",
                hint="such as threadIdx.x, or a mapping with it: mapping.on(threadIdx.x)",
            )
        return None if has_layout else TaskMapAttr(None), index_of(on)
    if has_layout:
        raise ScriptError(
            f"{describe(tile)} has a layout, and a mapping is given as well",
            hint=f"give {verb} the worker alone: threadIdx.x",
        )
    if on.map.shape != tile.shape:
        raise ScriptError(
            f"the mapping {on.map} is for a tile of shape {list(on.map.shape)}, "
            f"not for {describe(tile)}",
            hint=f"auto_map({', '.join(map(str, tile.shape))}, workers={on.map.workers})",
        )
    return TaskMapAttr(on.map), convert(on.worker, INDEX).ssa


def _memory(tensor: Tensor, *, reads: bool) -> tuple[SSAValue, Sequence[SSAValue]]:
    """Return the far side of a copy, behind a pointer or a part as a view, and run-time sizes."""
    if tensor.start is None and not tensor.base:
        return tensor.memory, ()
    shape = [extent if isinstance(extent, int) else DYNAMIC_INDEX for extent in tensor.shape]
    kind = TensorType(tensor.element.ir, shape)
    view = GridOp(kind) if reads else SinkOp(kind)
    insert(view)
    view.result.name_hint = tensor.memory.name_hint
    with current().inside(view.body.block):
        indices = [Scalar(index, INDEX) for index in view.indices]
        element = address_of(tensor, indices)
        if isinstance(view, GridOp):
            insert(YieldOp(load_at(element).ssa))
        else:
            store_at(Scalar(view.value, tensor.element), element)
    sizes = [index_of(extent) for extent in tensor.shape if not isinstance(extent, int)]
    return view.result, sizes
