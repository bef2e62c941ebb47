"""The types of scripts by short and long names; `f32[m, n]` is a tensor, `~f32` a pointer."""

from hidet.absent import explain_missing
from hidet.frontends.script import types
from hidet.frontends.script.memory import (
    DeclareScope,
    register_tensor,
    shared_tensor,
    tensor,
    tensor_pointer,
)
from hidet.frontends.script.types import PointerType, ScalarType, TensorType, VectorType
from hidet.frontends.script.types import scalar_type as data_type

DataType = ScalarType
tensor_type = TensorType

boolean = types.BOOL
i8 = int8 = types.I8
i16 = int16 = types.I16
i32 = int32 = types.I32
i64 = int64 = types.I64
u8 = uint8 = types.U8
u16 = uint16 = types.U16
u32 = uint32 = types.U32
u64 = uint64 = types.U64
f16 = float16 = types.F16
bf16 = bfloat16 = types.BF16
f32 = float32 = types.F32
f64 = float64 = types.F64
tf32 = tfloat32 = types.TF32
f16x2, f16x4, f16x8 = (VectorType(types.F16, lanes) for lanes in (2, 4, 8))
bf16x2, bf16x4, bf16x8 = (VectorType(types.BF16, lanes) for lanes in (2, 4, 8))
f32x2, f32x4 = (VectorType(types.F32, lanes) for lanes in (2, 4))
i8x4, u8x4 = VectorType(types.I8, 4), VectorType(types.U8, 4)
i32x2, i32x4 = (VectorType(types.I32, lanes) for lanes in (2, 4))
u32x2, u32x4 = (VectorType(types.U32, lanes) for lanes in (2, 4))
void_p = byte_p = types.VOID_POINTER

explain_missing(__name__)

__all__: list[str] = ["DataType", "DeclareScope", "PointerType", "ScalarType", "TensorType"]
__all__ += ["VectorType"]
__all__ += ["bf16", "bf16x2", "bf16x4", "bf16x8", "bfloat16", "boolean", "byte_p", "data_type"]
__all__ += ["f16", "f16x2", "f16x4", "f16x8", "f32", "f32x2", "f32x4", "f64", "float16", "float32"]
__all__ += ["float64", "i8", "i8x4", "i16", "i32", "i32x2", "i32x4", "i64", "int16", "int32"]
__all__ += ["int8", "int64", "register_tensor", "shared_tensor", "tensor", "tensor_pointer"]
__all__ += ["tensor_type", "tf32", "tfloat32", "u8", "u8x4", "u16", "u32", "u32x2", "u32x4", "u64"]
__all__ += ["uint8", "uint16", "uint32", "uint64", "void_p"]
