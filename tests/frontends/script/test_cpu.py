"""Kernels of the CPU: they compute what Python does, and share loops only where it is safe."""

import math

import pytest
import torch

import hidet
from hidet.backend.toolchains import Nvcc
from hidet.errors import HidetError
from hidet.lang import attrs, f32, f64, grid, i32, i64, printf, register_tensor
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.testing.numeric import assert_close, poison


@pytest.fixture(autouse=True)
def _verified():
    """Check the legality of every kernel between the stages."""
    with hidet.option.context(verify_level=True):
        yield


def test_softmax():
    """Rows are shared by the cores; each has variables and an array of its own."""
    with hidet.script_module() as module:

        @hidet.script
        def shifted(x: f32, top: f32) -> f32:
            attrs.func_kind = "cpu_internal"
            return math.exp(x - top)

        @hidet.script
        def softmax(x: f32[37, 20], y: f32[37, 20], rows: i32):
            attrs.func_kind = "cpu_kernel"
            for i in grid(rows, attrs="p"):
                top = x[i, 0]
                for j in range(1, 20):
                    top = max(top, x[i, j])
                values = register_tensor("float32", [20])
                total = 0.0
                for j in range(20):
                    values[j] = shifted(x[i, j], top)
                    total += values[j]
                for j in range(20):
                    y[i, j] = values[j] / total

    x, y = torch.randn(37, 20), poison(torch.empty(37, 20))
    built = module.build()
    built(x, y, 30)
    assert_close(y[:30], x[:30].double().softmax(-1), 1e-5)
    assert y[30:].isnan().all()
    assert "#pragma omp parallel for\n" in built.source()


def test_early_exits_and_pointers(capfd):
    """Loops in order may be left, pointers moved, text printed."""
    with hidet.script_module() as module:

        @hidet.script
        def find(x: ~i64, n: i32, wanted: i64, place: ~f64):
            attrs.func_kind = "cpu_kernel"
            place[0] = -1.0
            for i in range(n):
                if x[i] == wanted:
                    place[0] = i
                    printf("found at %d\n", i)
                    break

    x, place = torch.arange(10) * 3, torch.zeros(1, dtype=torch.float64)
    function = module.build()
    function(x, 10, 12, place)
    assert place.item() == 4
    assert capfd.readouterr().out == "found at 4\n"
    function(x, 4, 12, place)
    assert place.item() == -1
    with pytest.raises(HidetError, match="'x' and 'place' of kernel 'find' share memory"):
        function(x, 10, 12, x.view(torch.float64)[:1])


def test_with_kernels_of_cuda():
    """A public function calls kernels of both kinds, where the tensors are on the CPU."""
    with hidet.script_module() as module:

        @hidet.script
        def fill(x: f32[64]):
            attrs.func_kind = "cpu_kernel"
            for i in grid(64, attrs="p2"):
                x[i] = i

        @hidet.script
        def double(x: f32[64]):
            attrs.func_name = "twice"
            attrs.cuda.grid_dim = 2
            attrs.cuda.block_dim = 32
            x[blockIdx.x * 32 + threadIdx.x] *= 2.0

        @hidet.script
        def launch(x: f32[64]):
            fill(x)
            double(x)

    x = poison(torch.empty(64))
    built = module.build()
    built(x)
    assert list(built.functions) == ["launch", "fill", "twice"]
    assert torch.equal(x, torch.arange(64.0) * 2)


def test_tensors_on_a_gpu(monkeypatch):
    """A kernel of the CPU takes no tensors on a GPU."""
    with hidet.script_module() as module:

        @hidet.script
        def clear(x: f32[4]):
            attrs.func_kind = "cpu_kernel"
            for i in range(4):
                x[i] = 0.0

    monkeypatch.setattr("hidet.driver.script.find_toolchain", lambda *_: Nvcc("sm_90a"))
    with pytest.raises(HidetError, match="'clear' is a cpu_kernel, but the tensors are on"):
        module.build()(torch.ones(4))


def test_without_tensors(monkeypatch, capfd):
    """A kernel of the CPU that takes numbers only runs there, also where there is a GPU."""
    with hidet.script_module() as module:

        @hidet.script
        def greet(n: i32):
            attrs.func_kind = "cpu_kernel"
            for i in range(n):
                printf("hello %d\n", i)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    module.build()(2)
    assert capfd.readouterr().out == "hello 0\nhello 1\n"
