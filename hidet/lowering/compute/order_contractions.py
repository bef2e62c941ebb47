"""The pass `order-contractions`: sums up along K in the order of memory."""

from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from hidet.analysis.forms import Quotient, Remainder
from hidet.analysis.grids import is_view, linear_index_of_load, loads_of
from hidet.analysis.index_forms import IndexForms
from hidet.dialects.compute import GridOp
from hidet.dialects.graph import MatmulOp
from hidet.dialects.shaped import element_of, shape_of
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder, Indices
from hidet.lowering.single_walk import rewrite_once
from hidet.rewriting.inlining import inline_into_loads


class Digits(NamedTuple):
    """Two dimensions that K consists of: `k = high * extent + low`, with `low < extent`."""

    extent: int
    low_stride: int
    high_stride: int


def order_contraction(op: MatmulOp, rewriter: PatternRewriter) -> None:
    """A matmul whose operands are adjacent along the outer dimension of K swaps both dimensions.

        y[i, j] = sum of a[k mod 16, i, k div 16] * b[j, k mod 16, k div 16] over k < 1024

    becomes, with the same terms in another order,

        y[i, j] = sum of a[k div 64, i, k mod 64] * b[j, k div 64, k mod 64] over k < 1024
    """
    lhs, rhs = _digits(op.lhs, -1), _digits(op.rhs, -2)
    if lhs is None or rhs is None or lhs.extent != rhs.extent:
        return
    is_adjacent = 1 in (lhs.high_stride, rhs.high_stride)
    if not is_adjacent or 1 in (lhs.low_stride, rhs.low_stride):
        return
    b = GridBuilder.like(op)
    for number, (operand, dim) in enumerate(((op.lhs, -1), (op.rhs, -2))):
        op.operands[number] = _swapped(b, operand, dim, lhs.extent)
        view = operand.owner
        assert isinstance(view, GridOp)
        inline_into_loads(view)
    rewriter.notify_op_modified(op)


def _digits(operand: SSAValue, dim: int) -> Digits | None:
    """Return the two dimensions that one of a view consists of in its source, None if not two."""
    view = operand.owner
    if not isinstance(view, GridOp) or not is_view(view) or len(loads_of(view)) != 1:
        return None
    k = view.indices[len(view.shape) + dim]
    place = linear_index_of_load(IndexForms(), loads_of(view)[0])
    parts = {atom: factor for atom, factor in place.terms.items() if _is_part(atom, k)}
    match sorted(parts.items(), key=lambda part: isinstance(part[0], Quotient)):
        case [(Remainder(_, extent), low), (Quotient(_, other), high)] if extent == other:
            return Digits(extent, low, high)
        case _:
            return None


def _is_part(atom: object, k: SSAValue) -> bool:
    """Return whether an atom is the quotient or remainder of an index."""
    return isinstance(atom, Quotient | Remainder) and atom.form.atom is k


def _swapped(b: GridBuilder, operand: SSAValue, dim: int, extent: int) -> SSAValue:
    """Return the view of an operand in which the inner dimension of K is the outer one."""
    outer = shape_of(operand)[dim] // extent

    def scalar_at(indices: Indices) -> SSAValue:
        low, high = b.div(indices[dim], outer), b.mod(indices[dim], outer)
        place = list(indices)
        place[dim] = b.index(b.add(b.mul(high, extent), low))
        return b.element(operand, place)

    view = b.grid(shape_of(operand), element_of(operand), scalar_at)
    view.name_hint = operand.name_hint
    return view


class OrderContractionsPass(ModulePass):
    """Sum up along K in the order of memory, where K consists of two dimensions.

    Expects functions of grids and anchors, with views inlined. Einsums order the dimensions that
    they sum up alphabetically, so both operands may be adjacent along the outer one of two.
    """

    name = "order-contractions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Reorder the contractions of a module."""
        rewrite_once(op.body, {MatmulOp: order_contraction})
