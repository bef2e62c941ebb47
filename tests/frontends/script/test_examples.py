"""The examples are right, on the CPU against float64, and run as programs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from hidet import option
from hidet.backend.toolchains import Nvcc
from hidet.testing.numeric import assert_close, poison

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "script"


@pytest.fixture(autouse=True)
def _verified():
    """Check the legality of every kernel between the stages."""
    with option.context(verify_level=True):
        yield


def uniform(*shape, dtype=torch.float32):
    return torch.rand(*shape).mul_(2).sub_(1).to(dtype)


def test_hello_world(load_example, capfd):
    """Every thread prints its line."""
    load_example("hello_world").build()()
    lines = capfd.readouterr().out.splitlines()
    wanted = [f"hello from thread {t} of block {b}" for b in range(2) for t in range(4)]
    assert sorted(lines) == sorted(wanted)


@pytest.mark.parametrize("size", [1, 255, 1000])
def test_vector_add(load_example, size):
    """Elements beyond the end of the vectors are left alone."""
    a, b, c = uniform(size), uniform(size), poison(torch.empty(size))
    load_example("vector_add").build(size)(a, b, c)
    assert_close(c, a.double() + b.double(), 1e-6)


def test_matmul_autograd(load_example):
    """The matmul and both gradients."""
    example = load_example("matmul_autograd")
    a, b = uniform(7, 20).requires_grad_(), uniform(20, 33).requires_grad_()
    c = example.Matmul.apply(a, b)
    grad = uniform(7, 33)
    c.backward(grad)
    assert_close(c, a.double() @ b.double(), 1e-5)
    assert_close(a.grad, grad.double() @ b.double().T, 1e-5)
    assert_close(b.grad, a.double().T @ grad.double(), 1e-5)


@pytest.mark.parametrize(("m", "n", "k"), [(64, 256, 16), (70, 300, 33)])
def test_matmul_simt(load_example, m, n, k):
    """The tile of the tutorial, with whole tiles and with parts."""
    a, b, c = uniform(m, k), uniform(k, n), poison(torch.empty(m, n))
    load_example("matmul_simt").build(m, n, k)(a, b, c)
    assert_close(c, (a.double() @ b.double()).relu(), 1e-5)


@pytest.mark.parametrize(("m", "n", "k"), [(128, 128, 32), (130, 136, 72), (16, 264, 200)])
def test_matmul_tensor_core(load_example, m, n, k):
    """One tile of each matrix, and parts of tiles in every direction."""
    a, b = uniform(m, k, dtype=torch.half), uniform(k, n, dtype=torch.half)
    c = poison(torch.empty(m, n, dtype=torch.half))
    load_example("matmul_tensor_core").build(m, n, k)(a, b, c)
    assert_close(c, a.double() @ b.double(), 1e-3)


def test_matmul_tensor_core_wants_whole_segments(load_example):
    """Rows that are no multiple of 16 bytes are refused."""
    for sizes in ((16, 8, 12), (16, 12, 8)):
        with pytest.raises(ValueError, match="multiples of 8 elements"):
            load_example("matmul_tensor_core").build(*sizes)


@pytest.mark.parametrize(("rows", "columns"), [(5, 32), (8, 256)])
def test_softmax(load_example, rows, columns):
    """Rows that do not fill the blocks too."""
    x, y = uniform(rows, columns) * 20, poison(torch.empty(rows, columns))
    load_example("softmax").build(rows, columns)(x, y)
    assert_close(y, x.double().softmax(1), 1e-6)


def test_rms_norm(load_example):
    """Sums in f32, results in f16."""
    x, residual = uniform(6, 384, dtype=torch.half), uniform(6, 384, dtype=torch.half)
    weight, y = uniform(384, dtype=torch.half), poison(torch.empty(6, 384, dtype=torch.half))
    load_example("rms_norm").build(6, 384)(x, residual, weight, y)
    total = x.double() + residual.double()
    wanted = total * (total.square().mean(1, keepdim=True) + 1e-6).rsqrt() * weight.double()
    assert_close(y, wanted, 1e-3)


@pytest.mark.parametrize(("m", "n", "k", "blocks"), [(128, 256, 64, 132), (256, 512, 320, 3)])
def test_matmul_hopper(load_example, m, n, k, blocks):
    """Blocks with several tiles too, and more columns of k than stages."""
    a, b = uniform(m, k, dtype=torch.half), uniform(n, k, dtype=torch.half)
    c = poison(torch.empty(m, n, dtype=torch.half))
    load_example("matmul_hopper").build(m, n, k, blocks)(a, b, c)
    assert_close(c, a.double() @ b.double().T, 1e-3)


def test_custom_op(load_example):
    """The operator inside of a compiled model: values, and gradients of all weights."""
    example = load_example("custom_op")
    model = example.MLP(12, 20)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    x, weights = uniform(5, 12), list(model.parameters())
    found = compiled(x)
    gradients = torch.autograd.grad(found.square().sum(), weights)
    with option.context(verify_level=True), torch.no_grad():
        assert_close(torch.compile(model, backend="hidet")(x), found.detach().double(), 1e-5)
    exact = example.MLP(12, 20).double()
    exact.load_state_dict(model.state_dict())
    expected = exact.reference(x.double())
    assert_close(found.detach(), expected.detach(), 1e-5)
    wanted = torch.autograd.grad(expected.square().sum(), list(exact.parameters()))
    for one, other in zip(gradients, wanted, strict=True):
        assert_close(one, other, 1e-5)


def test_programs():
    """Each example runs as a program, in a process that has none of what tests have made."""
    run = "import runpy, sys\nfor path in sys.argv[1:]: runpy.run_path(path, run_name='__main__')"
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", run, *map(str, sorted(EXAMPLES.glob("*.py")))],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("hello_world", ()),
        ("matmul_simt", (70, 300, 33)),
        ("rms_norm", (6, 384)),
        ("matmul_hopper", (512, 512, 512)),
    ],
)
def test_nvcc_takes_the_source(load_example, name, sizes, tmp_path):
    """The source is CUDA C++ too."""
    source = load_example(name).build(*sizes).source()
    report = Nvcc("sm_90a").compile(source, tmp_path / "kernel.cubin")
    assert (tmp_path / "kernel.cubin").stat().st_size > 0
    # Of wgmma ptxas warns where it has put products one after the other.
    assert "warning" not in report.log.lower()
    assert not any(each.spill_store_bytes for each in report.resources.values())


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_nvcc_takes_the_tensor_cores(load_example, arch, tmp_path):
    """The source is CUDA C++ for every machine that has the instructions."""
    source = load_example("matmul_tensor_core").build(130, 136, 72).source()
    Nvcc(arch).compile(source, tmp_path / "kernel.cubin")
    assert (tmp_path / "kernel.cubin").stat().st_size > 0


@pytest.mark.gpu
@pytest.mark.parametrize(("m", "n", "k"), [(64, 256, 16), (70, 300, 33)])
def test_matmul_simt_on_a_gpu(load_example, m, n, k):
    """The same module runs where its tensors are."""
    a, b, c = uniform(m, k), uniform(k, n), torch.empty(m, n)
    build = load_example("matmul_simt").build(m, n, k)
    on_gpu = poison(c.cuda())
    build(a.cuda(), b.cuda(), on_gpu)
    assert_close(on_gpu, (a.double() @ b.double()).relu(), 1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize(("m", "n", "k"), [(128, 128, 32), (130, 136, 72), (1000, 1040, 520)])
def test_matmul_tensor_core_on_a_gpu(load_example, m, n, k):
    """The same module runs where its tensors are."""
    a, b = uniform(m, k, dtype=torch.half), uniform(k, n, dtype=torch.half)
    on_gpu = poison(torch.empty(m, n, dtype=torch.half).cuda())
    load_example("matmul_tensor_core").build(m, n, k)(a.cuda(), b.cuda(), on_gpu)
    assert_close(on_gpu, a.double() @ b.double(), 1e-3)


@pytest.mark.gpu
@pytest.mark.parametrize(("m", "n", "k"), [(256, 512, 128), (1024, 768, 576)])
def test_matmul_hopper_on_a_gpu(load_example, m, n, k):
    """Tensor maps and more than 48 KiB of shared memory on a GPU."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs a Hopper GPU")
    a, b = uniform(m, k, dtype=torch.half).cuda(), uniform(n, k, dtype=torch.half).cuda()
    c = poison(torch.empty(m, n, dtype=torch.half, device="cuda"))
    load_example("matmul_hopper").build(m, n, k)(a, b, c)
    assert_close(c, a.double() @ b.double().T, 1e-3)
