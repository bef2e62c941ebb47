"""The strict mode finds planted bugs, reports where they are, and accepts correct scripts."""

import importlib.util
from pathlib import Path

import pytest
import torch

import hidet
from hidet import option
from hidet.errors import HidetError, OptionError
from hidet.lang import attrs, f32, i32
from hidet.lang.cuda import atomic_add, syncthreads, threadIdx
from hidet.testing.numeric import assert_close, poison


def load_scripts():
    """Import the scripts beside this file."""
    path = Path(__file__).with_name("strict_scripts.py")
    specification = importlib.util.spec_from_file_location("strict_scripts", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.SCRIPTS


SCRIPTS = load_scripts()


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
    inputs = [
        torch.randint(-9, 9, shape).to(dtype)
        if dtype is torch.int32
        else torch.rand(shape).sub_(0.5).to(dtype)
        for dtype, *shape in specs
    ]
    wanted = wanted_of(*inputs)
    dtype = torch.int32 if wanted.dtype is torch.int32 else torch.float32
    output = torch.full(wanted.shape, -77, dtype=dtype)
    return inputs, output if dtype is torch.int32 else poison(output), wanted


@pytest.mark.parametrize("define", SCRIPTS, ids=lambda define: define.__name__)
@pytest.mark.sample(10)
def test_bug_is_found(define):
    """Whatever the order of threads, the call is an error that names script, line and seed."""
    kernel = build(define, bug=True)
    for seed in (0, 1, 12345678901234567890):
        inputs, output, _ = arguments_of(define)
        with option.context(strict_seed=seed), pytest.raises(HidetError) as caught:
            kernel(*inputs, output)
        assert caught.match(SCRIPTS[define][2])
        assert caught.match(rf"strict_scripts\.py:\d+.*\(seed {seed}\)")


@pytest.mark.parametrize("define", SCRIPTS, ids=lambda define: define.__name__)
@pytest.mark.sample(7)
def test_script_without_the_bug_is_right(define):
    """Nothing is found where nothing is wrong."""
    kernel = build(define, bug=False)
    for seed in range(3):
        inputs, output, wanted = arguments_of(define)
        with option.context(strict_seed=seed):
            kernel(*inputs, output)
        if output.dtype is torch.int32:
            assert torch.equal(output, wanted)
        else:
            assert_close(output, wanted.double(), 1e-5)


def test_order_of_threads_is_that_of_the_seed():
    """The same seed gives the same order between synchronization points."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(counter: i32[1], order: i32[2, 96]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 96
            for part in range(2):
                order[part, atomic_add(~counter[0], 1) - 96 * part] = threadIdx.x
                syncthreads()

    built = module.build()

    def order(seed):
        counter, result = torch.zeros(1, dtype=torch.int32), torch.zeros(2, 96, dtype=torch.int32)
        with option.context(strict_seed=seed):
            built(counter, result)
        return result

    first = order(3)
    assert torch.equal(first.sort().values, torch.arange(96, dtype=torch.int32).expand(2, 96))
    assert torch.equal(first, order(3))
    assert not torch.equal(first, order(4))
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first[0], first[0].sort().values)


def scale():
    """Build the smallest of kernels."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[32], y: f32[32]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            y[threadIdx.x] = x[threadIdx.x] * 2.0

    return module.build()


def test_option_is_that_of_the_build():
    """A module is strict or not from its build on."""
    strict = scale()
    with option.context(strict=False):
        plain = scale()
        x, y = torch.rand(32), poison(torch.empty(32))
        strict(x, y)
    assert_close(y, x.double() * 2, 0)
    assert "hidet::check_bounds" in strict.source()
    assert "hidet::check" not in plain.source()


def test_strict_kernels_are_for_the_cpu(monkeypatch):
    """A GPU has no such checks, and reports it."""
    module = scale()
    kernel = next(iter(module.functions.values()))
    monkeypatch.setattr(kernel.arguments, "check", lambda *_, **__: torch.device("cuda", 0))
    refusal = "'strict' is for kernels on the CPU, and these run on 'cuda:0'"
    with option.context(arch="sm_80"), pytest.raises(OptionError, match=refusal):
        module(torch.rand(32), torch.rand(32))


EXAMPLES = {
    "vector_add": ((1000,), lambda: (torch.rand(1000), torch.rand(1000)), torch.add),
    "softmax": ((5, 64), lambda: (torch.rand(5, 64),), lambda x: x.double().softmax(1)),
    "matmul_simt": (
        (70, 260, 20),
        lambda: (torch.rand(70, 20) - 0.5, torch.rand(20, 260)),
        lambda a, b: (a.double() @ b.double()).relu(),
    ),
    "matmul_tensor_core": (
        (130, 136, 72),
        lambda: (torch.rand(130, 72).half() - 0.5, torch.rand(72, 136).half()),
        lambda a, b: a.double() @ b.double(),
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(load_example, name):
    """Our own examples have none of these bugs."""
    sizes, make, wanted_of = EXAMPLES[name]
    inputs = make()
    wanted = wanted_of(*inputs)
    output = poison(torch.empty(wanted.shape, dtype=inputs[0].dtype))
    load_example(name).build(*sizes)(*inputs, output)
    assert_close(output, wanted.double(), 1e-3 if output.dtype is torch.half else 1e-5)


def test_rms_norm(load_example):
    """That one takes more arguments, and meets within warps and blocks."""
    x, residual = torch.rand(6, 384).half(), torch.rand(6, 384).half()
    weight, y = torch.rand(384).half(), poison(torch.empty(6, 384, dtype=torch.half))
    load_example("rms_norm").build(6, 384)(x, residual, weight, y)
    total = x.double() + residual.double()
    wanted = total * (total.square().mean(1, keepdim=True) + 1e-6).rsqrt() * weight.double()
    assert_close(y, wanted, 1e-3)
