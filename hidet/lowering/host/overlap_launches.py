"""The pass `overlap-launches`: which kernels begin before those ahead of them are over."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint
from xdsl.traits import MemoryEffectKind

from hidet.analysis.kernels import kernels_of, waits_for_launches
from hidet.analysis.memory import root_of
from hidet.arch.chips import Arch
from hidet.dialects import cuda
from hidet.dialects.cuda.marks import AWAITED
from hidet.dialects.effects import accessed, effects_of
from hidet.dialects.host_functions import FORWARD, OUTPUT_COUNT, updates_of
from hidet.dialects.shaped import is_memref
from hidet.pass_options import PassOptions
from hidet.rewriting.builder import KernelBuilder

_MEMORY = MemRefType | cuda.TensorMapType


@dataclass(frozen=True)
class OverlapLaunchesPass(ModulePass):
    """Have kernels begin before those ahead of them are over, and wait for these themselves.

    Expects what `pass-tensor-maps` leaves. Where @forward launches several kernels, each of them
    prepares what concerns its block alone, fetches what no launch writes (weights, as a rule), and
    waits ahead of all other accesses to global memory (CUDA C++ Programming Guide, Programmatic
    Dependent Launch). All threads wait, on all paths. So no kernel is over before those that it
    waits for, and who has waited for the launch ahead has waited for all ahead of that. Behind the
    wait a kernel lets the next one begin (`cuda.launch_dependents`): two of them are under way at
    most. A kernel that waits already stays as its author wrote it.

    Leaves `programmatic` on the launches of kernels with a `cuda.grid_dependency_wait`, on no
    other. What such a kernel reads is `cuda.awaited` unless it is an input or a weight: nvcc takes
    what is `__restrict__` and only read for constant while the kernel runs, so that loads might not
    wait, and find what an L1 cache holds from before.
    """

    name = "overlap-launches"

    arch: str = PassOptions.arch
    overlap_launches: bool = PassOptions.overlap_launches

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run on all kernels and launches of a module."""
        launches = _launches_of_forward(op)
        count = sum(map(len, launches.values()))
        insert = self.overlap_launches and count > 1 and _can_wait(Arch.parse(self.arch))
        for kernel in kernels_of(op):
            own = launches[kernel.sym_name.data]
            if insert and own and not waits_for_launches(kernel):
                _WaitLate(_constants_of(kernel, own)).match_and_rewrite(
                    kernel, PatternRewriter(kernel)
                )
            if waits_for_launches(kernel):
                _mark_awaited(kernel, own)
        waiting = {kernel.sym_name.data for kernel in kernels_of(op) if waits_for_launches(kernel)}
        for launch in op.walk():
            if isinstance(launch, cuda.LaunchOp):
                waits = launch.kernel.string_value() in waiting
                launch.programmatic = UnitAttr() if waits else None


@dataclass(frozen=True)
class _WaitLate(RewritePattern):
    """Wait ahead of the first access to global memory that others write; let the next begin.

    Attributes:
        constants: the arguments of the kernel that no launch writes.
    """

    constants: Collection[SSAValue]

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: cuda.KernelOp, rewriter: PatternRewriter) -> None:
        """Rewrite a kernel that does not wait."""
        block = op.body.block
        first = next((each for each in block.ops if not self._goes_ahead(each)), None)
        at = InsertPoint.at_end(block) if first is None else InsertPoint.before(first)
        builder = KernelBuilder.like(op, at)
        builder.insert(cuda.GridDependencyWaitOp())
        awaited = [argument for argument in op.arguments if argument not in self.constants]
        if any(isinstance(argument.type, cuda.TensorMapType) for argument in awaited):
            # What the wait lets the thread see, its copies by TMA have to see as well.
            builder.insert(cuda.EffectOp("fence_proxy_async_global", ()))
        builder.insert(cuda.LaunchDependentsOp())

    def _goes_ahead(self, op: Operation) -> bool:
        """Return whether nothing in an operation has to wait."""
        return all(self._is_alone(inner) for inner in op.walk())

    def _is_alone(self, op: Operation) -> bool:
        """Return whether an operation by itself accesses nothing that others write, and goes on."""
        if isinstance(op, cuda.InstructionOp) or op.has_trait(cuda.BlockBarrier):
            # What it orders besides are accesses of others.
            memory = [value for value in op.operands if isinstance(value.type, _MEMORY)]
            return all(map(self._is_own, memory))
        effects = effects_of(op)
        if effects is None or isinstance(op, cuda.LeaveOp):
            return False
        kinds = MemoryEffectKind.READ, MemoryEffectKind.WRITE
        return all(self._is_own(value) for kind in kinds for value in accessed(effects, kind))

    def _is_own(self, value: SSAValue | None) -> bool:
        """Return whether memory belongs to the block or the thread, or nobody writes it."""
        if value is None:
            return False
        root = root_of(value)
        is_local = is_memref(root.type) and cuda.space_of(root.type) is not cuda.Space.GLOBAL
        return is_local or root in self.constants


