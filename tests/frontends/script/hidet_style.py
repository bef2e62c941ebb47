"""Kernels as users of the original Hidet write them, with the names and spellings that they use.

Each is a `Program`: what builds it, its arguments, and what it should give, in float64. Poisoned
tensors are what kernels write.
"""
# Users write as they like.
# ruff: noqa: B007, C901, RUF005, SIM113, SIM300

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

import hidet
from hidet.testing.numeric import poison


def uniform(*shape, dtype=torch.float32):
    """Return random numbers between -1 and 1."""
    return torch.rand(*shape).mul_(2).sub_(1).to(dtype)


def empty(*shape, dtype=torch.float32):
    """Return a tensor that a kernel has to fill."""
    return poison(torch.empty(*shape, dtype=dtype))


@dataclass(frozen=True)
class Program:
    """A script of a user.

    Attributes:
        build: gives the built module.
        arguments: gives what it is called with.
        expected: for the arguments before the call, a value for each argument that is written, by
            its position.
        tolerance: the relative error that is allowed.
    """

    build: Callable
    arguments: Callable
    expected: Callable
    tolerance: float = 1e-5


def add_vectors():
    from hidet.lang import attr, f32
    from hidet.lang.cuda import blockDim, blockIdx, threadIdx

    n = 300
    with hidet.script_module() as script_module:

        @hidet.script
        def add_vectors(a: f32[n], b: f32[n], c: f32[n]):
            attr.cuda_grid_dim = (n + 127) // 128
            attr.cuda_block_dim = 128
            i = blockIdx.x * blockDim.x + threadIdx.x
            if i < n:
                c[i] = a[i] + b[i]

    return hidet.driver.build_ir_module(script_module.ir_module())


def matmul_of_pointers():
    from hidet.lang import attrs
    from hidet.lang.cuda import blockIdx, threadIdx
    from hidet.lang.types import f32, tensor_pointer

    m, n, k = 20, 35, 12
    with hidet.script_module() as script_module:

        @hidet.script
        def matmul_of_pointers(a_ptr: ~f32, b_ptr: ~f32, c_ptr: ~f32):
            attrs.func_kind = "cuda_kernel"
            attrs.cuda.block_dim = 16, 16
            attrs.cuda.grid_dim = (m + 15) // 16, (n + 15) // 16
            a = tensor_pointer(dtype=f32, shape=[m, k], init=a_ptr)
            b = tensor_pointer(f32, shape=[k, n])
            b = b_ptr
            c = tensor_pointer(dtype=f32, shape=[m, n], init=c_ptr)
            i = blockIdx.x * 16 + threadIdx.x
            j = blockIdx.y * 16 + threadIdx.y
            if i < m and j < n:
                c[i, j] = 0.0
                for p in range(k):
                    c[i, j] += a[i, p] * b[p, j]

    return script_module.build()


