"""Builds script modules: lowers their kernels, and compiles them per device."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import count
from typing import Any, Literal
from weakref import WeakValueDictionary

import torch
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from hidet.analysis.kernels import kernels_of
from hidet.arch.chips import Arch
from hidet.backend.build import build_kernels
from hidet.backend.cache import artifact_key
from hidet.backend.printer import print_kernels
from hidet.context import make_context
from hidet.dialects.alias_printer import module_text
from hidet.dialects.cuda import KernelOp, PrintfOp
from hidet.dialects.cuda.marks import INSTRUMENTED, MAY_ALIAS, ON_CPU
from hidet.driver.host_code import (
    Launch,
    compile_host,
    launched_kernels,
    optional_arguments,
    written_arguments,
)
from hidet.driver.kernel_launch import Launcher, load_kernel, name_line
from hidet.driver.options import CompileOptions
from hidet.driver.passes import Dump, Lowering
from hidet.driver.script_arguments import Arguments, number_of
from hidet.driver.target import find_toolchain
from hidet.errors import CompilationError, HidetError
from hidet.foreign import plain
from hidet.frontends.script.kernels import HostFunction
from hidet.frontends.script.launches import LAUNCH
from hidet.frontends.script.module import IRModule
from hidet.legality.architecture import check_architecture
from hidet.limits import resource_errors
from hidet.lowering.pipelines import passes_of, run_pipeline
from hidet.pass_options import PassOptions
from hidet.runtime.kernels import accessible
from hidet.runtime.times import CompileTimes
from hidet.tracebacks import public
from hidet.utils.benchmark import benchmark_func

Level = Literal["task", "cuda", "final"]
"""The stages of a script: as traced, per thread, and as printed."""


_PLAIN = frozenset((torch.Tensor, torch.nn.Parameter, torch.nn.Buffer, int, float, bool))


def _is_traced(arguments: Sequence[object]) -> bool:
    """Return whether a tensor is of a subclass, as the tracers of torch use."""
    return not _PLAIN.issuperset(map(type, arguments)) and any(
        isinstance(value, torch.Tensor) and type(value) not in _PLAIN for value in arguments
    )


@public
def build_ir_module(ir_module: IRModule) -> CompiledModule:
    """Build the kernels of a script module, `m.ir_module()`.

    They are lowered at once, and compiled at the first call: by nvcc for CUDA tensors, by g++ for
    those on the CPU.

    Raises:
        PassError: a pass failed.
    """
    return CompiledModule(ir_module)


class CompiledModule:
    """The functions of a script module; calling it runs `launch`.

    That is the function of this name, or the only one. `module["name"](...)` and `module.name(...)`
    run another one.

    Raises:
        PassError: a pass failed.
    """

    def __init__(self, ir_module: IRModule) -> None:
        self._ir = ir_module.clone()
        settings = CompileOptions.current()
        text = "" if settings.dump_dir is None else str(ir_module)
        key = hashlib.sha256(text.encode()).hexdigest()
        dump = Dump(settings.dump_dir, key, "script")
        times = CompileTimes()
        self._final = ir_module.clone()
        options = settings.for_passes()
        passes = passes_of("script-pipeline", options)
        Lowering(self._final, dump, times, again=ir_module.clone, verify=options.verify).run(passes)
        scripted = [kernel.op for kernel in ir_module.kernels]
        kernels = LoadedKernels(self._final, scripted, dump)
        if settings.dump_dir is not None:
            dump.kernels({name: print_kernels(op) for name, op in kernels.ops.items()})
        hosts = [op for op in self._final.ops if isinstance(op, FuncOp)]
        self.functions: dict[str, CompiledFunction] = {
            function.name: CompiledFunction(function, op, kernels)
            for function, op in zip(ir_module.functions, hosts, strict=True)
        }

    @public
    def __call__(self, *arguments: object) -> int | float | None:
        """Run `launch`, and return what it returns; see `CompiledFunction`.

        Raises:
            HidetError: there are several functions, and none has this name.
        """
        return self[LAUNCH](*arguments)

    def profile(self, *arguments: object, **runs: int) -> list[float]:
        """Return the run times of `launch` in milliseconds; see `CompiledFunction.profile`."""
        return self[LAUNCH].profile(*arguments, **runs)

    @public
    def __getitem__(self, name: str) -> CompiledFunction:
        is_only = name == LAUNCH and len(self.functions) == 1  # which is called `launch` too
        found = next(iter(self.functions.values())) if is_only else self.functions.get(name)
        if found is None:
            raise HidetError(
                f"the module has no function '{name}', but {', '.join(self.functions)}",
                hint="call one by its name, module['name'](...), or write a function 'launch'",
            )
        return found

    def __getattr__(self, name: str) -> CompiledFunction:
        if "functions" not in self.__dict__:  # it is being made
            raise AttributeError(name)
        try:
            return self[name]
        except HidetError as error:
            raise AttributeError(error.what) from error

    def source(self, color: bool = False) -> str:
        """Return the kernels as CUDA C++; `color` is ignored."""
        return print_kernels(*kernels_of(self._final))

    def ir(self, level: Level = "task") -> str:
        """Return the kernels as MLIR: "task" as traced, "cuda" per thread, "final" as printed."""
        if level == "final":
            return module_text(self._final)
        module = self._ir.clone()
        if level == "cuda":
            run_pipeline(module, make_context(), PassOptions(), pipeline="script-to-cuda")
        return module_text(module)


@dataclass(frozen=True)
class RecordedLaunch:
    """A launch of a kernel by a host function."""

    kernel: KernelOp
    lowered: KernelOp
    extents: tuple[int, ...]
    values: tuple[int | float, ...]


class CompiledFunction:
    """A host function; called with tensors and numbers, it launches kernels.

    They run on the device of the tensors, on a GPU on torch's current stream. Under `torch.compile`
    a call becomes a torch operator.
    """

    def __init__(self, function: HostFunction, op: FuncOp, kernels: LoadedKernels) -> None:
        self.name: str = function.name
        self._key = f"{self.name} {next(_NUMBERS)}"
        FUNCTIONS[self._key] = self
        self._op = op
        self._kernels = kernels
        self._launched = launched_kernels(op)
        all_marks = [kernels.ops[name].attributes for name in self._launched]
        what = "kernel" if function.name in kernels.ops else "function"
        self.arguments = Arguments(
            f"{what} '{self.name}'",
            function.parameters,
            written_arguments(op, kernels.ops),
            optional_arguments(op, kernels.ops),
            all(MAY_ALIAS in marks for marks in all_marks),
        )
        self._on_cpu = any(ON_CPU in marks for marks in all_marks)
        self._result = function.result
        self._bind = compile_host(op)
        self._bound: dict[torch.device, Callable[..., Any]] = {}
        self._is_strict = any(INSTRUMENTED in marks for marks in all_marks)

    def source(self, color: bool = False) -> str:
        """Return the kernels that it launches as CUDA C++; `color` is ignored."""
        return print_kernels(*(self._kernels.ops[name] for name in self._launched))

    @public
    def __call__(self, *arguments: object) -> int | float | None:
        """Run the function and return its result.

        Raises:
            HidetError: an argument does not match its parameter, or a launch failed.
            DeviceMismatchError: tensors are on different devices.
            UnsupportedDtypeError: a tensor has another data type than the parameter.
            LegalityError: the device lacks an instruction of a kernel.
            CompilerNotFoundError: nvcc or g++ is missing.
            CompilationError: nvcc or g++ failed.
        """
        if not torch.compiler.is_dynamo_compiling() and not _is_traced(arguments):
            return self.run(tuple(map(plain, arguments)))
        from hidet.driver.script_operator import call_operator, run_outside  # which loads dynamo

        if self._result is not None:
            return run_outside(self._key, arguments)
        return call_operator(self._key, arguments)

    def functional(
        self, read: Sequence[torch.Tensor], written: Sequence[torch.Tensor]
    ) -> tuple[torch.Tensor, ...]:
        """Return the new values of the tensors that the function writes, without writing them.

        This is for functional graphs, for example to replace an operator. `read` are the first
        arguments, `written` the last ones.
        """
        from hidet.driver.script_operator import call_functionally

        return call_functionally(self._key, read, written)

    def profile(
        self, *arguments: object, warmup: int = 1, number: int = 2, repeat: int = 10
    ) -> list[float]:
        """Return the run time of a call in milliseconds, `repeat` times.

        Each is the mean of `number` runs; `warmup` runs precede all of them.
        """
        run = partial(self, *arguments)
        return benchmark_func(run, warmup, number, repeat, median=False)

    def run(self, arguments: Sequence[object]) -> int | float | None:
        """Run the function on tensors with data; see `__call__`."""
        device = self.arguments.check(arguments, on_cpu=self._on_cpu)
        run = self._bound.get(device)
        if run is None:
            run = self._bound[device] = self._bind(self._kernels.load(self._launched, device))
        with self.arguments.values(arguments) as values:
            if self._is_strict:
                sizes = [a.nbytes if isinstance(a, torch.Tensor) else 0 for a in arguments]
                with accessible(zip(values, sizes, strict=True)):
                    returned = run(*values)
            else:
                returned = run(*values)
        return None if self._result is None else number_of(self._result, returned)

    def record(self, values: Sequence[int | float]) -> list[RecordedLaunch]:
        """Return the launches of the function for addresses and numbers, without running them."""
        found: list[RecordedLaunch] = []

        def recorder(name: str) -> Launch:
            scripted, lowered = self._kernels.scripted[name], self._kernels.ops[name]
            count = lowered.dynamic_extents

            def launch(*values: int | float) -> None:
                extents = tuple(map(int, values[:count]))
                found.append(RecordedLaunch(scripted, lowered, extents, values[count:]))

            return launch

        self._bind({name: recorder(name) for name in self._launched})(*values)
        return found

    @cached_property
    def prints(self) -> bool:
        """Whether the function itself prints; kernels may as well."""
        return any(isinstance(op, PrintfOp) for op in self._op.walk())

    @property
    def content(self) -> str:
        """The IR of the function and of the kernels that it launches."""
        return "\n".join(map(str, (self._op, *(self._kernels.ops[n] for n in self._launched))))


class LoadedKernels:
    """The kernels of a module, compiled and loaded on demand."""

    def __init__(self, module: ModuleOp, scripted: Sequence[KernelOp], dump: Dump) -> None:
        self._dump = dump
        self.ops = {op.sym_name.data: op for op in kernels_of(module)}
        self.scripted = {op.sym_name.data: op for op in scripted}
        self._loaded: dict[tuple[str, torch.device], Launch] = {}

    def load(self, names: Sequence[str], device: torch.device) -> dict[str, Launch]:
        """Return the launchers of kernels on a device; missing ones are compiled in parallel."""
        missing = [self.ops[name] for name in names if (name, device) not in self._loaded]
        for op, launch in zip(missing, _load(missing, device, self._dump), strict=True):
            self._loaded[op.sym_name.data, device] = launch
        return {name: self._loaded[name, device] for name in names}


@resource_errors("the kernels cannot be compiled")
def _load(ops: Sequence[KernelOp], device: torch.device, dump: Dump) -> list[Launch]:
    """Compile kernels for a device, or find them in the cache, and load them."""
    is_strict = any(INSTRUMENTED in op.attributes for op in ops)
    options = replace(CompileOptions.current(), strict=is_strict)
    toolchain = find_toolchain(device, options)
    target = toolchain.target
    arch = Arch.parse(target)
    for op in ops:
        if ON_CPU in op.attributes and target != "cpu":
            raise HidetError(
                f"'{op.sym_name.data}' is a cpu_kernel, but the tensors are on {device}",
                hint="pass tensors on the CPU",
            )
        check_architecture(op, arch)
    store = options.store()
    # Kernels with an empty static grid are not compiled.
    sources = {op.sym_name.data: print_kernels(op) for op in ops if 0 not in op.grid_dims}
    try:
        binaries = build_kernels(
            sources,
            toolchain,
            store.kernels,
            symbols={name: toolchain.symbol(name) for name in sources},
            progress=False,
            time_limit=options.compile_time_limit,
        )
    except CompilationError as error:
        name_line(error, ops)
        raise
    if dump.folder is not None:
        fingerprint = toolchain.fingerprint()
        keys = {name: artifact_key(source, fingerprint) for name, source in sources.items()}
        dump.logs(store, keys)
    return [
        Launcher(op, load_kernel(binaries[name], op, device))
        if (name := op.sym_name.data) in binaries
        else lambda *_: None  # an empty grid
        for op in ops
    ]


FUNCTIONS: WeakValueDictionary[str, CompiledFunction] = WeakValueDictionary()
"""The functions by their keys, strings that dynamo can guard."""

_NUMBERS = count()
