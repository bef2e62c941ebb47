"""The script language: types, tensors, task mappings, loops and functions.

    from hidet.lang import attrs, f32
    from hidet.lang.cuda import blockIdx, threadIdx

    with hidet.script_module() as module:

        @hidet.script
        def double(x: f32[1024]):
            attrs.cuda.grid_dim = 4
            attrs.cuda.block_dim = 256
            i = blockIdx.x * 256 + threadIdx.x
            x[i] = x[i] * 2

    module.build()(torch.ones(1024))

`hidet.lang.cuda` has the ids, barriers, shuffles and atomics of CUDA, `hidet.lang.mapping` the task
mappings, `hidet.lang.layout` the layouts of tensors, `hidet.lang.types` the types,
`hidet.lang.meta` compile-time loops, and `hidet.lang.task` block-level verbs on tiles.
"""

# ruff: noqa: F403 (the types and mappings)

from hidet.absent import explain_missing
from hidet.loading import loading

with loading():
    from hidet.frontends.script import script, script_module
    from hidet.frontends.script.attributes import ATTRS
    from hidet.frontends.script.cuda_arithmetic import reinterpret
    from hidet.frontends.script.formats import printf
    from hidet.frontends.script.functional import address, bitwise_not, cast, cdiv, deref
    from hidet.frontends.script.iterables import grid
    from hidet.frontends.script.iterables import loop_range as range
    from hidet.frontends.script.memory import as_tensor_pointer, view
    from hidet.lang import cuda, layout, mapping, math, meta, task, types
    from hidet.lang.layout import column_major, local_layout, row_major
    from hidet.lang.mapping import *
    from hidet.lang.types import *
    from hidet.original import show_elsewhere

attr = attrs = ATTRS

show_elsewhere(
    __name__, {f"constructs{part}": ["hidet.lang"] for part in ("", ".declare", ".loops")}
)
explain_missing(__name__)

__all__ = ["address", "as_tensor_pointer", "attr", "attrs", "bitwise_not", "cast", "cdiv"]
__all__ += ["column_major", "cuda", "deref", "grid", "layout", "local_layout", "mapping", "math"]
__all__ += ["meta", "printf", "range", "reinterpret", "row_major", "script", "script_module"]
__all__ += ["task", "types", "view"]
__all__ += mapping.__all__
__all__ += types.__all__
