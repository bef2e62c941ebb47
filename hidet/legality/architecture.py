"""Instructions: the machine that a kernel is for has all of them."""

from __future__ import annotations

from hidet.dialects.cuda import KernelOp
from hidet.dialects.cuda.marks import INSTRUMENTED
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.legality.report import illegal


def check_architecture(kernel: KernelOp, arch: str) -> None:
    """Check that a machine has the instructions of a kernel.

    Args:
        kernel: a kernel at the `cuda` level.
        arch: the name of the machine: `cpu`, `sm_80`, `sm_90a`.

    Raises:
        LegalityError: it lacks one; the error says which machines have it. Or the kernel checks its
            memory accesses, which only the CPU does.
    """
    if INSTRUMENTED in kernel.attributes and arch != "cpu":
        raise illegal(
            kernel,
            f"a kernel with the checks of instrument-memory cannot run on {arch}",
            "the strict mode is one of the CPU",
        )
    for op in kernel.body.walk():
        if isinstance(op, InstructionOp) and not op.instruction.runs_on(arch):
            needed = f"sm_{op.instruction.arch}{'a' if op.instruction.only else ' or later'}"
            raise illegal(op, f"{op.name} does not exist on {arch}", f"it needs {needed}")
