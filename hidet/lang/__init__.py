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
mappings, `hidet.lang.layout` the layouts of tensors, `hidet.lang.types` the types,
`hidet.lang.meta` loops that are unrolled, and `hidet.lang.task` block-level verbs on tiles.
"""

from hidet.absent import explain_missing
from hidet.frontends.script import script, script_module
from hidet.frontends.script.attributes import ATTRS
from hidet.frontends.script.bits import reinterpret
from hidet.frontends.script.builtins import (
    cast,
    cdiv,
    grid,
)
from hidet.frontends.script.builtins import loop_range as range
from hidet.frontends.script.formats import printf
from hidet.frontends.script.functional import address, bitwise_not, deref
from hidet.frontends.script.memory import (
    DeclareScope,
    as_tensor_pointer,
    register_tensor,
    shared_tensor,
    tensor,
    tensor_pointer,
)
from hidet.frontends.script.views import view
from hidet.lang import cuda, layout, mapping, math, meta, task, types
from hidet.lang.layout import column_major, local_layout, row_major
from hidet.lang.mapping import (
    auto_map,
    col_repeat,
    col_spatial,
    repeat,
    replicate,
    row_repeat,
    row_spatial,
    spatial,
)
from hidet.lang.types import (
    TensorType,
    bf16,
    bf16x2,
    bf16x4,
    bf16x8,
    bfloat16,
    boolean,
    byte_p,
    data_type,
    f16,
    f16x2,
    f16x4,
    f16x8,
    f32,
    f32x2,
    f32x4,
    f64,
    float16,
    float32,
    float64,
    i8,
    i8x4,
    i16,
    i32,
    i32x2,
    i32x4,
    i64,
    int8,
    int16,
    int32,
    int64,
    tf32,
    tfloat32,
    u8,
    u8x4,
    u16,
    u32,
    u32x2,
    u32x4,
    u64,
    uint8,
    uint16,
    uint32,
    uint64,
    void_p,
)

attr = attrs = ATTRS

explain_missing(__name__)

__all__ = [
    "DeclareScope",
    "TensorType",
    "address",
    "as_tensor_pointer",
    "attr",
    "attrs",
    "auto_map",
    "bf16",
    "bf16x2",
    "bf16x4",
    "bf16x8",
    "bfloat16",
    "bitwise_not",
    "boolean",
    "byte_p",
    "cast",
    "cdiv",
    "col_repeat",
    "col_spatial",
    "column_major",
    "cuda",
    "data_type",
    "deref",
    "f16",
    "f16x2",
    "f16x4",
    "f16x8",
    "f32",
    "f32x2",
    "f32x4",
    "f64",
    "float16",
    "float32",
    "float64",
    "grid",
    "i8",
    "i8x4",
    "i16",
    "i32",
    "i32x2",
    "i32x4",
    "i64",
    "int8",
    "int16",
    "int32",
    "int64",
    "layout",
    "local_layout",
    "mapping",
    "math",
    "meta",
    "printf",
    "range",
    "register_tensor",
    "reinterpret",
    "repeat",
    "replicate",
    "row_major",
    "row_repeat",
    "row_spatial",
    "script",
    "script_module",
    "shared_tensor",
    "spatial",
    "task",
    "tensor",
    "tensor_pointer",
    "tf32",
    "tfloat32",
    "types",
    "u8",
    "u8x4",
    "u16",
    "u32",
    "u32x2",
    "u32x4",
    "u64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "view",
    "void_p",
]
