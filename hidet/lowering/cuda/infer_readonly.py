"""The pass `infer-readonly`: marks kernel arguments that are only read."""

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Use

from hidet.dialects.cuda import READONLY, KernelOp, TensorMapType
from hidet.dialects.effects import effects_of, writes_of
from hidet.rewriting.kernel_pass import KernelPass

_MEMORY = MemRefType | TensorMapType


class InferReadonlyPass(KernelPass):
    """Mark the memref arguments of kernels that are only read with `cuda.readonly`.

    This includes tensor maps of tensors that are only read, and the buffers of such maps. Ops with
    unknown effects count as writes. The printer makes such an argument `const`; the runtime derives
    the order of launches from their writes.

    Expects: kernels at the `cuda` level, whose arguments are used by loads, stores, vector copies
    and instructions. Leaves: `cuda.readonly` on exactly the arguments that are only read.
    """

    name = "infer-readonly"

    def run(self, kernel: KernelOp) -> None:
        """Mark the arguments of one kernel."""
        flags = [
            isinstance(argument.type, _MEMORY) and all(map(_reads, argument.uses))
            for argument in kernel.arguments
        ]
        kernel.mark_arguments(READONLY, flags)


def _reads(use: Use) -> bool:
    """Return whether a use of a memref or a tensor map only reads it, through views too."""
    user = use.operation
    views = (result for result in user.results if isinstance(result.type, _MEMORY))
    return (
        effects_of(user) is not None
        and user.operands[use.index] not in writes_of(user)
        and all(_reads(other) for view in views for other in view.uses)
    )
