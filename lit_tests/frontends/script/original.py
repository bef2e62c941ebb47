# RUN: hidet script %s --filecheck

"""Names and spellings of the original Hidet."""

import hidet
from hidet.lang import (
    DeclareScope,
    TensorType,
    address,
    attrs,
    bitwise_not,
    deref,
    f32,
    grid,
    i32,
    tensor,
    tensor_pointer,
)
from hidet.lang.cuda import threadIdx
from hidet.lang.layout import column_major
from hidet.lang.mapping import chain, repeat, spatial

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @memory
    # SOURCE-LABEL: memory(
    # IR-SAME:      %y : memref<32xf32>
    # SOURCE:       float* __restrict__ y
    @hidet.script
    def memory(x: ~f32, y: TensorType(f32, layout=column_major(8, 4)), n: i32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        # IR:     memref.alloca() : memref<32xf32, #cuda.space<shared>>
        # SOURCE: __shared__ float smem[32];
        smem = tensor(dtype=f32, shape=[32], scope=DeclareScope.Shared)
        # IR:     memref.alloca() : memref<2xf32, #cuda.space<local>>
        # SOURCE: float regs[2];
        regs = tensor("float32", [2])
        # IR:     memref.load %x
        # SOURCE: regs[0] = x[v];
        regs[0] = deref(address(x[n]))
        # IR:     memref.store %{{.*}}, %smem
        # SOURCE: smem[tid] = regs[0];
        smem[threadIdx.x] = regs[0]
        # IR:     memref.store %{{.*}}, %y
        # SOURCE: y[19] = smem[3];
        y[3, 2] = smem[3]
        t = tensor_pointer("float32", shape=[2, n])
        t = x
        # IR:     memref.store %{{.*}}, %x
        # SOURCE: x[v + 5LL] = 1.0f;
        t[1, 5] = 1.0

    # IR-LABEL:     cuda.kernel @loops
    # SOURCE-LABEL: loops(
    @hidet.script
    def loops(y: i32[64], n: i32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        # IR:     arith.divsi
        # SOURCE: y[0] = n / 3;
        y[0] = n / 3
        # IR:     arith.xori
        # SOURCE: y[1] = ~n;
        y[1] = bitwise_not(n)
        # IR:     arith.constant 20 : i32
        # SOURCE: y[2] = 20;
        y[2] = {k: k * 10 for k in range(3)}[2]
        # IR-NOT:      scf.for
        # SOURCE-NOT:  for
        # IR:          arith.constant 12 : i32
        # SOURCE:      y[8] = 12;
        # SOURCE-NEXT: y[9] = 13;
        for i, j in grid(1, 2, attrs="u+u+"):
            y[i * 2 + j + 8] = 12 + j
        # IR:     memref.store %n, %y
        # SOURCE: y[tid % 8 * 4 + tid / 8] = n;
        i, j = spatial(4, 8).map(threadIdx.x)
        y[i + j * 4] = n
        # TASK:   task.foreach (%{{.*}}) in #task.map<spatial(32) * repeat(2)>
        # CUDA:   scf.for
        # FINAL:  scf.for
        # SOURCE: for (int i = 0; i < 2; ++i)
        for i in chain(spatial(32), repeat(2, attrs="u")).on(threadIdx.x):
            y[i] = 0

    # IR-LABEL:     cuda.kernel @parts
    # SOURCE-LABEL: parts(
    @hidet.script
    def parts(x: f32[2, 8, 8], y: f32[8, 8], n: i32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        tile = x[1, n:, 4:]
        # IR:     memref.load %x
        # SOURCE: y[3] = x[hidet::cast<int>(n + 1u) * 8LL + 68];
        y[0][3] = tile[1, 0]
        # IR:     scf.if
        # SOURCE: y[4] = v < 8 ? x[v * 8LL + 68] : 0.0f;
        y[0, 4] = tile.read([2, 0])
        # IR:     scf.if
        # SOURCE: if (n < 8) {
        y.write([n, 0], 1.0, protected=True)
