"""The strict mode supports verbs, groups, clusters, vectors and slices of tensors."""

import importlib.util
from pathlib import Path

import pytest
import torch

import hidet
from hidet import option
from hidet.errors import HidetError
from hidet.lang import (
    as_tensor_pointer,
    attrs,
    f32,
    register_tensor,
    repeat,
    shared_tensor,
    spatial,
)
from hidet.lang.cuda import blockIdx, syncthreads, threadIdx
from hidet.lowering.task.insert_barriers import InsertBarriersPass
from hidet.testing.numeric import assert_close, poison


def load_scripts():
    """Import the scripts beside this file."""
    path = Path(__file__).with_name("strict_blocks.py")
    specification = importlib.util.spec_from_file_location("strict_blocks", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


MODULE = load_scripts()
SCRIPTS = {**MODULE.SCRIPTS, **MODULE.VERBS}


@pytest.fixture(autouse=True)
def _strict():
    """Check everything when kernels run. (`verify_level` would refuse some bugs ahead of that.)"""
    with option.context(strict=True, verify_level=False):
        yield


def build(define, bug):
    """Build a script with or without its bug."""
    with hidet.script_module() as module:
        define(bug)
    return module.build()


def arguments_of(define):
    """Make inputs, the poisoned output, and what it should become."""
    specs, wanted_of, _ = SCRIPTS[define]
    inputs = [torch.rand(shape).sub_(0.5).to(dtype) for dtype, *shape in specs]
    wanted = wanted_of(*inputs)
    return inputs, poison(torch.empty(wanted.shape)), wanted


@pytest.mark.parametrize("define", SCRIPTS, ids=lambda define: define.__name__)
@pytest.mark.sample(5)
def test_bug_is_found(define, monkeypatch):
    """Whatever the order of threads, the call is an error that names script, line and seed."""
    if define in MODULE.VERBS:
        monkeypatch.setattr(InsertBarriersPass, "apply", lambda self, ctx, op: None)
    kernel = build(define, bug=True)
    for seed in (0, 1, 12345678901234567890):
        inputs, output, _ = arguments_of(define)
        with option.context(strict_seed=seed), pytest.raises(HidetError) as caught:
            kernel(*inputs, output)
        assert caught.match(SCRIPTS[define][2])
        assert caught.match(rf"strict_blocks\.py:\d+.*\(seed {seed}\)")


@pytest.mark.parametrize("define", SCRIPTS, ids=lambda define: define.__name__)
@pytest.mark.sample(3)
def test_script_without_the_bug_is_right(define):
    """Nothing is found where nothing is wrong."""
    kernel = build(define, bug=False)
    for seed in range(3):
        inputs, output, wanted = arguments_of(define)
        with option.context(strict_seed=seed):
            kernel(*inputs, output)
        assert_close(output, wanted, 1e-5)


def test_stores_of_the_same_value():
    """They are in no order, and do not race; those of another value do."""

    def build_store(same):
        with hidet.script_module() as module:

            @hidet.script
            def kernel(y: f32[64]):
                attrs.cuda.grid_dim = 1
                attrs.cuda.block_dim = 64
                value = shared_tensor("float32", [1])
                value[0] = 3.0 if same else f32(threadIdx.x)
                syncthreads()
                y[threadIdx.x] = value[0]

        return module.build()

    y = poison(torch.empty(64))
    right, wrong = build_store(True), build_store(False)
    for seed in range(3):
        with option.context(strict_seed=seed):
            right(y)
            assert torch.equal(y, torch.full((64,), 3.0))
            with pytest.raises(HidetError, match=r"a race: .* writes value\[0\] in .*and thread"):
                wrong(y)


def test_the_last_stores_of_a_kernel():
    """What is stored twice is looked at when the block has ended, too."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(n: f32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 2
            value = shared_tensor("float32", [1])
            value[0] = f32(threadIdx.x) * n

    built = module.build()
    built(0.0)
    with pytest.raises(HidetError, match=r"a race: thread .* writes value\[0\] in .*and thread"):
        built(1.0)


@pytest.mark.parametrize("shape", [(128,), (16, 8)])
def test_numbers_of_workers(shape):
    """A kernel may number its threads in its own way: elements belong to workers."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[128, 2], y: f32[128, 2]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = shape
            tile = register_tensor("float32", layout=spatial(128, 1) * repeat(1, 2))
            worker = 127 - threadIdx.x if len(shape) == 1 else threadIdx.x * 8 + threadIdx.y
            for i, j in tile.on(worker):
                tile[i, j] = x[i, j]
            for i, j in tile.on(worker):
                y[i, j] = tile[i, j] * 2

    x, y = torch.rand(128, 2), poison(torch.empty(128, 2))
    module.build()(x, y)
    assert torch.equal(y, x * 2)


def test_what_is_not_found():
    """The limits that the tutorial names: indices that stay within the tensor or the memory."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[4, 32], p: ~f32, y: f32[2, 32], z: f32[2, 32]):
            attrs.cuda.grid_dim = 2
            attrs.cuda.block_dim = 32
            block, i = blockIdx.x, threadIdx.x
            rows = x[2:, :]
            rows_of_p = as_tensor_pointer(p, "float32", [4, 32])
            y[block, i] = rows[block - 2, i]
            z[block, i] = rows_of_p[block, i + 32]

    x, y, z = torch.rand(4, 32), poison(torch.empty(2, 32)), poison(torch.empty(2, 32))
    module.build()(x, x, y, z)
    assert torch.equal(y, x[:2])
    assert torch.equal(z, x[1:3])
