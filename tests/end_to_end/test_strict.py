"""Compiled models in the strict mode: kernels of our own are clean, a missing barrier shows."""

import copy
import importlib.util
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

import hidet
from hidet import option
from hidet.errors import HidetError
from hidet.lang import attrs, f32, shared_tensor
from hidet.lang.cuda import blockIdx, syncthreads, threadIdx
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

MODELS = Path(__file__).parents[2] / "examples" / "models"
OF_EXAMPLES = {
    "mlp": ("mlp", "mlp", (), {"sizes": (40, 24, 10)}, (3, 40)),
    "lenet": ("lenet", "lenet", (), {}, (1, 1, 28, 28)),
    "block of GPT-2": ("gpt", "gpt_block", (48, 3, 16), {}, (1, 12, 48)),
    "block of ResNet": ("resnet", "BasicBlock", (8, 16, 2), {}, (1, 8, 10, 10)),
}
"""Module, function, arguments, keywords, shape of the input."""


@pytest.fixture(autouse=True)
def _strict():
    """Compile strictly, and anew."""
    torch._dynamo.reset()
    with option.context(strict=True):
        yield


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.sample(2)
def test_kernels_are_clean(name):
    """No kernel does what the strict mode finds, and the results are right."""
    function, shapes = GRAPHS[name]
    inputs = [torch.rand(shape).sub_(0.5) for shape in shapes]
    compiled = torch.compile(function, backend="hidet")
    for seed in (0, 1):
        with option.context(strict_seed=seed), torch.no_grad():
            assert_close(compiled(*inputs), function(*(x.double() for x in inputs)), 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_EXAMPLES)
def test_models_are_clean(name):
    """Neither do those of small models."""
    module_name, make, arguments, keywords, shape = OF_EXAMPLES[name]
    specification = importlib.util.spec_from_file_location(
        module_name, MODELS / f"{module_name}.py"
    )
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    model, x = getattr(module, make)(*arguments, **keywords).eval(), torch.rand(shape).sub_(0.5)
    compiled = torch.compile(model, backend="hidet", options={"fallback": False})
    for seed in (0, 1):
        with option.context(strict_seed=seed), torch.no_grad():
            assert_close(compiled(x), copy.deepcopy(model).double()(x.double()), 1e-4)


def test_sources_are_checked(tmp_path):
    """The option reaches the passes and the compiler."""
    model = nn.Linear(20, 30)
    with option.context(dump_dir=tmp_path), torch.no_grad():
        torch.compile(model, backend="hidet")(torch.rand(20, 20))
    names = [path.name.partition("_")[2] for path in sorted(tmp_path.glob("*/*.mlir"))]
    assert names.count("instrument-memory.mlir") == 2
    (source,) = tmp_path.glob("*/kernels/*.cu")
    assert "hidet::check_read(&sa[" in source.read_text()
    assert "HIDET_SOURCE_LINES(" in source.read_text()


def test_missing_barrier_is_found(monkeypatch, tmp_path):
    """Without the pass that inserts barriers, the error names the line of the model."""
    others = tuple(name for name in pipelines.LOWERING if name != "insert-barriers")
    monkeypatch.setitem(pipelines.PIPELINES, "lowering-pipeline", others)
    compiled = torch.compile(lambda x, y: x @ y, backend="hidet")
    with option.context(cache_dir=tmp_path), pytest.raises(HidetError, match="seed 0") as caught:
        compiled(torch.rand(40, 50), torch.rand(50, 60))
    assert caught.match(r"(nothing has written so far|a race: thread)")
    assert caught.match(r"s[ab]\[\d+, \d+\] in .*test_strict\.py:\d+")


def build_reverse(bug):
    """Build a kernel that reverses rows, with a barrier or without it."""
    with hidet.script_module() as module:

        @hidet.script
        def reverse(x: f32[4, 64], y: f32[4, 64]):
            attrs.cuda.grid_dim = 4
            attrs.cuda.block_dim = 64
            row = shared_tensor("float32", [64])
            row[threadIdx.x] = x[blockIdx.x, threadIdx.x]
            if not bug:
                syncthreads()
            y[blockIdx.x, threadIdx.x] = row[63 - threadIdx.x]

    return module.build()


@pytest.mark.parametrize("backend", ["aot_eager", "hidet"])
@pytest.mark.parametrize("bug", [False, True], ids=["right", "bug"])
def test_scripts_in_models(backend, bug):
    """A kernel of a script that a model calls is checked; the error names its line."""
    reverse = build_reverse(bug)

    @torch.compile(backend=backend, fullgraph=True)
    def model(x):
        y = torch.empty_like(x)
        reverse(x * 2, y)
        return y + 1

    x = torch.rand(4, 64)
    for seed in (0, 1):
        with option.context(strict_seed=seed), torch.no_grad():
            if not bug:
                assert_close(model(x), x.double().flip(1) * 2 + 1, 1e-5)
                continue
            with pytest.raises(
                HidetError, match=rf"test_strict\.py:\d+.*\(seed {seed}\)"
            ) as caught:
                model(x)
            assert caught.match(r"(nothing has written so far|a race: thread)")
            assert caught.match(r"row\[\d+\] in ")
