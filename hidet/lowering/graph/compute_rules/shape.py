"""Rules of operators that move elements: views, joins, padding, lookups and scatters."""

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.compute import STORED, GridOp
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.graph.base import GraphOp, element_type, python_number, shape_of
from hidet.lowering.graph.compute_rules.grid_builder import (
    GridBuilder,
    Indices,
    broadcast_indices,
    window_element,
)
from hidet.lowering.single_walk import Rule
from hidet.lowering.templates.scatter import scatter_kernel
from hidet.rewriting.builder import Index

IndicesOf = Callable[[Indices], Sequence[Index]]
"""Maps the indices of a result element to those of the source element."""


def moved(b: GridBuilder, op: GraphOp, x: SSAValue, source_of: IndicesOf) -> SSAValue:
    """Build a grid of unchanged elements of x."""
    return b.result_of(op, lambda indices: b.element(x, source_of(indices)))


# ----------------------------------------------------------------------------- views


def reshape(b: GridBuilder, op: graph.ReshapeOp) -> SSAValue:
    """The same linear index, computed separately for parts of the shapes that agree."""
    source, target = shape_of(op.x), op.result_type.get_shape()

    def source_of(indices: Indices) -> list[Index]:
        found: list[Index] = [0] * len(source)
        for source_dims, target_dims in reshape_parts(source, target):
            number = b.join(
                [indices[dim] for dim in target_dims], [target[dim] for dim in target_dims]
            )
            parts = b.split(number, [source[dim] for dim in source_dims])
            for dim, part in zip(source_dims, parts, strict=True):
                found[dim] = part
        return found

    return moved(b, op, op.x, source_of)


def reshape_parts(
    source: Sequence[int], target: Sequence[int]
) -> list[tuple[list[int], list[int]]]:
    """Split two shapes of equal size into the smallest parts that agree.

    Return the dimensions of both shapes for each part, without dimensions of size 1: [2, 3, 4] and
    [6, 1, 2, 2] give ([0, 1], [0]) and ([2], [2, 3]).
    """
    left = [dim for dim, size in enumerate(source) if size != 1]
    right = [dim for dim, size in enumerate(target) if size != 1]
    parts: list[tuple[list[int], list[int]]] = []
    while left:
        of_source, of_target = [left.pop(0)], [right.pop(0)]
        while (have := prod(source[d] for d in of_source)) != (
            want := prod(target[d] for d in of_target)
        ):
            if have < want:
                of_source.append(left.pop(0))
            else:
                of_target.append(right.pop(0))
        parts.append((of_source, of_target))
    return parts


def permute(b: GridBuilder, op: graph.ReorderingOp) -> SSAValue:
    """Index i of the result is index dims[i] of x."""
    dims = op.dims.get_values()
    order = sorted(range(len(dims)), key=lambda i: dims[i])
    return moved(b, op, op.x, lambda indices: [indices[i] for i in order])


def pack(b: GridBuilder, op: graph.PackOp) -> SSAValue:
    """A permutation that is stored."""
    result = permute(b, op)
    assert isinstance(result.owner, GridOp)
    result.owner.attributes[STORED] = UnitAttr()
    return result


def expand(b: GridBuilder, op: graph.ExpandOp) -> SSAValue:
    """Leading indices are dropped, and dimensions of size 1 are read at 0."""
    return moved(b, op, op.x, lambda indices: broadcast_indices(indices, shape_of(op.x)))


def slice_(b: GridBuilder, op: graph.SliceOp) -> SSAValue:
    """Start + step * index in each dimension."""
    ranges = list(zip(op.starts.get_values(), op.steps.get_values(), strict=True))

    def source_of(indices: Indices) -> list[Index]:
        return [
            b.add(b.mul(index, step), start)
            for index, (start, step) in zip(indices, ranges, strict=True)
        ]

    return moved(b, op, op.x, source_of)


