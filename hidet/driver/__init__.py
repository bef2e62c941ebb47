"""The compile driver: from a program of the graph dialect, or a script, to something that runs.

    compile_graph(module, device=torch.device("cuda", 0)).run(inputs, constants)
    build_ir_module(script_module.ir_module())(a, b, c)

- `compiler`: out of the cache, or else through the compiler;
- `options`, `target`: what is compiled for what;
- `programs`: the cache of whole programs, which makes a warm start run no pass;
- `compilation`: the stages of a cold start;
- `tuning`, `candidates`: the tuner's place among the passes, and what builds its candidates;
- `passes`: runs the pipeline, with times, dumps, and errors that say where;
- `dump`: what `HIDET_DUMP` writes;
- `script`: functions of scripts, which run on the host and launch kernels: `script_arguments` are
  checked, `host_code` makes a function of Python of the host's IR, which calls `kernel_launch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hidet.absent import missing
from hidet.driver.options import CompileOptions

if TYPE_CHECKING:
    from hidet.driver.compiler import compile_graph
    from hidet.driver.script import CompiledModule
    from hidet.frontends.script import IRModule

__all__ = ["CompileOptions", "build_ir_module", "compile_graph"]


def build_ir_module(ir_module: IRModule) -> CompiledModule:
    """Build the kernels of a script module, `m.ir_module()`; see `hidet.driver.script`."""
    # The compiler, which graphs out of the cache do without.
    from hidet.driver.script import build_ir_module as build

    return build(ir_module)


def __getattr__(name: str) -> Any:
    """Load what needs torch when it is asked for: the workers of the tuner do without."""
    if name == "compile_graph":
        from hidet.driver.compiler import compile_graph

        return compile_graph
    raise missing(__name__, name)
