# RUN: hidet script %s --filecheck

"""Types: parameters, conversions, and how types meet."""

import hidet
from hidet.lang import (
    attrs,
    bf16,
    boolean,
    cast,
    data_type,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)

with hidet.script_module() as module:
    # TASK-LABEL:   cuda.kernel @parameters(%a : memref<2x4xf32>, %b : memref<?xf16>, %c : i64)
    # CUDA-LABEL:   cuda.kernel @parameters(%a : memref<2x4xf32>, %b : memref<?xf16>, %c : i64)
    # FINAL-LABEL:  cuda.kernel @parameters(%a : memref<8xf32>, %b : memref<?xf16> {cuda.readonly}, %c : i64)
    # SOURCE-LABEL: parameters(
    # SOURCE-NEXT:    float* __restrict__ a,
    # SOURCE-NEXT:    const hidet::half* __restrict__ b,
    # SOURCE-NEXT:    long long c) {
    @hidet.script
    def parameters(a: f32[2, 4], b: ~f16, c: i64):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     memref.load %b
        # SOURCE: a[0] = hidet::cast<float>(b[c]);
        a[0, 0] = b[c]

    # IR-LABEL:     cuda.kernel @tensors
    # SOURCE-LABEL: tensors(
    # SOURCE-NEXT:    const signed char* __restrict__ a,
    # SOURCE-NEXT:    const short* __restrict__ b,
    # SOURCE-NEXT:    const bool* __restrict__ c,
    # SOURCE-NEXT:    const hidet::bfloat16* __restrict__ d,
    # SOURCE-NEXT:    double* __restrict__ out) {
    @hidet.script
    def tensors(a: i8[8], b: i16[8], c: boolean[8], d: bf16[8], out: f64[8]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # Short integers are computed in 32 bits, short floats in f32.
        # IR:     arith.extsi %{{.*}} : i8 to i32
        # IR:     arith.extsi %{{.*}} : i16 to i32
        # IR:     arith.addi %{{.*}}, %{{.*}} : i32
        # SOURCE: out[0] = hidet::cast<double>(hidet::cast<int>(a[0]) + hidet::cast<int>(b[0]));
        out[0] = a[0] + b[0]
        # IR:     arith.extf %{{.*}} : bf16 to f32
        # IR:     arith.mulf %{{.*}}, %{{.*}} : f32
        # IR:     arith.truncf %{{.*}} : f32 to bf16
        # SOURCE: hidet::cast<hidet::bfloat16>(hidet::cast<float>(d[0]) * hidet::cast<float>(d[1]))
        out[1] = d[0] * d[1]
        # IR:     arith.select
        # SOURCE: out[2] = hidet::cast<double>(hidet::truth(c) ? 1 : 2);
        out[2] = 1 if c[0] else 2

    # IR-LABEL:     cuda.kernel @conversions
    # SOURCE-LABEL: conversions(
    @hidet.script
    def conversions(x: f32[32], n: i32[32], out: f64[32], whole: i64[32]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     arith.truncf %{{.*}} : f32 to f16
        # SOURCE: out[0] = hidet::cast<double>(hidet::cast<hidet::half>(x[0]));
        out[0] = f16(x[0])
        # IR:     arith.truncf %{{.*}} : f32 to bf16
        # SOURCE: out[1] = hidet::cast<double>(hidet::cast<hidet::bfloat16>(x[1]));
        out[1] = bf16(x[1])
        # IR:     arith.sitofp %{{.*}} : i32 to f32
        # SOURCE: out[2] = hidet::cast<double>(hidet::cast<float>(n[2]));
        out[2] = f32(n[2])
        # IR:     arith.extf %{{.*}} : f32 to f64
        # SOURCE: out[3] = hidet::cast<double>(x[3]);
        out[3] = f64(x[3])
        # IR:     arith.trunci %{{.*}} : i32 to i8
        # SOURCE: whole[4] = hidet::cast<long long>(hidet::cast<signed char>(n[4]));
        whole[4] = i8(n[4])
        # IR:     arith.trunci %{{.*}} : i32 to i16
        # SOURCE: whole[5] = hidet::cast<long long>(hidet::cast<short>(n[5]));
        whole[5] = i16(n[5])
        # IR:     arith.fptosi %{{.*}} : f32 to i32
        # SOURCE: whole[6] = hidet::cast<long long>(hidet::cast<int>(x[6]));
        whole[6] = i32(x[6])
        # IR:     arith.extsi %{{.*}} : i32 to i64
        # SOURCE: whole[7] = hidet::cast<long long>(n[7]);
        whole[7] = i64(n[7])
        # IR:     arith.extui %{{.*}} : i8 to i64
        # SOURCE: whole[8] = hidet::cast<long long>(hidet::cast<unsigned char>(
        whole[8] = u8(n[8])
        # IR:     arith.extui %{{.*}} : i16 to i64
        # SOURCE: whole[9] = hidet::cast<long long>(hidet::cast<unsigned short>(
        whole[9] = u16(n[9])
        # IR:     arith.extui %{{.*}} : i32 to i64
        # SOURCE: whole[10] = hidet::cast<long long>(hidet::cast<unsigned>(n[10]));
        whole[10] = u32(n[10])
        # IR:     arith.fptoui %{{.*}} : f32 to i64
        # SOURCE: whole[11] = hidet::cast<unsigned long long>(x[11]);
        whole[11] = u64(x[11])
        # IR:     arith.cmpi ne, %{{.*}}, %{{.*}} : i32
        # SOURCE: whole[12] = hidet::cast<long long>(n[12] != 0);
        whole[12] = boolean(n[12])
        # IR:     arith.fptosi %{{.*}} : f32 to i32
        # SOURCE: out[13] = hidet::cast<double>(hidet::cast<int>(hidet::cast<int>(x[13]) + 1u));
        out[13] = int(x[13]) + 1
        # IR:     arith.sitofp %{{.*}} : i32 to f32
        # SOURCE: out[14] = hidet::cast<double>(hidet::cast<float>(n[14]) * 0.5f);
        out[14] = float(n[14]) * 0.5
        # IR:     arith.cmpf une, %{{.*}}, %{{.*}} : f32
        # SOURCE: out[15] = hidet::cast<double>(x[15] != 0.0f);
        out[15] = bool(x[15])
        # IR:     arith.truncf %{{.*}} : f32 to f16
        # SOURCE: out[16] = hidet::cast<double>(hidet::cast<hidet::half>(x[16]));
        out[16] = cast(x[16], "float16")
        # IR:     arith.extf %{{.*}} : f32 to f64
        # SOURCE: out[17] = hidet::cast<double>(x[17]);
        out[17] = data_type("float64")(x[17])
