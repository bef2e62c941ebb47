"""Hidet: a deep learning compiler for NVIDIA GPUs, written in Python on xDSL.

This module hands out the public interface and nothing else. Every name is loaded when it is first
used, so that `import hidet` costs nearly nothing and pulls in neither torch nor xDSL.
"""

import importlib
import importlib.metadata
import sys
from typing import TYPE_CHECKING

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
    from hidet.graph import frontend
    from hidet.graph.loaded import load_compiled, load_graph
    from hidet.graph.loaded import load_compiled as load_compiled_graph
    from hidet.graph.saved import save_compiled, save_graph
    from hidet.graph.saved import save_compiled as save_compiled_graph
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
    from hidet.tensor import (
        Tensor,
        arange,
        asarray,
        empty,
        empty_like,
        from_dlpack,
        from_torch,
        full,
        full_like,
        linspace,
        ones,
        ones_like,
        randint,
        randn,
        randn_like,
        symbol,
        symbol_like,
        zeros,
        zeros_like,
    )

__version__ = "0.1.0"

# Public name -> "module" or "module:attribute".
_PUBLIC_NAMES: dict[str, str] = {
    "FlowGraph": "hidet.frontends.trace.flow_graph:FlowGraph",
    "Operator": "hidet.frontends.trace.recording:Operator",
    "compile": "hidet.frontends.torch.direct:compile",
    "cuda": "hidet.cuda",
    "driver": "hidet.driver",
    "drivers": "hidet.drivers",
    "errors": "hidet.errors",
    "frontend": "hidet.graph.frontend",
    "graph": "hidet.graph",
    "ir": "hidet.ir",
    "lang": "hidet.lang",
    "ops": "hidet.ops",
    "load_compiled": "hidet.graph.loaded:load_compiled",
    "load_compiled_graph": "hidet.graph.loaded:load_compiled",
    "load_graph": "hidet.graph.loaded:load_graph",
    "option": "hidet.option",
    "save_compiled": "hidet.graph.saved:save_compiled",
    "save_compiled_graph": "hidet.graph.saved:save_compiled",
    "save_graph": "hidet.graph.saved:save_graph",
    "script": "hidet.frontends.script:script",
    "script_module": "hidet.frontends.script:script_module",
    "testing": "hidet.testing",
    "torch": "hidet.torch",
    "trace_from": "hidet.frontends.trace.flow_graph:trace_from",
    "utils": "hidet.utils",
    "bfloat16": "hidet.lang.types:bfloat16",
    "boolean": "hidet.lang.types:boolean",
    "float16": "hidet.lang.types:float16",
    "float32": "hidet.lang.types:float32",
    "float64": "hidet.lang.types:float64",
    "int8": "hidet.lang.types:int8",
    "int16": "hidet.lang.types:int16",
    "int32": "hidet.lang.types:int32",
    "int64": "hidet.lang.types:int64",
    "tfloat32": "hidet.lang.types:tfloat32",
    "uint8": "hidet.lang.types:uint8",
    "uint16": "hidet.lang.types:uint16",
    "uint32": "hidet.lang.types:uint32",
    "uint64": "hidet.lang.types:uint64",
    "Tensor": "hidet.tensor:Tensor",
    "arange": "hidet.tensor:arange",
    "asarray": "hidet.tensor:asarray",
    "empty": "hidet.tensor:empty",
    "empty_like": "hidet.tensor:empty_like",
    "from_dlpack": "hidet.tensor:from_dlpack",
    "from_torch": "hidet.tensor:from_torch",
    "full": "hidet.tensor:full",
    "full_like": "hidet.tensor:full_like",
    "linspace": "hidet.tensor:linspace",
    "ones": "hidet.tensor:ones",
    "ones_like": "hidet.tensor:ones_like",
    "randint": "hidet.tensor:randint",
    "randn": "hidet.tensor:randn",
    "randn_like": "hidet.tensor:randn_like",
    "symbol": "hidet.tensor:symbol",
    "symbol_like": "hidet.tensor:symbol_like",
    "zeros": "hidet.tensor:zeros",
    "zeros_like": "hidet.tensor:zeros_like",
}

__all__ = [
    "FlowGraph",
    "Operator",
    "Tensor",
    "__version__",
    "arange",
    "asarray",
    "bfloat16",
    "boolean",
    "compile",
    "cuda",
    "driver",
    "drivers",
    "empty",
    "empty_like",
    "errors",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "from_torch",
    "frontend",
    "full",
    "full_like",
    "graph",
    "int8",
    "int16",
    "int32",
    "int64",
    "ir",
    "lang",
    "linspace",
    "load_compiled",
    "load_compiled_graph",
    "load_graph",
    "ones",
    "ones_like",
    "ops",
    "option",
    "randint",
    "randn",
    "randn_like",
    "save_compiled",
    "save_compiled_graph",
    "save_graph",
    "script",
    "script_module",
    "symbol",
    "symbol_like",
    "testing",
    "tfloat32",
    "torch",
    "trace_from",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "utils",
    "zeros",
    "zeros_like",
]


def __getattr__(name: str) -> object:
    """Load the public name on its first use."""
    if name not in _PUBLIC_NAMES:
        from hidet.absent import missing

        raise missing(__name__, name)
    module_name, _, attribute = _PUBLIC_NAMES[name].partition(":")
    module = importlib.import_module(module_name)
    value: object = getattr(module, attribute) if attribute else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *_PUBLIC_NAMES})


def _refuse_original_hidet() -> None:
    """Raise where the distribution `hidet` is installed, which owns the same import package."""
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
    """Announce the backend to torch.compile where torch._dynamo has been loaded already.

    Otherwise torch finds it through the entry point `torch_dynamo_backends` when it looks for
    backends the first time.
    """
    if "torch._dynamo" in sys.modules:
        importlib.import_module("hidet.frontends.torch").register()


_refuse_original_hidet()
_register_with_torch()
