"""Scripts for Hopper: shared memory of any size, tensor maps, barriers in memory, warp groups."""

import pytest
import torch

import hidet
from hidet import option
from hidet.backend.toolchains import Gxx
from hidet.driver import target as driver
from hidet.errors import HidetError
from hidet.lang import as_tensor_pointer, attrs, cast, f16, f32, i32, register_tensor, shared_tensor
from hidet.lang.cuda import (
    barrier_arrive,
    barrier_sync,
    block_rank_in_cluster,
    blockIdx,
    cluster_sync,
    cp_async,
    cp_async_barrier_arrive,
    dynamic_shared_memory,
    fence_mbarrier_init,
    matrix_descriptor,
    mbarrier_arrive,
    mbarrier_arrive_and_expect_tx,
    mbarrier_init,
    mbarrier_invalidate,
    mbarrier_wait,
    syncthreads,
    tensor_map,
    threadIdx,
    tma_commit_group,
    tma_load,
    tma_store,
    tma_wait_group,
    wgmma_async,
    wgmma_wait_group,
)


def test_dynamic_shared_memory():
    """Parts of it may overlap; shared tensors follow the dynamic shared memory of the script."""
    with hidet.script_module() as module:

        @hidet.script
        def reverse(x: f32[256], y: f32[256]):
            attrs.cuda.grid_dim = 3
            attrs.cuda.block_dim = 256
            attrs.cuda.dynamic_smem_bytes = 2048
            rows = as_tensor_pointer(dynamic_shared_memory(1024, f32), f32, [4, 64])
            flat = dynamic_shared_memory(1024, f32)
            large = shared_tensor(f32, [64, 256])
            i = threadIdx.x
            rows[i // 64, i % 64] = x[i]
            for j in range(64):
                large[j, i] = x[i] * j
            syncthreads()
            y[i] = flat[255 - i] + large[3, 255 - i]

    built = module.build()
    assert "auto& rows = hidet::dynamic_shared<float[256]>(1024);" in built.source()
    assert "auto& large = hidet::dynamic_shared<float[64][256]>(2048);" in built.source()
    x, y = torch.randn(256), torch.full((256,), torch.nan)
    built(x, y)
    assert torch.equal(y, x.flip(0) * 4)


def test_stores_to_memory_that_overlaps_stay_in_order():
    """What is read before a store to the same bytes under another name is not read after it."""
    with hidet.script_module() as module:

        @hidet.script
        def reuse(x: f32[32], y: f32[32]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            attrs.cuda.dynamic_smem_bytes = 128
            one = dynamic_shared_memory(0, f32)
            other = dynamic_shared_memory(0, f32)
            i = threadIdx.x
            one[i] = x[i]
            before = one[i]
            other[i] = 0.0
            y[i] = before + one[i]

    x, y = torch.randn(32), torch.full((32,), torch.nan)
    module.build()(x, y)
    assert torch.equal(y, x)


def make_copies(*, arrive):
    """Make a kernel that copies rows through two stages, which barriers hand on."""
    with hidet.script_module() as module:

        @hidet.script
        def copy(x: f32[6, 256], y: f32[6, 256], z: f32[64]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            s = shared_tensor(f32, [2, 256])
            full = shared_tensor("uint64", [2])
            i = threadIdx.x
            if i < 2:
                mbarrier_init(~full[i], 64)
                fence_mbarrier_init()
            syncthreads()
            for k in range(6):
                cp_async(~s[k % 2, 4 * i], ~x[k, 4 * i], 16)
                if arrive:
                    cp_async_barrier_arrive(~full[k % 2])
                mbarrier_arrive(~full[k % 2])
                mbarrier_wait(~full[k % 2], k // 2 % 2)
                for t in range(4):
                    y[k, 4 * i + t] = s[k % 2, 255 - 4 * i - t]
                syncthreads()
            if i < 2:
                mbarrier_invalidate(~full[i])
            syncthreads()
            words = cast(~full[0], ~f32)
            if i == 5:
                words[3] = 5.0
            syncthreads()
            z[i] = words[3]

    return module.build()


@pytest.mark.parametrize("strict", [False, True])
def test_copies_that_a_barrier_waits_for(strict):
    """Without a wait of the thread; the memory of the barriers is used for something else then."""
    with option.context(strict=strict):
        built = make_copies(arrive=True)
        x, y, z = torch.randn(6, 256), torch.full((6, 256), torch.nan), torch.zeros(64)
        built(x, y, z)
    assert torch.equal(y, x.flip(1))
    assert (z == 5).all()


@option.context(strict=True)
def test_copies_that_no_barrier_waits_for():
    """The strict mode reports it."""
    x, y, z = torch.randn(6, 256), torch.empty(6, 256), torch.zeros(64)
    with pytest.raises(HidetError, match="is still under way: a wait is missing"):
        make_copies(arrive=False)(x, y, z)


def test_a_barrier_that_is_none_any_more():
    """A wait for it deadlocks, which is reported."""
    with hidet.script_module() as module:

        @hidet.script
        def late(x: f32[32]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            full = shared_tensor("uint64", [1])
            if threadIdx.x == 0:
                mbarrier_init(full, 32)
                mbarrier_invalidate(full)
            syncthreads()
            mbarrier_arrive(full)
            mbarrier_wait(full, 1)
            x[threadIdx.x] = 1.0

    with pytest.raises(HidetError, match=r"the block hangs: 0 of its 32 .* mbarrier_wait"):
        module.build()(torch.zeros(32))


def make_copy(shape=(100, 64), box=(64, 32), swizzle=64):
    """Make a kernel that copies a tensor box by box; what is outside of it is left out."""
    rows, columns = (-(-extent // step) for extent, step in zip(shape, box, strict=True))
    with hidet.script_module() as module:

        @hidet.script
        def copy(a: tensor_map(f16[shape], box, swizzle), b: tensor_map(f16[shape], box, swizzle)):
            attrs.cuda.grid_dim = columns, rows
            attrs.cuda.block_dim = 32
            tile = shared_tensor("float16", box)
            full = shared_tensor("uint64", [1])
            place = blockIdx.y * box[0], blockIdx.x * box[1]
            if threadIdx.x == 0:
                mbarrier_init(full, 1)
                fence_mbarrier_init()
                mbarrier_arrive_and_expect_tx(full, box[0] * box[1] * 2)
                tma_load(tile, a, place, full)
                mbarrier_wait(full, 0)
                tma_store(b, place, tile)
                tma_commit_group()
                tma_wait_group(0)

    return module.build()


def half(*shape):
    return torch.randn(*shape).half()


def test_boxes():
    """Boxes that stick out of a tensor, rows that are apart in memory; the map is kept."""
    copy = make_copy()
    whole = torch.zeros(101, 72, dtype=torch.half)
    for _ in range(3):
        a, b = half(100, 64), whole[1:, 8:]
        copy(a, b)
        assert torch.equal(b, a)
    assert not whole[0].any()
    assert not whole[:, :8].any()


def test_one_tensor_for_two_maps_that_are_read():
    """Only what is stored to must not overlap anything."""
    with hidet.script_module() as module:

        @hidet.script
        def add(a: tensor_map(f16[8], box=(8,)), b: tensor_map(f16[8], box=(8,)), c: f16[8]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            one = shared_tensor("float16", [8])
            other = shared_tensor("float16", [8])
            full = shared_tensor("uint64", [1])
            if threadIdx.x == 0:
                mbarrier_init(full, 1)
                fence_mbarrier_init()
                mbarrier_arrive_and_expect_tx(full, 32)
                tma_load(one, a, 0, full)
                tma_load(other, b, 0, full)
            syncthreads()
            mbarrier_wait(full, 0)
            if threadIdx.x < 8:
                c[threadIdx.x] = one[threadIdx.x] + other[threadIdx.x]

    add = module.build()
    x, c = half(8), half(8)
    add(x, x, c)
    assert torch.equal(c, x + x)
    with pytest.raises(HidetError, match="arguments 'a' and 'c' of kernel 'add' share memory"):
        add(x, c, x)


X = torch.zeros(100, 64, dtype=torch.half)
LONG = torch.zeros(100 * 72 + 1, dtype=torch.half)


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (X.float(), "'a' of kernel 'copy' has data type torch.float32, not torch.float16"),
        (X[:64], "'a' of kernel 'copy' has shape (64, 64), not (100, 64)"),
        (LONG[1:6401].view(100, 64), "starts at an address that is no multiple of 16 bytes"),
        (LONG[: 100 * 68].view(100, 68)[:, :64], "has strides (68, 1), but TMA"),
        (X[:1].expand(100, 64), "has strides (0, 1), but TMA takes multiples"),
        (LONG[:6400].view(64, 100).T, "has strides (1, 100), but TMA"),
        (torch.zeros(100, 128).half()[:, ::2], "has strides (128, 2), but the last one must be 1"),
    ],
)
def test_tensors_that_cannot_be_copied(tensor, message):
    """The error says what TMA requires."""
    with pytest.raises(HidetError) as caught:
        make_copy()(tensor, torch.empty(100, 64).half())
    assert message in str(caught.value)


def test_a_tensor_without_elements():
    """There is no map of it."""
    copy = make_copy((0, 64))
    copy["copy"]  # the grid is empty, too: nothing to run
    with pytest.raises(HidetError, match="has no elements that could be copied"):
        copy(X[:0], X[:0].clone())


def test_named_barriers():
    """One half of the block produces values for the other without waiting for it."""
    with hidet.script_module() as module:

        @hidet.script
        def hand_over(x: f32[64], y: f32[64]):
            attrs.cuda.grid_dim = 2
            attrs.cuda.block_dim = 128
            tile = shared_tensor("float32", [64])
            i = threadIdx.x % 64
            for turn in range(3):
                if threadIdx.x // 64 == 0:
                    barrier_sync(2, 128)
                    y[i] = tile[63 - i] + turn
                    barrier_arrive(3, 128)
                else:
                    tile[i] = x[i] * turn
                    barrier_arrive(2, 128)
                    barrier_sync(3, 128)

    x, y = torch.randn(64), torch.full((64,), torch.nan)
    module.build()(x, y)
    assert torch.equal(y, x.flip(0) * 2 + 2)


def test_a_named_barrier_at_which_too_few_arrive():
    """The block hangs, and the CPU reports where."""
    with hidet.script_module() as module:

        @hidet.script
        def lonely():
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            if threadIdx.x // 32 == 0:
                barrier_sync(1, 64)

    with pytest.raises(HidetError, match=r"32 of its 64 threads have finished, .* at barrier_sync"):
        module.build()()


def test_accumulators_of_inner_loops():
    """Each wait for all wgmmas is followed by fences of the live accumulators, and nothing else."""
    with hidet.script_module() as module:

        @hidet.script
        def products(out: f32[128]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 128
            a = shared_tensor("float16", [64, 64])
            desc = matrix_descriptor(a)
            outer = register_tensor("float32", [2, 4])
            other = register_tensor("float32", [4])
            for _ in range(2):
                inner = register_tensor("float32", [8])
                wgmma_async("m64n16k16_f16_f32", desc, inner, desc)
                wgmma_async("m64n8k16_f16_f32", desc, ~outer[1, 0], desc)
                wgmma_wait_group(1)
                wgmma_wait_group(0)
                out[threadIdx.x] = inner[0] + outer[1, 0] + other[0]
            wgmma_wait_group(0)

    lines = [line.strip() for line in module.build().source().splitlines()]
    fences = [line for line in lines if "fence_operand" in line]
    fence_outer = [f"hidet::wgmma_fence_operand<4>(&outer[{row}][0]);" for row in range(2)]
    assert fences == ["hidet::wgmma_fence_operand<8>(inner);", *fence_outer, *fence_outer]


def test_a_tensor_map_on_its_way_through_the_host():
    """A function of the host hands it on to kernels."""
    shape = [64, 32]
    with hidet.script_module() as module:

        @hidet.script
        def first_row(a: tensor_map(f16[shape], (1, 32)), b: f16[32], row: i32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            tile = shared_tensor("float16", [32])
            full = shared_tensor("uint64", [1])
            if threadIdx.x == 0:
                mbarrier_init(full, 1)
                fence_mbarrier_init()
                mbarrier_arrive_and_expect_tx(full, 64)
                tma_load(tile, a, (row, 0), full)
            syncthreads()
            mbarrier_wait(full, 0)
            b[threadIdx.x] = tile[threadIdx.x]

        @hidet.script
        def launch(scale: f32, a: tensor_map(f16[shape], (1, 32)), b: f16[32], rows: i32):
            for row in range(rows):
                first_row(a, b, row)

    a, b = half(64, 32), half(32)
    module.build()(1.0, a, b, 7)
    assert torch.equal(b, a[6])


def make_exchange(size, cluster):
    """Make a kernel whose blocks fetch a row each, for all blocks of their cluster."""
    everyone = (1 << cluster) - 1
    with hidet.script_module() as module:

        @hidet.script
        def exchange(a: tensor_map(f16[size, 64], box=(1, 64)), b: f16[size, cluster, 64]):
            attrs.cuda.grid_dim = size
            attrs.cuda.block_dim = 64
            attrs.cuda.cluster_dim = cluster
            rows = shared_tensor("float16", [cluster, 64])
            full = shared_tensor("uint64", [1])
            empty = shared_tensor("uint64", [1])
            rank = block_rank_in_cluster()
            t = threadIdx.x
            if t == 0:
                mbarrier_init(full, 1)
                mbarrier_init(empty, cluster)
                fence_mbarrier_init()
                mbarrier_arrive_and_expect_tx(full, cluster * 64 * 2)
            cluster_sync()
            for turn in range(2):
                if t == 0:
                    place = (blockIdx.x + turn) % size, 0
                    tma_load(~rows[rank, 0], a, place, ~full[0], multicast=everyone)
                mbarrier_wait(full, turn)
                for row in range(cluster):
                    b[blockIdx.x, row, t] = rows[row, t]
                syncthreads()
                if turn == 0:
                    if t == 0:
                        mbarrier_arrive_and_expect_tx(full, cluster * 64 * 2)
                    if t < cluster:
                        mbarrier_arrive(empty, t)
                    mbarrier_wait(empty, 0)
            cluster_sync()

    return module.build()


@pytest.mark.parametrize("mode", ["plain", "late", "strict"])
def test_clusters(mode, tmp_path, monkeypatch):
    """Blocks arrive at each other's barriers, and share what they fetch."""
    if mode == "late":
        monkeypatch.setattr(driver, "Gxx", lambda **_: Gxx(check=True, late_copies=True))
    size, cluster = 8, 4
    a, b = half(size, 64), torch.full((size, cluster, 64), torch.nan).half()
    with option.context(cache_dir=tmp_path, verify_level=True, strict=mode == "strict"):
        make_exchange(size, cluster)(a, b)
    first = torch.arange(size) // cluster * cluster
    for row in range(cluster):
        assert torch.equal(b[:, row], a[(first + row + 1) % size])


@pytest.mark.gpu
def test_clusters_on_a_gpu():
    """The same on a GPU."""
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("needs a GPU with clusters")
    a, b = half(8, 64).cuda(), torch.full((8, 4, 64), torch.nan).half().cuda()
    make_exchange(8, 4)(a, b)
    first = torch.arange(8, device="cuda") // 4 * 4
    for row in range(4):
        assert torch.equal(b[:, row], a[(first + row + 1) % 8])


def test_a_cluster_that_does_not_meet():
    """The cluster hangs, and the CPU reports where. Threads that have ended would not be missed."""
    with hidet.script_module() as module:

        @hidet.script
        def lonely():
            attrs.cuda.grid_dim = 2
            attrs.cuda.block_dim = 32
            attrs.cuda.cluster_dim = 2
            never = shared_tensor("uint64", [1])
            if blockIdx.x == 0:
                cluster_sync()
            else:
                if threadIdx.x == 0:
                    mbarrier_init(never, 1)
                syncthreads()
                mbarrier_wait(never, 0)

    with pytest.raises(
        HidetError, match=r"0 of its 64 threads have finished, .* (cluster|mbarrier)_wait"
    ):
        module.build()()


def test_who_waits_before_the_copy_begins(tmp_path, monkeypatch):
    """A copy that lands late lands for those that have been waiting, too."""
    monkeypatch.setattr(driver, "Gxx", lambda **_: Gxx(check=True, late_copies=True))
    with hidet.script_module() as module:

        @hidet.script
        def late(a: tensor_map(f16[64], box=(64,)), b: f16[64]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            tile = shared_tensor("float16", [64])
            full = shared_tensor("uint64", [1])
            if threadIdx.x == 0:
                mbarrier_init(full, 1)
                fence_mbarrier_init()
            syncthreads()
            if threadIdx.x == 63:
                mbarrier_arrive_and_expect_tx(full, 128)
                tma_load(tile, a, 0, full)
            mbarrier_wait(full, 0)
            b[threadIdx.x] = tile[threadIdx.x]

    a, b = half(64), half(64)
    with option.context(cache_dir=tmp_path):
        module.build()(a, b)
    assert torch.equal(a, b)


def test_boxes_of_a_tile():
    """A tile may take several boxes, at run-time offsets."""
    with hidet.script_module() as module:

        @hidet.script
        def gather(
            a: tensor_map(f16[64, 64], box=(32, 64), swizzle=128), b: f16[64, 64], first: i32
        ):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            tile = shared_tensor("float16", [64, 64])
            full = shared_tensor("uint64", [1])
            if threadIdx.x == 0:
                mbarrier_init(full, 1)
                fence_mbarrier_init()
                mbarrier_arrive_and_expect_tx(full, 64 * 64 * 2)
                for half in range(2):
                    row = (half + first) % 2 * 32
                    tma_load(~tile[row, 0], a, (half * 32, 0), full)
            syncthreads()
            mbarrier_wait(full, 0)
            for row in range(64):
                piece = threadIdx.x // 8 ^ row % 8
                b[row, threadIdx.x] = tile[row, piece * 8 + threadIdx.x % 8]

    a, b = half(64, 64), half(64, 64)
    module.build()(a, b, 1)
    assert torch.equal(b, a.roll(32, 0))
