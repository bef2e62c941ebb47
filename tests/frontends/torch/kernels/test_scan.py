"""The kernels of scans, with the threads of a GPU, in strict mode on the CPU."""

import shutil

import pytest
import torch

import hidet
from hidet import option
from hidet.backend.toolchains import Nvcc
from hidet.frontends.torch.decomposed import scans
from hidet.frontends.torch.kernels.scan import scan_columns, scan_rows

SCANS = {
    "sum": lambda x: x.cumsum(1),
    "product": lambda x: x.cumprod(1),
    "maximum": lambda x: x.cummax(1).values,
    "minimum": lambda x: x.cummin(1).values,
    "logsumexp": lambda x: x.logcumsumexp(1),
}
SPECIALS = [torch.nan, torch.inf, -torch.inf]


def random(*shape):
    return 1 + torch.randn(shape, dtype=torch.float64) / 8


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("special", [None, *SPECIALS])
@pytest.mark.sample(4)
def test_joins(tmp_path, name, special):
    """What is not finite stays what torch makes of it, in later elements only."""
    x = random(3, 50, 2)
    if special is not None:
        x[1, 20] = special
        x[2, [0, 30]] = special
    with option.context(cache_dir=tmp_path, strict=True):
        for kernel in (scan_columns(*KIND, 4, name), scan_rows(*KIND, 2, 16, name)):
            out = torch.full_like(x, 7)
            kernel(x, out)
            torch.testing.assert_close(out, SCANS[name](x), equal_nan=True)


KIND = ("float64", 3, 50, 2)


@pytest.mark.parametrize(
    ("shape", "columns", "runs"),
    [
        ((2, 300, 1), 1, 32),
        ((2, 304, 1), 1, 32),
        ((2, 24, 1), 1, 4),
        ((3, 33, 1), 1, 64),
        ((2, 37, 5), 4, 8),
        ((1, 900, 2), 2, 64),
        ((1, 100, 40), 16, 4),
    ],
    ids=str,
)
@pytest.mark.sample(2)
def test_shapes(tmp_path, shape, columns, runs):
    """Runs that are short or empty, rows in vectors or not, and blocks with fewer columns."""
    with option.context(cache_dir=tmp_path, strict=True):
        x = random(*shape)
        out = torch.full_like(x, 7)
        scan_rows("float64", *shape, columns, runs, "sum")(x, out)
    torch.testing.assert_close(out, x.cumsum(1))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(2, 700), (3, 9), (1, 130, 3)], ids=str)
def test_parts(tmp_path, monkeypatch, shape):
    """Rows that do not fit in shared memory are scanned in parts."""
    monkeypatch.setattr(scans, "SHARED_BYTES", 256)
    monkeypatch.setitem(scans.THREADS, "cpu", 64)
    x = random(*shape).float()
    with option.context(cache_dir=tmp_path, strict=True):
        sums = torch.compile(lambda x: x.cumsum(1), backend="hidet", dynamic=False)(x)
        found, where = torch.compile(lambda x: x.cummax(1), backend="hidet", dynamic=False)(x)
    torch.testing.assert_close(sums, x.cumsum(1))
    assert torch.equal(found, x.cummax(1).values)
    assert torch.equal(where, x.cummax(1).indices)


@pytest.mark.slow
def test_constants(tmp_path):
    """Sums of what depends on no input are made of operators, which are folded."""

    def function(x):
        first = torch.arange(300) % 7 == 0
        return x + first.long().cumsum(0), x.cumsum(0)

    x = torch.randint(1 << 40, (300,))
    with option.context(cache_dir=tmp_path, strict=True):
        found = torch.compile(function, backend="hidet", dynamic=False)(x)
    for each, wanted in zip(found, function(x), strict=True):
        assert torch.equal(each, wanted)
    (graph,) = hidet.torch.compiled_graphs()[-1:]
    assert graph.text.count("graph.call_kernel") == 1


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_nvcc_takes_the_source(tmp_path, target):
    for name in SCANS:
        source = scan_rows("float32", 4, 16384, 1, 1, 1024, name).source()
        Nvcc(target).compile(source, tmp_path / "scan.cubin")


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int64])
def test_on_a_gpu(dtype):
    """Short columns, rows in one block, columns side by side, and parts."""
    for shape in ((20000, 33), (5, 7), (5, 1000), (4, 1024, 40), (2, 50257), (1, 1 << 18)):
        x = (torch.randn(shape, device="cuda") * 8).to(dtype)
        scan = torch.compile(lambda x: (x.cumsum(1), *x.cummax(1)), backend="hidet", dynamic=False)
        sums, found, where = scan(x)
        wide = x.double() if dtype.is_floating_point else x
        tolerance = {} if dtype is torch.int64 else {"rtol": 2e-3, "atol": 1}
        torch.testing.assert_close(sums.to(wide.dtype), wide.cumsum(1), **tolerance)
        assert torch.equal(found, x.cummax(1).values)
        assert torch.equal(where, x.cummax(1).indices)
