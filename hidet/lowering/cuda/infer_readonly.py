"""The pass `infer-readonly`: which arguments a kernel only reads."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import SSAValue, Use
from xdsl.passes import ModulePass

from hidet.analysis.kernels import kernels_of
from hidet.dialects.cuda.checks import CheckBoundsOp
from hidet.dialects.cuda.instructions import CopyVectorOp
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.cuda.tensor_copy import TmaStoreOp
from hidet.dialects.cuda.tensor_map import TensorMapOp, TensorMapType
from hidet.dialects.cuda.views import AddressOfOp, ViewOp


@dataclass(frozen=True)
class InferReadonlyPass(ModulePass):
    """Mark the memref arguments of kernels that are only read with `cuda.readonly`.

    So are tensor maps whose tensors are only read, and what such a map is made of.

    An operation that is not known to only read its operand counts as writing it. The printer makes
    such an argument `const`, the runtime orders launches by what they write.

    Expects: kernels at the `cuda` level, whose arguments are used by loads, stores, vector copies
    and instructions. Leaves: `cuda.readonly` on exactly the arguments that are only read.
    """

    name = "infer-readonly"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run on all kernels of a module."""
        for kernel in kernels_of(op):
            kernel.set_readonly([_is_readonly(argument) for argument in kernel.arguments])


def _is_readonly(argument: SSAValue) -> bool:
    """Return whether an argument is a memref, or the map of a tensor, that is only read."""
    return isinstance(argument.type, MemRefType | TensorMapType) and all(map(_reads, argument.uses))


def _reads(use: Use) -> bool:
    """Return whether a use of a memref or a tensor map only reads it."""
    user = use.operation
    if isinstance(user, TmaStoreOp):
        return user.map is not user.operands[use.index]
    if isinstance(user, CopyVectorOp):
        return user.target is not user.operands[use.index]
    if isinstance(user, ViewOp | TensorMapOp):
        return all(map(_reads, user.result.uses))
    if isinstance(user, InstructionOp):
        return user.operands[use.index] not in user.writes
    return isinstance(user, memref.LoadOp | CheckBoundsOp | AddressOfOp)
