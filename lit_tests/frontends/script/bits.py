# RUN: hidet script %s --filecheck

"""Functions that keep the bits of a value, under the names of CUDA."""

import hidet
from hidet.lang import attrs, bf16, f16, f32, f64, i16, i32, i64, u16, u32
from hidet.lang.cuda import (
    __bfloat16_as_short,
    __bfloat16_as_ushort,
    __double_as_longlong,
    __float_as_int,
    __float_as_uint,
    __half_as_short,
    __half_as_ushort,
    __int_as_float,
    __longlong_as_double,
    __short_as_bfloat16,
    __short_as_half,
    __uint_as_float,
    __ushort_as_bfloat16,
    __ushort_as_half,
)

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @bits
    # SOURCE-LABEL: bits(
    @hidet.script
    def bits(
        f: f32[4],
        d: f64[2],
        h: f16[4],
        b: bf16[4],
        w: u32[2],
        n: i32[2],
        q: i64[2],
        s: i16[4],
        u: u16[4],
    ):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     arith.bitcast %{{.*}} : f32 to i32
        # SOURCE: hidet::bit_cast<int>(f[0]);
        w[0] = __float_as_uint(f[0])
        # IR:     arith.bitcast
        # SOURCE: hidet::bit_cast<int>(f[1]);
        n[0] = __float_as_int(f[1])
        # IR:     arith.bitcast %{{.*}} : i32 to f32
        # SOURCE: hidet::bit_cast<float>(
        f[2] = __uint_as_float(w[1])
        # IR:     arith.bitcast
        # SOURCE: hidet::bit_cast<float>(
        f[3] = __int_as_float(n[1])
        # IR:     arith.bitcast %{{.*}} : f64 to i64
        # SOURCE: hidet::bit_cast<long long>(d[0]);
        q[0] = __double_as_longlong(d[0])
        # IR:     arith.bitcast
        # SOURCE: hidet::bit_cast<double>(q[1]);
        d[1] = __longlong_as_double(q[1])
        # IR:     arith.bitcast %{{.*}} : f16 to i16
        # SOURCE: hidet::bit_cast<short>(h[0]);
        u[0] = __half_as_ushort(h[0])
        # IR:     arith.bitcast
        # SOURCE: hidet::bit_cast<short>(h[1]);
        s[0] = __half_as_short(h[1])
        # IR:     arith.bitcast
        # SOURCE: hidet::bit_cast<hidet::half>(
        h[2] = __ushort_as_half(u[1])
        # IR:     arith.bitcast
        # SOURCE: hidet::bit_cast<hidet::half>(
        h[3] = __short_as_half(s[1])
        # IR:     arith.bitcast %{{.*}} : bf16 to i16
        # SOURCE: hidet::bit_cast<short>(b[0]);
        u[2] = __bfloat16_as_ushort(b[0])
        # IR:     arith.bitcast
        # SOURCE: hidet::bit_cast<short>(b[1]);
        s[2] = __bfloat16_as_short(b[1])
        # IR:     arith.bitcast
        # SOURCE: hidet::bit_cast<hidet::bfloat16>(
        b[2] = __ushort_as_bfloat16(u[3])
        # IR:     arith.bitcast
        # SOURCE: hidet::bit_cast<hidet::bfloat16>(
        b[3] = __short_as_bfloat16(s[3])
