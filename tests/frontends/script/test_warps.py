"""Shuffles in segments of a warp, against CUDA's documentation."""

import pytest
import torch

import hidet
from hidet.lang import attrs, f32
from hidet.lang.cuda import shfl_down_sync, shfl_sync, shfl_up_sync, shfl_xor_sync, threadIdx
from hidet.testing.numeric import poison

LANES = torch.arange(32)


@pytest.mark.parametrize("width", [2, 4, 8, 16, 32])
def test_segments(width):
    """Lanes are numbered in their segment; one that would read outside gets its own value."""
    with hidet.script_module() as module:

        @hidet.script
        def shuffle(x: f32[32], out: f32[5, 32]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            i = threadIdx.x
            out[0, i] = shfl_sync(0xFFFFFFFF, x[i], 1, width)
            out[1, i] = shfl_up_sync(0xFFFFFFFF, x[i], 3, width=width)
            out[2, i] = shfl_down_sync(0xFFFFFFFF, x[i], 1, width=width)
            out[3, i] = shfl_xor_sync(0xFFFFFFFF, x[i], 1, width=width)
            total = x[i]
            for k in range(5):
                if 1 << k < width:
                    total += shfl_xor_sync(0xFFFFFFFF, total, 1 << k, width=width)
            out[4, i] = total

    x, out = torch.rand(32), poison(torch.empty(5, 32))
    module.build()(x, out)
    lane = LANES % width
    assert torch.equal(out[0], x[LANES - lane + 1])
    assert torch.equal(out[1], x[torch.where(lane >= 3, LANES - 3, LANES)])
    assert torch.equal(out[2], x[torch.where(lane + 1 < width, LANES + 1, LANES)])
    assert torch.equal(out[3], x[LANES ^ 1])
    sums = x.double().view(-1, width).sum(1).repeat_interleave(width)
    assert torch.allclose(out[4].double(), sums, atol=1e-5)
