"""The pass `fuse-into-kernels`: fuses prologues and epilogues into kernels of scripts."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import prod

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, NoneAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis import grids
from hidet.analysis.forms import LinearForm
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.kernels import kernels_of
from hidet.dialects.compute import FusionOp, GridOp, LoadOp, SinkOp, StoreOp, YieldOp, terminator_of
from hidet.dialects.cuda import DYNAMIC, KernelOp
from hidet.dialects.cuda.names import identifier_from
from hidet.dialects.graph import CallKernelOp
from hidet.dialects.shaped import buffer_type, element_of, memref_type, shape_of, size_of
from hidet.dialects.task import ForeachOp
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.inlining import element_at
from hidet.rewriting.locations import locate


def is_only_loaded(argument: SSAValue) -> bool:
    """Return whether a kernel only loads elements of an argument."""
    return all(isinstance(use.operation, memref.LoadOp | LoadOp) for use in argument.uses)


def is_only_stored(argument: SSAValue) -> bool:
    """Return whether a kernel only stores elements to an argument."""
    return all(isinstance(use.operation, memref.StoreOp) for use in argument.uses)


def shape_as(argument: SSAValue, tensor: SSAValue) -> tuple[int, ...] | None:
    """Return the shape in which a kernel accesses a tensor that is passed as an argument.

    A pointer argument has the flat shape. None is returned if the element types or layouts differ.
    """
    if not isinstance(argument.type, MemRefType):
        return None
    kind, size = memref_type(argument), size_of(tensor)
    if not isinstance(kind.layout, NoneAttr) or element_of(kind) != element_of(tensor):
        return None
    shape = (size,) if shape_of(kind) == (DYNAMIC_INDEX,) else shape_of(kind)
    return shape if DYNAMIC_INDEX not in shape and prod(shape) == size else None


def loads_once(kernel: KernelOp, argument: SSAValue, size: int) -> bool:
    """Return whether a kernel loads each element of an argument about once.

    The total number of loads is at most that of elements, rounded up to whole blocks.
    """
    if DYNAMIC in (*kernel.grid_dims, *kernel.block_dims):
        return False
    forms = IndexForms()
    addresses: set[tuple[Block | None, tuple[LinearForm, ...]]] = set()
    loads = 0
    for use in argument.uses:
        load = use.operation
        if not isinstance(load, memref.LoadOp):
            return False
        address = (load.parent, tuple(map(forms.form, load.indices)))
        if address in addresses:
            continue  # eliminated as a common subexpression
        addresses.add(address)
        count = _execution_count(forms, kernel, load)
        if count is None:
            return False
        loads += count
    return loads * prod(kernel.grid_dims) * kernel.threads < size + kernel.threads


def _execution_count(forms: IndexForms, kernel: KernelOp, load: memref.LoadOp) -> int | None:
    """Return the maximum number of times that a thread executes a load; None if unknown."""
    count = 1
    parent = load.parent_op()
    while parent is not kernel:
        match parent:
            case scf.ForOp():
                trips = forms.trip_count(parent)
                if trips is None:
                    return None
                count *= trips
            case ForeachOp():
                count *= parent.tasks.tasks_per_worker
            case scf.IfOp():
                pass
            case _:
                return None
        parent = parent.parent_op()
    return count


class Kernels:
    """The kernels of a module and their variants; equal variants are shared."""

    def __init__(self, module: ModuleOp) -> None:
        self._kernels = {kernel.sym_name.data: kernel for kernel in kernels_of(module)}
        self._made: defaultdict[str, list[str]] = defaultdict(list)

    def called_by(self, call: CallKernelOp) -> KernelOp:
        """Return the kernel of a call."""
        return self._kernels[call.kernel.string_value()]

    def add(self, kernel: KernelOp, body: Region, wanted: str) -> str:
        """Return the name of the variant of a kernel with a body, creating it if needed."""
        made = self._made[kernel.sym_name.data]
        for each in made:
            if self._kernels[each].body.is_structurally_equivalent(body):
                return each
        name = identifier_from(wanted) or kernel.sym_name.data
        numbered = (f"{name}{number or ''}" for number in count())
        unused = next(each for each in numbered if each not in self._kernels)
        grid, block = ([each.data for each in shape] for shape in (kernel.grid, kernel.block))
        variant = KernelOp(unused, grid, block, body)
        variant.attributes |= kernel.attributes
        variant.location = kernel.location
        Rewriter.insert_op(variant, InsertPoint.after(kernel))
        self._kernels[unused] = variant
        made.append(unused)
        return unused

    def erase_uncalled(self, functions: Sequence[FuncOp]) -> None:
        """Erase kernels that have variants but no calls left."""
        called = {
            self.called_by(op)
            for function in functions
            for op in function.body.block.ops
            if isinstance(op, CallKernelOp)
        }
        for name in self._made:
            if (kernel := self._kernels[name]) not in called:
                Rewriter.erase_op(kernel)


class Variant:
    """A copy of the body of a kernel, whose arguments change together with those of its call."""

    def __init__(self, kernel: KernelOp, call: CallKernelOp) -> None:
        self.body = kernel.body.clone()
        self.block = self.body.block
        self.passed = list(call.passed)

    def pass_also(self, value: SSAValue) -> BlockArgument:
        """Pass a tensor, unless it is passed already; return the argument."""
        kind = buffer_type(value)
        for argument, passed in zip(self.block.args, self.passed, strict=False):
            if passed is value and argument.type == kind:
                return argument
        argument = self.block.insert_arg(kind, len(self.passed))
        argument.name_hint = value.name_hint
        self.passed.append(value)
        return argument

    def pass_no_more(self, position: int) -> None:
        """Drop an unused argument and its operand."""
        self.block.erase_arg(self.block.args[position])
        del self.passed[position]

    def call(self, op: CallKernelOp, name: str, types: Sequence[Attribute]) -> CallKernelOp:
        """Return the call of this kernel that replaces another call."""
        call = CallKernelOp([*self.passed, *op.init_values], types, op.init_numbers, name)
        call.location = op.location
        return call


def _same_element(
    builder: KernelBuilder,
    indices: Sequence[SSAValue],
    shape: Sequence[int],
    other: Sequence[int],
) -> Sequence[SSAValue]:
    """Return the indices of an element in another shape of a tensor."""
    if tuple(shape) == tuple(other):
        return indices
    return builder.delinearize(builder.linearize(indices, shape), other)


def store_through(
    variant: Variant,
    number: int,
    shape: tuple[int, ...],
    fusion: FusionOp,
    grid: GridOp,
    element: SSAValue,
) -> None:
    """Replace a result of a kernel by a sink that computes a grid."""
    old = variant.block.args[len(variant.passed) + number]
    inner = zip(fusion.body.block.args, fusion.arguments, strict=True)
    buffers: dict[SSAValue, SSAValue] = {
        a: variant.pass_also(value) for a, value in inner if a is not element
    }
    out = variant.block.insert_arg(buffer_type(fusion.results_[0]), old.index + 1)
    out.name_hint = old.name_hint
    builder = KernelBuilder(InsertPoint.at_start(variant.block))
    sink = builder.insert(SinkOp(TensorType(element_of(old), shape)))
    sink.result.name_hint = grid.result.name_hint
    with builder.inside(sink.body.block):
        indices = _same_element(builder, sink.indices, shape, grid.shape)
        value = element_at(builder, grid, indices, buffers, {element: sink.value})
        builder.insert(StoreOp(value, out, indices))
    locate(sink, fusion.location)
    for use in list(old.uses):
        store = use.operation
        assert isinstance(store, memref.StoreOp)
        new = StoreOp(store.value, sink.result, store.indices)
        new.location = store.location
        Rewriter.replace_op(store, new)
    variant.block.erase_arg(old)


def load_through(
    variant: Variant, old: SSAValue, shape: tuple[int, ...], fusion: FusionOp, grid: GridOp
) -> None:
    """Replace an argument of a kernel by a grid."""
    inner = zip(fusion.body.block.args, fusion.arguments, strict=True)
    buffers: dict[SSAValue, SSAValue] = {a: variant.pass_also(value) for a, value in inner}
    builder = KernelBuilder(InsertPoint.at_start(variant.block))
    view = builder.insert(GridOp(TensorType(element_of(old), shape)))
    view.result.name_hint = old.name_hint
    with builder.inside(view.body.block):
        indices = _same_element(builder, view.indices, shape, grid.shape)
        builder.insert(YieldOp(element_at(builder, grid, indices, buffers, {})))
    locate(view, fusion.location)
    for use in list(old.uses):
        load = use.operation
        assert isinstance(load, memref.LoadOp | LoadOp)
        new = LoadOp(view.result, load.indices)
        new.location = load.location
        Rewriter.replace_op(load, new)


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
            element = fusion.body.block.args[list(fusion.arguments).index(result)]
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
                load_through(variant, variant.block.args[position], shape, fusion, grid)
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
    others = [value for value in fusion.arguments if value.owner is not call]
    if len(others) != len(fusion.arguments) - 1 or not set(others).isdisjoint(call.init_values):
        return None
    if all(
        not isinstance(value.owner, Operation) or value.owner.is_before_in_block(call)
        for value in others
    ):
        return call
    users = {use.operation for result in call.results_ for use in result.uses} - {fusion}
    return fusion if all(fusion.is_before_in_block(user) for user in users) else None


FEW_ELEMENTS = 1 << 12
"""The number of elements that cost less if they are loaded from far apart than a further kernel."""


def _shape_where_loaded(kernel: KernelOp, position: int, grid: GridOp) -> tuple[int, ...] | None:
    """Return the shape in which a kernel loads a grid, if it can be evaluated at its loads."""
    argument = kernel.arguments[position]
    is_small = size_of(grid.result) <= FEW_ELEMENTS
    if not is_only_loaded(argument) or not (is_small or grids.has_coalesced_loads(grid)):
        return None
    if grids.is_cheap_again(grid) or loads_once(kernel, argument, size_of(grid.result)):
        return shape_as(argument, grid.result)
    return None


def _word(grid: GridOp) -> str:
    """Return the part of a kernel name that refers to a grid."""
    return (grid.result.name_hint or "").strip("0123456789_")


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
        if not kernels_of(op):
            return
        kernels = Kernels(op)
        functions = [each for each in op.ops if isinstance(each, FuncOp) and each.body.blocks]
        patterns = GreedyRewritePatternApplier(
            [FuseEpilogue(kernels), FusePrologue(kernels)], dce_enabled=False
        )
        for function in functions:
            PatternRewriteWalker(patterns).rewrite_region(function.body)
        kernels.erase_uncalled(functions)
