"""The pass `overlap-launches`: overlaps kernels by programmatic dependent launch."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
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
    """Start kernels before their predecessors have finished, with explicit waits.

    Expects the output of `pass-tensor-maps`. If @forward launches several kernels, each of them
    does block-local setup, prefetches what no launch writes (usually weights), and waits before its
    first other access to global memory (CUDA C++ Programming Guide, Programmatic Dependent Launch).
    All threads wait, on all paths, so no kernel finishes before its predecessors: a wait for the
    previous launch is a wait for all earlier ones. After the wait, the kernel lets the next one
    start (`cuda.launch_dependents`), so at most two are in flight. Kernels with explicit waits are
    left alone.

    Leaves `programmatic` on exactly the launches of kernels with a `cuda.grid_dependency_wait`.
    What such a kernel reads is `cuda.awaited` unless it is an input or a weight: nvcc assumes that
    read-only `__restrict__` memory is constant during the kernel, and might use loads that do not
    wait, or stale L1 lines.
    """

    name = "overlap-launches"

    arch: str = PassOptions.arch
    overlap_launches: bool = PassOptions.overlap_launches

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run on all kernels and launches of a module."""
        launches = _launches_of_forward(op)
        count = sum(map(len, launches.values()))
        arch = Arch.parse(self.arch)
        can_wait = not arch.is_cpu and cuda.GridDependencyWaitOp().instruction.runs_on(arch)
        insert = self.overlap_launches and count > 1 and can_wait
        for kernel in kernels_of(op):
            own = launches[kernel.sym_name.data]
            if insert and own and not waits_for_launches(kernel):
                _insert_wait(kernel, _constants_of(kernel, own))
            if waits_for_launches(kernel):
                _mark_awaited(kernel, own)
        waiting = {kernel.sym_name.data for kernel in kernels_of(op) if waits_for_launches(kernel)}
        for launch in op.walk():
            if isinstance(launch, cuda.LaunchOp):
                waits = launch.kernel.string_value() in waiting
                launch.programmatic = UnitAttr() if waits else None


def _insert_wait(kernel: cuda.KernelOp, constants: Collection[SSAValue]) -> None:
    """Wait before the first access to memory that others write; then release the next kernel."""
    block = kernel.body.block
    ops = (op for op in block.ops if not all(_may_precede(each, constants) for each in op.walk()))
    first = next(ops, None)
    at = InsertPoint.at_end(block) if first is None else InsertPoint.before(first)
    builder = KernelBuilder.like(kernel, at)
    builder.insert(cuda.GridDependencyWaitOp())
    awaited = [argument for argument in kernel.arguments if argument not in constants]
    if any(isinstance(argument.type, cuda.TensorMapType) for argument in awaited):
        # The wait orders the generic proxy only; TMA copies need a proxy fence.
        builder.insert(cuda.EffectOp("fence_proxy_async_global", ()))
    builder.insert(cuda.LaunchDependentsOp())


def _may_precede(op: Operation, constants: Collection[SSAValue]) -> bool:
    """Return whether an op by itself accesses no memory that others write, and does not exit."""
    if isinstance(op, cuda.InstructionOp) or op.has_trait(cuda.BlockBarrier):
        # Its ordering effects concern accesses of others.
        memory = [value for value in op.operands if isinstance(value.type, _MEMORY)]
        return all(_is_own(value, constants) for value in memory)
    effects = effects_of(op)
    if effects is None or isinstance(op, cuda.LeaveOp):
        return False
    kinds = MemoryEffectKind.READ, MemoryEffectKind.WRITE
    return all(_is_own(value, constants) for kind in kinds for value in accessed(effects, kind))


def _is_own(value: SSAValue | None, constants: Collection[SSAValue]) -> bool:
    """Return whether memory is local to the block, or constant."""
    if value is None:
        return False
    root = root_of(value)
    is_local = is_memref(root.type) and cuda.space_of(root.type) is not cuda.Space.GLOBAL
    return is_local or root in constants


def _constants_of(kernel: cuda.KernelOp, launches: Sequence[cuda.LaunchOp]) -> set[SSAValue]:
    """Return the arguments of a kernel that no launch writes."""
    return {
        argument
        for number, argument in enumerate(kernel.arguments)
        if all(_is_constant(launch.arguments[number]) for launch in launches)
    }


def _mark_awaited(kernel: cuda.KernelOp, launches: Sequence[cuda.LaunchOp]) -> None:
    """Mark the arguments that a kernel reads and that are not constant in all its launches."""
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
    """Yield the memrefs that a kernel may read."""
    for op in kernel.body.walk():
        effects = effects_of(op)
        found = op.operands if effects is None else accessed(effects, MemoryEffectKind.READ)
        yield from (root_of(value) for value in found if value is not None)


def _is_constant(value: SSAValue) -> bool:
    """Return whether no launch of the host function writes an argument of a launch."""
    match value.owner:
        case cuda.TensorMapOp() as op:
            return _is_constant(op.buffer)
        case cuda.BufferOp() as op:
            return op.kind.data is not cuda.BufferKind.ARENA
        case Block():
            assert isinstance(value, BlockArgument)
            function = value.block.parent_op()
            is_input = value.index < len(value.block.args) - _output_count(value.block)
            updates = dict(updates_of(function)) if isinstance(function, FuncOp) else {}
            return is_input and value not in updates
        case _:
            return True  # a scalar


def _output_count(block: Block) -> int:
    function = block.parent_op()
    assert function is not None
    count = function.attributes.get(OUTPUT_COUNT)
    return count.value.data if isinstance(count, IntegerAttr) else 0


def _launches_of_forward(module: ModuleOp) -> defaultdict[str, list[cuda.LaunchOp]]:
    """Return the launches of @forward by kernel name."""
    found: defaultdict[str, list[cuda.LaunchOp]] = defaultdict(list)
    for function in module.ops:
        if isinstance(function, FuncOp) and function.sym_name.data == FORWARD:
            for op in function.body.block.ops:
                if isinstance(op, cuda.LaunchOp):
                    found[op.kernel.string_value()].append(op)
    return found
