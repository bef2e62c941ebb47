"""Script kernels that sort rows of integers: a block per row, in shared memory.

Reference: K. Batcher, Sorting networks and their applications, 1968: the bitonic sorter. The first
step of each merge compares mirrored elements, so that all comparisons have one direction. A thread
takes up to three steps with eight elements in registers before it stores them.
"""

from typing import Any

from hidet.frontends.script import script
from hidet.frontends.torch.kernels.matrix import kernel
from hidet.lang import attrs, i32, meta, register_tensor, shared_tensor
from hidet.lang.cuda import blockIdx, syncthreads, threadIdx

STEPS = 3
"""The most steps that a thread takes between two barriers."""
BANKS = 128
"""The bytes of the banks of shared memory in a cycle."""


def padded(i: Any, kind: Any) -> Any:
    """Return the place of a word in shared memory: one is free after each row of the banks."""
    return i + i // (BANKS // kind.nbytes)


@script
def exchange(words, kind, size, threads, bits, steps, mirrored):
    """Order pairs of elements 2^bits apart, then those half as far apart, for all `steps`.

    At first, they may be mirrored in their 2^(bits + 1) elements instead.
    """
    count, apart = 1 << steps, i32(1) << (bits - (steps - 1))
    own = register_tensor(kind, [count])
    for number in range(threadIdx.x, size >> steps, threads):
        inside = i32(number) & (apart - 1)
        first = (i32(number) - inside) * count
        ends = [inside, apart - 1 - inside if mirrored else inside]
        places = [padded(first + i * apart + ends[2 * i // count], kind) for i in range(count)]
        for i in meta.range(count):
            own[i] = words[places[i]]
        for step in meta.range(steps):
            half = count >> (step + 1)
            for i in meta.range(count):
                if i & half == 0:
                    other = count - 1 - i if mirrored and step == 0 else i + half
                    low, high = min(own[i], own[other]), max(own[i], own[other])
                    own[i] = low
                    own[other] = high
        for i in meta.range(count):
            words[places[i]] = own[i]
    syncthreads()


@kernel
def sort_rows(kind: Any, rows: int, length: int, threads: int, bitonic: bool) -> None:
    """Define `sort_rows(x, out)`: rows [rows, length] in ascending order, `threads` for each.

    Bitonic rows, of a length that is a power of two, take the steps of the last merge alone.
    """
    stages = (length - 1).bit_length()
    whole, largest = 1 << stages, (1 << (8 * kind.nbytes - 1)) - 1

    @script
    def sort_rows(x: kind[rows, length], out: kind[rows, length]):
        attrs.cuda.grid_dim = rows
        attrs.cuda.block_dim = threads
        words = shared_tensor(kind, [padded(whole, kind)])
        for i in range(threadIdx.x, length, threads):
            words[padded(i, kind)] = x[blockIdx.x, i]
        for i in range(length + threadIdx.x, whole, threads):
            words[padded(i, kind)] = largest
        syncthreads()
        for steps in meta.range(1, STEPS):
            if steps <= stages and not bitonic:  # the first merges have fewer steps
                exchange(words, kind, whole, threads, steps - 1, steps, True)
        for stage in range(stages - 1 if bitonic else STEPS - 1, stages):
            bits = i32(stage)
            if not bitonic:
                exchange(words, kind, whole, threads, bits, STEPS, True)
                bits -= STEPS
            while bits >= STEPS - 1:
                exchange(words, kind, whole, threads, bits, STEPS, False)
                bits -= STEPS
            if bits == 1:
                exchange(words, kind, whole, threads, 1, 2, False)
            elif bits == 0:
                exchange(words, kind, whole, threads, 0, 1, False)
        for i in range(threadIdx.x, length, threads):
            out[blockIdx.x, i] = words[padded(i, kind)]
