"""Binaries of compiled graphs outside of the cache, as saved graphs contain them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hidet.backend.build import find_binary
from hidet.backend.cache import open_store
from hidet.backend.cache.seal import sealing_key
from hidet.backend.toolchains.gxx import cpu_description
from hidet.driver.compiler import native_library
from hidet.driver.options import CompileOptions
from hidet.driver.target import find_target, find_toolchain
from hidet.errors import CacheError
from hidet.limits import resource_errors
from hidet.runtime.compiled_graph import CompiledGraph

if TYPE_CHECKING:
    import torch

    from hidet.runtime.plan import Plan


def own_key() -> bytes:
    """Return the key of the seals of this user's files.

    Raises:
        CacheError: the cache cannot be used.
    """
    options = CompileOptions.current()
    return sealing_key(open_store(options.cache_dir, options.cache_size_limit).folder)


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
    store = open_store(options.cache_dir, options.cache_size_limit)
    toolchain = find_toolchain(device, options)
    binaries: dict[str, bytes] = {}
    for kernel in plan.kernels:
        key = kernel.artifact_key
        binary = find_binary(store.kernels, key, toolchain, toolchain.entry(kernel.symbol))
        if binary is None:
            what = f"the binary of kernel '{kernel.symbol}' is no longer in the cache"
            raise CacheError(what, hint="compile the graph again before saving it")
        binaries[key] = binary
    return binaries


@resource_errors("the graph cannot be loaded")
def load_binaries(plan: Plan, binaries: Mapping[str, bytes], device: torch.device) -> CompiledGraph:
    """Return the compiled graph of a plan with these binaries, by their keys."""
    options = CompileOptions.current()
    library = None
    if plan.target != "cpu":
        library = native_library(open_store(options.cache_dir, options.cache_size_limit))
    return CompiledGraph(plan, binaries, device, native=library)
