"""The compile driver: from a program of the graph dialect to something that runs.

    compile_graph(module, device=torch.device("cuda", 0)).run(inputs, constants)

- `compiler`: out of the cache, or else through the compiler;
- `options`, `target`: what is compiled for what;
- `programs`: the cache of whole programs, which makes a warm start run no pass;
- `compilation`: the stages of a cold start;
- `passes`: runs the pipeline, with times, dumps, and errors that say where;
- `dump`: what `HIDET_DUMP` writes.
"""

from hidet.driver.compiler import compile_graph
from hidet.driver.options import CompileOptions

__all__ = ["CompileOptions", "compile_graph"]
