"""The pass `split-products`: splits the K dimension of matmuls (split-K)."""

from dataclasses import dataclass
from functools import partial, reduce
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.ir import OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from hidet.analysis.grids import has_reduction, is_in_order
from hidet.analysis.rows import rows_of_grid
from hidet.arch.chips import Arch
from hidet.dialects.compute import GridOp
from hidet.dialects.graph import MatmulOp
from hidet.dialects.graph.base import computation_type
from hidet.dialects.shaped import element_of, shape_of
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder, Indices
from hidet.lowering.single_walk import rewrite_once
from hidet.lowering.templates.problem import Problem
from hidet.lowering.templates.splits import best_split
from hidet.pass_options import PassOptions


def split_product(arch: Arch, slices: str, op: MatmulOp, rewriter: PatternRewriter) -> None:
    """A matmul becomes a batch of matmuls over slices of K, and their sum.

    `[m, k] x [k, n]` is the sum over the slices of `[parts, m, k / parts] x [parts, k / parts, n]`.
    """
    parts = _count_of_parts(arch, slices, op)
    if parts == 1:
        return
    b = GridBuilder.like(op)
    rank = len(shape_of(op.result))
    product = b.insert(
        MatmulOp(
            parts_of(b, op.lhs, rank, parts, 1),
            parts_of(b, op.rhs, rank, parts, 0),
            precision=op.precision.data,
            result_element=computation_type(element_of(op.result)),
        )
    ).result
    product.name_hint = "parts"

    def total(indices: Indices) -> SSAValue:
        values = [b.element(product, [part, *indices]) for part in range(parts)]
        return reduce(lambda one, other: b.apply(arith.AddfOp, one, other), values)

    result = b.grid(shape_of(op.result), element_of(op.result), total)
    result.name_hint = op.result.name_hint
    rewriter.replace(op, [], [result])


def _count_of_parts(arch: Arch, slices: str, op: MatmulOp) -> int:
    """Return the number of slices: that of the option, or the best by the cost model."""
    problem = Problem.of(op)
    if slices.isdecimal():
        parts, is_float = int(slices), isinstance(element_of(op.result), AnyFloat)
        return parts if is_float and problem.k % parts == 0 else 1
    if slices == "disabled":
        return 1
    return best_split(problem, arch, joins=_is_for_norm(op.result))


def _is_for_norm(value: OpResult) -> bool:
    """Return whether a row reduction reads a tensor, directly or elementwise.

    Its kernel can add up the slices where it reads them.
    """
    rows, block = prod(shape_of(value)[:-1]), value.op.parent
    assert block is not None
    pending: list[SSAValue] = [value]
    while pending:
        source = pending.pop()
        for use in source.uses:
            user = block.find_ancestor_op_in_block(use.operation)
            if not isinstance(user, GridOp):
                continue
            if has_reduction(user):
                if (found := rows_of_grid(user)) is not None and found.count == rows:
                    return True
            elif is_in_order(user, source):
                pending.append(user.result)
    return False


def parts_of(b: GridBuilder, operand: SSAValue, rank: int, parts: int, dim: int) -> SSAValue:
    """Return the view of a batch of matrices in slices, with a leading dimension for these."""
    shape = [*(1,) * (rank - len(shape_of(operand))), *shape_of(operand)]
    at = rank - 2 + dim
    length = shape[at] // parts
    missing = rank - len(shape_of(operand))

    def scalar_at(indices: Indices) -> SSAValue:
        part, *place = indices
        index = b.index(b.add(b.mul(part, length), place[at]))
        return b.element(operand, [*place[:at], index, *place[at + 1 :]][missing:])

    return b.grid([parts, *shape[:at], length, *shape[at + 1 :]], element_of(operand), scalar_at)


@dataclass(frozen=True)
class SplitProductsPass(ModulePass):
    """Split the K dimension of matmuls that have too few tiles to fill the GPU.

    Expects functions of grids and anchors. If the template's cost model says that it is faster, or
    into as many slices as `parallel_k` says, a matmul becomes a batch of matmuls over views of its
    operands, and a grid that adds up the partial sums in a fixed order, so results are
    deterministic. `fuse` puts the epilogue into that grid's kernel, or into that of a norm that
    reads the result anyway, which makes splitting cheaper.
    """

    name = "split-products"

    arch: str = PassOptions.arch
    parallel_k: str = PassOptions.parallel_k

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Split the products of a module."""
        split = partial(split_product, Arch.parse(self.arch), self.parallel_k)
        rewrite_once(op.body, {MatmulOp: split})
