# RUN: hidet script %s --filecheck

"""Ways out of loops and functions that the kernel decides about."""

import hidet
from hidet.lang import attrs, f32, i32, spatial
from hidet.lang.cuda import threadIdx

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @inlined
    # SOURCE-LABEL: inlined(
    @hidet.script
    def find(x: f32[64], n: i32) -> i32:
        for k in range(64):
            if x[k] > n:
                # IR:     memref.store %{{.*}}, %result
                # IR:     memref.store %{{.*}}, %unreturned
                # SOURCE: result = k;
                # SOURCE: unreturned = false;
                return k
        # IR:     memref.load %unreturned
        # IR:     scf.if
        # IR:     memref.store %{{.*}}, %result
        # SOURCE: if (unreturned) {
        # SOURCE:   result = -1;
        return -1

    @hidet.script
    def inlined(x: f32[64], y: i32[64]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        y[threadIdx.x] = find(x, 3)

    # IR-LABEL:     cuda.kernel @tasks
    # SOURCE-LABEL: tasks(
    @hidet.script
    def tasks(x: f32[128], y: f32[128]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        # TASK:   task.foreach
        # TASK:     memref.load %running
        # TASK:     scf.if
        # CUDA:   scf.for
        # CUDA:     memref.load %running
        # CUDA:     scf.if
        # FINAL:  scf.for
        # FINAL:    memref.load %running
        # FINAL:    scf.if
        # SOURCE: if (running) {
        for k in spatial(32).repeat(4).on(threadIdx.x):
            if x[k] > 9:
                # IR:     memref.store %{{.*}}, %running
                # SOURCE: running = false;
                break
            y[k] = 3.0

    # IR-LABEL:     cuda.kernel @unrolled
    # SOURCE-LABEL: unrolled(
    @hidet.script
    def unrolled(x: f32[32], y: f32[32]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        for a in [1.0, 2.0]:
            # IR:     memref.store %{{.*}}, %running
            # IR:     memref.load %running
            # IR:     scf.if
            # SOURCE: running = false;
            # SOURCE: if (running) {
            if x[threadIdx.x] > a:
                break
            y[threadIdx.x] += a

    # IR-LABEL:     cuda.kernel @partly
    # SOURCE-LABEL: partly(
    @hidet.script
    def partly(x: f32[32], n: i32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        for k in range(32):
            if n > k:
                if n > 2 * k:
                    # IR:     memref.store %{{.*}}, %unskipped
                    # SOURCE: unskipped = false;
                    continue
                x[k] += 1.0
            # IR:     memref.load %unskipped
            # IR:     scf.if
            # SOURCE: if (unskipped) {
            x[k] += 2.0
