"""Tensor cores and asynchronous copies in scripts: numbers on the CPU; nvcc takes the source."""

import shutil

import pytest
import torch

import hidet
from hidet import option
from hidet.arch.fragments import ends_in
from hidet.arch.instructions import MMA_SYNC
from hidet.backend.toolchains import Nvcc
from hidet.lang import (
    as_tensor_pointer,
    attrs,
    f16,
    f32,
    grid,
    register_tensor,
    repeat,
    row_major,
    shared_tensor,
    spatial,
    tf32,
)
from hidet.lang.cuda import (
    MmaConfig,
    cp_async,
    cp_async_commit_group,
    cp_async_wait_all,
    cp_async_wait_group,
    ldmatrix,
    mma_sync,
    syncthreads,
    threadIdx,
)
from hidet.lang.types import data_type
from hidet.testing.filecheck import expect_error, run_passes
from hidet.testing.numeric import assert_close, poison

TORCH = {"f16": torch.half, "bf16": torch.bfloat16, "f32": torch.float32, "tf32": torch.float32}


@pytest.fixture(autouse=True)
def _verified():
    """Check the legality of every kernel between the stages."""
    with option.context(verify_level=True):
        yield


def eighths(*shape, dtype=torch.float32):
    """Random numbers that every type represents exactly, as well as the sums of their products."""
    return (torch.randint(-8, 9, shape) / 8).to(dtype)


@pytest.mark.parametrize("config", MmaConfig.all(), ids=lambda config: config.name)
def test_all_products(config):
    """Fragments are register tensors with the layouts of the configuration, or arrays in order."""
    left, right, result = map(
        data_type, (config.input_dtype, config.input_dtype, config.output_dtype)
    )

    with hidet.script_module() as module:

        @hidet.script
        def kernel(
            a: left[config.m, config.k],
            b: right[config.k, config.n],
            c: result[config.m, config.n],
        ):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            lane = threadIdx.x
            regs_a = register_tensor(left, layout=config.a_load_map)
            regs_b = register_tensor(right, [1, config.b_elements])
            regs_c = register_tensor(result, layout=config.c_store_map)
            for i, k in config.load_a_map.on(lane):
                regs_a[i, k] = a[i, k]
            number = 0
            for k, j in config.load_b_map.on(lane):
                regs_b[0, number] = b[k, j]
                number = number + 1
            for i, j in config.c_store_map.on(lane):
                regs_c[i, j] = c[i, j]
            mma_sync(config, regs_a, ~regs_b[0, 0], regs_c)
            for i, j in config.store_c_map.on(lane):
                c[i, j] = regs_c[i, j]

    a = eighths(config.m, config.k, dtype=TORCH[config.input_dtype])
    b = eighths(config.k, config.n, dtype=TORCH[config.input_dtype])
    c = eighths(config.m, config.n, dtype=TORCH[config.output_dtype])
    wanted = c.double() + a.double() @ b.double()
    module.build()(a, b, c)
    assert_close(c, wanted, 1e-6)


def test_configuration():
    """The numbers of a configuration come from the instruction table."""
    config = MmaConfig.m16n8k16_bf16_f32()
    assert (config.m, config.n, config.k) == MMA_SYNC["m16n8k16_bf16_f32"].shape == (16, 8, 16)
    assert (config.input_dtype, config.output_dtype) == ("bf16", "f32")
    assert (config.a_elements, config.b_elements, config.c_elements) == (8, 4, 4)
    assert config.a_load_map.shape == (16, 16)
    assert config.required_arch == (8, 0)
    assert repr(config) == "MmaConfig.m16n8k16_bf16_f32()"
    assert {each.name for each in MmaConfig.all()} == set(MMA_SYNC) <= set(dir(MmaConfig))
    with pytest.raises(AttributeError, match="only m16n8k16_f16_f32"):
        MmaConfig.m8n8k4_f64_f64()


