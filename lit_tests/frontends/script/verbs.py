# RUN: hidet script %s --filecheck

"""Block-level verbs: copy, matmul and combine of tiles."""

import hidet
from hidet.lang import (
    attrs,
    auto_map,
    f32,
    register_tensor,
    repeat,
    replicate,
    shared_tensor,
    spatial,
)
from hidet.lang.cuda import threadIdx
from hidet.lang.task import combine, copy, group, matmul, window

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @product
    # SOURCE-LABEL: product(
    @hidet.script
    def product(a: f32[8, 40], b: f32[40, 16], c: f32[8, 16], k0: hidet.lang.i32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        worker = threadIdx.x
        smem_a = shared_tensor("float32", [8, 4])
        smem_b = shared_tensor("float32", [4, 16])
        regs_c = register_tensor("float32", layout=spatial(4, 8) * repeat(2, 2))

        # Elements of a register tile that the worker holds.
        # TASK:   task.foreach (%i, %j) of %regs_c on %worker
        # CUDA:   scf.for
        # FINAL:  scf.for
        # SOURCE: regs_c[i{{[0-9]*}}][{{.*}}] = 1.0f;
        for i, j in regs_c.on(worker):
            regs_c[i, j] = 1.0

        # Reads out of bounds of the window's tensor are zero.
        # TASK:   task.copy %a[%{{.*}}, %{{.*}}] to %smem_a[] in #task.map<spatial(8, 4)> on %worker
        # CUDA:   memref.load %a[
        # CUDA:   memref.store %{{.*}}, %smem_a[
        # FINAL:  memref.load %a[
        # SOURCE: smem_a[{{.*}}] = {{.*}} < 40 ? a[{{.*}}] : 0.0f;
        copy(window(a, 0, k0), smem_a, spatial(8, 4).on(worker))
        # TASK:   task.copy %b[%{{.*}}, %{{.*}}] to %smem_b[] in #task.map<repeat(2, 1) * spatial(2, 16)>
        # CUDA:   memref.store %{{.*}}, %smem_b[
        # FINAL:  memref.store %{{.*}}, %smem_b[
        # SOURCE: smem_b[{{.*}}] = {{.*}} < 40 ? b[{{.*}}] : 0.0f;
        copy(window(b, k0, 0), smem_b, auto_map(4, 16, workers=32).on(worker))

        # A barrier comes between those who write a shared tile and those who read it.
        # TASK-NOT: cuda.sync_threads
        # TASK:   task.matmul %smem_a, %smem_b to %regs_c on %worker
        # CUDA:   cuda.sync_threads
        # CUDA:   arith.mulf
        # FINAL:  cuda.sync_threads
        # FINAL:  arith.mulf
        # SOURCE: hidet::sync_threads();
        # SOURCE: regs_c[i{{[0-9]*}}][j] += smem_a[{{.*}}][k] * smem_b_vector[j];
        matmul(smem_a, smem_b, regs_c, worker)

        # TASK:   task.copy %regs_c[] to %c[%{{.*}}, %{{.*}}] on %worker
        # CUDA:   memref.store %{{.*}}, %c[
        # FINAL:  cuda.copy_vector
        # SOURCE: hidet::copy_vector<float, 2>(&c[
        copy(regs_c, c, worker)

    # IR-LABEL:     cuda.kernel @sums
    # SOURCE-LABEL: sums(
    @hidet.script
    def sums(x: f32[4, 32], y: f32[3]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 128
        # TASK:   %total = memref.alloca() : memref<4xf32, #m{{.*}}, #cuda.space<register>>
        # CUDA:   %total = memref.alloca() : memref<f32, #cuda.space<local>>
        # FINAL:  %total = memref.alloca()
        # SOURCE: float total
        total = register_tensor("float32", layout=spatial(4) * replicate(32))
        # TASK:   task.foreach (%row) of %total on %tid
        # CUDA:   memref.load %x
        # FINAL:  memref.load %x
        # SOURCE-SAME: = x[tid];
        for row in total.on(threadIdx.x):
            total[row] = x[row, threadIdx.x % 32]
        # TASK:   task.combine add %total on %tid
        # CUDA:   cuda.shfl xor
        # FINAL:  cuda.shfl xor
        # SOURCE: total += hidet::shfl_xor(total, 1);
        combine(total, "add", threadIdx.x)
        # Tasks outside of a bound are left out.
        # TASK:   task.foreach (%{{.*}}) in #m{{.*}} on %tid bound [3] {
        # CUDA:   scf.if
        # FINAL:  scf.if
        # SOURCE: if (row < 3) {
        for row in (spatial(4) * replicate(32)).on(threadIdx.x, bound=3):
            if threadIdx.x % 32 == 0:
                y[row] = total[row]

    # IR-LABEL:     cuda.kernel @groups
    # SOURCE-LABEL: groups(
    @hidet.script
    def groups(x: f32[64, 8], y: f32[64, 8]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 128
        tile = shared_tensor("float32", [64, 8])
        # Some warps execute it alone, and synchronize at a named barrier.
        # TASK:   task.group first(64) count(64) (%worker) {
        # TASK:   task.copy %x[%{{.*}}, %{{.*}}] to %tile[] in #{{.*}} on %worker
        # CUDA:   scf.if
        # CUDA:   cuda.barrier_sync %{{.*}} count 64
        # FINAL:  scf.if
        # FINAL:  cuda.barrier_sync %{{.*}} count 64
        # SOURCE: const int worker = tid - 64;
        # SOURCE: if (tid >= 64) {
        # SOURCE: hidet::barrier_sync<64>(15);
        for worker in group(first=64, count=64):
            copy(x, tile, auto_map(64, 8, workers=64).on(worker))
            copy(tile, y, spatial(64, 1).repeat(1, 8).on(worker))
