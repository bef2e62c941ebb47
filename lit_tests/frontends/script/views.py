# RUN: hidet script %s --filecheck

"""Parts of tensors: as parameters of functions, and registers seen as wider ones."""

import hidet
from hidet.lang import attrs, f16, f32, register_tensor, row_major, shared_tensor, u32, view
from hidet.lang.cuda import ldmatrix, threadIdx
from hidet.lang.types import TensorType

stage = row_major(16, 2).swizzle(1, log_step=2) * row_major(1, 8)


@hidet.script
def first(smem: TensorType(f16, layout=stage), i):
    return smem[i, 8]


with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @parts
    # SOURCE-LABEL: parts(
    @hidet.script
    def parts(x: f32[4, 8], y: f32[8], z: f16[64]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        smem = shared_tensor("float16", layout=row_major(2) + stage)
        regs = register_tensor("float16", [2, 8])
        for k in range(2):
            # IR:     cuda.ldmatrix %smem[%k, %{{.*}}, %{{.*}}] to %regs[%{{.*}}, %{{.*}}] count 2
            # SOURCE: hidet::ldmatrix_x2(&regs[1][4], &smem[k][tid_mod16][tid_div4_mod2 * 8]);
            ldmatrix(
                regs=[view(~regs[1, 0], u32[4])[2], view(~regs[1, 0], u32[4])[3]],
                smem_addr=~smem[k, threadIdx.x % 16, 0],
            )
            # IR:     memref.load %smem[%k, %{{.*}}, %{{.*}}]
            # SOURCE: z_vector[k] = smem[k][5][0];
            z[k] = first(~smem[k, 0, 0], 5)
        # IR:     memref.load %x
        # SOURCE: y[0] = x[19];
        y[0] = view(~x[2, 0], f32[8])[3]
