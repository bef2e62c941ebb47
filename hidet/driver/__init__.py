"""The compile driver: compiles programs of the graph dialect, and script modules.

    compile_graph(module, device=torch.device("cuda", 0)).run(inputs, constants)
    build_ir_module(script_module.ir_module())(a, b, c)

- `compiler`: loads a program from the cache, or compiles it;
- `options`, `target`: the options and the target of a compilation;
- `programs`: the cache of whole programs, so that a warm start runs no pass;
- `compilation`: the stages of a cold start;
- `tuning`: the tuner as a pass, and the builder of its candidates;
- `passes`: runs the pipeline, with times, located errors, and the dumps of `HIDET_DUMP`;
- `parallel`, `lowering_worker`: the passes on single kernels in worker processes;
- `script`: script functions, which run on the host and launch kernels: `script_arguments` checks
  arguments, `host_code` translates host IR to Python, which calls `kernel_launch`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hidet.absent import missing
from hidet.driver.options import CompileOptions

if TYPE_CHECKING:
    from hidet.driver.compiler import compile_graph
    from hidet.driver.script import build_ir_module

__all__ = ["CompileOptions", "build_ir_module", "compile_graph"]


def __getattr__(name: str) -> Any:
    """Import functions lazily: the tuner's workers have no torch, cached graphs no compiler."""
    homes = {"build_ir_module": "hidet.driver.script", "compile_graph": "hidet.driver.compiler"}
    if name not in homes:
        raise missing(__name__, name)
    return getattr(import_module(homes[name]), name)
