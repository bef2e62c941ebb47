# RUN: hidet script %s --filecheck

"""Vectors, whole loads and stores, cache hints, and ordered accesses."""

import hidet
from hidet.lang import (
    attrs,
    bf16,
    bf16x2,
    bf16x4,
    bf16x8,
    f16,
    f16x2,
    f16x4,
    f16x8,
    f32,
    f32x2,
    f32x4,
    i8,
    i8x4,
    i32,
    i32x2,
    i32x4,
    register_tensor,
    u8,
    u8x4,
    u32,
    u32x2,
    u32x4,
)
from hidet.lang.cuda import copy_vector, fma_f16x2, load, store, sub_f16x2, threadIdx

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @vectors
    # SOURCE-LABEL: vectors(
    @hidet.script
    def vectors(x: f32[8, 128], y: f32[8, 128], s: f32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        i = threadIdx.x * 4
        # IR-COUNT-4: memref<f32, #cuda.space<local>>
        # SOURCE: float total = 0.0f;
        # SOURCE-NEXT: float total1 = 0.0f;
        total = f32x4(0.0)
        for k in range(8):
            # IR:     cuda.hinted_copy nc %x[%{{.*}}] to %[[V:.*]][%{{.*}}] width 4
            # IR:     memref.load %[[V]]
            # SOURCE: hidet::load_nc<4>(buf, &x[i + k * 128]);
            v = load(~x[k, i], dtype=f32x4, cache="nc")
            # IR-COUNT-4: arith.mulf
            # SOURCE: total += buf[0] * s;
            # SOURCE: total3 += buf[3] * s;
            total += v * s
        # IR-COUNT-4: memref.store
        # IR:     cuda.copy_vector %{{.*}} to %y[%{{.*}}] width 4
        # SOURCE: hidet::copy_vector<float, 4>(&y[i], buf);
        store(~y[0, i], total)
        # IR:     cuda.hinted_copy cs %{{.*}} to %y[
        # SOURCE: buf1[0] = -hidet::fmax(total, s);
        # SOURCE: hidet::store_cs<4>(&y[i + 128], buf1);
        store(~y[1, i], -f32x4(*[max(each, s) for each in total]), cache="cs")
        # IR:     %own = memref.alloca() {alignment = 16 : i64} : memref<4xf32, #cuda.space<local>>
        # SOURCE: __align__(16) float own[4];
        own = register_tensor("float32", [4])
        # IR:     cuda.copy_vector %x[%{{.*}}] to %own[%{{.*}}] width 4
        # SOURCE: hidet::copy_vector<float, 4>(own, &x[i]);
        copy_vector(~own[0], ~x[0, i], 16)
        # IR:     cuda.hinted_copy wt %own[%{{.*}}] to %y[%{{.*}}] width 2
        # SOURCE: hidet::store_wt<2>(&y[i + 256], &own[2]);
        copy_vector(~y[2, i], ~own[2], 8, cache="wt")

    # IR-LABEL:     cuda.kernel @kinds
    # SOURCE-LABEL: kinds(
    @hidet.script
    def kinds(
        h: f16[64], b: bf16[64], f: f32[64], c: i8[64], d: u8[64], n: i32[64], m: u32[64], s: f32
    ):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     cuda.copy_vector %{{.*}} to %h[%{{.*}}] width 2
        # SOURCE: hidet::copy_vector<hidet::half, 2>(h, buf);
        store(~h[0], f16x2(s, 1))
        # IR:     cuda.copy_vector %{{.*}} to %h[%{{.*}}] width 4
        # SOURCE: hidet::copy_vector<hidet::half, 4>(&h[4], buf1);
        store(~h[4], f16x4(s))
        # IR:     cuda.copy_vector %{{.*}} to %h[%{{.*}}] width 8
        # SOURCE: hidet::copy_vector<hidet::half, 8>(&h[8], buf2);
        store(~h[8], f16x8(s))
        # IR:     cuda.copy_vector %{{.*}} to %b[%{{.*}}] width 2
        # SOURCE: hidet::copy_vector<hidet::bfloat16, 2>(b, buf3);
        store(~b[0], bf16x2(s))
        # IR:     cuda.copy_vector %{{.*}} to %b[%{{.*}}] width 4
        # SOURCE: hidet::copy_vector<hidet::bfloat16, 4>(&b[4], buf4);
        store(~b[4], bf16x4(s))
        # IR:     cuda.copy_vector %{{.*}} to %b[%{{.*}}] width 8
        # SOURCE: hidet::copy_vector<hidet::bfloat16, 8>(&b[8], buf5);
        store(~b[8], bf16x8(s))
        # IR:     cuda.copy_vector %{{.*}} to %f[%{{.*}}] width 2
        # SOURCE: hidet::copy_vector<float, 2>(f, buf6);
        store(~f[0], f32x2(s))
        # IR:     cuda.copy_vector %{{.*}} to %c[%{{.*}}] width 4
        # SOURCE: hidet::copy_vector<signed char, 4>(c, buf7);
        store(~c[0], i8x4(n[0]))
        # IR:     cuda.copy_vector %{{.*}} to %d[%{{.*}}] width 4
        # SOURCE: hidet::copy_vector<unsigned char, 4>(d, buf8);
        store(~d[0], u8x4(n[0]))
        # IR:     cuda.copy_vector %{{.*}} to %n[%{{.*}}] width 2
        # SOURCE: hidet::copy_vector<int, 2>(n, buf9);
        store(~n[0], i32x2(1, 2))
        # IR:     cuda.copy_vector %{{.*}} to %n[%{{.*}}] width 4
        # SOURCE: hidet::copy_vector<int, 4>(&n[4], buf10);
        store(~n[4], i32x4(3))
        # IR:     cuda.copy_vector %{{.*}} to %m[%{{.*}}] width 2
        # SOURCE: hidet::copy_vector<unsigned, 2>(m, buf11);
        store(~m[0], u32x2(1, 2))
        # IR:     cuda.copy_vector %{{.*}} to %m[%{{.*}}] width 4
        # SOURCE: hidet::copy_vector<unsigned, 4>(&m[4], buf12);
        store(~m[4], u32x4(3))

    # IR-LABEL:     cuda.kernel @ordered
    # SOURCE-LABEL: ordered(
    @hidet.script
    def ordered(flag: i32[2], x: f16[2]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     cuda.ordered_load acquire gpu %flag
        # SOURCE: hidet::load_acquire_gpu(flag)
        if load(~flag[0], sync="acquire") == 1:
            # IR:     cuda.ordered_store release gpu %{{.*}}, %flag
            # SOURCE: hidet::store_release_gpu(&flag[1], 7);
            store(~flag[1], 7)
            # IR:     cuda.ordered_store relaxed sys %{{.*}}, %flag
            # SOURCE: hidet::store_relaxed_sys(flag, 2);
            store(~flag[0], 2, sync="relaxed", scope="sys")
            # IR:     memref.store %{{.*}}, %x
            # SOURCE: x[0] = x[1];
            store(~x[0], load(~x[1]))

    # IR-LABEL:     cuda.kernel @halves_by_name
    # SOURCE-LABEL: halves_by_name(
    @hidet.script
    def halves_by_name(x: f16x2[4]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     cuda.packed fma
        # SOURCE: hidet::packed_fma(
        x[0] = fma_f16x2(x[1], x[2], x[3])
        # IR:     cuda.packed sub
        # SOURCE: hidet::packed_sub(
        sub_f16x2(~x[1], x[2], x[3])
