# RUN: hidet script %s --filecheck

"""Arguments of calls: defaults, keywords, `*args`, lists of types, and constants that decide."""

import hidet
from hidet.lang import attrs, boolean, cuda, f32, i32, meta
from hidet.lang.layout import row_major
from hidet.lang.mapping import TaskMapping, repeat, spatial

with hidet.script_module() as module:

    @hidet.script
    def scale(value: f32, by: f32 = 2.0, *more, halved: boolean = False) -> f32:
        for each in more:
            value += each
        if halved:
            return value[0]  # type-checks for tensors only, and is not traced for others
        return value * by

    @hidet.script
    def weighted(pair: meta.types([f32, i32]), index: i32):
        if index == 1:
            return pair[0]
        return pair[0] * f32(pair[1])

    # IR-LABEL:     cuda.kernel @arguments
    # SOURCE-LABEL: arguments(
    @hidet.script
    def arguments(x: f32[64], a: f32, n: i32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        # IR-NOT:  scf.if
        # IR:      arith.constant 2.0{{.*}} : f32
        # IR:      memref.store %{{.*}}, %x
        # SOURCE:  x[0] = a * 2.0f;
        x[0] = scale(a)
        # SOURCE:  x[1] = a * 3.0f;
        x[1] = scale(by=3.0, value=a)
        # SOURCE:  value += 4.0f;
        # SOURCE:  value += 5.0f;
        # SOURCE:  x[2] = value * 1.0f;
        x[2] = scale(a, 1.0, 4.0, 5.0)
        # IR-NOT:  scf.if
        # SOURCE:  x[3] = a;
        x[3] = weighted((a, n), 1)
        # SOURCE:  x[4] = a * hidet::cast<float>(n);
        x[4] = weighted((a, n), index=2)

    # IR-LABEL:     cuda.kernel @pairs
    # IR-SAME:      %p0 : f32, %p1 : i32
    # SOURCE-LABEL: pairs(
    # SOURCE-SAME:  float p0, int p1)
    @hidet.script
    def pairs(x: f32[64], p: meta.types([f32, i32])):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        # IR:      memref.store %p0, %x
        # SOURCE:  x[p1] = p0;
        x[p[1]] = p[0]

    # IR-LABEL:     cuda.kernel @loops
    # SOURCE-LABEL: loops(
    @hidet.script
    def loops(x: f32[64], n: i32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        weights = [0.5, 0.25]
        # A loop whose number picks from a list is unrolled.
        # IR-NOT:     scf.for
        # IR:         memref.store %{{.*}}, %x
        # SOURCE-NOT: for
        # SOURCE:     x[0] = 0.5f;
        # SOURCE:     x[1] = 0.25f;
        for k in range(len(weights)):
            x[k] = weights[k]
        # IR:         scf.for
        # SOURCE:     for ({{.*}} i < {{.*}}; ++i)
        # SOURCE:     x[{{.*}} - i] = 1.0f;
        for k in reversed(range(n)):
            x[k] = 1.0
        # The tasks of a thread under enumerate are unrolled.
        # IR-NOT:     task.foreach
        # SOURCE:     x[i] = 0.0f;
        # SOURCE:     x[i1] = 1.0f;
        for k, i in enumerate(spatial(32).repeat(2).on(cuda.threadIdx.x)):
            x[i] = k
        # SOURCE:     x[i1] = 0.5f;
        # SOURCE:     x[i] = 0.25f;
        for w, i in zip(weights, reversed(spatial(32).repeat(2).on(cuda.threadIdx.x)), strict=True):
            x[i] = w

    # IR-LABEL:     cuda.kernel @layouts
    # SOURCE-LABEL: layouts(
    @hidet.script
    def layouts(x: f32[64], n: i32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        # IR:         memref.store %{{.*}}, %x
        # SOURCE:     x[hidet::cast<int>(n * 8u + 3)] = 1.0f;
        x[row_major(8, 8)(n, 3)] = 1.0
        # TASK:       task.foreach (%{{.*}}, %{{.*}}) in #task.map<spatial(4, 8)>
        # CUDA:       memref.store %{{.*}}, %x
        # FINAL:      memref.store %{{.*}}, %x
        # SOURCE:     x[tid] = 2.0f;
        for i, j in TaskMapping.row_major([4, 8]).on(cuda.threadIdx.x):
            x[i * 8 + j] = 2.0
        # A branch leaves some workers of a mapping without a thread.
        # IR:         scf.if
        # SOURCE:     if (tid < 8)
        if cuda.threadIdx.x < 8:
            # TASK:   task.foreach (%{{.*}}) in #task.map<spatial(32) * repeat(2)>
            # CUDA:   scf.for
            # FINAL:  scf.for
            # SOURCE: &x[tid * 2]
            for i in (spatial(32) * repeat(2)).on(cuda.threadIdx.x):
                x[i] = 3.0

    # IR-LABEL:     cuda.kernel @groups
    # SOURCE-LABEL: groups(
    @hidet.script
    def groups(x: f32[384]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 384
        # IR:         arith.cmpi slt
        # IR:         scf.if
        # SOURCE:     if (tid < 128) {
        # SOURCE:       x[tid] = 0.0f;
        with cuda.warp_groups([0]) as thread:
            x[thread] = 0.0
        # IR:         scf.if
        # SOURCE:     if (tid >= 128) {
        # SOURCE:       x[tid - 128] = 1.0f;
        with cuda.warp_groups([1, 2]) as thread:
            x[thread] = 1.0
