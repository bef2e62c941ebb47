"""The target `cuda` of `hidet-opt`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from hidet.backend.printer.kernel import print_kernels
from hidet.dialects.cuda.kernel import KernelOp


@dataclass(frozen=True)
class CudaTarget(Target):
    """`-t cuda`: the kernels of a module as one file of CUDA C++."""

    name = "cuda"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the kernels; host functions are not printed."""
        output.write(print_kernels([op for op in module.ops if isinstance(op, KernelOp)]))
