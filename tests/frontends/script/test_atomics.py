"""Atomic operations of scripts: numbers on the CPU, in every order and scope; nvcc."""

import operator
import shutil

import numpy as np
import pytest
import torch

import hidet
from hidet import option
from hidet.backend.toolchains import Nvcc
from hidet.frontends.script.memory_access import TYPES
from hidet.lang import attrs, bf16, bf16x2, f16, f16x2, f32, f64, i32, i64, shared_tensor, u32, u64
from hidet.lang.cuda import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_exchange,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_sub,
    atomic_xor,
    blockIdx,
    syncthreads,
    threadIdx,
)

KINDS = {each.name: each for each in (i32, u32, i64, u64, f16, bf16, f32, f64)}
TORCH = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
FUNCTIONS = {
    "add": (atomic_add, operator.add),
    "max": (atomic_max, max),
    "min": (atomic_min, min),
    "and": (atomic_and, operator.and_),
    "or": (atomic_or, operator.or_),
    "xor": (atomic_xor, operator.xor),
}
BLOCKS, THREADS = 5, 64


def updates(kind, sem="relaxed", scope="gpu"):
    """Build a kernel that updates an element by all numbers, for each function of the type."""
    names = [each.value for each, types in TYPES.items() if kind.short_name in types]
    names = [name for name in names if name in FUNCTIONS]
    with hidet.script_module() as module:

        @hidet.script
        def updates(x: kind[BLOCKS, THREADS], out: kind[len(names)]):
            attrs.cuda.grid_dim = BLOCKS
            attrs.cuda.block_dim = THREADS
            for row, name in enumerate(names):
                FUNCTIONS[name][0](~out[row], x[blockIdx.x, threadIdx.x], sem=sem, scope=scope)

    return module.build(), names


def numbers(kind, count):
    """Return numbers of a type: whole ones for floats, so that sums are exact; edges."""
    random = np.random.default_rng()
    if kind.is_float:
        return torch.from_numpy(random.integers(0, 2, count) * 1.0).to(TORCH[kind.short_name])
    dtype = np.dtype(f"{'u' if kind.kind == 'unsigned' else 'i'}{kind.bits // 8}")
    limits = np.iinfo(dtype)
    values = random.integers(limits.min, limits.max, count, dtype, endpoint=True)
    values[:4] = limits.min, limits.max, 0, 1
    return torch.from_numpy(values)


ORDERS = (("relaxed", "gpu"), ("acq_rel", "system"), ("release", "block"), ("acquire", "cta"))


@pytest.mark.parametrize(("name", "order"), list(zip(KINDS, ORDERS * 2, strict=True)))
def test_updates(name, order):
    """Concurrent updates give the result of sequential ones, with wrap-around."""
    kind = KINDS[name]
    built, names = updates(kind, *order)
    x = numbers(kind, BLOCKS * THREADS)
    start = numbers(kind, 8)[-len(names) :].clone()
    out = start.clone()
    built(x.reshape(BLOCKS, THREADS), out)
    bits = (1 << kind.bits) - 1
    for row, each in enumerate(names):
        value = start[row].item()
        for other in x.tolist():
            value = FUNCTIONS[each][1](value, other)
        got = out[row].item()
        assert got == value if kind.is_float else got & bits == value & bits, each


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("kind", [f16, bf16], ids=str)
def test_pairs(kind, strict):
    """Pairs of short floats are added in global and in shared memory; each sum rounds."""
    pair = f16x2 if kind is f16 else bf16x2
    with hidet.script_module() as module:

        @hidet.script
        def pairs(x: kind[THREADS, 2], out: kind[2, 2], one: kind[2]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = THREADS
            tile = shared_tensor(kind, [2])
            i = threadIdx.x
            if i < 2:
                tile[i] = kind(0)
            syncthreads()
            atomic_add(~tile[0], pair(x[i, 0], x[i, 1]))
            atomic_add(~out[1, 0], pair(x[i, 0], x[i, 1]), scope="block")
            if i == 0:
                atomic_add(~one[0], pair(x[0, 0], x[0, 1]), sem="acq_rel", scope="system")
            syncthreads()
            if i < 2:
                out[0, i] = tile[i]

    with option.context(strict=strict):
        built = module.build()
    dtype = TORCH[kind.short_name]
    x = torch.randint(0, 3, (THREADS, 2)).to(dtype)
    x[0] = torch.tensor([0.001, 65504.0 if kind is f16 else 3e38])
    out, one = torch.zeros(2, 2, dtype=dtype), torch.tensor([1.0, 65504.0], dtype=dtype)
    before = one.clone()
    built(torch.cat([x[1:], x[1:2]]), out, one)
    assert torch.equal(out[0], torch.cat([x[1:], x[1:2]]).double().sum(0).to(dtype))
    assert torch.equal(out[1], out[0])
    assert torch.equal(one, (before.float() + x[1].float()).to(dtype))
    # Sums round to the nearest, and overflow.
    one = before.clone()
    built(x[:1].expand(THREADS, 2).contiguous(), out, one)
    assert torch.equal(one, (before.float() + x[0].float()).to(dtype))


def test_old_values_and_locks():
    """What comes back is what was there: a ticket for each thread; a lock of a thread per block."""
    with hidet.script_module() as module:

        @hidet.script
        def tickets(taken: i32[BLOCKS * THREADS], state: i32[3]):
            attrs.cuda.grid_dim = BLOCKS
            attrs.cuda.block_dim = THREADS
            ticket = atomic_add(~state[0], 1)
            taken[ticket] = atomic_sub(~state[1], 1, "relaxed", "global")
            if threadIdx.x == 0:
                while atomic_cas(~state[2], 0, 1, sem="acquire") != 0:
                    pass
                state[1] = state[1]
                atomic_exchange(~state[2], 0, sem="release")

    taken = torch.full((BLOCKS * THREADS,), 77, dtype=torch.int32)
    state = torch.zeros(3, dtype=torch.int32)
    module.build()(taken, state)
    assert state[0] == BLOCKS * THREADS
    assert state[2] == 0
    assert int(taken.max()) <= 0


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_nvcc_takes_the_source(tmp_path, arch):
    """The source is CUDA C++, for all types and scopes."""
    sources = []
    for kind in KINDS.values():
        for scope in ("gpu", "system", "block"):
            built, _ = updates(kind, "relaxed", scope)
            body = built.source().replace("updates", f"updates_{kind}_{scope}")
            sources.append(body.replace('#include "hidet.h"', ""))
    text = '#include "hidet.h"\n' + "\n".join(sources)
    Nvcc(arch).compile(text, tmp_path / "atomics.cubin")
