"""The frontend of hidet script: a Python function becomes a kernel.

A function under `@hidet.script` is not run by Python. Its syntax tree is executed statement by
statement, once, when it is defined. What Python knows by then (sizes, lists, task mappings, other
functions) is computed; what only the kernel will know is a value of the IR, and what is done with
it writes IR of the `task` and `cuda` dialects.

To be read in this order:

- `tracing`: the function that is being traced, which all ops go to; `messages`, `source`: errors,
- `types`, `scalars`, `variables`, `vectors`, `tensors`, `pointers`: what names stand for, which
  make each other: types are called, operators give scalars; `operators`: their tables,
- `syntax_analysis`: what the syntax tells; `scopes`: the names of a function; `signature`: calls,
- `evaluation`, `assignments`, `loops`, `exits`, `statements`: execute the syntax tree,
- `kernels`: a function as a kernel, on the host, or inlined; `parameters`: what it takes;
  `launches`: what the host computes; `kernel_checks`: what follows; `module`: `script_module`,
- `builtins`, `memory`, `attributes`, `verbs`, `instructions` and others: what scripts can call.
"""

from hidet.loading import loading

with loading():
    from hidet.frontends.script.module import IRModule, ScriptModule, script, script_module

__all__ = ["IRModule", "ScriptModule", "script", "script_module"]
