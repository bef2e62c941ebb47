"""The pass `infer-readonly`: which arguments a kernel only reads."""

from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue, Use

from hidet.dialects.cuda.kernel import READONLY, KernelOp
from hidet.dialects.cuda.tensor_map import TensorMapType
from hidet.dialects.effects import effects_of, writes_of
from hidet.rewriting.kernel_pass import KernelPass


@dataclass(frozen=True)
class InferReadonlyPass(KernelPass):
    """Mark the memref arguments of kernels that are only read with `cuda.readonly`.

    So are tensor maps whose tensors are only read, and what such a map is made of.

    An operation that is not known to only read its operand counts as writing it. The printer makes
    such an argument `const`, the runtime orders launches by what they write.

    Expects: kernels at the `cuda` level, whose arguments are used by loads, stores, vector copies
    and instructions. Leaves: `cuda.readonly` on exactly the arguments that are only read.
    """

    name = "infer-readonly"

    def run(self, kernel: KernelOp) -> None:
        """Mark the arguments of one kernel."""
        kernel.mark_arguments(READONLY, list(map(_is_readonly, kernel.arguments)))


def _is_readonly(argument: SSAValue) -> bool:
    """Return whether an argument is a memref, or the map of a tensor, that is only read."""
    return isinstance(argument.type, MemRefType | TensorMapType) and all(map(_reads, argument.uses))


def _reads(use: Use) -> bool:
    """Return whether a use of a memref or a tensor map only reads it, as do views of it."""
    user = use.operation
    views = (
        result for result in user.results if isinstance(result.type, MemRefType | TensorMapType)
    )
    return (
        effects_of(user) is not None
        and user.operands[use.index] not in writes_of(user)
        and all(_reads(other) for view in views for other in view.uses)
    )
