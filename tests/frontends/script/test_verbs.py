"""Block-level verbs: from Python to the task dialect, to the cuda dialect, to CUDA, to numbers."""

import inspect

import pytest
import torch

import hidet
from hidet.lang import (
    as_tensor_pointer,
    attrs,
    auto_map,
    cdiv,
    f16,
    f32,
    i32,
    register_tensor,
    repeat,
    replicate,
    shared_tensor,
    spatial,
)
from hidet.lang.cuda import blockIdx, syncthreads, threadIdx
from hidet.lang.task import combine, copy, group, matmul, window
from hidet.testing.filecheck import check_text
from hidet.testing.numeric import assert_close, poison

M, N, K = 100, 84, 50


def build_matmul():
    """A GEMM in verbs: one parameter is a tensor, two are pointers."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(a: f32[M, K], b_ptr: ~f32, c_ptr: ~f32):
            attrs.cuda.grid_dim = cdiv(M, 32), cdiv(N, 64)
            attrs.cuda.block_dim = 256
            b = as_tensor_pointer(b_ptr, "float32", [K, N])
            c = as_tensor_pointer(c_ptr, "float32", [M, N])
            smem_a = shared_tensor("float32", [32, 8])
            smem_b = shared_tensor("float32", [8, 64])
            acc = register_tensor("float32", layout=spatial(16, 16) * repeat(2, 4))
            row, column, t = blockIdx.x * 32, blockIdx.y * 64, threadIdx.x
            for i, j in acc.on(t):
                acc[i, j] = 0.0
            for k0 in range(0, K, 8):
                copy(window(a, row, k0), smem_a, auto_map(32, 8, workers=256).on(t))
                copy(window(b, k0, column), smem_b, auto_map(8, 64, workers=256).on(t))
                matmul(smem_a, smem_b, acc, t)
            copy(acc, window(c, row, column), t)

    return module.build()


def test_matmul_in_the_task_dialect():
    """A window of a pointer is a view, one of a parameter the parameter itself."""
    # CHECK: #[[ACC:.*]] = #task.map<spatial(16, 16) * repeat(2, 4)>
    # CHECK: cuda.kernel @kernel
    # CHECK:   task.foreach (%i, %j) of %acc on %t
    # CHECK:   scf.for %k0
    # CHECK:     task.copy %a[%row, %k0] to %smem_a[] in #task.map<spatial(32, 8)> on %t
    # CHECK:     %b_ptr_1 = compute.grid (%[[I:.*]], %[[J:.*]]) {
    # CHECK:       memref.load %b_ptr[
    # CHECK:     task.copy %b_ptr_1[%k0, %column] to %smem_b[]
    # CHECK-SAME:  in #task.map<repeat(2, 1) * spatial(4, 64)> on %t : tensor<50x84xf32>
    # CHECK-NEXT: task.matmul %smem_a, %smem_b to %acc on %t
    # CHECK:   %c_ptr_1 = compute.sink
    # CHECK:   task.copy %acc[] to %c_ptr_1[%row, %column] on %t
    check_text(build_matmul().ir("task"), inspect.getsource(test_matmul_in_the_task_dialect))


def test_matmul_in_the_cuda_dialect():
    """Barriers are put before a tile is overwritten, and before it is read."""
    # CHECK-NOT: task.
    # CHECK: scf.for %k0
    # CHECK-NEXT: cuda.sync_threads
    # CHECK: memref.store %{{.*}}, %smem_a[
    # CHECK-NOT: cuda.sync_threads
    # CHECK: memref.store %{{.*}}, %smem_b[
    # CHECK: cuda.sync_threads
    # CHECK: memref.load %smem_a[
    # CHECK-NOT: cuda.sync_threads
    check_text(build_matmul().ir("cuda"), inspect.getsource(test_matmul_in_the_cuda_dialect))


def test_matmul_as_cuda():
    """Bounds that hold in any case are not looked at; what is outside is read as zero."""
    # CHECK: for (int k0 = 0; k0 < 50; k0 += 8) {
    # CHECK-NEXT: hidet::sync_threads();
    # CHECK-NEXT: smem_a[t_div8][t_mod8] = {{.*}} < 100 && t_mod8 + k0 < 50 ? a[{{.*}}] : 0.0f;
    # CHECK: hidet::sync_threads();
    # CHECK: acc[i][j] += smem_a[{{.*}}][k] * smem_b_vector[j];
    # CHECK: hidet::copy_vector<float, 4>(&c_ptr[
    check_text(build_matmul().source(), inspect.getsource(test_matmul_as_cuda))


def test_matmul_numbers():
    """Odd sizes: tiles reach beyond the matrices."""
    a, b, c = torch.randn(M, K), torch.randn(K, N), poison(torch.empty(M, N))
    build_matmul()(a, b, c)
    assert_close(c, a.double() @ b.double(), 1e-5)


def test_sizes_that_the_kernel_gets():
    """Extents of a tensor behind a pointer may be arguments: the copy has them as operands."""
    # CHECK: task.copy %x_ptr_1[%row, %{{.*}}] to %tile[] sizes[%[[M:.*]], %[[N:.*]]] on %tid
    # CHECK-SAME: tensor<?x?xf32> to memref<16x8xf32,
    # CHECK: task.copy %tile[] to %y_ptr_1[%row, %{{.*}}] sizes[
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x_ptr: ~f32, y_ptr: ~f32, m: i32, n: i32):
            attrs.cuda.grid_dim = 4
            attrs.cuda.block_dim = 32
            x = as_tensor_pointer(x_ptr, "float32", [m, n])
            y = as_tensor_pointer(y_ptr, "float32", [m, n])
            tile = register_tensor("float32", layout=repeat(4, 1) * spatial(4, 8))
            row = blockIdx.x * 16
            copy(window(x, row, 0), tile, threadIdx.x)
            copy(tile, window(y, row, 0), threadIdx.x)

    built = module.build()
    check_text(built.ir(), inspect.getsource(test_sizes_that_the_kernel_gets))
    x, y = torch.randn(50, 7), poison(torch.empty(50, 7))
    built(x, y, 50, 7)
    assert torch.equal(x, y)


def test_combine():
    """Tiles are combined in place, scalars return a new one; by shuffles, then between warps."""
    # CHECK: task.foreach (%{{.*}}, %j) in #task.map<spatial(4, 64) * repeat(2, 1)> on %t
    # CHECK-SAME: bound [6, 64] {
    # CHECK: task.combine add %total on %t : memref<8xf32, #m0, #cuda.space<register>>
    # CHECK: %[[TILE:.*]] = memref.alloca() : memref<4xf32, #m1, #cuda.space<register>>
    # CHECK: task.combine max %[[TILE]] on %t

    # CHECK: total[i] = total_value + hidet::shfl_xor(total_value, 1);
    # CHECK: total[i] = total_value + hidet::shfl_xor(total_value, 16);
    # CHECK: smem[i][t] = total[i];
    # CHECK-NEXT: }
    # CHECK-NEXT: hidet::sync_threads();
    # CHECK: hidet::maximum(buf, hidet::shfl_xor(buf, 16))
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[6, 64], sums: f32[6], h: f16[4, 64]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 256
            t = threadIdx.x
            total = register_tensor("float32", layout=spatial(4) * repeat(2) * replicate(64))
            for i in total.on(t):
                total[i] = 0.0
            for i, j in spatial(4, 64).repeat(2, 1).on(t, bound=[6, 64]):
                total[i] += x[i, j]
            combine(total, "add", t)
            for i in total.on(t, bound=6):
                if t % 64 == 0:
                    sums[i] = total[i]
            largest = combine(h[t // 64, t % 64], "max", (spatial(4) * replicate(64)).on(t))
            h[t // 64, t % 64] = largest

    built = module.build()
    check_text(built.ir() + built.source(), inspect.getsource(test_combine))
    x, sums, h = torch.randn(6, 64), poison(torch.empty(6)), torch.randn(4, 64).half()
    largest = h.amax(1, keepdim=True).expand(4, 64).clone()
    built(x, sums, h)
    assert_close(sums, x.double().sum(1), 1e-5)
    assert torch.equal(h, largest)


def test_copies_between_shared_memory_and_registers():
    """A register tile goes to a window of a shared one, in a loop that all threads run alike."""
    # CHECK: task.copy %shared[%{{.*}}, %{{.*}}] to %tile[] on %t
    # CHECK: scf.while
    # CHECK: task.copy %tile[] to %shared[%{{.*}}, %{{.*}}] on %t

    # CHECK: hidet::sync_threads();
    # CHECK: tile[i] = v < 64 ? shared[i][v] : 0.0f;
    # CHECK: while (phase < 3) {
    # CHECK-NEXT: if (phase == 1) {
    # CHECK-NEXT: hidet::sync_threads();
    # CHECK: shared[{{.*}}] = tile[i];
    # CHECK: hidet::sync_threads();
    # CHECK: y[{{.*}}] = shared[
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[6, 64], y: f32[6, 64]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            t = threadIdx.x
            shared = shared_tensor("float32", [6, 64])
            tile = register_tensor("float32", layout=repeat(6, 1) * spatial(1, 64))
            copy(x, shared, (repeat(6, 1) * spatial(1, 64)).on(t))
            copy(window(shared, 0, 1), tile, t)
            phase = 0
            while phase < 3:
                if phase == 1:
                    copy(tile, window(shared, 3, 0), t)
                phase += 1
            copy(shared, y, (repeat(6, 1) * spatial(1, 64)).on(t))

    built = module.build()
    check_text(
        built.ir() + built.source(),
        inspect.getsource(test_copies_between_shared_memory_and_registers),
    )
    x, y = torch.randn(6, 64), poison(torch.empty(6, 64))
    built(x, y)
    expected = x.clone()
    expected[3:, :63], expected[3:, 63] = x[:3, 1:], 0
    assert torch.equal(y, expected)


def test_barriers():
    """Those of the script stay and count; a kernel without verbs gets no other ones."""
    with hidet.script_module() as module:

        @hidet.script
        def verbs(x: f32[64], y: f32[64]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            t = threadIdx.x
            tile = shared_tensor("float32", [64])
            copy(x, tile, spatial(64).on(t))
            syncthreads()
            if t < 32:
                y[t] = tile[63 - t]
            tile[t] = 0.0

        @hidet.script
        def threads(x: f32[64]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            tile = shared_tensor("float32", [64])
            tile[threadIdx.x] = x[threadIdx.x]
            x[threadIdx.x] = tile[63 - threadIdx.x]

    built = module.build()
    verbs_source = built.verbs.source()
    assert verbs_source.count("hidet::sync_threads();") == 2
    assert verbs_source.index("y[") < verbs_source.rindex("hidet::sync_threads();")
    assert "sync_threads" not in built.threads.source()


@pytest.mark.parametrize("worker", [0, 3])
def test_tasks_within_a_bound(worker):
    """A bound leaves tasks out, of a known worker too."""
    found = []
    with hidet.script_module():

        @hidet.script
        def kernel():
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            found.extend(repeat(2, 2).spatial(2, 2).on(worker, bound=(3, 4)))

    everything = repeat(2, 2).spatial(2, 2)(worker)
    assert found == [task for task in everything if task[0] < 3]
    assert len(found) < len(everything) or worker == 0


def test_groups():
    """Two groups side by side: each combines and copies among its own workers, then all meet."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[64, 128], y: f32[64, 128], numbers: f32[2]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 384
            tile = shared_tensor("float32", [64, 128])
            sums = shared_tensor("float32", [128])
            columns = repeat(64, 1) * spatial(1, 128)
            for worker in group(0, 128):
                own = register_tensor("float32", layout=columns)
                copy(x, tile, columns.on(worker))
                copy(window(tile, 0, 1), own, worker)
                copy(own, window(tile, 0, 0), worker)
                if worker == 5:
                    numbers[0] = f32(worker)
            for worker in group(first=128, count=256):
                total = combine(f32(worker), "add", (spatial(1) * replicate(256)).on(worker))
                if worker < 128:
                    sums[worker] = total
                if worker == 7:
                    numbers[1] = f32(worker)
            for i, j in (repeat(64, 1) * spatial(1, 128) * replicate(3)).on(threadIdx.x):
                y[i, j] = tile[i, j] + sums[j]

    built = module.build()
    source = built.source()
    assert source.count("hidet::barrier_sync<128>(15);") == 2
    assert source.count("hidet::barrier_sync<256>(14);") == 2
    assert source.count("hidet::sync_threads();") == 1
    x, y, numbers = torch.randn(64, 128), poison(torch.empty(64, 128)), poison(torch.empty(2))
    built(x, y, numbers)
    expected = torch.zeros(64, 128, dtype=torch.float64)
    expected[:, :127] = x[:, 1:]
    assert_close(y, expected + sum(range(256)), 1e-5)
    assert numbers.tolist() == [5.0, 7.0]


def test_matmul_in_a_group():
    """The groups of a block compute a matmul each, with tiles of their own, in a loop."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(a: f32[2, 16, 24], b: f32[2, 24, 16], c: f32[2, 16, 16]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 128
            for number in (0, 1):
                smem_a = shared_tensor("float32", [16, 8])
                smem_b = shared_tensor("float32", [8, 16])
                for worker in group(number * 64, 64):
                    acc = register_tensor("float32", layout=spatial(8, 8) * repeat(2, 2))
                    for i, j in acc.on(worker):
                        acc[i, j] = 0.0
                    for k0 in range(0, 24, 8):
                        load = auto_map(16, 8, workers=64).on(worker)
                        copy(window(a, number, 0, k0), smem_a, load)
                        load = auto_map(8, 16, workers=64).on(worker)
                        copy(window(b, number, k0, 0), smem_b, load)
                        matmul(smem_a, smem_b, acc, worker)
                    copy(acc, window(c, number, 0, 0), worker)

    built = module.build()
    assert "sync_threads" not in built.source()
    a, b, c = torch.randn(2, 16, 24), torch.randn(2, 24, 16), poison(torch.empty(2, 16, 16))
    built(a, b, c)
    assert_close(c, a.double() @ b.double(), 1e-5)
