# RUN: hidet script %s --filecheck

"""Task mappings: who runs which iterations of a loop."""

import hidet
from hidet.lang import (
    attrs,
    auto_map,
    col_repeat,
    col_spatial,
    f32,
    repeat,
    row_repeat,
    row_spatial,
    spatial,
)
from hidet.lang.cuda import threadIdx
from hidet.lang.mapping import TaskMap, replicate

FIRST: TaskMap = spatial(8, 4)

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @mappings
    # SOURCE-LABEL: mappings(
    @hidet.script
    def mappings(x: f32[8, 4], y: f32[64], z: f32[8, 8], long: f32[3072]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        w = threadIdx.x
        # TASK:        task.foreach (%i, %j) in #task.map<spatial(8, 4)> on %w {
        # CUDA:        memref.store %{{.*}}, %x
        # FINAL:       memref.store %{{.*}}, %x
        # SOURCE:      x[w] = 1.0f;
        for i, j in FIRST.on(w):
            x[i, j] = 1.0
        # TASK:        task.foreach (%{{.*}}, %{{.*}}) in #task.map<spatial(4, 8) * repeat(2, 1)> on %w {
        # CUDA:        scf.for
        # CUDA:          memref.store %{{.*}}, %z
        # FINAL:       scf.for
        # FINAL:         memref.store %{{.*}}, %z
        # SOURCE:      #pragma unroll
        # SOURCE-NEXT: for (int i = 0; i < 2; ++i) {
        # SOURCE-NEXT:   z[{{.*}} + i * 8] = 2.0f;
        for i, j in row_spatial(4, 8).repeat(2, 1).on(w):
            z[i, j] = 2.0
        # TASK:        task.foreach (%{{.*}}, %{{.*}}) in #task.map<spatial(1, 4) * spatial(8, 1)> on %w {
        # CUDA:        memref.store %{{.*}}, %x
        # FINAL:       memref.store %{{.*}}, %x
        # SOURCE:      x[{{.*}}] = 3.0f;
        for i, j in col_spatial(8, 4).on(w):
            x[i, j] = 3.0
        # TASK:        task.foreach (%{{.*}}) in #task.map<repeat(2) * spatial(32)> on %w {
        # CUDA:        scf.for
        # CUDA:          memref.store %{{.*}}, %y
        # FINAL:       scf.for
        # FINAL:         memref.store %{{.*}}, %y
        # SOURCE:      for (int i = 0; i < 2; ++i) {
        # SOURCE-NEXT:   y[w + i * 32] = 4.0f;
        for i in auto_map(64, workers=32).on(w):
            y[i] = 4.0
        # TASK:        in #task.map<repeat(1, 2) * repeat(2, 1) * spatial(4, 4) * replicate(2)> on %w {
        # CUDA:        scf.for
        # CUDA:          scf.for
        # CUDA:            memref.store %{{.*}}, %z
        # FINAL:       scf.for
        # FINAL:         scf.for
        # FINAL:           memref.store %{{.*}}, %z
        # SOURCE:      for (int i = 0; i < 2; ++i) {
        # SOURCE:        for (int {{.*}} = 0; {{.*}} < 2; ++{{.*}}) {
        # SOURCE-NEXT:     z[{{.*}}] = 5.0f;
        for i, j in (col_repeat(2, 2) * spatial(4, 4) * replicate(2)).on(w):
            z[i, j] = 5.0
        # The tasks of a known worker are known.
        # IR-COUNT-4:  memref.store %{{.*}}, %z
        # SOURCE:      z[0] = 6.0f;
        # SOURCE-NEXT: z[1] = 6.0f;
        # SOURCE-NEXT: z[8] = 6.0f;
        # SOURCE-NEXT: z[9] = 6.0f;
        for i, j in row_repeat(2, 2).on(0):
            z[i, j] = 6.0
        # TASK:        task.foreach (%{{.*}}) in #task.map<spatial(32) * repeat(2)> on %w {
        # CUDA:        scf.for
        # CUDA:          memref.store %{{.*}}, %y
        # FINAL:       scf.for
        # FINAL:       cuda.copy_vector
        # SOURCE:      hidet::copy_vector<float, 2>(&y[w * 2]
        for i in (spatial(32) * repeat(2)).map(w):
            y[i] = 7.0
        # TASK:        in #task.map<repeat(96) * spatial(32)> on %w unroll [8] {
        # CUDA:        {cuda.unroll = 8 : i64}
        # FINAL:       {cuda.unroll = 8 : i64}
        # SOURCE:      #pragma unroll 8
        # SOURCE-NEXT: for (int {{.*}} = 0; {{.*}} < 96;
        for i in (repeat(96, attrs="u8") * spatial(32)).on(w):
            long[i] = 8.0
