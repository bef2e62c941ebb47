"""Compiles a program of the graph dialect, or loads it from the cache or a saved graph."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING

from hidet.backend.build import build_kernels
from hidet.backend.cache import Store
from hidet.backend.cache.folder import sealing_key
from hidet.backend.toolchains import Gxx
from hidet.backend.toolchains.gxx import cpu_description
from hidet.driver.options import CompileOptions
from hidet.driver.programs import ProgramCache, program_key
from hidet.driver.target import Target, find_target, find_toolchain
from hidet.errors import CacheError, CompilationError, CompilerNotFoundError
from hidet.limits import resource_errors
from hidet.runtime.compiled_graph import CompiledGraph
from hidet.runtime.snapshots import SOURCE, SYMBOL
from hidet.runtime.times import CompileTimes
from hidet.tuning.winners import Winners

if TYPE_CHECKING:
    import torch
    from xdsl.dialects.builtin import ModuleOp

    from hidet.runtime.plan import Plan


@resource_errors("the program cannot be compiled")
def compile_graph(
    module: ModuleOp | str, *, device: torch.device, options: Mapping[str, object] | None = None
) -> CompiledGraph:
    """Compile a program of the graph dialect for a device, or load it from the cache.

    Args:
        module: the program, with the function `@forward`, or its text. It may be lowered in place.
        device: the device.
        options: overrides of `hidet.option`, by the names of `CompileOptions`.

    Raises:
        OptionError: an option does not exist, or the target does not match the device.
        PassError: a pass failed. The hint names a file with the program before the pass.
        LegalityError: a check between two stages failed, with the same hint.
        CompilerNotFoundError: nvcc or g++ is missing.
        CompilationError: nvcc or g++ failed.
        CacheError: the cache cannot be used.
        ResourceError: there is no memory, disk space, ... left.
    """
    settings = CompileOptions.current(options)
    report = CompileTimes()
    with report.stage("look up"):
        target, text = Target.of(device, settings), str(module)
        # Winners that are only looked up may have changed, so their state is part of the key.
        winners = Winners(target.store).state() if settings.search_space == 0 else ""
        key = program_key(text, target, winners)
        programs = ProgramCache(target.store, target.toolchain)
        # A dump needs the passes to run.
        program = programs.load(key) if settings.dump_dir is None else None
    report.cached = program is not None
    if program is None:
        with report.stage("import"):  # the compiler, which a warm start does not need
            from hidet.driver.compilation import compile_program
        if not target.arch.is_cpu:  # g++ runs while the program is compiled
            ThreadPoolExecutor(1).submit(native_library, target.store)
        program = compile_program(module, text, key, target, report)
        with report.stage("store"):
            programs.save(key, program.plan)
    with report.stage("load"):
        return CompiledGraph(
            program.plan,
            program.artifacts,
            device,
            report,
            text=text,
            use_cuda_graph=settings.use_cuda_graph,
            native=None if target.arch.is_cpu else native_library(target.store),
        )


@cache
def native_library(store: Store) -> bytes | None:
    """Build the native code of `runtime.snapshots`; None, after a warning, without g++."""
    try:
        sources, symbols = {"snapshots": SOURCE.read_text()}, {"snapshots": SYMBOL}
        built = build_kernels(sources, Gxx(), store.kernels, symbols=symbols, progress=False)
        return built["snapshots"]
    except (CompilerNotFoundError, CompilationError) as error:
        warnings.warn(
            f"without g++, each call checks its weights a little slower: {error.what}",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def own_key() -> bytes:
    """Return the key of the seals of this user's files.

    Raises:
        CacheError: the cache cannot be used.
    """
    return sealing_key(CompileOptions.current().store().folder)


def machine_of(device: torch.device) -> str:
    """Return the architecture of a GPU, or a hash of the processor."""
    target = find_target(device, CompileOptions.current())
    if target != "cpu":
        return target
    return f"cpu-{hashlib.sha256(cpu_description().encode()).hexdigest()[:16]}"


def binaries_of(plan: Plan, device: torch.device) -> dict[str, bytes]:
    """Return the binaries of a compiled graph, by their keys.

    Raises:
        CacheError: they are no longer in the cache.
    """
    options = CompileOptions.current()
    programs = ProgramCache(options.store(), find_toolchain(device, options))
    binaries = programs.binaries(plan)
    if binaries is None:
        what = "a binary of the graph is no longer in the cache"
        raise CacheError(what, hint="compile the graph again before saving it")
    return binaries


@resource_errors("the graph cannot be loaded")
def load_binaries(plan: Plan, binaries: Mapping[str, bytes], device: torch.device) -> CompiledGraph:
    """Return the compiled graph of a plan with these binaries, by their keys."""
    library = None if plan.target == "cpu" else native_library(CompileOptions.current().store())
    return CompiledGraph(plan, binaries, device, native=library)
