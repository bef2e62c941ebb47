"""The frontend of hidet script: a Python function becomes a kernel.

A function under `@hidet.script` is not run by Python. Its syntax tree is executed statement by
statement, once, when it is defined. What Python knows by then (sizes, lists, task mappings, other
functions) is computed; what only the kernel will know is a value of the IR, and what is done with
it writes IR of the `task` and `cuda` dialects.

To be read in this order:

- `types`, `values`: what names stand for; `operators`, `conversions`: tables; `emitter`: writes IR,
  `verbs`: what threads do together,
- `source`, `syntax_analysis`: what the syntax tells; `scopes`: the names of a function,
- `evaluation`, `assignments`, `loops`, `statements`: execute the syntax tree; `contexts`: `with`,
- `kernels`: a function as a kernel, on the host, or inlined; `launches`: what the host computes;
  `signature`, `keywords`, `argument_passing`: arguments of calls; `parameters`: those of
  kernels; `cleanup`, `kernel_checks`: what follows; `module`: `script` and `script_module`,
- `builtins`, `memory`, `attributes`, `cuda`: what scripts can call and set.
"""

from hidet.collector_pause import collector_paused

with collector_paused(for_good=True):
    from hidet.frontends.script.module import IRModule, ScriptModule, script, script_module

__all__ = ["IRModule", "ScriptModule", "script", "script_module"]
