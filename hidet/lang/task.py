"""Block-level verbs: collective operations on tiles in shared memory and registers.

A tile is a shared tensor, or a register tensor whose layout distributes it over threads:

    copy(window(a, row, k0), smem_a, auto_map(64, 8, workers=256).on(threadIdx.x))
    matmul(smem_a, smem_b, regs_c, threadIdx.x)
    copy(regs_c, window(c, row, column), threadIdx.x)

`for worker in group(0, 128):` restricts verbs to some warps.
"""

from hidet.frontends.script.verbs import combine, copy, group, matmul, window

__all__ = ["combine", "copy", "group", "matmul", "window"]
