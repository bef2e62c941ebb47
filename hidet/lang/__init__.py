"""What kernel authors import: types, tensors, task mappings, loops and functions of scripts.

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
mappings, `hidet.lang.layout` the layouts of tensors, `hidet.lang.types` the types, and
`hidet.lang.meta` loops that are unrolled.
"""

from hidet.frontends.script import script, script_module
from hidet.frontends.script.attributes import ATTRS
from hidet.frontends.script.builtins import (
    cast,
    cdiv,
    grid,
)
from hidet.frontends.script.builtins import loop_range as range
from hidet.frontends.script.cuda import printf
from hidet.frontends.script.memory import (
    as_tensor_pointer,
    register_tensor,
    shared_tensor,
    tensor_pointer,
)
from hidet.lang import cuda, layout, mapping, math, meta, types
from hidet.lang.layout import column_major, local_layout, row_major
from hidet.lang.mapping import (
    auto_map,
    col_repeat,
    col_spatial,
    repeat,
    row_repeat,
    row_spatial,
    spatial,
)
from hidet.lang.types import *  # noqa: F403
from hidet.lang.types import __all__ as _types

attr = attrs = ATTRS

__all__ = [
    *_types,
    "as_tensor_pointer",
    "attr",
    "attrs",
    "auto_map",
    "cast",
    "cdiv",
    "col_repeat",
    "col_spatial",
    "column_major",
    "cuda",
    "grid",
    "layout",
    "local_layout",
    "mapping",
    "math",
    "meta",
    "printf",
    "range",
    "register_tensor",
    "repeat",
    "row_major",
    "row_repeat",
    "row_spatial",
    "script",
    "script_module",
    "shared_tensor",
    "spatial",
    "tensor_pointer",
    "types",
]
