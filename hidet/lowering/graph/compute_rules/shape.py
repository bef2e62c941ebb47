"""Rules of operators that move elements: views, joins, padding, lookups and scatters."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.compute import STORED, GridOp
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.graph.base import element_type, python_number, shape_of
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder, Indices, window_element
from hidet.lowering.graph.compute_rules.views import VIEWS, SourceOf, of_permute
from hidet.lowering.single_walk import Rule
from hidet.lowering.templates.scatter import scatter_kernel
from hidet.rewriting.builder import Index


def view(source_of: SourceOf, b: GridBuilder, op: Any) -> SSAValue:
    """A grid of unchanged elements of x."""
    return b.result_of(op, lambda indices: b.element(op.x, source_of(b, op, indices)))


def pack(b: GridBuilder, op: graph.PackOp) -> SSAValue:
    """A permutation that is stored."""
    result = view(of_permute, b, op)
    assert isinstance(result.owner, GridOp)
    result.owner.attributes[STORED] = UnitAttr()
    return result


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

    def scalar_at(indices: Indices) -> SSAValue:
        at = b.read_index(op.ids, indices, op.extent)
        return b.element(op.x, [*indices[:axis], at, *indices[axis + 1 :]])

    return b.result_of(op, scalar_at)


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
    return b.insert(graph.CallKernelOp(operands, [op.x.type], [0], name)).results_[0]


RULES: dict[type[Operation], Rule[GridBuilder]] = {
    **{kind: partial(view, source_of) for kind, source_of in VIEWS.items()},
    graph.ConcatOp: concat,
    graph.GatherOp: gather,
    graph.PadOp: pad,
    graph.PackOp: pack,
    graph.WindowsOp: windows,
}