def as_strided(b: GridBuilder, op: graph.AsStridedOp) -> SSAValue:
    """Offset + the sum of indices times strides."""
    strides = op.strides.get_values()

    def source_of(indices: Indices) -> list[Index]:
        place: Index = 0
        for index, stride in zip(indices, strides, strict=True):
            place = b.add(place, b.mul(index, stride))
        return [b.add(place, op.offset.value.data)]

    return moved(b, op, op.x, source_of)


# ----------------------------------------------------------------------------- joins and padding


def concat(b: GridBuilder, op: graph.ConcatOp) -> SSAValue:
    """A chain of branches on the index along the axis."""
    axis = op.axis.value.data
    parts = [part for part in op.parts if shape_of(part)[axis] > 0]

    def load(remaining: Sequence[SSAValue], begin: int, indices: Indices) -> SSAValue:
        part, *others = remaining
        end = begin + shape_of(part)[axis]

        def from_part() -> SSAValue:
            place: list[Index] = list(indices)
            place[axis] = b.subtract(place[axis], begin)
            return b.element(part, place)

        if not others:
            return from_part()
        inside = b.less(indices[axis], end)
        return b.choose_if_all([inside], from_part, lambda: load(others, end, indices))

    return b.result_of(op, lambda indices: load(parts, 0, indices))


def pad(b: GridBuilder, op: graph.PadOp) -> SSAValue:
    """The element of x if in bounds, else the value."""
    sizes, found = shape_of(op.x), op.result_type
    low = op.low.get_values()

    def scalar_at(indices: Indices) -> SSAValue:
        inside: list[SSAValue] = []
        for index, first, size, total in zip(indices, low, sizes, found.get_shape(), strict=True):
            inside += b.in_range(index, first, first + size, (0, total - 1))
        return b.choose_if_all(
            inside,
            lambda: b.element(op.x, [b.subtract(i, n) for i, n in zip(indices, low, strict=True)]),
            lambda: b.exact(python_number(op.value), found.element_type),
        )

    return b.result_of(op, scalar_at)


def windows(b: GridBuilder, op: graph.WindowsOp) -> SSAValue:
    """The element of x at a position in a window if in bounds, else the value."""
    outside, element = python_number(op.outside), op.result_type.element_type

    def scalar_at(indices: Indices) -> SSAValue:
        *leading, y, x, r, s = indices
        return window_element(
            b, op.x, op.window, leading, [y, x], [r, s], lambda: b.exact(outside, element)
        )

    return b.result_of(op, scalar_at)


# ----------------------------------------------------------------------------- look-ups


def gather(b: GridBuilder, op: graph.GatherOp) -> SSAValue:
    """x[i, ids[i, j, k], k]."""
    axis = op.axis.value.data

    def source_of(indices: Indices) -> list[Index]:
        return [*indices[:axis], b.read_index(op.ids, indices), *indices[axis + 1 :]]

    return moved(b, op, op.x, source_of)


def scatter(on_cpu: bool, b: GridBuilder, op: graph.ScatterOp) -> SSAValue:
    """Call the kernel for such tensors, which is created once per module."""
    module = op.get_toplevel_object()
    assert isinstance(module, ModuleOp)
    operands = (op.ids, op.source, op.x)
    words = ["scatter_add" if op.accumulate else "scatter"]
    for each in operands:
        words += [str(element_type(each)), *map(str, shape_of(each))]
    name = "_".join(words)
    kernels = [each for each in module.ops if isinstance(each, KernelOp)]
    if name not in [each.sym_name.data for each in kernels]:
        module.body.block.add_op(scatter_kernel(op, name, on_cpu=on_cpu))
    return b.insert(graph.CallKernelOp(name, operands, [op.x.type], [0])).results_[0]


RULES: dict[type[Operation], Rule[GridBuilder]] = {
    graph.AsStridedOp: as_strided,
    graph.ConcatOp: concat,
    graph.ExpandOp: expand,
    graph.GatherOp: gather,
    graph.PadOp: pad,
    graph.PackOp: pack,
    graph.PermuteOp: permute,
    graph.ReshapeOp: reshape,
    graph.SliceOp: slice_,
    graph.WindowsOp: windows,
}
