"""Checks of a kernel against the architecture that it is compiled for."""

from math import prod

from hidet.arch.chips import Arch
from hidet.arch.limits import MAX_THREADS_PER_BLOCK, WARP
from hidet.dialects.cuda import DYNAMIC, InstructionOp, KernelOp
from hidet.dialects.cuda.marks import INSTRUMENTED
from hidet.dialects.walking import ops_of_class
from hidet.legality.report import illegal
from hidet.legality.tiles import check_shared_memory

MAX_FIBERS = 8 * MAX_THREADS_PER_BLOCK
"""The most threads of a cluster on the CPU (`kMaxFibers` of hidet_cpu_order.h)."""


def check_architecture(kernel: KernelOp, arch: Arch) -> None:
    """Check that an architecture has the instructions and the shared memory of a kernel.

    Raises:
        LegalityError: an instruction is missing (the error names the architectures that have it),
            shared memory does not suffice, or the kernel is instrumented, which needs the CPU.
    """
    if INSTRUMENTED in kernel.attributes and not arch.is_cpu:
        raise illegal(
            kernel,
            f"a kernel with the checks of instrument-memory cannot run on {arch.name}",
            "the strict mode is one of the CPU",
        )
    threads = 0 if DYNAMIC in kernel.block_dims else prod(kernel.block_dims)
    blocks = prod(kernel.cluster)
    if arch.is_cpu and blocks > 1 and (threads % WARP or not 0 < threads * blocks <= MAX_FIBERS):
        raise illegal(
            kernel,
            f"clusters of {blocks} blocks with {threads or 'an open number of'} threads on the CPU",
            f"there a block of a cluster has whole warps of {WARP} threads, as many as it says, "
            f"and a cluster up to {MAX_FIBERS} threads",
        )
    check_shared_memory(kernel, arch)
    for op in ops_of_class(kernel.body, InstructionOp):
        if not op.instruction.runs_on(arch):
            machines = f"sm_{op.instruction.arch}{'a' if op.instruction.only else ' or later'}"
            raise illegal(op, f"{op.name} does not exist on {arch.name}", f"it needs {machines}")
