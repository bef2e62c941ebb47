"""Compiled models in the strict mode: kernels of our own are clean, a missing barrier shows."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from hidet import option
from hidet.errors import HidetError
from hidet.lowering import pipelines
from hidet.testing.numeric import assert_close

GRAPHS = {
    "softmax": (lambda x: x.softmax(-1), ((7, 300),)),
    "sum of columns": (lambda x: x.sum(0), ((70, 33),)),
    "matmul": (lambda x, y: (x @ y).relu(), ((70, 50), (50, 90))),
    "attention": (functional.scaled_dot_product_attention, ((1, 2, 20, 32),) * 3),
    "convolution": (
        lambda x, w: functional.max_pool2d(functional.conv2d(x, w, padding=1).relu(), 2),
        ((1, 3, 12, 12), (8, 3, 3, 3)),
    ),
}


@pytest.fixture(autouse=True)
def _strict():
    """Compile strictly, and anew."""
    torch._dynamo.reset()
    with option.context(strict=True):
        yield


@pytest.mark.parametrize("name", GRAPHS)
def test_kernels_are_clean(name):
    """No kernel does what the strict mode finds, and the results are right."""
    function, shapes = GRAPHS[name]
    inputs = [torch.rand(shape).sub_(0.5) for shape in shapes]
    compiled = torch.compile(function, backend="hidet")
    for seed in (0, 1):
        with option.context(strict_seed=seed), torch.no_grad():
            assert_close(compiled(*inputs), function(*(x.double() for x in inputs)), 1e-5)


def test_sources_are_checked(tmp_path):
    """The option reaches the passes and the compiler."""
    model = nn.Linear(20, 30)
    with option.context(dump_dir=tmp_path), torch.no_grad():
        torch.compile(model, backend="hidet")(torch.rand(5, 20))
    names = [path.name.partition("_")[2] for path in sorted(tmp_path.glob("*/*.mlir"))]
    assert names.count("instrument-memory.mlir") == 2
    (source,) = tmp_path.glob("*/kernels/*.cu")
    assert "hidet::check_read(&sa[" in source.read_text()
    assert "HIDET_SOURCE_LINES(" in source.read_text()


def test_missing_barrier_is_found(monkeypatch, tmp_path):
    """Without the pass that inserts barriers, the error names the line of the model."""
    task = tuple(name for name in pipelines.TASK if name != "insert-barriers")
    monkeypatch.setitem(
        pipelines.PIPELINES,
        "hidet-pipeline",
        (*pipelines.GRAPH, *pipelines.COMPUTE, *task, *pipelines.CUDA, *pipelines.HOST),
    )
    compiled = torch.compile(lambda x, y: x @ y, backend="hidet")
    with option.context(cache_dir=tmp_path), pytest.raises(HidetError, match="seed 0") as caught:
        compiled(torch.rand(40, 50), torch.rand(50, 60))
    assert caught.match(r"(nothing has written so far|a race: thread)")
    assert caught.match(r"s[ab]\[\d+, \d+\] in .*test_strict\.py:\d+")
