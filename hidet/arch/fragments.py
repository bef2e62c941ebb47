"""Fragments of the tensor core instructions, as task mappings.

A map assigns the elements of an operand to the lanes of the warp (`mma`) or the threads of the warp
group (`wgmma`), in order: element i of a worker's list is a_i, b_i or c_i in the PTX ISA. Two
adjacent elements of a 16-bit type share a 32-bit register, the first one in its lower half.

Shapes are those of D = A * B + C as matrices: A is (m, k), B is (k, n), C and D are (m, n). A warp
has eight groups of four lanes, groupID = lane / 4 and threadID_in_group = lane % 4: that is the
factor `spatial(8, 4)`, or `column_spatial(4, 8)` where the groups run along the columns.
"""

from dataclasses import dataclass
from functools import cache

from hidet.mapping import MappingError, TaskMap, column_repeat, column_spatial, repeat, spatial

# Two rows of 8x8 matrices: rows 0-7, then rows 8-15; a lane has two adjacent columns of each.
_MMA_M16N8_C = repeat(2, 1) * spatial(8, 4) * repeat(1, 2)


@dataclass(frozen=True)
class MmaFragments:
    """The fragments of one `mma` instruction, over the 32 lanes of a warp; `c` is that of D too."""

    a: TaskMap
    b: TaskMap
    c: TaskMap = _MMA_M16N8_C


MMA_M16N8K16 = MmaFragments(
    a=column_repeat(2, 2) * spatial(8, 4) * repeat(1, 2),
    b=repeat(2, 1) * column_spatial(4, 8) * repeat(2, 1),
)
"""`mma.m16n8k16` of f16 and bf16, with f16 or f32 accumulators.

PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" (9.7.14.5.8 in version 9.2).
"""

MMA_M16N8K8 = MmaFragments(
    a=repeat(2, 1) * spatial(8, 4) * repeat(1, 2),
    b=column_spatial(4, 8) * repeat(2, 1),
)
"""`mma.m16n8k8` of f16 and bf16, with f16 or f32 accumulators.

PTX ISA, "Matrix Fragments for mma.m16n8k8" (9.7.14.5.7 in version 9.2).
"""

MMA_M16N8K8_TF32 = MmaFragments(
    a=column_repeat(2, 2) * spatial(8, 4),
    b=repeat(2, 1) * column_spatial(4, 8),
)
"""`mma.m16n8k8` of tf32, with f32 accumulators; each element is a register.

PTX ISA, "Matrix Fragments for mma.m16n8k8" (9.7.14.5.7 in version 9.2).
"""

MMA_M16N8K4_TF32 = MmaFragments(
    a=repeat(2, 1) * spatial(8, 4),
    b=column_spatial(4, 8),
)
"""`mma.m16n8k4` of tf32, with f32 accumulators; each element is a register.

PTX ISA, "Matrix Fragments for mma.m16n8k4" (9.7.14.5.6 in version 9.2).
"""

WGMMA_M64K16_A = spatial(4, 1) * MMA_M16N8K16.a
"""A of `wgmma.mma_async.m64nNk16` in registers, f16 and bf16: 16 rows for each of the four warps.

PTX ISA, "Matrix Fragments for wgmma.mma_async.m64nNk16" (9.7.15.5.1.1.1 in version 9.2).
"""

WGMMA_M64K8_TF32_A = spatial(4, 1) * MMA_M16N8K8_TF32.a
"""A of `wgmma.mma_async.m64nNk8` in registers, tf32: 16 rows for each of the four warps.

PTX ISA, "Matrix Fragments for wgmma.mma_async.m64nNk8" (9.7.15.5.1.1.2 in version 9.2).
"""


@cache
def wgmma_accumulator(n: int) -> TaskMap:
    """Return the map of D of `wgmma.mma_async.m64nNkK`, of shape (64, n), over 128 threads.

    It does not depend on K or on the types. Each of the four warps holds 16 rows, as n / 8 adjacent
    accumulators of `mma.m16n8k16`: n / 2 elements per thread. n is a multiple of 8 from 8 to 256.

    PTX ISA, "Matrix Fragments for wgmma.mma_async.m64nNk16" (9.7.15.5.1.1.1 in version 9.2).

    Raises:
        MappingError: there is no instruction with n columns.
    """
    if n % 8 != 0 or not 8 <= n <= 256:
        raise MappingError(
            f"there is no wgmma of {n} columns", hint="n is a multiple of 8 from 8 to 256"
        )
    return spatial(4, 1) * repeat(1, n // 8) * _MMA_M16N8_C


@cache
def ends_in(layout: TaskMap, fragment: TaskMap) -> bool:
    """Return whether a layout is a product whose inner factor is a fragment.

    A register tile with such a layout consists of whole fragments, each in consecutive registers of
    consecutive lanes, in the order of the instruction.
    """
    # A task is the sum of the first task of its worker and of an offset by register.
    count = fragment.tasks_per_worker
    return (
        layout.workers >= fragment.workers
        and layout(0)[:count] == fragment(0)
        and all(layout.task(each, 0) == fragment.task(each, 0) for each in range(fragment.workers))
    )
