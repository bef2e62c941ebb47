"""The pass `insert-waits`: inserts waits for preceding launches into kernels."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from typing_extensions import override
from xdsl.dialects.builtin import MemRefType, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import MemoryEffectKind

from hidet.analysis.memory import root_of
from hidet.arch.chips import Arch
from hidet.dialects import cuda
from hidet.dialects.cuda.marks import AWAITED, CONSTANT, OVERLAPS
from hidet.dialects.effects import accessed, effects_of, has_trait
from hidet.dialects.shaped import is_memref
from hidet.dialects.walking import ops_in, ops_of_class
from hidet.pass_options import PassOptions
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.kernel_pass import KernelPass

_MEMORY = MemRefType | cuda.TensorMapType

LONG = 2.0
"""The roofline in microseconds above which a kernel does not let the next one start early.

Blocks of the next one would be scheduled out of order, wherever an SM becomes free. What that costs
in L2 traffic exceeds the latency that is hidden: on an H100, the down projections of Llama take 39
us in place of 28, a whole prefill 2.29 ms in place of 2.15 (limits of 2, 4 and 8 are alike).
"""


@dataclass(frozen=True)
class InsertWaitsPass(KernelPass):
    """Wait for preceding launches in kernels that start before these have finished.

    Expects the marks of `mark-constants`, and the output of `hoist-tensor-maps`. A kernel that
    `cuda.overlaps` does block-local setup, prefetches what is `cuda.constant` (usually weights),
    and waits before its first other access to global memory (CUDA C++ Programming Guide,
    Programmatic Dependent Launch). All threads wait, on all paths, so no kernel finishes before its
    predecessors: a wait for the previous launch is a wait for all earlier ones. After the wait, the
    kernel lets the next one start (`cuda.launch_dependents`), so at most two are in flight; a long
    kernel does not, and the next one starts when its blocks exit. Kernels with explicit waits are
    left alone.

    Leaves `cuda.overlaps` on exactly the kernels with a `cuda.grid_dependency_wait`. What such a
    kernel reads is `cuda.awaited` unless it is constant: nvcc assumes that read-only `__restrict__`
    memory is constant during the kernel, and might use loads that do not wait, or stale L1 lines.
    """

    name = "insert-waits"

    arch: str = PassOptions.arch
    overlap_launches: bool = PassOptions.overlap_launches

    @override
    def run(self, kernel: cuda.KernelOp) -> None:
        overlaps = kernel.attributes.pop(OVERLAPS, None) is not None
        waits = bool(ops_of_class(kernel.body, cuda.GridDependencyWaitOp))
        arch = Arch.parse(self.arch)
        numbered = enumerate(kernel.arguments)
        constants = {each for number, each in numbered if kernel.is_marked(CONSTANT, number)}
        can_wait = not arch.is_cpu and cuda.GridDependencyWaitOp().instruction.runs_on(arch)
        if overlaps and not waits and self.overlap_launches and can_wait:
            floor = kernel.work and kernel.work.floor(arch)
            _insert_wait(kernel, constants, releases=floor is None or floor <= LONG)
            waits = True
        if not waits:
            return
        kernel.attributes[OVERLAPS] = UnitAttr()
        awaited = set(_read_by(kernel)) - constants
        flags = [isinstance(each.type, MemRefType) and each in awaited for each in kernel.arguments]
        kernel.mark_arguments(AWAITED, flags)


def _insert_wait(kernel: cuda.KernelOp, constants: Collection[SSAValue], *, releases: bool) -> None:
    """Wait before the first access to memory that others write; then release the next kernel."""
    block = kernel.body.block
    ops = (op for op in block.ops if not all(_may_precede(each, constants) for each in ops_in(op)))
    first = next(ops, None)
    at = InsertPoint.at_end(block) if first is None else InsertPoint.before(first)
    builder = KernelBuilder.like(kernel, at)
    builder.insert(cuda.GridDependencyWaitOp())
    awaited = [argument for argument in kernel.arguments if argument not in constants]
    if any(isinstance(argument.type, cuda.TensorMapType) for argument in awaited):
        # The wait orders the generic proxy only; TMA copies need a proxy fence.
        builder.insert(cuda.FenceProxyAsyncGlobalOp())
    if releases:
        builder.insert(cuda.LaunchDependentsOp())


def _may_precede(op: Operation, constants: Collection[SSAValue]) -> bool:
    """Return whether an op by itself accesses no memory that others write, and does not exit."""
    if isinstance(op, cuda.InstructionOp) or has_trait(type(op), cuda.BlockBarrier):
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


def _read_by(kernel: cuda.KernelOp) -> Iterator[SSAValue]:
    """Yield the memrefs that a kernel may read."""
    for op in ops_in(kernel.body):
        effects = effects_of(op)
        found = op.operands if effects is None else accessed(effects, MemoryEffectKind.READ)
        yield from (root_of(value) for value in found if value is not None)
