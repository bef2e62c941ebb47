"""The pass `write-in-place`: turns functional updates of arguments into in-place scatters."""

from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Self

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from hidet.dialects import graph
from hidet.dialects.graph.base import shape_of
from hidet.dialects.host_functions import updates_of
from hidet.lowering.graph.graph_builder import GraphBuilder


@dataclass(frozen=True)
class Range:
    """A range of a tensor along one axis."""

    whole: SSAValue
    axis: int
    start: int
    size: int

    @classmethod
    def of_slice(cls, op: graph.SliceOp, axis: int) -> Self | None:
        """Return the range of a slice, None if it is not one along this axis."""
        sizes, found = shape_of(op.x), shape_of(op.result)
        others = [dim for dim in range(len(sizes)) if dim != axis]
        starts = op.starts.get_values()
        is_range = set(op.steps.get_values()) == {1} and all(
            starts[dim] == 0 and found[dim] == sizes[dim] for dim in others
        )
        return cls(op.x, axis, starts[axis], found[axis]) if is_range else None

    @property
    def leading(self) -> int:
        """The number of elements of the dimensions before the axis."""
        return prod(shape_of(self.whole)[: self.axis])

    @property
    def width(self) -> int:
        """The number of elements of the dimensions after the axis."""
        return prod(shape_of(self.whole)[self.axis + 1 :])


def replacement(op: graph.ConcatOp) -> tuple[Range, SSAValue] | None:
    """Return the range that a concatenation replaces in a tensor, and the new content.

    All other parts are slices of that tensor at their original positions.
    """
    axis = op.axis.value.data
    sizes = [shape_of(part)[axis] for part in op.parts]
    starts = list(accumulate(sizes, initial=0))
    wholes: set[SSAValue] = set()
    replaced: list[int] = []
    for number, part in enumerate(op.parts):
        found = Range.of_slice(part.owner, axis) if isinstance(part.owner, graph.SliceOp) else None
        if found is None or found.start != starts[number] or found.whole.type != op.result.type:
            replaced.append(number)
        else:
            wholes.add(found.whole)
    if len(replaced) != 1 or len(wholes) != 1 or 0 in shape_of(op.result):
        return None
    (number,), (whole,) = replaced, wholes
    return Range(whole, axis, starts[number], sizes[number]), op.parts[number]


def as_write(op: graph.ConcatOp) -> graph.ScatterOp | None:
    """Rewrite the replacement of a range as a scatter, None if it does not match.

    If the new content is itself an update of a part of the range, it becomes an update of the
    tensor, and the range of the result is read instead.
    """
    found = replacement(op)
    if found is None:
        return None
    inner = behind_reshapes(found[1])
    if isinstance(inner.owner, graph.ConcatOp) and as_write(inner.owner):
        return as_write(op)  # with another part in the place of the inner concatenation
    place, source = found
    if isinstance(inner.owner, graph.ScatterOp) and _writes_to(inner.owner, place):
        return _write_through(inner.owner, place, op)
    b = GraphBuilder.like(op)
    shape = [place.leading, place.size]
    stride = shape_of(place.whole)[place.axis]
    ranges = [
        graph.IotaOp(TensorType(i64, shape), dim=0, start=place.start, step=stride),
        graph.IotaOp(TensorType(i64, shape), dim=1),
    ]
    positions = b.emit(graph.AddOp(*map(b.emit, ranges)))
    count = prod(shape)
    positions, rows = b.reshape(positions, [count]), b.reshape(source, [count, place.width])
    write = b.insert(graph.ScatterOp(place.whole, positions, rows))
    _replace(op, write.result)
    return write


def behind_reshapes(value: SSAValue) -> SSAValue:
    """Return the source of a chain of reshapes."""
    while isinstance(value.owner, graph.ReshapeOp):
        value = value.owner.x
    return value


def _writes_to(inner: graph.ScatterOp, place: Range) -> bool:
    """Return whether a scatter writes rows of a range that are rows of the whole tensor."""
    part = behind_reshapes(inner.x).owner
    return (
        isinstance(part, graph.SliceOp)
        and Range.of_slice(part, place.axis) == place
        and place.width % shape_of(inner.source)[1] == 0
    )


def _write_through(inner: graph.ScatterOp, place: Range, outer: graph.ConcatOp) -> graph.ScatterOp:
    """Make a scatter to a range of a tensor one to the tensor."""
    b = GraphBuilder.like(inner)
    rows = place.width // shape_of(inner.source)[1]  # rows per position along the axis
    block, stride = place.size * rows, shape_of(place.whole)[place.axis] * rows
    ids = b.cast(inner.ids, i64)
    if place.leading > 1:
        size = b.scalar(block, i64)
        number = b.emit(graph.FloorDivideOp(ids, size))
        beyond = b.emit(graph.MulOp(number, b.scalar(stride - block, i64)))
        ids = b.emit(graph.AddOp(ids, beyond))
    ids = b.emit(graph.AddOp(ids, b.scalar(place.start * rows, i64)))
    accumulates = bool(inner.accumulate)
    write = b.insert(graph.ScatterOp(place.whole, ids, inner.source, accumulate=accumulates))
    part = b.narrow(write.result, place.axis, place.start, place.start + place.size)
    _replace(inner, b.reshape(part, shape_of(inner.result)))
    _replace(outer, write.result)
    return write


def _replace(op: graph.GraphOp, value: SSAValue) -> None:
    """Replace the result of an op, and erase ops that become unused."""
    value.name_hint = value.name_hint or op.result.name_hint
    op.result.replace_all_uses_with(value)
    pending: list[graph.GraphOp] = [op]
    while pending:
        unused = pending.pop()
        if unused.parent is not None and unused.result.first_use is None:
            operands = [v.owner for v in unused.operands if isinstance(v.owner, graph.GraphOp)]
            Rewriter.erase_op(unused)
            pending += operands


class WriteInPlacePass(ModulePass):
    """Turn functional updates of arguments into in-place scatters.

    Expects functions whose `updates` name the arguments that their last results update. If such a
    result is the argument with ranges replaced, by concatenation with slices of the argument, the
    replacements become `graph.scatter`s, nested ranges included. `lower-graph-to-compute` turns
    these into kernels that update the argument in place, unless it has other readers.
    """

    name = "write-in-place"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the updates of every function of a module."""
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                for _, number in updates_of(function):
                    _write_updates(function, number)


def _write_updates(function: FuncOp, number: int) -> None:
    """Rewrite the replacements that lead to a result, last one first."""
    terminator = function.body.block.last_op
    assert terminator is not None
    value = terminator.operands[number]
    while True:
        owner = value.owner
        write = as_write(owner) if isinstance(owner, graph.ConcatOp) else owner
        if not isinstance(write, graph.ScatterOp):
            return
        value = write.x
