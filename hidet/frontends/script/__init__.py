"""The frontend of hidet script: traces Python functions into kernels.

Python does not run a function under `@hidet.script`. Its syntax tree is interpreted once.
Compile-time values (sizes, lists, task mappings, functions) are computed; operations on run-time
values emit IR of the `task` and `cuda` dialects.

Reading order:

- `tracing`: the emitter that receives all ops; `messages`: errors, located in the source,
- `types`, `scalars`, `variables`, `vectors`, `tensors`, `pointers`: script values and their types;
  `operators`: tables of operators,
- `syntax_analysis`: queries on syntax trees; `calls`: Python functions,
- `evaluation`, `assignments`, `loops`, `exits`, `statements`: the interpreter,
- `kernels`: entries and inlining; `launches`: parameters, arguments, the host side;
  `kernel_checks`: checks after tracing; `module`: `script_module`,
- `functional`, `memory`, `attributes`, `verbs`, `instructions` and others: what scripts can call.

A user's mistake raises a `ScriptError` anywhere below; `Source.at` adds the location.
"""

from hidet.loading import loading

with loading():
    from hidet.frontends.script.module import IRModule, ScriptModule, script, script_module

__all__ = ["IRModule", "ScriptModule", "script", "script_module"]
