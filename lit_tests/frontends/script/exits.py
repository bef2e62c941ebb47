# RUN: hidet script %s --filecheck

"""Exits of loops and functions under run-time control flow."""

import hidet
from hidet.lang import attrs, f32, grid, i32, spatial
from hidet.lang.cuda import threadIdx

with hidet.script_module() as module:
    # A function that is called ends where its loop ends; what comes after looks at a variable.

    # IR-LABEL:     cuda.kernel @inlined
    # SOURCE-LABEL: inlined(
    @hidet.script
    def find(x: f32[64], n: i32) -> i32:
        # SOURCE: for (int k = 0; k < 64; ++k) {
        for k in range(64):
            # SOURCE-NEXT: if (x[k] > 3.0f) {
            if x[k] > n:
                # IR:     memref.store %{{.*}}, %result
                # IR:     memref.store %{{.*}}, %unreturned
                # FINAL:  cuda.leave break
                # SOURCE-NEXT: result = k;
                # SOURCE-NEXT: unreturned = false;
                # SOURCE-NEXT: break;
                return k
        # IR:     memref.load %unreturned
        # IR:     scf.if
        # IR:     memref.store %{{.*}}, %result
        # SOURCE: if (unreturned) {
        # SOURCE-NEXT: result = -1;
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
        # FINAL:    scf.if
        # SOURCE: for (int i = 0; i < 4; ++i) {
        for k in spatial(32).repeat(4).on(threadIdx.x):
            # SOURCE: if (x[k] > 9.0f) {
            if x[k] > 9:
                # TASK:   memref.store %{{.*}}, %running
                # CUDA:   memref.store %{{.*}}, %running
                # FINAL:  cuda.leave break
                # SOURCE-NEXT: break;
                break
            y[k] = 3.0

    # IR-LABEL:     cuda.kernel @nested
    # SOURCE-LABEL: nested(
    @hidet.script
    def nested(x: f32[64]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        # TASK:   scf.for %a
        # CUDA:   scf.for %a
        # FINAL:  scf.for %a
        # SOURCE:      bool running = true;
        # SOURCE-NEXT: for (int a = 0; a < 8; ++a) {
        # SOURCE-NEXT:   for (int b = 0; b < 8; ++b) {
        # SOURCE-NEXT:     if (x[a + b] > 7.0f) {
        # SOURCE-NEXT:       running = false;
        # SOURCE-NEXT:       break;
        # SOURCE-NEXT:     }
        # SOURCE-NEXT:     x[a * b] = 1.0f;
        # SOURCE-NEXT:   }
        # SOURCE-NEXT:   if (!running) {
        # SOURCE-NEXT:     break;
        # SOURCE-NEXT:   }
        # SOURCE-NEXT: }
        for a, b in grid(8, 8):
            if x[a + b] > 7:
                break
            x[a * b] = 1.0
        # SOURCE-NEXT: for (int a = 0; a < 8; ++a) {
        for a, b in grid(8, 8):
            # SOURCE: if (x[a + b] > 6.0f) {
            if x[a + b] > 6:
                # TASK:   memref.store %{{.*}}, %unreturned
                # CUDA:   memref.store %{{.*}}, %unreturned
                # FINAL:  cuda.leave return
                # SOURCE-NEXT: return;
                return
            x[a * b] += 1.0

    # IR-LABEL:     cuda.kernel @unrolled
    # SOURCE-LABEL: unrolled(
    @hidet.script
    def unrolled(x: f32[32], y: f32[32]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        for a in [1.0, 2.0]:
            # TASK:   memref.store %{{.*}}, %running
            # TASK:   memref.load %running
            # CUDA:   memref.store %{{.*}}, %running
            # CUDA:   memref.load %running
            # FINAL:  cuda.leave return
            # SOURCE:      if (x_value > 1.0f) {
            # SOURCE-NEXT:   return;
            # SOURCE-NEXT: }
            # SOURCE-NEXT: y[tid] += 1.0f;
            # SOURCE-NEXT: if (x_value > 2.0f) {
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
                    # TASK:   memref.store %{{.*}}, %unskipped
                    # CUDA:   memref.store %{{.*}}, %unskipped
                    # FINAL:  cuda.leave continue
                    # SOURCE: continue;
                    continue
                x[k] += 1.0
            # TASK:   memref.load %unskipped
            # CUDA:   memref.load %unskipped
            # FINAL:  memref.store %{{.*}}, %x
            # SOURCE: x[k] += 2.0f;
            x[k] += 2.0