def matmul_relu():
    """The tile of the tutorial: 64 x 256, with warps of 2 x 16 threads."""
    from hidet.lang import as_tensor_pointer, attrs, float32, register_tensor, shared_tensor
    from hidet.lang.cuda import blockIdx, syncthreads, threadIdx
    from hidet.lang.layout import local_layout, row_major
    from hidet.lang.mapping import auto_map, spatial

    m, n, k = 70, 260, 19
    block_m, block_n, block_k = 64, 256, 8
    with hidet.lang.script_module() as script_module:

        @hidet.lang.script
        def relu(x: float32) -> float32:
            return x if x > 0.0 else 0.0

        @hidet.script
        def kernel(a_ptr: ~float32, b_ptr: ~float32, c_ptr: ~float32):
            attrs.func_name = "matmul_relu"
            attrs.cuda.block_dim = 256
            attrs.cuda.grid_dim = ((m + block_m - 1) // block_m, (n + block_n - 1) // block_n)
            a = as_tensor_pointer(a_ptr, float32, [m, k])
            b = as_tensor_pointer(b_ptr, float32, [k, n])
            c = as_tensor_pointer(c_ptr, float32, [m, n])
            smem_a = shared_tensor(float32, shape=[block_m, block_k])
            smem_b = shared_tensor(float32, shape=[block_k, block_n])
            regs_c = register_tensor(
                dtype=float32,
                layout=(
                    local_layout(4, 2) * row_major(2, 2) * local_layout(2, 16) * row_major(4, 4)
                ),
            )
            tile = spatial(4, 2).repeat(2, 2).spatial(2, 16).repeat(4, 4)
            for i, j in tile.on(threadIdx.x):
                regs_c[i, j] = 0.0
            for k_tile in range((k + block_k - 1) // block_k):
                for i, p in auto_map(block_m, block_k, workers=256).on(threadIdx.x):
                    gi, gp = (i + blockIdx.x * block_m, p + k_tile * block_k)
                    smem_a[i, p] = a[gi, gp] if gi < m and gp < k else 0.0
                for p, j in auto_map(block_k, block_n, workers=256).on(threadIdx.x):
                    gp, gj = (p + k_tile * block_k, j + blockIdx.y * block_n)
                    smem_b[p, j] = b[gp, gj] if gp < k and gj < n else 0.0
                syncthreads()
                for i, j in tile.on(threadIdx.x):
                    for p in range(block_k):
                        regs_c[i, j] += smem_a[i, p] * smem_b[p, j]
                syncthreads()
            for i, j in tile.on(threadIdx.x):
                gi = i + blockIdx.x * block_m
                gj = j + blockIdx.y * block_n
                if gi < m and gj < n:
                    c[gi, gj] = relu(regs_c[i, j])

    assert isinstance(kernel, hidet.ir.Function)
    return script_module.build()


def transpose():
    from hidet.lang import attrs, f32, repeat, shared_tensor, spatial
    from hidet.lang.cuda import blockIdx, syncthreads, threadIdx

    rows, columns = 50, 70
    with hidet.script_module() as script_module:

        @hidet.script
        def transpose(x: f32[rows, columns], y: f32[columns, rows]):
            attrs.cuda.grid_dim = (rows + 31) // 32, (columns + 31) // 32
            attrs.cuda.block_dim = 256
            tile = shared_tensor("float32", [32, 33])
            top, left = blockIdx.x * 32, blockIdx.y * 32
            for i, j in repeat(4, 1, attrs="u.").spatial(8, 32).on(threadIdx.x):
                if top + i < rows and left + j < columns:
                    tile[i, j] = x[top + i, left + j]
            syncthreads()
            for j, i in (repeat(4, 1) * spatial(8, 32)).on(threadIdx.x):
                if top + i < rows and left + j < columns:
                    y[left + j, top + i] = tile[i, j]

    return script_module.build()


def softmax_by_warps():
    """A row for each warp; helpers of plain Python take IR values and primitives."""
    from hidet.ir.primitives import active_mask, shfl_down_sync, shfl_sync

    from hidet.ir import primitives as prim
    from hidet.lang import attrs, register_tensor
    from hidet.lang.cuda import blockIdx, threadIdx
    from hidet.lang.types import f32

    shape, extent = [3, 5, 70], 70
    per_lane = (extent + 31) // 32

    def warp_reduce(value, op):
        mask = active_mask()
        for delta in [16, 8, 4, 2, 1]:
            value = op(value, shfl_down_sync(mask, value, delta=delta))
        return shfl_sync(mask, value, src_lane=0)

    with hidet.script_module() as script_module:

        @hidet.script
        def softmax(xs: f32[shape], ys: f32[shape]):
            attrs.cuda.block_dim = 32
            attrs.cuda.grid_dim = shape[0] * shape[1]
            head = [blockIdx.x // shape[1], blockIdx.x % shape[1]]
            temp = register_tensor(f32, shape=[per_lane])
            largest = -f32.max_value
            for k in range(per_lane):
                idx = threadIdx.x + k * 32
                if idx < extent:
                    temp[k] = xs[head + [idx]]
                    largest = prim.max(largest, temp[k])
            largest = warp_reduce(largest, prim.max)
            total = f32.zero
            for k in range(per_lane):
                idx = threadIdx.x + k * 32
                if idx < extent:
                    temp[k] = prim.exp(temp[k] - largest)
                    total += temp[k]
            total = warp_reduce(total, lambda a, b: a + b)
            for k in range(per_lane):
                idx = threadIdx.x + k * 32
                if idx < extent:
                    ys[head + [idx]] = temp[k] / total

    return script_module.build()


def block_sum():
    """A tree in shared memory, with `while` and a stride that halves."""
    from hidet.lang import attrs, f32, i32, shared_tensor
    from hidet.lang.cuda import atomic_add, blockDim, blockIdx, syncthreads, threadIdx

    with hidet.script_module() as script_module:

        @hidet.script
        def block_sum(x: ~f32, out: ~f32, n: i32):
            attrs.func_kind = "cuda_kernel"
            attrs.cuda.grid_dim = 3
            attrs.cuda.block_dim = 64
            smem = shared_tensor(f32, [64])
            tid = threadIdx.x
            value = f32(0.0)
            i = blockIdx.x * blockDim.x + tid
            while i < n:
                value += x[i]
                i += blockDim.x * 3
            smem[tid] = value
            syncthreads()
            stride = 32
            while stride > 0:
                if tid < stride:
                    smem[tid] += smem[tid + stride]
                syncthreads()
                stride = stride // 2
            if tid == 0:
                atomic_add(~out[0], smem[0])

    return script_module.build()


def layer_norm():
    """f16 in memory, f32 in registers: `cast`, `math`, a layout that spreads a row."""
    from hidet.ir.primitives.cuda.shfl import shfl_xor_sync

    from hidet.lang import attrs, cast, data_type, f16, grid, register_tensor
    from hidet.lang.cuda import blockIdx, threadIdx
    from hidet.lang.layout import local_layout, row_major

    rows, columns = 6, 128
    acc = data_type("float32")
    with hidet.script_module() as script_module:

        @hidet.script
        def warp_sum(v: acc) -> acc:
            attrs.func_kind = "cuda_internal"
            for step in [16, 8, 4, 2, 1]:
                v += shfl_xor_sync(0xFFFFFFFF, v, step)
            return v

        @hidet.script
        def layer_norm(x: f16[rows, columns], y: f16[rows, columns]):
            attrs.cuda.grid_dim = rows
            attrs.cuda.block_dim = 32
            regs = register_tensor(acc, [4])
            mean = acc(0.0)
            for (k,) in grid([4]):
                regs[k] = cast(x[blockIdx.x, threadIdx.x * 4 + k], acc)
                mean += regs[k]
            mean = warp_sum(mean) / columns
            var = acc(0.0)
            for k in grid(4, attrs="u"):
                var += (regs[k] - mean) ** 2
            scale = 1.0 / math.sqrt(warp_sum(var) / columns + 1e-5)
            for k in range(4):
                y[blockIdx.x, threadIdx.x * 4 + k] = (regs[k] - mean) * scale

    assert (local_layout(32) * row_major(4)).shape == (columns,)
    return script_module.build()


def blur():
    """A stencil whose loops are unrolled by hidet itself, with a table of Python."""
    from hidet.lang import attrs, f32, grid
    from hidet.lang.cuda import blockIdx, threadIdx

    h, w = 18, 21
    weights = {
        (di, dj): 1.0 / (1 + abs(di - 1) + abs(dj - 1)) for di in range(3) for dj in range(3)
    }
    with hidet.script_module() as script_module:

        @hidet.script
        def blur(x: f32[h, w], y: f32[h, w]):
            attrs.cuda.grid_dim = (w + 7) // 8, (h + 7) // 8
            attrs.cuda.block_dim = 8, 8
            i, j = blockIdx.y * 8 + threadIdx.y, blockIdx.x * 8 + threadIdx.x
            if i < h and j < w:
                total = 0.0
                for di, dj in grid(3, 3, attrs="u+u+"):
                    si, sj = i + di - 1, j + dj - 1
                    if 0 <= si and si < h and 0 <= sj and sj < w:
                        total += x[si, sj] * weights[(di, dj)]
                y[i, j] = total

    return script_module.build()


def histogram():
    from hidet.lang import attrs, i32, shared_tensor
    from hidet.lang.cuda import atomic_add, blockIdx, syncthreads, threadIdx

    n, bins = 500, 16
    with hidet.script_module() as script_module:

        @hidet.script
        def histogram(arr: i32[n], counts: ~i32):
            attrs.cuda.grid_dim = 2
            attrs.cuda.block_dim = 64
            local = shared_tensor("int32", shape=[bins])
            if threadIdx.x < bins:
                local[threadIdx.x] = 0
            syncthreads()
            i = blockIdx.x * 64 + threadIdx.x
            while i < n:
                value = min(max(arr[i], 0), bins - 1)
                atomic_add(~local[value], 1)
                i += 128
            syncthreads()
            if threadIdx.x < bins:
                atomic_add(counts + threadIdx.x, local[threadIdx.x])

    return script_module.build()


def batched_matmul():
    """The head of a batch by `.map`, integer `/`, warps that are workers of a mapping."""
    from hidet.lang import attrs, f32, register_tensor, shared_tensor
    from hidet.lang.cuda import blockIdx, syncthreads, threadIdx
    from hidet.lang.mapping import chain, repeat, spatial
    from hidet.lang.types import tensor_type

    head, m, n, k = [2, 3], 32, 64, 16
    lanes = chain(spatial(4, 8), repeat(4, 4))
    with hidet.script_module() as module:

        @hidet.script
        def load(smem: f32[m, k], x: f32[2, 3, m, k]):
            p, q = spatial(*head).map(blockIdx.x)
            for i, j in repeat(4, 1).spatial(8, 16).on(threadIdx.x):
                smem[i, j] = x[p, q, i, j]

        @hidet.script
        def mma(
            smem_a: tensor_type(f32, shape=[m, k]),
            smem_b: tensor_type(f32, shape=[k, n]),
            regs: tensor_type("float32", [4, 4]),
        ):
            warp_id, lane_id = threadIdx.x / 32, threadIdx.x % 32
            for wi, wj in spatial(2, 2).on(warp_id):
                ti, tj = spatial(4, 8).map(lane_id)
                for i, j in repeat(4, 4).on(0):
                    for p in range(k):
                        a = smem_a[wi * 16 + ti * 4 + i, p]
                        regs[i, j] += a * smem_b[p, wj * 32 + tj * 4 + j]

        @hidet.script
        def batched_matmul(a: f32[2, 3, m, k], b: f32[2, 3, k, n], c: f32[2, 3, m, n]):
            attrs.cuda.grid_dim = 6
            attrs.cuda.block_dim = 128
            smem_a = shared_tensor(f32, [m, k])
            smem_b = shared_tensor(f32, [k, n])
            regs = register_tensor(f32, [4, 4])
            index = spatial(*head).map(blockIdx.x)
            for i, j in repeat(4, 4).on(0):
                regs[i, j] = 0.0
            load(smem_a, a)
            for i, j in repeat(8, 1).spatial(2, 64).on(threadIdx.x):
                smem_b[i, j] = b[index[0], index[1], i, j]
            syncthreads()
            mma(smem_a, smem_b, regs)
            warp_id, lane_id = threadIdx.x / 32, threadIdx.x % 32
            for wi, wj in spatial(2, 2).on(warp_id):
                p = 0
                for i, j in lanes.on(lane_id):
                    c[index[0], index[1], wi * 16 + i, wj * 32 + j] = regs[p // 4, p % 4]
                    p += 1

    return module.build()


def gather_rows():
    from hidet.lang import attrs, f32, i64
    from hidet.lang.cuda import blockIdx, threadIdx

    with hidet.script_module() as script_module:

        @hidet.script
        def gather_rows(table: f32[10, 40], index: i64[7], out: f32[7, 40]):
            attrs.cuda.grid_dim = 7
            attrs.cuda.block_dim = 64
            row = index[blockIdx.x]
            if threadIdx.x < 40 and row >= 0:
                out[blockIdx.x, threadIdx.x] = table[row, threadIdx.x]

    return script_module.build()


def argmax_of_rows():
    from hidet.lang import attrs, f32, int32
    from hidet.lang.cuda import blockIdx, threadIdx

    rows, columns = 40, 13
    with hidet.script_module() as script_module:

        @hidet.script
        def argmax_of_rows(x: f32[rows, columns], best: int32[rows]):
            attrs.cuda.grid_dim = (rows + 31) // 32
            attrs.cuda.block_dim = 32
            row = blockIdx.x * 32 + threadIdx.x
            if row >= rows:
                return
            value: f32 = x[row, 0]
            where: int32 = 0
            for j in range(1, columns):
                if x[row, j] > value:
                    value = x[row, j]
                    where = j
            best[row] = where

    return script_module.build()


def prefix_sum():
    """A scan with two buffers in shared memory, picked by `%`."""
    from hidet.lang import attrs, f32, shared_tensor
    from hidet.lang.cuda import syncthreads, threadIdx

    n = 64
    with hidet.script_module() as script_module:

        @hidet.script
        def prefix_sum(x: f32[n], y: f32[n]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = n
            buffers = shared_tensor(f32, [2, n])
            buffers[0, threadIdx.x] = x[threadIdx.x]
            syncthreads()
            for step in range(6):
                old, new = step % 2, (step + 1) % 2
                shift = 1 << step
                value = buffers[old, threadIdx.x]
                if threadIdx.x >= shift:
                    value += buffers[old, threadIdx.x - shift]
                buffers[new, threadIdx.x] = value
                syncthreads()
            y[threadIdx.x] = buffers[0, threadIdx.x]

    return script_module.build()


def saxpy():
    """Annotations with Python's own types; a scalar that Python has computed."""
    from hidet.lang import attrs, f32
    from hidet.lang.cuda import blockIdx, threadIdx

    with hidet.script_module() as script_module:

        @hidet.script
        def saxpy(x: ~f32, y: ~f32, alpha: float, n: int, negate: bool):
            attrs.cuda.grid_dim = 4
            attrs.cuda.block_dim = 64
            i = blockIdx.x * 64 + threadIdx.x
            if i < n:
                y[i] = (-alpha if negate else alpha) * x[i] + y[i]

    return script_module.build()


def layouts_in_memory():
    """A shared tile in an order of its own, a parameter in column-major order."""
    from hidet.lang import attrs, f32, shared_tensor
    from hidet.lang.cuda import syncthreads, threadIdx
    from hidet.lang.layout import column_major, row_major, strided_layout
    from hidet.lang.mapping import auto_map
    from hidet.lang.types import tensor_type

    with hidet.script_module() as script_module:

        @hidet.script
        def layouts_in_memory(
            x: tensor_type(f32, layout=column_major(16, 8)),
            y: f32[16, 8],
            z: tensor_type("float32", [2, 16, 8], layout=strided_layout([2, 16, 8], [0, 2, 1])),
        ):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            smem = shared_tensor(f32, [16, 8], layout=row_major(4, 1) * column_major(4, 8))
            for i, j in auto_map(16, 8, workers=32).on(threadIdx.x):
                smem[i, j] = x[i, j]
            syncthreads()
            for i, j in auto_map(16, 8, workers=32, ranks=[1, 0]).on(threadIdx.x):
                y[i, j] = smem[i, j]
                z[0, i, j] = smem[i, j]
                z[1, i, j] = -smem[i, j]

    return script_module.build()


def tile_of_registers():
    """A register tile that goes through functions with its layout in their annotations."""
    from hidet.lang import TensorType, attrs, f32, register_tensor
    from hidet.lang.cuda import threadIdx
    from hidet.lang.layout import local_layout
    from hidet.lang.mapping import spatial

    layout = local_layout(2, 4).row_major(2, 2).local(4, 1)
    tasks = spatial(2, 4).repeat(2, 2).spatial(4, 1)
    with hidet.script_module() as script_module:

        @hidet.script
        def load(x: f32[16, 8], regs: TensorType(dtype=f32, layout=layout)):
            for i, j in tasks.on(threadIdx.x):
                regs[i, j] = x[i, j]

        @hidet.script
        def store(regs: TensorType(dtype="float32", layout=layout), y: f32[16, 8]):
            for i, j in tasks.on(threadIdx.x):
                y[i, j] = regs[i, j] * 2

        @hidet.script
        def tile_of_registers(x: f32[16, 8], y: f32[16, 8]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            regs = register_tensor(f32, layout=layout)
            load(x, regs)
            store(regs, y)

    return script_module.build()


def permute():
    """Indices as tuples and lists, concatenated by `+` and sliced by Python."""
    from hidet.lang import attrs, f32, grid

    shape = [3, 4, 5]
    with hidet.script_module() as script_module:

        @hidet.script
        def permute(x: f32[shape], y: f32[[5, 3, 4]], sums: f32[3, 5]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            for axes in grid(shape):
                y[axes[2:] + axes[:2]] = x[axes]
            for indices in grid(3, 5):
                sums[indices] = 0.0
                for k in range(4):
                    sums[indices] += x[indices[:1] + (k,) + indices[1:]]
            for axes in grid(1, bind_tuple=True):
                sums[axes[0], 0] += 1.0

    return script_module.build()


def meta_programming():
    """Lists, dictionaries, lambdas and loops over them are known when the script is defined."""
    from hidet.lang import attrs, f32, meta
    from hidet.lang.cuda import threadIdx

    functions = [lambda v: v * v, lambda v: -v, abs]
    with hidet.script_module() as script_module:

        @hidet.script
        def meta_programming(x: f32[32], y: f32[32, 3]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            i = threadIdx.x
            offsets = {k: k * 10 for k in range(3) if k != 1}
            scales = [1.0 / (k + 1) for k in range(len(functions))]
            shifted = lambda v, by: v + by  # noqa: E731
            for k in meta.range(3):
                y[i, k] = functions[k](x[i]) * scales[k]
                if k in offsets:
                    y[i, k] = shifted(y[i, k], offsets[k])
            for k, f in enumerate(meta.each(functions)):
                y[i, k] += f(x[i])

    return script_module.build()


def activations():
    from hidet.ir.dtypes import float32
    from hidet.ir.expr import cast, if_then_else, logical_and, logical_not
    from hidet.ir.primitives.math import exp, exp2, tanh

    from hidet.lang import attrs
    from hidet.lang.cuda import blockIdx, threadIdx

    n = 100
    with hidet.script_module() as script_module:

        @hidet.script
        def gelu(x: float32) -> float32:
            return 0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

        @hidet.script
        def activations(x: float32[n], y: float32[4, n]):
            attrs.cuda.grid_dim = (n + 63) // 64
            attrs.cuda.block_dim = 64
            i = blockIdx.x * 64 + threadIdx.x
            if logical_not(i >= n):
                v = x[i]
                y[0, i] = gelu(v)
                y[1, i] = v / (1 + exp(-v))
                y[2, i] = if_then_else(logical_and(v > -0.5, v < 0.5), v, cast(0, "float32"))
                y[3, i] = exp2(v)

    return script_module.build()


def bits():
    """Unsigned arithmetic, shifts, `bitwise_not`."""
    from hidet.lang import attrs, bitwise_not, u32, uint32
    from hidet.lang.cuda import threadIdx

    with hidet.script_module() as script_module:

        @hidet.script
        def bits(seed: u32[32], out: uint32[32]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            x = seed[threadIdx.x]
            for _ in range(3):
                x ^= x << 13
                x ^= x >> 17
                x ^= x << 5
            out[threadIdx.x] = bitwise_not(x) & uint32(0xFFFFFF)

    return script_module.build()


def short_floats():
    from hidet.lang import attrs, bfloat16, cast, f16, float16, float32
    from hidet.lang.cuda import threadIdx

    with hidet.script_module() as script_module:

        @hidet.script
        def short_floats(x: float32[32], a: f16[32], b: bfloat16[32]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            half = float16(x[threadIdx.x])
            a[threadIdx.x] = half * half + f16(1.0)
            b[threadIdx.x] = cast(half, bfloat16) * 2

    return script_module.build()


def scopes():
    """`tensor` with a scope, by name and by the enumeration; chained subscripts of a list."""
    from hidet.ir.stmt import DeclareScope

    from hidet.lang import attrs, f32, i32, tensor
    from hidet.lang.cuda import syncthreads, threadIdx

    with hidet.script_module() as script_module:

        @hidet.script
        def scopes(x: f32[64], y: f32[64], n: i32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            smem = tensor(dtype=f32, shape=[64], scope="shared")
            other = tensor(f32, [64], scope=DeclareScope.Shared)
            regs = tensor("float32", [2])
            smem[threadIdx.x] = x[threadIdx.x]
            other[63 - threadIdx.x] = x[threadIdx.x]
            syncthreads()
            regs[0] = smem[63 - threadIdx.x]
            regs[1] = other[threadIdx.x]
            total: f32 = 0.0
            for k in range(n):
                if k == 2:
                    break
                total += regs[k]
            y[threadIdx.x] = total

    return script_module.build()


def addresses():
    """`~x[i]`, `address(x[i])`, pointers that are moved, tensors that are passed as pointers."""
    from hidet.lang import address, attrs, deref, f32, i32
    from hidet.lang.cuda import threadIdx

    with hidet.script_module() as script_module:

        @hidet.script
        def scale(p: ~f32, n: i32, by: f32):
            for k in range(n):
                p[k] = p[k] * by

        @hidet.script
        def addresses(x: f32[4, 32], y: ~f32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            p = y + threadIdx.x * 4
            for k in range(4):
                p[k] = deref(address(x[k, threadIdx.x]))
            scale(p, 2, 10.0)
            scale(~p[2], 2, 100.0)

    return script_module.build()


def pooling():
    from hidet.lang import attrs, f32, grid
    from hidet.lang.cuda import blockIdx, threadIdx

    channels, h, w = 3, 9, 10
    oh, ow = (h - 3) // 2 + 1, (w - 3) // 2 + 1
    with hidet.script_module() as script_module:

        @hidet.script
        def pooling(x: f32[channels, h, w], y: f32[channels, oh, ow]):
            attrs.cuda.grid_dim = channels
            attrs.cuda.block_dim = ow, oh
            c, i, j = blockIdx.x, threadIdx.y, threadIdx.x
            best = f32.min_value
            for di, dj in grid(3, 3, "u."):
                best = max(best, x[c, i * 2 + di, j * 2 + dj])
            y[c, i, j] = best

    return script_module.build()


def double_buffer():
    """Tiles are fetched into registers while those in shared memory are multiplied."""
    from hidet.lang import attrs, f32, register_tensor, repeat, shared_tensor, spatial
    from hidet.lang.cuda import syncthreads, threadIdx
    from hidet.lang.layout import local_layout, row_major

    m, n, k, step = 32, 32, 64, 8
    fetch = spatial(16, 4).repeat(2, 2)
    compute = spatial(8, 8) * repeat(4, 4)
    with hidet.script_module() as script_module:

        @hidet.script
        def double_buffer(a: f32[m, k], b: f32[k, n], c: f32[m, n]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            smem_a = shared_tensor(f32, [2, m, step])
            smem_b = shared_tensor(f32, [2, step, n])
            next_a = register_tensor(f32, layout=local_layout(16, 4) * row_major(2, 2))
            regs_c = register_tensor(f32, layout=local_layout(8, 8) * row_major(4, 4))
            for i, j in compute.on(threadIdx.x):
                regs_c[i, j] = 0.0
            for i, p in fetch.on(threadIdx.x):
                smem_a[0, i, p] = a[i, p]
            for p, j in repeat(4, 1).spatial(2, 32).on(threadIdx.x):
                smem_b[0, p, j] = b[p, j]
            syncthreads()
            for tile in range(k // step):
                now, then = tile % 2, (tile + 1) % 2
                if tile + 1 < k // step:
                    for i, p in fetch.on(threadIdx.x):
                        next_a[i, p] = a[i, (tile + 1) * step + p]
                for p in range(step):
                    for i, j in compute.on(threadIdx.x):
                        regs_c[i, j] += smem_a[now, i, p] * smem_b[now, p, j]
                if tile + 1 < k // step:
                    for i, p in fetch.on(threadIdx.x):
                        smem_a[then, i, p] = next_a[i, p]
                    for p, j in repeat(4, 1).spatial(2, 32).on(threadIdx.x):
                        smem_b[then, p, j] = b[(tile + 1) * step + p, j]
                syncthreads()
            for i, j in compute.on(threadIdx.x):
                c[i, j] = regs_c[i, j]

    return script_module.build()


def online_softmax_attention():
    """One thread for each query, with a running maximum; `return` of a thread that has none."""
    from hidet.lang import attrs, f32, register_tensor
    from hidet.lang.cuda import blockIdx, threadIdx

    queries, keys, dim = 20, 30, 8
    with hidet.script_module() as script_module:

        @hidet.script
        def attention(
            q: f32[queries, dim], k: f32[keys, dim], v: f32[keys, dim], o: f32[queries, dim]
        ):
            attrs.cuda.grid_dim = (queries + 15) // 16
            attrs.cuda.block_dim = 16
            row = blockIdx.x * 16 + threadIdx.x
            if row >= queries:
                return
            out = register_tensor(f32, [dim])
            for d in range(dim):
                out[d] = 0.0
            largest, total = -1e30, 0.0
            for key in range(keys):
                score = 0.0
                for d in range(dim):
                    score += q[row, d] * k[key, d]
                score = score / math.sqrt(dim)
                new = max(largest, score)
                old_scale, weight = math.exp(largest - new), math.exp(score - new)
                total = total * old_scale + weight
                for d in range(dim):
                    out[d] = out[d] * old_scale + weight * v[key, d]
                largest = new
            for d in range(dim):
                o[row, d] = out[d] / total

    return script_module.build()


def tensor_cores():
    """Fragments that are loaded by their maps, element by element, and multiplied by `mma_sync`."""
    from hidet.lang import attrs, f16, f32, grid, register_tensor, shared_tensor
    from hidet.lang.cuda import MmaConfig, blockIdx, mma_sync, syncthreads, threadIdx
    from hidet.lang.mapping import repeat, spatial

    mma = MmaConfig.m16n8k8_f16_f32()
    m, n, k = 64, 64, 24
    warp_m, warp_n = 32, 32
    count_m, count_n = warp_m // mma.m, warp_n // mma.n
    with hidet.script_module() as module:

        @hidet.script
        def load_a(smem_a: f16[m, mma.k], regs_a: f16[count_m, mma.a_elements]):
            warp_id, lane_id = threadIdx.x / 32, threadIdx.x % 32
            for wi, wj in spatial(2, 2).on(warp_id):
                for mi in range(count_m):
                    p = 0
                    for i, q in mma.a_load_map.on(lane_id):
                        regs_a[mi, p] = smem_a[wi * warp_m + mi * mma.m + i, q]
                        p += 1

        @hidet.script
        def load_b(smem_b: f16[mma.k, n], regs_b: f16[count_n, mma.b_elements]):
            warp_id, lane_id = threadIdx.x / 32, threadIdx.x % 32
            for wi, wj in spatial(2, 2).on(warp_id):
                for mj in range(count_n):
                    p = 0
                    for q, j in mma.b_load_map.on(lane_id):
                        regs_b[mj, p] = smem_b[q, wj * warp_n + mj * mma.n + j]
                        p += 1

        @hidet.script
        def multiply(
            regs_a: f16[count_m, mma.a_elements],
            regs_b: f16[count_n, mma.b_elements],
            regs_c: f32[count_m, count_n, mma.c_elements],
        ):
            for mi, mj in repeat(count_m, count_n).on(0):
                mma_sync(mma, ~regs_a[mi, 0], ~regs_b[mj, 0], ~regs_c[mi, mj, 0])

        @hidet.script
        def tensor_cores(a: f16[2, m, k], b: f16[2, k, n], c: f32[2, m, n]):
            attrs.cuda.grid_dim = 1, 1, 2
            attrs.cuda.block_dim = 128
            smem_a = shared_tensor("float16", [m, mma.k])
            smem_b = shared_tensor("float16", [mma.k, n])
            regs_a = register_tensor("float16", [count_m, mma.a_elements])
            regs_b = register_tensor("float16", [count_n, mma.b_elements])
            regs_c = register_tensor("float32", [count_m, count_n, mma.c_elements])
            for i, j, p in grid(count_m, count_n, mma.c_elements):
                regs_c[i, j, p] = 0.0
            for k0 in range((k + mma.k - 1) // mma.k):
                for i, q in repeat(4, 1).spatial(16, 8).on(threadIdx.x):
                    smem_a[i, q] = a[blockIdx.z, i, k0 * mma.k + q]
                for q, j in repeat(4, 1).spatial(2, 64).on(threadIdx.x):
                    smem_b[q, j] = b[blockIdx.z, k0 * mma.k + q, j]
                syncthreads()
                load_a(smem_a, regs_a)
                load_b(smem_b, regs_b)
                multiply(regs_a, regs_b, regs_c)
                syncthreads()
            warp_id, lane_id = threadIdx.x / 32, threadIdx.x % 32
            for wi, wj in spatial(2, 2).on(warp_id):
                for mi, mj in grid(count_m, count_n, attrs="u+u+"):
                    p = 0
                    for i, j in mma.c_store_map.on(lane_id):
                        row, column = wi * warp_m + mi * mma.m + i, wj * warp_n + mj * mma.n + j
                        c[blockIdx.z, row, column] = regs_c[mi, mj, p]
                        p += 1

    return module.build()


def asynchronous_copies():
    """Two stages of a tile with a swizzled layout, `ldmatrix`, a register tile of fragments."""
    from hidet.ir.primitives.cuda.cp_async import cp_async_commit_group, cp_async_wait_group
    from hidet.ir.primitives.cuda.mma import MmaConfig, ldmatrix

    from hidet.lang import attrs, col_spatial, f16, register_tensor, tensor
    from hidet.lang.cuda import cp_async, mma_sync, syncthreads, threadIdx
    from hidet.lang.layout import row_major
    from hidet.lang.mapping import auto_map
    from hidet.lang.types import tensor_type

    mma = MmaConfig.m16n8k16_f16_f16()
    m, n, k = 16, 8, 64
    stages = row_major(2) + row_major(16, 2).swizzle(1, log_step=2) * row_major(1, 8)
    smem_a_type = tensor_type("float16", shape=[2, 16, 16], layout=stages)
    with hidet.script_module() as script_module:

        @hidet.script
        def fetch(stage: int, k0: int, a: f16[m, k], smem_a: smem_a_type):
            for i, segment in auto_map(16, 2, workers=32).on(threadIdx.x):
                cp_async(
                    ~smem_a[stage, i, segment * 8],
                    ~a[i, k0 * 16 + segment * 8],
                    cp_size=16,
                    cache_level="global",
                )
            cp_async_commit_group()

        @hidet.script
        def asynchronous_copies(a: f16[m, k], b: f16[k, n], c: f16[m, n]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            smem_a = tensor("float16", layout=stages, scope="shared")
            regs_a = register_tensor("float16", [mma.a_elements])
            regs_b = register_tensor("float16", [mma.b_elements])
            regs_c = register_tensor("float16", [mma.c_elements])
            for i in range(mma.c_elements):
                regs_c[i] = f16.zero
            fetch(0, 0, a, smem_a)
            for k0 in range(k // 16):
                if k0 + 1 < k // 16:
                    fetch((k0 + 1) % 2, k0 + 1, a, smem_a)
                    cp_async_wait_group(1)
                else:
                    cp_async_wait_group(0)
                syncthreads()
                p, q = col_spatial(16, 2).map(threadIdx.x)
                ldmatrix(regs=regs_a, smem_addr=~smem_a[k0 % 2, p, q * 8], trans=False)
                p = 0
                for i, j in mma.b_load_map.on(threadIdx.x):
                    regs_b[p] = b[k0 * 16 + i, j]
                    p += 1
                mma_sync(mma, regs_a, regs_b, regs_c)
                syncthreads()
            p = 0
            for i, j in mma.c_store_map.on(threadIdx.x):
                c[i, j] = regs_c[p]
                p += 1

    return script_module.build()


def parts_of_tensors():
    """A part of a batch, with accesses that keep to its bounds; rows of a tensor, one by one."""
    from hidet.lang import attrs, f32, shared_tensor
    from hidet.lang.cuda import blockIdx, syncthreads, threadIdx
    from hidet.lang.mapping import spatial

    batch, rows, columns = 2, 40, 22
    with hidet.script_module() as script_module:

        @hidet.script
        def parts_of_tensors(a: f32[batch, rows, columns], b: f32[batch, rows, columns]):
            attrs.cuda.grid_dim = (rows + 15) // 16, (columns + 15) // 16, batch
            attrs.cuda.block_dim = 256
            offset_i, offset_j = blockIdx.x * 16, blockIdx.y * 16
            gmem_a = a[blockIdx.z, offset_i:, offset_j:]
            gmem_b = b[blockIdx.z, offset_i:, offset_j:]
            smem = shared_tensor("float32", [2, 16, 16])
            tile = smem[1]
            for i, j in spatial(16, 16).on(threadIdx.x):
                tile[i][j] = gmem_a.read([i, j], protected=True)
            syncthreads()
            for i, j in spatial(16, 16).on(threadIdx.x):
                gmem_b.write([i, j], smem[1, i, j] * 2, protected=True)

    return script_module.build()


def matmul_of_any_size():
    """Sizes that are known at the call: the grid, the shapes of tensors, the bounds of loops."""
    from hidet.lang import as_tensor_pointer, attrs, f32, i32, register_tensor, shared_tensor
    from hidet.lang.cuda import blockIdx, syncthreads, threadIdx
    from hidet.lang.layout import local_layout, row_major
    from hidet.lang.mapping import auto_map, spatial

    with hidet.script_module() as script_module:

        @hidet.script
        def matmul_of_any_size(a_ptr: ~f32, b_ptr: ~f32, c_ptr: ~f32, m: i32, n: i32, k: i32):
            attrs.cuda.block_dim = 64
            attrs.cuda.grid_dim = ((m + 31) // 32, (n + 31) // 32)
            a = as_tensor_pointer(a_ptr, f32, [m, k])
            b = as_tensor_pointer(b_ptr, f32, [k, n])
            c = as_tensor_pointer(c_ptr, "float32", shape=[m, n])
            smem_a = shared_tensor(f32, [32, 8])
            smem_b = shared_tensor(f32, [8, 32])
            regs = register_tensor(f32, layout=local_layout(8, 8) * row_major(4, 4))
            for i, j in spatial(8, 8).repeat(4, 4).on(threadIdx.x):
                regs[i, j] = 0.0
            num_tiles = (k + 7) // 8
            for tile in range(num_tiles):
                for i, p in auto_map(32, 8, workers=64).on(threadIdx.x):
                    gi, gp = i + blockIdx.x * 32, p + tile * 8
                    smem_a[i, p] = a[gi, gp] if gi < m and gp < k else 0.0
                for p, j in auto_map(8, 32, workers=64).on(threadIdx.x):
                    gp, gj = p + tile * 8, j + blockIdx.y * 32
                    smem_b[p, j] = b[gp, gj] if gp < k and gj < n else 0.0
                syncthreads()
                for i, j in spatial(8, 8).repeat(4, 4).on(threadIdx.x):
                    for p in range(8):
                        regs[i, j] += smem_a[i, p] * smem_b[p, j]
                syncthreads()
            for i, j in spatial(8, 8).repeat(4, 4).on(threadIdx.x):
                gi, gj = i + blockIdx.x * 32, j + blockIdx.y * 32
                if gi < m and gj < n:
                    c[gi, gj] = regs[i, j]

    return script_module.build()


def expected_bits(seed):
    x = seed.to(torch.int64)
    for _ in range(3):
        x = (x ^ (x << 13)) & 0xFFFFFFFF
        x = x ^ (x >> 17)
        x = (x ^ (x << 5)) & 0xFFFFFFFF
    return ~x & 0xFFFFFF


def expected_blur(x):
    weights = torch.tensor(
        [[1.0 / (1 + abs(i - 1) + abs(j - 1)) for j in range(3)] for i in range(3)]
    ).double()
    return torch.nn.functional.conv2d(x.double()[None], weights[None, None], padding=1)[0]


def expected_meta(x):
    x = x.double()
    scaled = torch.stack([x * x, -x / 2, x.abs() / 3], 1)
    return scaled + torch.tensor([0.0, 0.0, 20.0]) + torch.stack([x * x, -x, x.abs()], 1)


def expected_permute(x):
    sums = x.double().sum(1)
    sums[0, 0] += 1
    return x.double().permute(2, 0, 1), sums


def column_order(x):
    """Return what a contiguous tensor holds for one who reads it in column-major order."""
    return x.flatten().reshape(x.shape[::-1]).T.double()


def expected_layouts(x):
    y = column_order(x)
    return y, torch.stack([y.T.reshape(16, 8), -y.T.reshape(16, 8)])


PROGRAMS = [
    Program(
        add_vectors,
        lambda: (uniform(300), uniform(300), empty(300)),
        lambda a, b, c: {2: a.double() + b.double()},
    ),
    Program(
        matmul_of_pointers,
        lambda: (uniform(20, 12), uniform(12, 35), empty(20, 35)),
        lambda a, b, c: {2: a.double() @ b.double()},
    ),
    Program(
        matmul_relu,
        lambda: (uniform(70, 19), uniform(19, 260), empty(70, 260)),
        lambda a, b, c: {2: (a.double() @ b.double()).relu()},
    ),
    Program(
        transpose,
        lambda: (uniform(50, 70), empty(70, 50)),
        lambda x, y: {1: x.double().T},
    ),
    Program(
        softmax_by_warps,
        lambda: (uniform(3, 5, 70) * 10, empty(3, 5, 70)),
        lambda x, y: {1: x.double().softmax(-1)},
    ),
    Program(
        block_sum,
        lambda: (uniform(1000), torch.zeros(1), 1000),
        lambda x, out, n: {1: x.double().sum()[None]},
        1e-4,
    ),
    Program(
        layer_norm,
        lambda: (uniform(6, 128, dtype=torch.half), empty(6, 128, dtype=torch.half)),
        lambda x, y: {1: torch.nn.functional.layer_norm(x.double(), (128,))},
        2e-3,
    ),
    Program(blur, lambda: (uniform(18, 21), empty(18, 21)), lambda x, y: {1: expected_blur(x)}),
    Program(
        histogram,
        lambda: (torch.randint(-3, 20, (500,)).int(), torch.zeros(16).int()),
        lambda x, out: {1: torch.bincount(x.clamp(0, 15), minlength=16)},
    ),
    Program(
        batched_matmul,
        lambda: (uniform(2, 3, 32, 16), uniform(2, 3, 16, 64), empty(2, 3, 32, 64)),
        lambda a, b, c: {2: a.double() @ b.double()},
    ),
    Program(
        gather_rows,
        lambda: (uniform(10, 40), torch.randint(0, 10, (7,)), empty(7, 40)),
        lambda table, index, out: {2: table.double()[index]},
    ),
    Program(
        argmax_of_rows,
        lambda: (uniform(40, 13), empty(40, dtype=torch.int32)),
        lambda x, best: {1: x.argmax(1)},
    ),
    Program(
        prefix_sum,
        lambda: (uniform(64), empty(64)),
        lambda x, y: {1: x.double().cumsum(0)},
    ),
    Program(
        saxpy,
        lambda: (uniform(200), uniform(200), 2.5, 200, True),
        lambda x, y, alpha, n, negate: {1: y.double() - alpha * x.double()},
    ),
    Program(
        layouts_in_memory,
        lambda: (uniform(16, 8), empty(16, 8), empty(2, 16, 8)),
        lambda x, y, z: dict(zip((1, 2), expected_layouts(x), strict=True)),
    ),
    Program(
        tile_of_registers,
        lambda: (uniform(16, 8), empty(16, 8)),
        lambda x, y: {1: x.double() * 2},
    ),
    Program(
        permute,
        lambda: (uniform(3, 4, 5), empty(5, 3, 4), empty(3, 5)),
        lambda x, y, sums: dict(zip((1, 2), expected_permute(x), strict=True)),
    ),
    Program(
        meta_programming,
        lambda: (uniform(32), empty(32, 3)),
        lambda x, y: {1: expected_meta(x)},
    ),
    Program(
        activations,
        lambda: (uniform(100) * 3, empty(4, 100)),
        lambda x, y: {
            1: torch.stack(
                [
                    torch.nn.functional.gelu(x.double(), approximate="tanh"),
                    torch.nn.functional.silu(x.double()),
                    x.double() * (x.abs() < 0.5),
                    x.double().exp2(),
                ]
            )
        },
    ),
    Program(
        bits,
        lambda: (torch.randint(1, 1 << 31, (32,)).to(torch.uint32), empty(32, dtype=torch.uint32)),
        lambda seed, out: {1: expected_bits(seed)},
    ),
    Program(
        short_floats,
        lambda: (uniform(32), empty(32, dtype=torch.half), empty(32, dtype=torch.bfloat16)),
        lambda x, a, b: {1: x.double() ** 2 + 1, 2: x.double() * 2},
        1e-2,
    ),
    Program(
        scopes,
        lambda: (uniform(64), empty(64), 5),
        lambda x, y, n: {1: x.double().flip(0) * 2},
    ),
    Program(
        addresses,
        lambda: (uniform(4, 32), empty(128)),
        lambda x, y: {1: (x.double().T * torch.tensor([10.0, 10, 100, 100])).flatten()},
    ),
    Program(
        pooling,
        lambda: (uniform(3, 9, 10), empty(3, 4, 4)),
        lambda x, y: {1: torch.nn.functional.max_pool2d(x.double(), 3, 2)},
    ),
    Program(
        double_buffer,
        lambda: (uniform(32, 64), uniform(64, 32), empty(32, 32)),
        lambda a, b, c: {2: a.double() @ b.double()},
    ),
    Program(
        parts_of_tensors,
        lambda: (uniform(2, 40, 22), empty(2, 40, 22)),
        lambda a, b: {1: a.double() * 2},
    ),
    Program(
        matmul_of_any_size,
        lambda: (uniform(35, 21), uniform(21, 50), empty(35, 50), 35, 50, 21),
        lambda a, b, c, m, n, k: {2: a.double() @ b.double()},
    ),
    Program(
        tensor_cores,
        lambda: (
            uniform(2, 64, 24, dtype=torch.half),
            uniform(2, 24, 64, dtype=torch.half),
            empty(2, 64, 64),
        ),
        lambda a, b, c: {2: a.double() @ b.double()},
        1e-3,
    ),
    Program(
        asynchronous_copies,
        lambda: (
            uniform(16, 64, dtype=torch.half),
            uniform(64, 8, dtype=torch.half),
            empty(16, 8, dtype=torch.half),
        ),
        lambda a, b, c: {2: a.double() @ b.double()},
        2e-2,
    ),
    Program(
        online_softmax_attention,
        lambda: (uniform(20, 8) * 3, uniform(30, 8), uniform(30, 8), empty(20, 8)),
        lambda q, k, v, o: {
            3: torch.softmax(q.double() @ k.double().T / math.sqrt(8), 1) @ v.double()
        },
    ),
]
"""The scripts, by what builds them."""