def test_layouts_that_consist_of_fragments():
    """A tile of several warps and several fragments; and layouts that only look like one."""
    fragment = MmaConfig.m16n8k16_f16_f32().c_store_map
    assert ends_in(spatial(2, 2) * repeat(4, 4) * fragment, fragment)
    assert ends_in(repeat(4, 4) * spatial(2, 1) * fragment, fragment)
    assert not ends_in(fragment * repeat(2, 2), fragment)
    assert not ends_in(spatial(8, 4) * repeat(2, 2), fragment)
    assert not ends_in(repeat(16, 8), fragment)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", [False, True])
def test_ldmatrix(count, trans):
    """A lane receives two elements of each matrix, in the order of the rows that were given."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f16[32, 8], y: f16[32, 2 * count]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            lane = threadIdx.x
            smem = shared_tensor("f16", [32, 8])
            regs = register_tensor("f16", [2, 2 * count])
            for i, j in repeat(8, 1).spatial(4, 8).on(lane):
                smem[i, j] = x[i, j]
            syncthreads()
            ldmatrix(~regs[1, 0], ~smem[lane, 0], trans=trans)
            for i in range(2 * count):
                y[lane, i] = regs[1, i]

    x, y = eighths(32, 8, dtype=torch.half), poison(torch.empty(32, 2 * count).half())
    module.build()(x, y)
    matrices = x.view(4, 8, 8)[:count]
    matrices = matrices.mT if trans else matrices
    assert_close(y, matrices.reshape(count, 32, 2).permute(1, 0, 2).reshape(32, -1).double(), 0)


def test_copies_in_two_groups():
    """The latest group may be under way; bytes that are not read are zeros."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[2, 128], y: f32[2, 128], size: hidet.lang.i32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            i = threadIdx.x * 4
            smem = shared_tensor("f32", [2, 128])
            cp_async(~smem[0, i], ~x[0, i], cp_size=16, cache_level="global")
            cp_async_commit_group()
            cp_async(~smem[1, i], ~x[1, i], cp_size=16, src_size=size * 4)
            cp_async_commit_group()
            cp_async_wait_group(1)
            for j in range(4):
                y[0, i + j] = smem[0, i + j]
            cp_async_wait_all()
            for j in range(4):
                y[1, i + j] = smem[1, i + j]

    for size in range(5):
        x, y = eighths(2, 128), poison(torch.empty(2, 128))
        module.build()(x, y, size)
        wanted = x.double()
        wanted[1].view(32, 4)[:, size:] = 0
        assert_close(y, wanted, 0)


