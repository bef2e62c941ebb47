"""Queries for kernels: those of a module, and the one around an op."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from hidet.dialects.cuda import KernelOp
from hidet.dialects.walking import parent_of_type
from hidet.errors import ScheduleError


def kernels_of(module: ModuleOp) -> list[KernelOp]:
    """Return the kernels of a module, in program order."""
    return [op for op in module.ops if isinstance(op, KernelOp)]


def kernel_of(op: Operation) -> KernelOp:
    """Return the kernel around an op.

    Raises:
        ScheduleError: the op is not in a kernel.
    """
    kernel = parent_of_type(op, KernelOp)
    if kernel is None:
        raise ScheduleError(f"{op.name} is not inside of a cuda.kernel")
    return kernel
