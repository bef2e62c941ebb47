"""Passes that run on one kernel at a time."""

from abc import abstractmethod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from hidet.analysis.kernels import kernels_of
from hidet.dialects.cuda.kernel import KernelOp


class KernelPass(ModulePass):
    """A pass on each kernel of a module, as a function pass in MLIR."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run on every kernel of a module, in program order."""
        for kernel in kernels_of(op):
            self.run(kernel)

    @abstractmethod
    def run(self, kernel: KernelOp) -> None:
        """Run on one kernel."""
