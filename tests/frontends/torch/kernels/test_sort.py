"""The kernel that sorts rows, with the threads of a GPU, in strict mode on the CPU."""

import random
import shutil

import pytest
import torch

from hidet import option
from hidet.backend.toolchains import Nvcc
from hidet.frontends.torch.decomposed import sorting
from hidet.frontends.torch.kernels.sort import sort_rows


@pytest.mark.parametrize(("length", "threads"), [(2, 32), (33, 32), (64, 32), (300, 64), (600, 32)])
@pytest.mark.sample(2)
def test_ascending(tmp_path, length, threads):
    """Any length, with several warps, of which some wait for each other and some do not."""
    rows = random.randint(2, 6)
    with option.context(cache_dir=tmp_path, strict=True):
        kernel = sort_rows("int64", rows, length, threads, False)
        x = torch.randint(-(1 << 62), 1 << 62, (rows, length))
        out = torch.full_like(x, 7)
        kernel(x, out)
    assert torch.equal(out, x.sort(-1).values)


@pytest.mark.parametrize("length", [64, 256])
def test_bitonic(tmp_path, length):
    """What both halves have from either end is ordered by the steps of one merge."""
    with option.context(cache_dir=tmp_path, strict=True):
        kernel = sort_rows("int32", 3, length, 64, True)
        x = torch.randint(-1000, 1000, (3, length), dtype=torch.int32)
        halves = x.reshape(3, 2, -1).sort(-1).values
        out = torch.full_like(x, 7)
        kernel(torch.cat([halves[:, 0], halves[:, 1].flip(-1)], -1), out)
    assert torch.equal(out, x.sort(-1).values)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_nvcc_takes_the_source(tmp_path, target):
    source = sort_rows("int64", 4, 8192, 1024, False).source()
    Nvcc(target).compile(source, tmp_path / "sort.cubin")


@pytest.mark.slow
def test_one_row_in_parts(tmp_path, monkeypatch):
    """Of a padded row, the kernel of the last merge stores more than the first elements."""
    monkeypatch.setattr(sorting, "SHARED_BYTES", 256)
    x = torch.randn(1, 100)
    with option.context(cache_dir=tmp_path, strict=True):
        found = torch.compile(lambda x: x.topk(5), backend="hidet", dynamic=False)(x)
    for each, wanted in zip(found, x.topk(5), strict=True):
        assert torch.equal(each, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 20])
def test_first_elements_of_parts(tmp_path, monkeypatch, k):
    """The parts' first elements are sorted, if they are few: in one block of padded rows."""
    monkeypatch.setattr(sorting, "LEAST_PART", 16)
    monkeypatch.setitem(sorting.THREADS, "cpu", (32, 1024))
    x = torch.randint(-1000, 1000, (2, 150)) / 7
    with option.context(cache_dir=tmp_path, strict=True):
        found = torch.compile(lambda x: x.topk(k), backend="hidet", dynamic=False)(x)
    for each, wanted in zip(found, x.sort(dim=-1, descending=True, stable=True), strict=True):
        assert torch.equal(each, wanted[:, :k])


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int64])
def test_on_a_gpu(dtype):
    """Rows in one block, and in parts, which are merged."""
    for rows, length in ((5, 17), (5, 1000), (5, 8192), (5, 50257), (1, 50257)):
        x = torch.randint(-1000, 1000, (rows, length), device="cuda").to(dtype)
        sort = torch.compile(lambda x: x.sort(dim=-1, stable=True), backend="hidet", dynamic=False)
        for found, wanted in zip(sort(x), x.sort(dim=-1, stable=True), strict=True):
            assert torch.equal(found, wanted)
