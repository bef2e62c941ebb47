"""The pass `order-dimensions`: propagates memory layouts from producers to consumers."""

from collections.abc import Sequence
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from hidet.analysis.forms import LinearForm
from hidet.analysis.grids import is_in_order, is_view, linear_index, linear_index_of_load, loads_of
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.rows import rows_of_grid
from hidet.dialects.compute import GridOp, LoadOp, YieldOp
from hidet.dialects.graph import MatmulOp
from hidet.dialects.shaped import element_of, shape_of, size_of
from hidet.dialects.walking import parent_of_type
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder
from hidet.lowering.single_walk import rewrite_once
from hidet.rewriting.inlining import inline_into_loads


def order_dimensions(op: GridOp, rewriter: PatternRewriter) -> None:
    """A grid takes the dimension order of its source, and a view restores its own order.

        y[n, c, h, w] = relu(x[n, h, w, c])     becomes     z[n, h, w, c] = relu(x[n, h, w, c])

    and loads of y[n, c, h, w] become loads of z[n, h, w, c].
    """
    is_vector = sum(extent > 1 for extent in op.shape) < 2
    if is_vector or is_view(op) or op.is_stored:
        return
    order = order_of(op)
    if order == sorted(order) or _is_flattened(op, order) or not _keeps_rows(op, order):
        return
    b = GridBuilder.like(op)
    element, shape = element_of(op.result), op.shape
    ordered = GridOp(TensorType(element, [shape[dim] for dim in order]), _permuted(op, order))
    tensor = b.insert(ordered).result
    tensor.name_hint = op.result.name_hint
    for load in [use.operation for use in op.result.uses]:
        if isinstance(load, LoadOp):
            load.operands = [tensor, *(load.indices[dim] for dim in order)]
            load.result.name_hint = load.result.name_hint or tensor.name_hint
            rewriter.notify_op_modified(load)
    if not op.result.uses:
        rewriter.erase(op)
        return
    view = GridOp(op.result.type)
    for index, dim in zip(ordered.indices, order, strict=True):
        view.indices[dim].name_hint = index.name_hint
    with b.inside(view.body.block):
        b.insert(YieldOp(b.element(tensor, [view.indices[dim] for dim in order])))
    rewriter.replace(op, view)


def _permuted(grid: GridOp, order: Sequence[int]) -> Region:
    """Detach the body of a grid, and permute its indices."""
    body = grid.detach_region(grid.body)
    before = body.block.args
    for dim in order:
        index = body.block.insert_arg(before[dim].type, len(body.block.args))
        index.name_hint = before[dim].name_hint
        before[dim].replace_all_uses_with(index)
    for index in before:
        body.block.erase_arg(index)
    return body


def order_of(grid: GridOp) -> list[int]:
    """Return the dimensions of a grid by decreasing stride in its source.

    The source is the largest tensor of which it reads a distinct element per element; among equal
    sizes, one with another order than the grid.
    """
    own = list(range(len(grid.shape)))
    forms = IndexForms()
    best, size = own, 0
    for load in loads_of(grid):
        order = _order_along(grid, linear_index_of_load(forms, load))
        if order is None or (size_of(load.source), order != own) <= (size, best != own):
            continue
        best, size = order, size_of(load.source)
    return best


def _order_along(grid: GridOp, place: LinearForm) -> list[int] | None:
    """Return the dimensions of a grid by decreasing stride, None if one has no stride."""
    own = range(len(grid.shape))
    moving = [dim for dim in own if grid.shape[dim] > 1]
    distances: dict[int, int] = {}
    for dim in moving:
        index = grid.indices[dim]
        found = [
            abs(factor)
            for atom, factor in place.terms.items()
            if LinearForm.of(atom).depends_on(index)
        ]
        if not found:
            return None
        distances[dim] = min(found)
    ordered = iter(sorted(moving, key=lambda dim: -distances[dim]))
    return [next(ordered) if dim in distances else dim for dim in own]


def _is_flattened(grid: GridOp, order: Sequence[int]) -> bool:
    """Return whether a matmul reads a view of a grid that has strides, but not in a new order.

    Images that a linear layer reads as rows are an example.
    """
    forms = IndexForms()
    for load in [use.operation for use in grid.result.uses]:
        view = parent_of_type(load, GridOp)
        if not isinstance(load, LoadOp) or view is None or not is_view(view):
            continue
        if not any(isinstance(use.operation, MatmulOp) for use in view.result.uses):
            continue
        indices, shape = load.indices, grid.shape
        new = [indices[dim] for dim in order], [shape[dim] for dim in order]
        before, after = (
            all(atom in view.indices for atom in linear_index(forms, *each, load.parent).terms)
            for each in ((indices, shape), new)
        )
        if before and not after:
            return True
    return False


