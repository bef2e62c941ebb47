"""Builds script modules: lowers their kernels, and compiles them for where the tensors are."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import torch
from xdsl.dialects.builtin import ModuleOp

from hidet.backend.build import build_kernels
from hidet.backend.cache import Store
from hidet.backend.printer import print_kernel, print_kernels
from hidet.backend.toolchains import Gxx, Nvcc
from hidet.context import make_context
from hidet.dialects.alias_printer import module_text
from hidet.dialects.cuda.kernel import KernelOp
from hidet.driver.kernel_launch import CpuKernel, CudaKernel, KernelShape
from hidet.driver.options import CompileOptions
from hidet.driver.script_arguments import Arguments
from hidet.driver.target import find_target
from hidet.errors import HidetError
from hidet.frontends.script.module import IRModule
from hidet.lowering.kernels import kernels_of
from hidet.lowering.legality.architecture import check_architecture
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.lowering.task.lower_task import LowerTaskPass
from hidet.lowering.verify_level import VerifyLevelPass

Level = Literal["task", "cuda", "final"]
"""The stages of a script: as it was written, for one thread, and ready to be printed."""


def build_ir_module(ir_module: IRModule) -> CompiledModule:
    """Build the kernels of a script module, `m.ir_module()`.

    They are lowered at once, and compiled at the first call, by nvcc for CUDA tensors and by g++
    for those on the CPU.

    Raises:
        PassError: a pass failed.
    """
    return CompiledModule(ir_module)


class CompiledModule:
    """The kernels of a script module; called with tensors and numbers, runs its only kernel.

    `module["name"](...)` and `module.name(...)` run one of several.

    Args:
        ir_module: the kernels as IR.

    Raises:
        PassError: a pass failed.
    """

    def __init__(self, ir_module: IRModule) -> None:
        self._ir = ir_module
        final = self._lowered("final")
        self._final = final
        self.functions: dict[str, CompiledFunction] = {
            kernel.name: CompiledFunction(op, Arguments(kernel.name, kernel.parameters, op))
            for kernel, op in zip(ir_module.kernels, kernels_of(final), strict=True)
        }

    def __call__(self, *arguments: object) -> None:
        """Run the only kernel; see `CompiledFunction`.

        Raises:
            HidetError: there are several kernels.
        """
        if len(self.functions) != 1:
            raise HidetError(
                f"the module has the kernels {', '.join(self.functions)}; which one is meant?",
                hint="call one by its name: module['name'](...)",
            )
        next(iter(self.functions.values()))(*arguments)

    def __getitem__(self, name: str) -> CompiledFunction:
        if name not in self.functions:
            raise HidetError(
                f"the module has no kernel '{name}'", hint=f"it has {', '.join(self.functions)}"
            )
        return self.functions[name]

    def __getattr__(self, name: str) -> CompiledFunction:
        functions: dict[str, CompiledFunction] = self.__dict__.get("functions", {})
        if name not in functions:
            raise AttributeError(f"the module has no kernel '{name}', only {', '.join(functions)}")
        return functions[name]

    def source(self) -> str:
        """Return the kernels as CUDA C++."""
        return print_kernels(kernels_of(self._final))

    def ir(self, level: Level = "task") -> str:
        """Return the kernels as MLIR.

        Args:
            level: "task" as the script says it, "cuda" for one thread, "final" as it is printed.
        """
        return module_text(self._final if level == "final" else self._lowered(level))

    def _lowered(self, level: Level) -> ModuleOp:
        """Lower a copy of the module to a level."""
        module = self._ir.clone()
        if level != "task":
            lower_script(module, final=level == "final")
        return module


def lower_script(module: ModuleOp, *, final: bool = True) -> None:
    """Lower kernels of a script, in place.

    No barriers are added: a script says itself where threads wait for each other.

    Args:
        module: the kernels.
        final: whether to go on to what the printer takes; else what one thread does is left.

    Raises:
        PassError: a pass failed.
        LegalityError: a check between stages failed, where the option `verify_level` is on.
    """
    context = make_context()
    options = PassOptions(verify=CompileOptions.current().verify_level)
    LowerTaskPass().apply(context, module)
    if options.verify:
        VerifyLevelPass("cuda", "lower-task").apply(context, module)
    if final:
        run_pipeline(module, context, options, pipeline="cuda-pipeline")


class CompiledFunction:
    """One kernel; called with tensors and numbers, it runs where the tensors are.

    On a GPU it runs on torch's current stream.
    """

    def __init__(self, op: KernelOp, arguments: Arguments) -> None:
        self.name: str = op.sym_name.data
        self._op = op
        self._arguments = arguments
        self._loaded: dict[torch.device, CpuKernel | CudaKernel] = {}

    @cached_property
    def _source(self) -> str:
        return print_kernel(self._op)

    def source(self) -> str:
        """Return the kernel as CUDA C++."""
        return self._source

    def __call__(self, *arguments: object) -> None:
        """Run the kernel.

        Raises:
            HidetError: an argument is not what the parameter takes, or the launch failed.
            DeviceMismatchError: tensors are on different devices.
            UnsupportedDtypeError: a tensor has another data type than the parameter.
            LegalityError: the device lacks an instruction of the kernel.
            CompilerNotFoundError: nvcc or g++ is missing.
            CompilationError: nvcc or g++ failed.
        """
        device = self._arguments.check(arguments)
        if 0 in self._op.grid_dims:
            return
        kernel = self._loaded.get(device)
        if kernel is None:
            kernel = self._loaded[device] = self._load(device)
        with self._arguments.pointers(arguments) as address:
            kernel.launch(address)

    def _load(self, device: torch.device) -> CpuKernel | CudaKernel:
        """Compile the kernel for a device, or take it from the cache, and load it."""
        options = CompileOptions.current()
        target = find_target(device, options)
        check_architecture(self._op, target)
        store = Store(options.cache_dir, max_bytes=options.cache_size_limit)
        toolchain = Gxx() if target == "cpu" else Nvcc(target)
        path = build_kernels({self.name: self._source}, toolchain, store.kernels, progress=False)
        shape = KernelShape(self.name, self._op.grid_dims, self._op.block_dims)
        make = CpuKernel if target == "cpu" else CudaKernel
        return make(path[self.name], shape, device)