def product_of_tiles():
    """Build a matmul of 32 x 16 by 16 x 16 by a warp: two tiles of two mmas each."""
    config = MmaConfig.m16n8k16_f16_f32()
    layout = repeat(2, 2) * config.c_store_map

    with hidet.script_module() as module:

        @hidet.script
        def tiles(a: f16[32, 16], b: f16[16, 16], c: f32[32, 16]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            lane = threadIdx.x
            smem_a = shared_tensor("f16", [32, 16])
            smem_b = shared_tensor("f16", [16, 16])
            regs_a = register_tensor("f16", [config.a_elements])
            regs_b = register_tensor("f16", [2, config.b_elements])
            regs_c = register_tensor("f32", layout=layout)
            for i, j in spatial(32, 1).repeat(1, 2).on(lane):
                cp_async(~smem_a[i, j * 8], ~a[i, j * 8], cp_size=16, cache_level="global")
            for i, j in spatial(16, 2).on(lane):
                cp_async(~smem_b[i, j * 8], ~b[i, j * 8], cp_size=16, cache_level="global")
            for i, j in layout.on(lane):
                regs_c[i, j] = 0.0
            cp_async_wait_all()
            syncthreads()
            ldmatrix(regs_b, ~smem_b[lane % 16, lane // 16 * 8], trans=True)
            for i in grid(2, attrs="u"):
                ldmatrix(regs_a, ~smem_a[i * 16 + lane % 16, lane // 16 * 8])
                for j in grid(2, attrs="u"):
                    mma_sync(config, regs_a, ~regs_b[j, 0], ~regs_c[i * 16, j * 8])
            for i, j in layout.on(lane):
                c[i, j] = regs_c[i, j]

    return module.build()


def test_product_of_tiles():
    """Fragments of a register tensor by the address of their first element."""
    a, b = eighths(32, 16, dtype=torch.half), eighths(16, 16, dtype=torch.half)
    c = poison(torch.empty(32, 16))
    product_of_tiles()(a, b, c)
    assert_close(c, a.double() @ b.double(), 1e-6)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_nvcc_takes_the_source(arch, tmp_path):
    """The source is CUDA C++ for every machine that has the instructions."""
    Nvcc(arch).compile(product_of_tiles().source(), tmp_path / "kernel.cubin")
    assert (tmp_path / "kernel.cubin").stat().st_size > 0


def test_tf32():
    """Storage and arithmetic are those of f32."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[8], y: tf32[8], s: tf32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 8
            regs = register_tensor("tfloat32", [1])
            regs[0] = x[threadIdx.x] * s
            y[threadIdx.x] = regs[0] + f16(0.5)

    assert "memref<8xf32>, %s : f32" in module.build().ir()
    x, y = eighths(8), poison(torch.empty(8))
    module.build()(x, y, 2.0)
    assert_close(y, x.double() * 2 + 0.5, 0)


def test_a_tile_of_another_layout_is_refused():
    """Also where it reaches the lowering without the frontend's check."""
    program = """
    cuda.kernel @kernel(%w : index) grid(1) block(32) {
      %0 = arith.constant 0 : index
      %a = memref.alloca() : memref<4xf16, #cuda.space<local>>
      %c = memref.alloca() : memref<16x8xf16, #task.map<LAYOUT>, #cuda.space<register>>
      cuda.mma_sync "m16n8k8_f16_f16" %a[%0], %a[%0], %c[%0, %0]
        : memref<4xf16, #cuda.space<local>>, memref<4xf16, #cuda.space<local>>,
          memref<16x8xf16, #task.map<LAYOUT>, #cuda.space<register>>
    }
    """
    right, wrong = "repeat(2, 1) * spatial(8, 4) * repeat(1, 2)", "spatial(8, 4) * repeat(2, 2)"
    lowered = run_passes(program.replace("LAYOUT", right), "lower-task")
    assert "%c = memref.alloca() : memref<4xf16, #cuda.space<local>>" in lowered
    expect_error(
        program.replace("LAYOUT", wrong),
        "lower-task",
        f"cuda.mma_sync: the tile {wrong} does not consist of fragments {right}",
    )


def test_swizzled_memory():
    """Elements of shared memory are permuted; loads read what was stored."""
    tile = row_major(16, 4).swizzle(1, log_step=1) * row_major(1, 8)

    with hidet.script_module() as module:

        @hidet.script
        def swizzled(a: f16[16, 32], b: f16[16, 32], c: ~f16, s: hidet.lang.i32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            smem = shared_tensor("f16", layout=row_major(2) + tile)
            raw = as_tensor_pointer(c, "f16", [16, 32], layout=tile)
            for i, j in spatial(16, 4).on(threadIdx.x):
                cp_async(~smem[s, i, j * 8], ~a[i, j * 8], cp_size=16)
            cp_async_wait_all()
            syncthreads()
            for i, j in repeat(8, 1).spatial(2, 32).on(threadIdx.x):
                b[i, j] = smem[s, i, j]
                raw[i, j] = smem[s, i, j]

    built = module.build()
    a, b = torch.rand(16, 32).half(), poison(torch.empty(16, 32).half())
    c = poison(torch.empty(512).half())
    built(a, b, c, 1)
    assert_close(b, a.double(), 0)
    places = [[tile.place(i, j) for j in range(32)] for i in range(16)]
    assert_close(c[torch.tensor(places)], a.double(), 0)
