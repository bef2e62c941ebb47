"""Barriers with a vote, and warp primitives with masks, against the semantics of CUDA."""

import re
import shutil

import numpy as np
import pytest

import hidet
from hidet import option
from hidet.backend.toolchains import Nvcc
from hidet.errors import HidetError
from hidet.lang import attrs, f32, i32, u32
from hidet.lang.cuda import (
    active_mask,
    all_sync,
    any_sync,
    ballot_sync,
    shfl_down_sync,
    shfl_sync,
    shfl_xor_sync,
    syncthreads_and,
    syncthreads_count,
    syncthreads_or,
    syncwarp,
    threadfence,
    threadfence_block,
    threadIdx,
)


@pytest.fixture(params=[False, True], ids=["plain", "strict"], autouse=True)
def strict(request):
    """Run plainly and in the strict mode, with the threads in another order each time."""
    with option.context(strict=request.param, verify_level=False):
        yield request.param


def block_votes(threads, rounds):
    """Build a kernel that asks its threads for each row, each time with another condition."""
    with hidet.script_module() as module:

        @hidet.script
        def votes(x: i32[rounds, threads], out: i32[3, rounds, threads]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = threads
            i = threadIdx.x
            for k in range(rounds):
                out[0, k, i] = syncthreads_and(x[k, i] > 0)
                out[1, k, i] = syncthreads_or(x[k, i] > 2)
                out[2, k, i] = syncthreads_count(x[k, i])

    return module.build()


@pytest.mark.parametrize("threads", [32, 100])
def test_votes_of_a_block(threads):
    """All threads get the same answer, each time a new one."""
    rounds = 20
    x = np.random.default_rng().integers(0, 4, (rounds, threads)).astype(np.int32)
    x[::3] = 2
    x[1::3] = 1
    x[1::3, -1] = np.arange(len(x[1::3])) % 4
    out = np.full((3, rounds, threads), 77, np.int32)
    block_votes(threads, rounds)(x, out)
    for row, wanted in zip(out, [(x > 0).all(1), (x > 2).any(1), (x != 0).sum(1)], strict=True):
        assert (row == wanted[:, None]).all()


def sum_of_some(threads):
    """Build a kernel that sums up the positive values of each warp in a branch of their lanes."""
    with hidet.script_module() as module:

        @hidet.script
        def some(x: f32[threads], total: f32[threads], first: f32[threads], out: u32[3, threads]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = threads
            i = threadIdx.x
            value = x[i]
            mask = ballot_sync(0xFFFFFFFF, value > 0)
            if value > 0:
                out[0, i] = ballot_sync(mask, value > 1)
                out[1, i] = any_sync(mask, value > 1)
                out[2, i] = all_sync(mask, value > 1)
                sum = f32(0)
                for lane in range(32):
                    if (mask >> lane) & 1 == 1:
                        sum += shfl_sync(mask, value, lane)
                total[i] = sum
            else:
                # The others meet as well, from another line, while the first ones do.
                sum = f32(0)
                for lane in range(32):
                    if (mask >> lane) & 1 == 0 and lane < threads:
                        sum += shfl_sync(~mask, value, lane)
                        syncwarp(~mask)
                total[i] = sum

    return module.build()


def test_some_lanes():
    """Lanes of a mask meet in a branch, those that are not in it in the other one."""
    x = np.random.default_rng().normal(0, 1, 96).astype(np.float32)
    x[:32] = np.abs(x[:32])  # a warp of which all lanes are in the mask
    total, first = np.full((2, 96), 77, np.float32)
    out = np.full((3, 96), 77, np.uint32)
    sum_of_some(96)(x, total, first, out)
    for warp in range(3):
        values = x[32 * warp : 32 * warp + 32]
        here = slice(32 * warp, 32 * warp + 32)
        for chosen in (values > 0, values <= 0):
            assert np.allclose(total[here][chosen], values[chosen].astype(float).sum(), atol=1e-5)
        chosen = values > 0
        ballot = sum(1 << lane for lane in range(32) if values[lane] > 1)
        assert (out[0, here][chosen] == ballot).all()
        assert (out[1, here][chosen] == (values[chosen] > 1).any()).all()
        assert (out[2, here][chosen] == (values[chosen] > 1).all()).all()


def lanes_of(condition):
    """Return for each of 48 threads a bit for each lane of its warp on which a condition holds."""
    lanes = np.arange(48)
    bits = condition(lanes).astype(np.uint64) << (lanes % 32).astype(np.uint64)
    return np.where(lanes < 32, bits[:32].sum(), bits[32:].sum()).astype(np.uint32)


def test_active_lanes():
    """Each branch has its own lanes; they are together again behind it, and fewer in a loop."""
    with hidet.script_module() as module:

        @hidet.script
        def active(x: f32[48], out: u32[5, 48], total: f32[48]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 48
            i = threadIdx.x
            out[0, i] = active_mask()
            if i % 3 == 0:
                mask = active_mask()
                out[1, i] = mask
                sum = f32(0)
                for lane in range(32):
                    if (mask >> lane) & 1 == 1:
                        sum += shfl_sync(mask, x[i], lane)
                total[i] = sum
            elif i >= 40:
                return
            else:
                out[2, i] = active_mask()
            out[3, i] = active_mask()
            for _ in range(i % 4):
                out[4, i] = active_mask()

    x = np.random.default_rng().random(48, np.float32)
    out, total = np.full((5, 48), 77, np.uint32), np.full(48, 77, np.float32)
    module.build()(x, out, total)
    i = np.arange(48)
    assert (out[0] == lanes_of(lambda i: i >= 0)).all()
    third, left = i % 3 == 0, (i % 3 != 0) & (i >= 40)
    assert (out[1] == np.where(third, lanes_of(lambda i: i % 3 == 0), 77)).all()
    others = lanes_of(lambda i: (i % 3 != 0) & (i < 40))
    assert (out[2] == np.where(third | left, 77, others)).all()
    stayed = lanes_of(lambda i: (i % 3 == 0) | (i < 40))
    assert (out[3] == np.where(left, 77, stayed)).all()
    for turns in range(4):
        here = (i % 4 == turns) & ~left
        last = lanes_of(lambda i, turns=turns: (i % 4 >= turns) & ((i % 3 == 0) | (i < 40)))
        assert (out[4][here] == (last[here] if turns else 77)).all()
    for warp in (slice(0, 32), slice(32, 48)):
        assert np.allclose(total[warp][third[warp]], x[warp][third[warp]].sum(), atol=1e-5)
    assert (total[~third] == 77).all()


def test_lanes_that_have_left():
    """Four lanes go on while the others have finished; lanes exchange through shared memory."""
    with hidet.script_module() as module:

        @hidet.script
        def four(x: f32[32], out: f32[2, 4]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            i = threadIdx.x
            if i >= 4:
                return
            value = x[i]
            value += shfl_xor_sync(0xF, value, 1, width=4)
            value += shfl_xor_sync(0xF, value, 2, width=4)
            out[0, i] = value
            threadfence_block()
            syncwarp(0xF)
            out[1, i] = out[0, 3 - i] + x[i]

    x, out = np.random.default_rng().random(32, np.float32), np.full((2, 4), 77, np.float32)
    module.build()(x, out)
    assert np.allclose(out[0], x[:4].sum(), atol=1e-6)
    assert np.allclose(out[1], x[:4].sum() + x[:4], atol=1e-6)


def broken(kind):
    """Build a kernel whose lanes do not follow their masks."""
    with hidet.script_module() as module:

        @hidet.script
        def broken(x: f32[32], out: f32[32]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            i = threadIdx.x
            if kind == "outside":
                out[i] = shfl_sync(0xFF, x[i], 0)
            elif kind == "masks":
                mask = u32(0xFF)
                if i >= 4:
                    mask = u32(0xFFF)
                if i < 8:
                    out[i] = shfl_down_sync(mask, x[i], 1)
            elif kind == "missing":
                if i < 4:
                    out[i] = shfl_sync(0xFF, x[i], 0)
            elif i < 8:
                out[i] = shfl_sync(0xFF, x[i], 8)

    return module.build()


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("outside", "comes to shfl in .* whose mask 0x000000ff it is not in"),
        ("masks", "the lanes diverge: lane . waits at shfl_down with the mask 0x00000"),
        ("missing", "the block hangs: 28 of its 32 threads have finished, and others wait at shfl"),
        ("strange", "shfl in .* reads lane 8, which is not in its mask 0x000000ff"),
    ],
)
def test_lanes_that_do_not_meet(kind, message, strict):
    """Lanes that are not in their mask, or do not come, are an error; in the script's line."""
    built, x, out = broken(kind), np.zeros(32, np.float32), np.zeros(32, np.float32)
    if kind == "strange" and not strict:  # any number
        built(x, out)
        return
    with pytest.raises(HidetError, match=message) as caught:
        built(x, out)
    assert not strict or re.search(r"test_lanes\.py:\d+", str(caught.value))


def racy(fixed):
    """Build a kernel whose lanes read what others have written; a barrier of them is missing."""
    with hidet.script_module() as module:

        @hidet.script
        def racy(out: i32[32]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            tile = hidet.lang.shared_tensor("i32", [16])
            i = threadIdx.x
            if i < 16:
                tile[i] = i
                if fixed:
                    syncwarp(0xFFFF)
                out[i] = tile[15 - i]
            threadfence()

    return module.build()


def test_a_barrier_of_lanes_orders_memory(strict):
    """The strict mode finds the race without it, and none with it."""
    out = np.full(32, 77, np.int32)
    racy(True)(out)
    assert out[:16].tolist() == list(range(15, -1, -1))
    if strict:
        with pytest.raises(HidetError, match=r"a race|nothing has written"):
            racy(False)(out)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_nvcc_takes_the_source(tmp_path, strict):
    """The source is CUDA C++."""
    if not strict:
        for arch, build in (("sm_80", sum_of_some), ("sm_90a", lambda n: block_votes(n, 2))):
            Nvcc(arch).compile(build(64).source(), tmp_path / f"{arch}.cubin")
