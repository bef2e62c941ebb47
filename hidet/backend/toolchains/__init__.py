"""The compilers: g++ makes libraries for the CPU, nvcc makes cubins for GPUs."""

from hidet.backend.toolchains.base import CompileReport, KernelResources, Toolchain
from hidet.backend.toolchains.gxx import Gxx
from hidet.backend.toolchains.nvcc import Nvcc
from hidet.backend.toolchains.processes import TIME_LIMIT, Processes

__all__ = [
    "TIME_LIMIT",
    "CompileReport",
    "Gxx",
    "KernelResources",
    "Nvcc",
    "Processes",
    "Toolchain",
]