def _constants_of(kernel: cuda.KernelOp, launches: Sequence[cuda.LaunchOp]) -> set[SSAValue]:
    """Return the arguments of a kernel that no launch writes."""
    return {
        argument
        for number, argument in enumerate(kernel.arguments)
        if all(_is_constant(launch.arguments[number]) for launch in launches)
    }


def _mark_awaited(kernel: cuda.KernelOp, launches: Sequence[cuda.LaunchOp]) -> None:
    """Mark what a kernel reads that is not constant in all launches of it."""
    read = set(_read_by(kernel))
    kernel.mark_arguments(
        AWAITED,
        [
            argument in read
            and isinstance(argument.type, MemRefType)
            and not all(_is_constant(launch.arguments[number]) for launch in launches)
            for number, argument in enumerate(kernel.arguments)
        ],
    )


def _read_by(kernel: cuda.KernelOp) -> Iterator[SSAValue]:
    """Give the memrefs that a kernel reads or may read."""
    for op in kernel.body.walk():
        effects = effects_of(op)
        found = op.operands if effects is None else accessed(effects, MemoryEffectKind.READ)
        yield from (root_of(value) for value in found if value is not None)


def _is_constant(value: SSAValue) -> bool:
    """Return whether no launch of the host function writes what one of them gets."""
    match value.owner:
        case cuda.TensorMapOp() as op:
            return _is_constant(op.buffer)
        case cuda.BufferOp() as op:
            return op.kind.data is not cuda.BufferKind.ARENA
        case Block():
            assert isinstance(value, BlockArgument)
            is_input = value.index < len(value.block.args) - _output_count(value.block)
            return is_input and not _is_updated(value)
        case _:
            return True  # a number


def _is_updated(value: BlockArgument) -> bool:
    """Return whether a function gives an argument a new content."""
    function = value.block.parent_op()
    return isinstance(function, FuncOp) and value in dict(updates_of(function))


def _output_count(block: Block) -> int:
    function = block.parent_op()
    assert function is not None
    count = function.attributes.get(OUTPUT_COUNT)
    return count.value.data if isinstance(count, IntegerAttr) else 0


def _launches_of_forward(module: ModuleOp) -> defaultdict[str, list[cuda.LaunchOp]]:
    """Return the launches of @forward by the name of their kernel."""
    found: defaultdict[str, list[cuda.LaunchOp]] = defaultdict(list)
    for function in module.ops:
        if isinstance(function, FuncOp) and function.sym_name.data == FORWARD:
            for op in function.body.block.ops:
                if isinstance(op, cuda.LaunchOp):
                    found[op.kernel.string_value()].append(op)
    return found


def _can_wait(arch: Arch) -> bool:
    """Return whether a machine begins kernels early."""
    return not arch.is_cpu and cuda.GridDependencyWaitOp().instruction.runs_on(arch)
