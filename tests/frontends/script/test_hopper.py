"""Scripts for Hopper: shared memory of any size, tensor maps, barriers in memory, warp groups."""

import torch

import hidet
from hidet.lang import as_tensor_pointer, attrs, f32, shared_tensor
from hidet.lang.cuda import dynamic_shared_memory, syncthreads, threadIdx


def test_dynamic_shared_memory():
    """Parts of it may overlap; shared tensors come behind what the script places itself."""
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
