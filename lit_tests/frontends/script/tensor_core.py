# RUN: hidet script %s --filecheck

"""Tensor cores: fragments in arrays and in register tensors, and the loads that feed them."""

import hidet
from hidet.lang import attrs, bf16, f16, f32, grid, register_tensor, repeat, shared_tensor, tf32
from hidet.lang.cuda import MmaConfig, ldmatrix, mma_sync, threadIdx

with hidet.script_module() as module:
    # TASK: #m0 = #task.map<repeat(2, 2) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>

    # IR-LABEL:     cuda.kernel @products
    # SOURCE-LABEL: products(
    @hidet.script
    def products(x: f32[32, 16]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        lane = threadIdx.x
        smem = shared_tensor("float16", [32, 16])
        # IR:     %regs_a = memref.alloca() : memref<8xf16, #cuda.space<local>>
        # SOURCE: hidet::half regs_a[8];
        regs_a = register_tensor("float16", [MmaConfig.m16n8k16_f16_f32().a_elements])
        # IR:     %regs_b = memref.alloca() : memref<2x4xf16, #cuda.space<local>>
        # SOURCE: hidet::half regs_b[2][4];
        regs_b = register_tensor("float16", [2, 4])
        # TASK:   %regs_c = memref.alloca() : memref<32x16xf32, #m0, #cuda.space<register>>
        # CUDA:   %regs_c = memref.alloca() : memref<16xf32, #cuda.space<local>>
        # FINAL:  %regs_c = memref.alloca() : memref<16xf32, #cuda.space<local>>
        # SOURCE: float regs_c[16];
        regs_c = register_tensor(
            "float32", layout=repeat(2, 2) * MmaConfig.m16n8k16_f16_f32().c_store_map
        )
        for i, j in (repeat(2, 2) * MmaConfig.m16n8k16_f16_f32().c_store_map).on(lane):
            regs_c[i, j] = 0.0
        # IR:     cuda.ldmatrix %smem[%{{.*}}] to %regs_b[%{{.*}}] count 4 trans :
        # SOURCE: hidet::ldmatrix_x4_trans(&regs_b[0][0], &smem[lane_mod16][offset]);
        ldmatrix(regs_b, ~smem[lane % 16, lane // 16 * 8], trans=True)
        # IR:     cuda.ldmatrix %smem[%{{.*}}] to %regs_b[%{{.*}}] count 2 :
        # SOURCE: hidet::ldmatrix_x2(&regs_b[1][0], &smem[lane_mod16][0]);
        ldmatrix(~regs_b[1, 0], ~smem[lane % 16, 0])
        for i in grid(2, attrs="u"):
            # IR:     cuda.ldmatrix %smem[%{{.*}}] to %regs_a[%{{.*}}] count 4 :
            # SOURCE: hidet::ldmatrix_x4(regs_a, &smem[lane_mod16 + i * 16][offset]);
            ldmatrix(regs_a, ~smem[i * 16 + lane % 16, lane // 16 * 8])
            for j in grid(2, attrs="u"):
                # TASK:   cuda.mma_sync "m16n8k16_f16_f32" %regs_a[%{{.*}}], %regs_b[%{{.*}}], %regs_c[%{{.*}}, %{{.*}}]
                # CUDA:   cuda.mma_sync "m16n8k16_f16_f32" %regs_a[%{{.*}}], %regs_b[%{{.*}}], %regs_c[%{{[^ ,]*}}]
                # FINAL:  cuda.mma_sync "m16n8k16_f16_f32" %regs_a[%{{.*}}], %regs_b[%{{.*}}], %regs_c[%{{[^ ,]*}}]
                # SOURCE: hidet::mma_m16n8k16(&regs_c[i * 8 + j * 4], regs_a, &regs_b[j][0]);
                mma_sync(
                    MmaConfig.m16n8k16_f16_f32(), regs_a, ~regs_b[j, 0], ~regs_c[i * 16, j * 8]
                )
        for i, j in (repeat(2, 2) * MmaConfig.m16n8k16_f16_f32().c_store_map).on(lane):
            x[i, j] = regs_c[i, j]

    # IR-LABEL:     cuda.kernel @kinds
    # IR-SAME:      %x : memref<4xf32>
    # SOURCE-LABEL: kinds(
    @hidet.script
    def kinds(x: tf32[4], s: bf16, t: f16):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        # IR:     %c = memref.alloca() : memref<4xf32, #cuda.space<local>>
        # SOURCE: float c[4];
        c = register_tensor(f32, [4])
        for i in range(4):
            # IR:     memref.store
            # SOURCE: c[i] = x_vector[i];
            c[i] = tf32(x[i])
        halves = register_tensor(f16, [4])
        brains = register_tensor(bf16, [8])
        for i in range(4):
            halves[i] = t
            brains[i] = s
            brains[i + 4] = s
        # IR:     cuda.mma_sync "m16n8k8_f16_f16" %halves
        # SOURCE: hidet::mma_m16n8k8(halves, halves, halves);
        mma_sync(MmaConfig.m16n8k8_f16_f16(), halves, halves, halves)
        # IR:     cuda.mma_sync "m16n8k16_bf16_f32" %brains[%{{.*}}], %brains[%{{.*}}], %c[
        # SOURCE: hidet::mma_m16n8k16(c, brains, &brains[4]);
        mma_sync(MmaConfig.m16n8k16_bf16_f32(), brains, ~brains[4], c)
        # IR:     cuda.mma_sync "m16n8k8_tf32_f32" %c
        # SOURCE: hidet::mma_m16n8k8(c, c, c);
        mma_sync(MmaConfig.m16n8k8_tf32_f32(), c, c, c)
        # IR:     cuda.mma_sync "m16n8k4_tf32_f32" %c
        # SOURCE: hidet::mma_m16n8k4(c, c, &c[2]);
        mma_sync(MmaConfig.m16n8k4_tf32_f32(), c, ~c[2], c)
        for i in range(4):
            x[i] = c[i] + halves[i]
