"""Transposition of matmuls whose columns are reduced."""

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from hidet.analysis.forms import LinearForm
from hidet.analysis.grids import is_in_order, is_view, loads_of
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.linear_index import linear_index_of_load
from hidet.analysis.rows import rows_of_grid
from hidet.dialects.compute import GridOp, LoadOp
from hidet.dialects.graph import MatmulOp
from hidet.dialects.shaped import element_of, shape_of
from hidet.dialects.walking import parent_of_type
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder
from hidet.rewriting.inlining import inline_into_loads

FEW = 64
"""Matmuls with fewer rows or columns are left to their own schedules."""


class TransposeMatmul(RewritePattern):
    """A matmul whose columns are reduced becomes its transpose, whose rows are.

        y = a @ b     z[j, i] = y[i, j] + r[j, i]     mean of z along i

    becomes, with views of a and b,

        t = b^T @ a^T     z[j, i] = t[j, i] + r[j, i]     mean of z along i

    so that the result is stored in the order in which it is read.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter) -> None:
        shape = shape_of(op.result)
        is_plain = len(shape_of(op.lhs)) == len(shape_of(op.rhs)) == 2 and min(shape) >= FEW
        if not is_plain or not all(map(_has_strides, op.operands)) or not _is_reduced(op.result):
            return
        b = GridBuilder.like(op, InsertPoint.before(op))
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
