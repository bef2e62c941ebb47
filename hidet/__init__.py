"""Hidet: a deep learning compiler for NVIDIA GPUs, written in Python on xDSL.

This module is the public API. Every name is imported at its first use, so that `import hidet` is
fast, and imports neither torch nor xDSL.
"""

# ruff: noqa: F403, F405 (the functions of `hidet.tensor`)

import importlib
import importlib.metadata
import sys
from typing import TYPE_CHECKING

from hidet.absent import missing, show_absent_modules

if TYPE_CHECKING:
    from hidet import (
        cuda,
        driver,
        drivers,
        errors,
        graph,
        ir,
        lang,
        ops,
        option,
        testing,
        torch,
        utils,
    )
    from hidet.frontends.script import script, script_module
    from hidet.frontends.torch.direct import compile
    from hidet.frontends.trace.flow_graph import FlowGraph, trace_from
    from hidet.frontends.trace.recording import Operator
    from hidet.frontends.trace.sizes import symbol_var
    from hidet.graph import frontend
    from hidet.graph.loaded import load_compiled, load_compiled_graph, load_graph
    from hidet.graph.saved import save_compiled, save_compiled_graph, save_graph
    from hidet.lang.types import (
        bfloat16,
        boolean,
        float16,
        float32,
        float64,
        int8,
        int16,
        int32,
        int64,
        tfloat32,
        uint8,
        uint16,
        uint32,
        uint64,
    )
    from hidet.tensor import *

__version__ = "0.1.0"

_NAMES = {
    "hidet": "cuda driver drivers errors graph ir lang ops option testing torch utils",
    "hidet.frontends.script": "script script_module",
    "hidet.frontends.torch.direct": "compile",
    "hidet.frontends.trace.flow_graph": "FlowGraph trace_from",
    "hidet.frontends.trace.recording": "Operator",
    "hidet.frontends.trace.sizes": "symbol_var",
    "hidet.graph": "frontend",
    "hidet.graph.loaded": "load_compiled load_compiled_graph load_graph",
    "hidet.graph.saved": "save_compiled save_compiled_graph save_graph",
    "hidet.lang.types": (
        "bfloat16 boolean float16 float32 float64 int8 int16 int32 int64 tfloat32 "
        "uint8 uint16 uint32 uint64"
    ),
    "hidet.tensor": (
        "Tensor arange asarray complex64 complex128 empty empty_like "
        "from_dlpack from_torch full full_like linspace "
        "ones ones_like randint randn randn_like symbol symbol_like zeros zeros_like"
    ),
}
"""The public names, by the module that defines them; those of `hidet` are modules themselves."""

_PUBLIC_NAMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = ["FlowGraph", "Operator", "Tensor", "__version__", "arange", "asarray", "bfloat16"]
__all__ += [
    "boolean",
    "compile",
    "complex64",
    "complex128",
    "cuda",
    "driver",
    "drivers",
    "empty",
    "empty_like",
    "errors",
]
__all__ += ["float16", "float32", "float64", "from_dlpack", "from_torch", "frontend", "full"]
__all__ += ["full_like", "graph", "int8", "int16", "int32", "int64", "ir", "lang", "linspace"]
__all__ += ["load_compiled", "load_compiled_graph", "load_graph", "ones", "ones_like", "ops"]
__all__ += ["option", "randint", "randn", "randn_like", "save_compiled", "save_compiled_graph"]
__all__ += ["save_graph", "script", "script_module", "symbol", "symbol_like", "symbol_var"]
__all__ += ["testing", "tfloat32", "torch", "trace_from", "uint8", "uint16", "uint32", "uint64"]
__all__ += ["utils", "zeros", "zeros_like"]


def __getattr__(name: str) -> object:
    """Import a public name at its first use."""
    if name not in _PUBLIC_NAMES:
        raise missing(__name__, name)
    home = _PUBLIC_NAMES[name]
    if home == "hidet":
        return importlib.import_module(f"hidet.{name}")
    value = globals()[name] = getattr(importlib.import_module(home), name)
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted({*globals(), *_PUBLIC_NAMES})


def _refuse_original_hidet() -> None:
    """Raise an error if the distribution `hidet` is installed, which has the same package name."""
    try:
        version = importlib.metadata.version("hidet")
    except importlib.metadata.PackageNotFoundError:
        return
    from hidet.errors import ConflictingPackageError

    raise ConflictingPackageError(
        f"the distributions 'hidet' ({version}) and 'hidet-xdsl' ({__version__}) are both "
        "installed and provide the same import package 'hidet'",
        hint="keep one of them: `pip uninstall hidet hidet-xdsl`, then `pip install hidet-xdsl`",
    )


def _register_with_torch() -> None:
    """Register the backend with torch.compile if torch._dynamo has been imported already.

    Otherwise torch finds it through the entry point `torch_dynamo_backends`.
    """
    if "torch._dynamo" in sys.modules:
        importlib.import_module("hidet.frontends.torch").register()


_refuse_original_hidet()
_register_with_torch()
show_absent_modules()
