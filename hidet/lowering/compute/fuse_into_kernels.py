"""The pass `fuse-into-kernels`: fuses prologues and epilogues into kernels of scripts."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint

from hidet.analysis import grids
from hidet.dialects.compute import FusionOp, GridOp, terminator_of
from hidet.dialects.cuda import KernelOp
from hidet.dialects.graph import CallKernelOp
from hidet.dialects.shaped import size_of
from hidet.lowering.compute.kernel_variants import (
    Kernels,
    Variant,
    is_only_loaded,
    is_only_stored,
    load_through,
    loads_once,
    shape_as,
    store_through,
)


@dataclass
class FuseEpilogue(RewritePattern):
    """The only consumer of a kernel result, if elementwise, is computed at the result's stores."""

    kernels: Kernels

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CallKernelOp, rewriter: PatternRewriter) -> None:
        kernel = self.kernels.called_by(op)
        for number, result in enumerate(op.results_):
            argument = kernel.arguments[len(op.passed) + number]
            fusion = _only_reader(op, number)
            if fusion is None or not is_only_stored(argument):
                continue
            shape = shape_as(argument, result)
            grid = grid_of(fusion)
            before = _place_of_both(op, fusion)
            if shape is None or grid is None or before is None:
                continue
            element = fusion.body.block.args[list(fusion.inputs).index(result)]
            if not grids.is_in_order(grid, element) or grids.may_ignore(grid, element):
                continue
            variant = Variant(kernel, op)
            store_through(variant, number, shape, fusion, grid, element)
            name = self.kernels.add(kernel, variant.body, f"{kernel.sym_name.data}_{_word(grid)}")
            types = [value.type for value in op.results_]
            types[number] = fusion.results_[0].type
            call = variant.call(op, name, types)
            rewriter.insert(call, InsertPoint.before(before))
            rewriter.replace(fusion, [], [call.results_[number]])
            replacements: list[SSAValue | None] = list(call.results_)
            replacements[number] = None
            rewriter.replace(op, [], replacements)
            return


@dataclass
class FusePrologue(RewritePattern):
    """A cheap producer of kernel arguments is computed where the kernel loads them."""

    kernels: Kernels

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CallKernelOp, rewriter: PatternRewriter) -> None:
        kernel = self.kernels.called_by(op)
        for value in dict.fromkeys(op.passed):
            fusion = value.owner
            if not isinstance(fusion, FusionOp) or any(
                use.operation is not op or use.index >= len(op.passed) for use in value.uses
            ):
                continue
            grid = grid_of(fusion)
            positions = [n for n, passed in enumerate(op.passed) if passed is value]
            shapes = [_shape_where_loaded(kernel, n, grid) for n in positions] if grid else []
            if grid is None or None in shapes:
                continue
            variant = Variant(kernel, op)
            for position, shape in zip(positions, shapes, strict=True):
                assert shape is not None
                load_through(variant, variant.arguments[position], shape, fusion, grid)
            for position in reversed(positions):
                variant.pass_no_more(position)
            name = self.kernels.add(kernel, variant.body, f"{_word(grid)}_{kernel.sym_name.data}")
            rewriter.replace(op, variant.call(op, name, [each.type for each in op.results_]))
            rewriter.erase(fusion)
            return


def grid_of(fusion: FusionOp) -> GridOp | None:
    """Return the only grid of a fusion, None if there are several or it has a reduction."""
    grid = fusion.body.block.first_op
    if not isinstance(grid, GridOp) or grids.has_reduction(grid):
        return None
    alone = grid.next_op is terminator_of(fusion.body)
    return grid if alone and len(fusion.results_) == 1 else None


def _only_reader(call: CallKernelOp, number: int) -> FusionOp | None:
    """Return the fusion that alone reads a result of a call, which the kernel fully overwrites."""
    uses = list(call.results_[number].uses)
    if len(uses) != 1 or number in call.init_numbers:
        return None
    user = uses[0].operation
    return user if isinstance(user, FusionOp) else None


def _place_of_both(call: CallKernelOp, fusion: FusionOp) -> Operation | None:
    """Return the call or the fusion of its result, whichever both can be replaced at.

    It is the call if all other inputs of the fusion are defined before it, or the fusion if nothing
    in between reads the results of the call. In-place operands of the call have no other readers.
    """
    others = [value for value in fusion.inputs if value.owner is not call]
    if len(others) != len(fusion.inputs) - 1 or not set(others).isdisjoint(call.init_values):
        return None
    if all(
        not isinstance(value.owner, Operation) or value.owner.is_before_in_block(call)
        for value in others
    ):
        return call
    users = {use.operation for result in call.results_ for use in result.uses} - {fusion}
    return fusion if all(fusion.is_before_in_block(user) for user in users) else None


def _shape_where_loaded(kernel: KernelOp, position: int, grid: GridOp) -> tuple[int, ...] | None:
    """Return the shape in which a kernel loads a grid, if it can be evaluated at its loads."""
    argument = kernel.arguments[position]
    if not is_only_loaded(argument) or not grids.has_coalesced_loads(grid):
        return None
    if grids.is_cheap_again(grid) or loads_once(kernel, argument, size_of(grid.result)):
        return shape_as(argument, grid.result)
    return None


def _word(grid: GridOp) -> str:
    """Return the part of a kernel name that refers to a grid."""
    return (grid.result.name_hint or "").strip("0123456789_")


@dataclass(frozen=True)
class FuseIntoKernelsPass(ModulePass):
    """Fuse elementwise prologues and epilogues into kernels of scripts.

    Expects functions of `compute.fusion` and `graph.call_kernel`. A fusion of one grid without a
    reduction is fused into a kernel if it is

    1. the only consumer, element by element and in order, of a result that the kernel only stores
    to:
       the result becomes a `compute.sink`. Elements that the kernel never stores are undefined, so
       the fusion must depend on every element;
    2. or a producer read by the kernel alone, which only loads elements of it: the argument becomes
    a
       `compute.grid`. It is cheap, or no element is loaded twice.

    Calls with equal prologues and epilogues share a kernel. Arguments whose addresses are taken or
    that are copied as vectors are left alone. Leaves the views for `inline-compute`, and drops
    kernels that have lost all their calls.
    """

    name = "fuse-into-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse in every function of the module."""
        kernels = Kernels(op)
        functions = [each for each in op.ops if isinstance(each, FuncOp) and each.body.blocks]
        patterns = GreedyRewritePatternApplier(
            [FuseEpilogue(kernels), FusePrologue(kernels)], dce_enabled=False
        )
        for function in functions:
            PatternRewriteWalker(patterns).rewrite_region(function.body)
        kernels.erase_uncalled(functions)