def _keeps_rows(grid: GridOp, order: Sequence[int]) -> bool:
    """Return whether rows stay rows if a grid takes another order.

    These are rows that it reduces, or of whose values it reads, from grids that reduce them. They
    are its elements, in any order, or its last dimensions, which then have to stay the last ones.
    """
    owners = [load.source.owner for load in loads_of(grid)]
    rows = [rows_of_grid(owner) for owner in (grid, *owners) if isinstance(owner, GridOp)]
    return all(
        each is None or prod(grid.shape) != each.size or _ends_alike(grid.shape, order, each.length)
        for each in rows
    )


def _ends_alike(shape: Sequence[int], order: Sequence[int], length: int) -> bool:
    """Return whether the last dimensions, which make up rows of a length, are so in an order."""
    dim = len(shape)
    while dim and prod(shape[dim:]) < length:
        dim -= 1
    return prod(shape[dim:]) == length and list(order[dim:]) == list(range(dim, len(shape)))


FEW = 64
"""Matmuls with fewer rows or columns are left to their own schedules."""


def transpose_matmul(op: MatmulOp, rewriter: PatternRewriter) -> None:
    """A matmul whose columns are reduced becomes its transpose, whose rows are.

        y = a @ b     z[j, i] = y[i, j] + r[j, i]     mean of z along i

    becomes, with views of a and b,

        t = b^T @ a^T     z[j, i] = t[j, i] + r[j, i]     mean of z along i

    so that the result is stored in the order in which it is read.
    """
    shape = shape_of(op.result)
    is_plain = len(shape_of(op.lhs)) == len(shape_of(op.rhs)) == 2 and min(shape) >= FEW
    if not is_plain or not _is_reduced(op.result) or not all(map(_has_strides, op.operands)):
        return
    b = GridBuilder.like(op)
    product = b.insert(
        MatmulOp(
            _transposed(b, op.rhs),
            _transposed(b, op.lhs),
            precision=op.precision.data,
            result_element=element_of(op.result),
        )
    ).result
    product.name_hint = op.result.name_hint
    operands, result = set(op.operands), _transposed(b, product)
    rewriter.replace(op, [], [result])
    for view in (result, *operands):
        if isinstance(view.owner, GridOp) and is_view(view.owner):
            inline_into_loads(view.owner)


def _transposed(b: GridBuilder, matrix: SSAValue) -> SSAValue:
    rows, columns = shape_of(matrix)
    return b.grid([columns, rows], element_of(matrix), lambda at: b.element(matrix, [at[1], at[0]]))


def _has_strides(operand: SSAValue) -> bool:
    """Return whether an operand is no view, or a strided one."""
    grid = operand.owner
    if not isinstance(grid, GridOp) or not is_view(grid):
        return True
    forms = IndexForms()
    return all(
        atom in grid.indices
        for load in loads_of(grid)
        for atom in linear_index_of_load(forms, load).terms
    )


def _is_reduced(matrix: SSAValue) -> bool:
    """Return whether the only consumers of a matrix reduce it along columns."""
    users = [use.operation for use in matrix.uses]
    grids = {parent_of_type(user, GridOp) for user in users if isinstance(user, LoadOp)}
    if len(grids) != 1 or not all(isinstance(user, LoadOp) for user in users):
        return False
    (grid,) = grids
    if grid is None or grid.is_stored:
        return False
    if is_in_order(grid, matrix):
        return _is_reduced(grid.result)
    readers = {parent_of_type(use.operation, GridOp) for use in grid.result.uses}
    rows = [rows_of_grid(reader) for reader in readers if reader is not None]
    length = shape_of(matrix)[0]
    return _reads_transposed(grid, matrix) and any(each and each.length == length for each in rows)


def _reads_transposed(grid: GridOp, matrix: SSAValue) -> bool:
    """Return whether element (..., j, i) of a grid reads element (i, j) of a matrix."""
    if len(shape_of(matrix)) != 2:
        return False
    rows, columns = shape_of(matrix)
    if list(grid.shape[-2:]) != [columns, rows]:
        return False
    *_, j, i = grid.indices
    wanted = LinearForm.of(j) + LinearForm.of(i) * columns
    forms = IndexForms()
    return all(linear_index_of_load(forms, load) == wanted for load in loads_of(grid, matrix))


class OrderDimensionsPass(ModulePass):
    """Store tensors in the dimension order of what they are computed from.

    Expects functions of grids and anchors, with views inlined. A convolution is a matmul of pixels
    and filters, whose result has its channels last. All tensors computed from it elementwise or by
    windows are stored channels last too, and the next convolution reads contiguous channels. The
    original order is restored where a result of the function is stored. Rows that are reduced
    (softmax, norms) stay rows, and a matmul that is reduced along its columns is transposed.
    """

    name = "order-dimensions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Reorder the grids of a module, producers first."""
        rewrite_once(op.body, {MatmulOp: transpose_matmul, GridOp: order_dimensions})
