"""Script kernels that sort rows of integers: a block per row, in shared memory.

Reference: K. Batcher, Sorting networks and their applications, 1968: the bitonic sorter. The first
step of each merge compares mirrored elements, so that all comparisons have one direction, and rows
may have any length.
"""

# Scripts are not valid Python for a type checker.
# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingParameterType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from typing import Any

from hidet.frontends.script import script
from hidet.frontends.torch.matrix_kernels import kernel
from hidet.lang import attrs, i32, shared_tensor
from hidet.lang.cuda import blockIdx, syncthreads, syncwarp, threadIdx

WARP_STEP = 5
"""Up to 2^5 elements apart, the lanes of a warp compare elements of their own 64 alone."""


@kernel
def sort_rows(kind: Any, rows: int, length: int, threads: int, bitonic: bool) -> None:
    """Define `sort_rows(x, out)`: rows [rows, length] in ascending order, `threads` for each.

    Bitonic rows, of a length that is a power of two, take the steps of the last merge alone.
    """
    stages = (length - 1).bit_length()
    pairs = 1 << max(stages - 1, 0)

    @script
    def exchange(words, bits, mirrored):
        """Order the pairs of elements 2^bits apart, or those that are mirrored in 2^(bits + 1)."""
        for number in range(threadIdx.x, pairs, threads):
            pair = i32(number)
            low = (pair >> bits << bits) + pair
            high = low + (1 << bits)
            if mirrored:
                high += (1 << bits) - 1 - 2 * (pair & ((1 << bits) - 1))
            if high < length:
                one, other = words[low], words[high]
                words[low] = min(one, other)
                words[high] = max(one, other)

    @script
    def sort_rows(x: kind[rows, length], out: kind[rows, length]):
        attrs.cuda.grid_dim = rows
        attrs.cuda.block_dim = threads
        words = shared_tensor(kind, [length])
        for i in range(threadIdx.x, length, threads):
            words[i] = x[blockIdx.x, i]
        syncthreads()
        for stage in range(stages - 1 if bitonic else 0, stages):
            bits = i32(stage)
            while bits >= 0:
                exchange(words, bits, False if bitonic else bits == stage)
                if bits > WARP_STEP or (bits == 0 and stage >= WARP_STEP):
                    syncthreads()  # ahead of the next stage, too
                else:
                    syncwarp()
                bits -= 1
        syncthreads()
        for i in range(threadIdx.x, length, threads):
            out[blockIdx.x, i] = words[i]
