# RUN: hidet script %s --filecheck

"""Pointers as CUDA has them; casts, vectors behind them, addresses as parameters, null, bits."""

import hidet
from hidet.lang import (
    as_tensor_pointer,
    attrs,
    cast,
    f16,
    f16x2,
    f32,
    f32x2,
    f32x4,
    i32,
    math,
    register_tensor,
    reinterpret,
    shared_tensor,
    u32,
    u64,
    void_p,
)
from hidet.lang.cuda import dynamic_shared_memory, threadIdx

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @vectors
    # SOURCE-LABEL: vectors(
    @hidet.script
    def vectors(x: ~f32x4, y: f32x4[32], p: ~f32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        i = threadIdx.x
        # IR:     memref.alloca() {alignment = 16 : i64} : memref<32x4xf32, #cuda.space<shared>>
        # IR:     memref.alloca() : memref<2x2xf32, #cuda.space<local>>
        # SOURCE: __shared__ __align__(16) float tile[32][4];
        # SOURCE: float own[2][2];
        tile = shared_tensor(f32x4, [32])
        own = register_tensor("f32x2", [2])
        # IR:     cuda.copy_vector %x[%{{.*}}] to %{{.*}}[%{{.*}}] width 4
        # IR:     cuda.copy_vector %{{.*}}[%{{.*}}] to %tile[%i, %{{.*}}] width 4
        # SOURCE: hidet::copy_vector<float, 4>(buf, &x[i * 4]);
        # SOURCE: hidet::copy_vector<float, 4>(&tile[i][0], buf1);
        tile[i] = x[i] * 2.0
        # IR:     memref.load %tile[%{{.*}}, %{{.*}}]
        # IR:     memref.store %{{.*}}, %tile[%i, %{{.*}}]
        # SOURCE: tile[i][1] = tile[31 - i][3];
        tile[i].y = tile[31 - i].w
        # SOURCE: own[1][0] = tile[i][0];
        # SOURCE: own[1][1] = 0.0f;
        own[1] = f32x2(tile[i][0], 0.0)
        # SOURCE: y[i * 4 + 2] += own_value;
        y[i].z += own[1].x
        # IR:     cuda.copy_vector %{{.*}} to %p[%{{.*}}] width 2
        # SOURCE: hidet::copy_vector<float, 2>(&p[i * 2 + 2], buf{{.*}});
        cast(p, ~f32x2)[i + 1] = own[1]

    @hidet.script
    def fill(tile: f32[2, 8], row: ~f32):
        tile[1, threadIdx.x] = row[threadIdx.x]

    # IR-LABEL:     cuda.kernel @casts
    # SOURCE-LABEL: casts(
    @hidet.script
    def casts(x: ~f32, y: ~i32, optional: ~f32, raw: void_p):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 8
        attrs.cuda.dynamic_smem_bytes = 128
        i = threadIdx.x
        smem = as_tensor_pointer(dynamic_shared_memory(0, f32), f32, [2, 2, 8])
        # IR:     cuda.view %{{.*}}[%{{.*}}] : memref<?xf32> to memref<?xf16>
        # SOURCE: auto* const halves = hidet::view<hidet::half>(&x[4]);
        halves = cast(~x[4], ~f16)
        # SOURCE: y[i] = hidet::cast<int>(hidet::cast<float>(halves[i]));
        y[i] = i32(f32(halves[i]))
        # SOURCE: smem[i + 24] = x[i + 1];
        fill(~smem[1, 0, 0], x + 1)
        # IR:     cuda.address_of %optional
        # SOURCE: hidet::address_of(optional)
        if optional is not None:
            y[i] = i32(optional[i])
        # IR:     cuda.view %raw[%{{.*}}] : memref<?xi8> to memref<?xi32>
        # SOURCE: hidet::view<int>(&raw[i * 4]);
        y[i] += cast(raw + 4 * i, ~i32)[0]
        # SOURCE: hidet::address_of(raw)
        y[i] += i32(cast(raw, u64) % 2)

    # A kernel whose arguments may overlap does not restrict them.
    @hidet.script
    def in_place(x: ~f32, y: ~f32):
        # IR-LABEL: cuda.kernel @in_place
        # IR-SAME:  cuda.may_alias
        # SOURCE:   in_place(const float* x, float* y) {
        attrs.cuda.may_alias = True
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 8
        y[threadIdx.x] = x[threadIdx.x] + 1.0

    # Halves are computed in pairs.
    # IR-LABEL:     cuda.kernel @halves
    # SOURCE-LABEL: halves(
    @hidet.script
    def halves(x: f16x2[8], y: f16x2[8], w: u32[8]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     memref.alloca() {{.*}}: memref<vector<2xf16>, #cuda.space<local>>
        # SOURCE: hidet::half2 acc = hidet::join<hidet::half2>(
        acc = f16x2(0.0)
        for k in range(8):
            # IR:     cuda.join %{{.*}} : f16, f16 to vector<2xf16>
            # IR:     cuda.packed fma %{{.*}} : vector<2xf16>
            # SOURCE: acc = hidet::packed_fma(
            acc = math.fma(x[k], y[k], acc)
        # IR:     cuda.packed mul
        # IR:     cuda.packed add
        # SOURCE: hidet::packed_add(hidet::packed_mul(acc, acc), acc);
        acc = acc * acc + acc
        # SOURCE: acc = hidet::join<hidet::half2>({{.*}}, hidet::part<hidet::half, 1>(acc));
        acc.x = 1.0
        # IR:     cuda.join %{{.*}} : vector<2xf16> to i32
        # SOURCE: w[0] = hidet::join<int>(acc);
        w[0] = reinterpret(acc, u32)
        # IR:     arith.bitcast %{{.*}} : f32 to i32
        # SOURCE: w[1] = hidet::bit_cast<int>(
        w[1] = reinterpret(f32(acc.y), u32)
