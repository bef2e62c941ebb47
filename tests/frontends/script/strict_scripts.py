"""Scripts with a planted bug each, and without it: what the strict mode is for."""

# pyright: reportUnusedExpression=false
import torch

import hidet
from hidet.lang import attrs, f16, f32, i32, register_tensor, repeat, shared_tensor, spatial
from hidet.lang.cuda import (
    MmaConfig,
    atomic_add,
    barrier_sync,
    blockIdx,
    cp_async,
    cp_async_commit_group,
    cp_async_wait_group,
    mma_sync,
    shfl_xor_sync,
    syncthreads,
    syncwarp,
    threadIdx,
)

MMA = MmaConfig.m16n8k16_f16_f32()


def missing_syncthreads(bug):
    """Another thread reads what this one has stored."""

    @hidet.script
    def kernel(x: f32[4, 128], y: f32[4, 128]):
        attrs.cuda.grid_dim = 4
        attrs.cuda.block_dim = 128
        s = shared_tensor("float32", [128])
        s[threadIdx.x] = x[blockIdx.x, threadIdx.x]
        if not bug:
            syncthreads()
        y[blockIdx.x, threadIdx.x] = s[127 - threadIdx.x]


def missing_syncthreads_after_reads(bug):
    """Another thread stores what this one has yet to read."""

    @hidet.script
    def kernel(x: f32[1, 128], y: f32[1, 128]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 128
        s = shared_tensor("float32", [128])
        s[threadIdx.x] = x[0, threadIdx.x]
        syncthreads()
        value = s[127 - threadIdx.x]
        if not bug:
            syncthreads()
        s[threadIdx.x] = value
        y[0, threadIdx.x] = s[threadIdx.x]


def missing_barrier_of_a_group(bug):
    """Two warps share a barrier of their own, or each has another one."""

    @hidet.script
    def kernel(x: f32[2, 64], y: f32[2, 64]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 128
        s = shared_tensor("float32", [2, 64])
        group, thread = threadIdx.x // 64, threadIdx.x % 64
        s[group, thread] = x[group, thread]
        if bug:
            barrier_sync(1 + threadIdx.x // 32, 32)
        else:
            barrier_sync(1 + group, 64)
        y[group, thread] = s[group, 63 - thread]


def missing_syncwarp(bug):
    """A shuffle is a meeting, but orders no memory."""

    @hidet.script
    def kernel(x: f32[2, 32], y: f32[2, 32]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 64
        s = shared_tensor("float32", [2, 32])
        warp, lane = threadIdx.x // 32, threadIdx.x % 32
        s[warp, lane] = 2.0 * x[warp, lane]
        if bug:
            s[warp, lane] = s[warp, lane] - shfl_xor_sync(0xFFFFFFFF, x[warp, lane], 0)
        else:
            s[warp, lane] = s[warp, lane] - x[warp, lane]
            syncwarp()
        y[warp, lane] = s[warp, 31 - lane]


def missing_wait(bug):
    """A barrier waits for threads, not for their asynchronous copies."""

    @hidet.script
    def kernel(x: f32[1, 128], y: f32[1, 128]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        s = shared_tensor("float32", [128])
        cp_async(~s[threadIdx.x * 4], ~x[0, threadIdx.x * 4], 16)
        cp_async_commit_group()
        if not bug:
            cp_async_wait_group(0)
        syncthreads()
        for i in range(4):
            y[0, threadIdx.x * 4 + i] = s[127 - (threadIdx.x * 4 + i)]


def missing_barrier_after_wait(bug):
    """A wait is for the copies of this thread only."""

    @hidet.script
    def kernel(x: f32[1, 128], y: f32[1, 128]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        s = shared_tensor("float32", [128])
        cp_async(~s[threadIdx.x * 4], ~x[0, threadIdx.x * 4], 16)
        cp_async_commit_group()
        cp_async_wait_group(0)
        if not bug:
            syncthreads()
        for i in range(4):
            y[0, threadIdx.x * 4 + i] = s[127 - (threadIdx.x * 4 + i)]


def copy_to_what_is_read(bug):
    """A copy begins while another thread may still read its target."""

    @hidet.script
    def kernel(x: f32[1, 128], y: f32[1, 128]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 128
        s = shared_tensor("float32", [128])
        s[threadIdx.x] = x[0, threadIdx.x]
        syncthreads()
        y[0, threadIdx.x] = s[127 - threadIdx.x]
        if not bug:
            syncthreads()
        cp_async(~s[threadIdx.x], ~x[0, threadIdx.x], 4)
        cp_async_commit_group()
        cp_async_wait_group(0)


def store_outside(bug):
    """The column is outside, though the element is within the tensor."""

    @hidet.script
    def kernel(x: f32[4, 30], y: f32[4, 30]):
        attrs.cuda.grid_dim = 4
        attrs.cuda.block_dim = 32
        if threadIdx.x < (31 if bug else 30):
            y[blockIdx.x, threadIdx.x] = x[blockIdx.x, 29 - min(threadIdx.x, 29)]


def store_outside_of_a_pointer(bug):
    """How much is behind a pointer is known at the call."""

    @hidet.script
    def kernel(x: ~f32, y: ~f32):
        attrs.cuda.grid_dim = 10
        attrs.cuda.block_dim = 32
        i = blockIdx.x * 32 + threadIdx.x
        if i < (301 if bug else 300):
            y[i] = x[299 - min(i, 299)]


def load_outside_of_shared(bug):
    """The first thread has no left neighbor."""

    @hidet.script
    def kernel(x: f32[1, 64], y: f32[1, 64]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 64
        s = shared_tensor("float32", [64])
        s[threadIdx.x] = x[0, threadIdx.x]
        syncthreads()
        y[0, 63 - threadIdx.x] = s[threadIdx.x - 1 if bug else threadIdx.x]


def unwritten_shared(bug):
    """The last thread stores nothing."""

    @hidet.script
    def kernel(x: f32[1, 128], y: f32[1, 128]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 128
        s = shared_tensor("float32", [2, 64])
        if threadIdx.x < (127 if bug else 128):
            s[threadIdx.x // 64, threadIdx.x % 64] = x[0, threadIdx.x]
        syncthreads()
        y[0, 127 - threadIdx.x] = s[threadIdx.x // 64, threadIdx.x % 64]


def unwritten_register(bug):
    """The last register holds nothing."""

    @hidet.script
    def kernel(x: f32[1, 64], y: f32[1, 64]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 16
        r = register_tensor("float32", [4])
        for i in range(3 if bug else 4):
            r[i] = x[0, threadIdx.x * 4 + i]
        for i in range(4):
            y[0, 63 - (threadIdx.x * 4 + i)] = r[i]


def divergent_syncthreads(bug):
    """Some threads do not come to a barrier."""

    @hidet.script
    def kernel(x: f32[1, 128], y: f32[1, 128]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 128
        if bug:
            if threadIdx.x < 100:
                syncthreads()
        else:
            syncthreads()
        y[0, 127 - threadIdx.x] = x[0, threadIdx.x]


def two_barriers(bug):
    """Threads come to different barriers."""

    @hidet.script
    def kernel(x: f32[1, 128], y: f32[1, 128]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 128
        if threadIdx.x < (64 if bug else 128):
            syncthreads()
            y[0, 127 - threadIdx.x] = x[0, threadIdx.x]
        else:
            syncthreads()
            y[0, 127 - threadIdx.x] = x[0, threadIdx.x]


def divergent_syncwarp(bug):
    """A lane has ended."""

    @hidet.script
    def kernel(x: f32[1, 64], y: f32[1, 64]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 64
        y[0, 63 - threadIdx.x] = x[0, threadIdx.x]
        if threadIdx.x != (40 if bug else 64):
            syncwarp()


def divergent_shuffle(bug):
    """Half a warp shuffles."""

    @hidet.script
    def kernel(x: f32[1, 32], y: f32[1, 32]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        value = x[0, threadIdx.x]
        if threadIdx.x < (16 if bug else 32):
            value = shfl_xor_sync(0xFFFFFFFF, value, 31)
        y[0, threadIdx.x] = value


def fragment_of_another_lane(bug):
    """A fragment is filled with the elements of other rows."""

    @hidet.script
    def kernel(a: f16[16, 16], b: f16[16, 8], c: f32[16, 8]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        regs_a = register_tensor("float16", layout=MMA.a_load_map)
        regs_b = register_tensor("float16", [MMA.b_elements])
        regs_c = register_tensor("float32", layout=MMA.c_store_map)
        for i, k in MMA.load_a_map.on(threadIdx.x):
            regs_a[(i + 1) % 16 if bug else i, k] = a[i, k]
        for k, j in MMA.load_b_map.on(threadIdx.x):
            regs_b[k // 8 * 2 + k % 2] = b[k, j]
        for i, j in MMA.c_store_map.on(threadIdx.x):
            regs_c[i, j] = 0.0
        mma_sync(MMA, ~regs_a[0, 0], ~regs_b[0], ~regs_c[0, 0])
        for i, j in MMA.c_store_map.on(threadIdx.x):
            c[i, j] = regs_c[i, j]


def accumulator_without_a_start(bug):
    """The sums begin at nothing."""

    @hidet.script
    def kernel(a: f16[16, 16], b: f16[16, 8], c: f32[16, 8]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        regs_a = register_tensor("float16", layout=MMA.a_load_map)
        regs_b = register_tensor("float16", [MMA.b_elements])
        regs_c = register_tensor("float32", layout=MMA.c_store_map)
        for i, k in MMA.load_a_map.on(threadIdx.x):
            regs_a[i, k] = a[i, k]
        for k, j in MMA.load_b_map.on(threadIdx.x):
            regs_b[k // 8 * 2 + k % 2] = b[k, j]
        if not bug:
            for i, j in MMA.c_store_map.on(threadIdx.x):
                regs_c[i, j] = 0.0
        mma_sync(MMA, ~regs_a[0, 0], ~regs_b[0], ~regs_c[0, 0])
        for i, j in MMA.c_store_map.on(threadIdx.x):
            c[i, j] = regs_c[i, j]


def element_of_another_thread(bug):
    """A register is no memory that threads share."""

    @hidet.script
    def kernel(x: f32[1, 128], y: f32[1, 128]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 64
        r = register_tensor("float32", layout=repeat(2) * spatial(64))
        for i in (repeat(2) * spatial(64)).on(threadIdx.x):
            r[i] = x[0, i]
        for i in (repeat(2) * spatial(64)).on(threadIdx.x):
            y[0, 127 - i] = r[i ^ 1 if bug else i]


def counter_that_is_read_too_early(bug):
    """Atomic operations do not race with each other, but with a load."""

    @hidet.script
    def kernel(x: i32[1, 128], y: i32[1, 128]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 128
        s = shared_tensor("int32", [128])
        s[threadIdx.x] = 0
        syncthreads()
        atomic_add(~s[127 - threadIdx.x], x[0, threadIdx.x])
        atomic_add(~s[threadIdx.x], 0)
        if not bug:
            syncthreads()
        y[0, threadIdx.x] = s[threadIdx.x]


def flip(x):
    """What most of the scripts compute."""
    return x.flip(-1)


def matmul(a, b):
    """What those with fragments compute."""
    return a.double() @ b.double()


FRAGMENTS = (
    (torch.half, 16, 16),
    (torch.half, 16, 8),
)
"""The inputs of the scripts with fragments: types and shapes."""

# For each script its inputs, what it computes, and what the error says of the bug.
SCRIPTS = {
    missing_syncthreads: (
        ((torch.float32, 4, 128),),
        flip,
        r"(s\[\d+\] in .*:\d+, which nothing has written so far: a store or a barrier is missing"
        r"|a race: thread \(\d+, 0, 0\) \w+ s\[\d+\] in .* a barrier or a wait is missing)",
    ),
    missing_syncthreads_after_reads: (
        ((torch.float32, 1, 128),),
        flip,
        r"a race: thread \(\d+, 0, 0\) (reads|writes) s\[\d+\] in .*strict_scripts\.py:\d+, "
        r"and thread \(\d+, 0, 0\) (reads|wrote) it in .*strict_scripts\.py:\d+",
    ),
    missing_barrier_of_a_group: (
        ((torch.float32, 2, 64),),
        flip,
        r"(which nothing has written so far|a race: thread .* reads s\[[01], \d+\] in)",
    ),
    missing_syncwarp: (
        ((torch.float32, 2, 32),),
        flip,
        r"a race: thread \(\d+, 0, 0\) reads s\[[01], \d+\] in .*, and thread \(\d+, 0, 0\) wrote",
    ),
    missing_wait: (
        ((torch.float32, 1, 128),),
        flip,
        r"reads s\[\d+\] in .*, to which the copy that began in .* is still under way: a wait is",
    ),
    missing_barrier_after_wait: (
        ((torch.float32, 1, 128),),
        flip,
        r"(reads s\[\d+\] in .*which nothing has written|still under way|a race: thread)",
    ),
    copy_to_what_is_read: (
        ((torch.float32, 1, 128),),
        flip,
        r"(a race: thread .* (writes|reads) s\[\d+\]|reads s\[\d+\] in .*, to which the copy)",
    ),
    store_outside: (
        ((torch.float32, 4, 30),),
        flip,
        r"thread \(30, 0, 0\) accesses y\[\d, 30\] in .*: index 30 of dimension 1 is outside of "
        r"its extent 30",
    ),
    store_outside_of_a_pointer: (
        ((torch.float32, 300),),
        flip,
        r"block \(9, 0, 0\): thread \(12, 0, 0\) accesses y\[300\] in .*: index 300 of dimension 0 "
        r"is outside of its extent 300",
    ),
    load_outside_of_shared: (
        ((torch.float32, 1, 64),),
        flip,
        r"thread \(0, 0, 0\) accesses s\[-1\] in .*: index -1 of dimension 0 is outside of its "
        r"extent 64",
    ),
    unwritten_shared: (
        ((torch.float32, 1, 128),),
        flip,
        r"thread \(127, 0, 0\) reads s\[1, 63\] in .*, which nothing has written so far",
    ),
    unwritten_register: (
        ((torch.float32, 1, 64),),
        flip,
        r"reads r\[3\] in .*strict_scripts\.py:\d+, which nothing has written",
    ),
    divergent_syncthreads: (
        ((torch.float32, 1, 128),),
        flip,
        r"the block hangs: 28 of its 128 threads have finished, and 100 wait at __syncthreads in "
        r".*strict_scripts\.py:\d+ for others of 128 that do not come",
    ),
    two_barriers: (
        ((torch.float32, 1, 128),),
        flip,
        r"the threads diverge: \d+ of 128 wait at __syncthreads in .*strict_scripts\.py:\d+, "
        r"thread \(\d+, 0, 0\) comes to __syncthreads in .*strict_scripts\.py:\d+",
    ),
    divergent_syncwarp: (
        ((torch.float32, 1, 64),),
        flip,
        r"33 of its 64 threads have finished, and 31 wait at __syncwarp in .*for others of 32 that",
    ),
    divergent_shuffle: (
        ((torch.float32, 1, 32),),
        flip,
        r"16 of its 32 threads have finished, and 16 wait at shfl_xor in .* for others of 32 that",
    ),
    fragment_of_another_lane: (
        FRAGMENTS,
        matmul,
        r"accesses in .*strict_scripts\.py:\d+ an element of regs_a that the layout gives",
    ),
    accumulator_without_a_start: (
        FRAGMENTS,
        matmul,
        r"reads regs_c\[0\] in .*strict_scripts\.py:\d+, which nothing has written",
    ),
    element_of_another_thread: (
        ((torch.float32, 1, 128),),
        flip,
        r"accesses in .*strict_scripts\.py:\d+ an element of r that the layout gives to another",
    ),
    counter_that_is_read_too_early: (
        ((torch.int32, 1, 128),),
        flip,
        r"a race: thread \(\d+, 0, 0\) (reads|writes) s\[\d+\] in .*, and thread",
    ),
}
