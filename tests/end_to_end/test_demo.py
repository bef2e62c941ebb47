"""The demo: it runs, and each of its kernels compiles for GPUs."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from captured_program import captured_program
from xdsl.parser import Parser

from hidet.backend.build import build_kernels
from hidet.backend.cache import Store, artifact_key
from hidet.backend.toolchains import Nvcc
from hidet.context import make_context
from hidet.driver.compilation import print_sources
from hidet.lowering.pipelines import PassOptions, run_pipeline

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def resnet18():
    """Return the program of the model of the demo."""
    model = runpy.run_path(str(EXAMPLES / "models" / "resnet.py"))["resnet18"]()
    return captured_program(model.eval(), torch.randn(1, 3, 224, 224))


def test_output(shared_cache):
    """It prints a kernel at each level, the stages, the error and the speed beside eager torch."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "resnet18.py"), "--device", "cpu"],
        text=True,
        capture_output=True,
        env={**os.environ, "HIDET_CACHE_DIR": str(shared_cache)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    text = done.stdout
    pieces = re.findall(r"^--- (.*)$", text, re.MULTILINE)
    assert pieces == [
        "graph",
        "compute",
        "task",
        "cuda",
        "CUDA",
        "time",
        "error",
        "speed, ms a call",
    ]
    for expected in (
        "graph.conv2d",
        "compute.fusion",
        "task.copy",
        "cuda.kernel",
        "__global__ void",
        "lower-graph-to-compute",
        "build ",
    ):
        assert expected in text
    assert re.search(r"^eager +\d+\.\d+$\n^hidet +\d+\.\d+$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("arch", "every"),
    [
        ("sm_90a", 4),
        pytest.param("sm_80", 1, marks=pytest.mark.slow),
        pytest.param("sm_90a", 1, marks=pytest.mark.slow),
    ],
)
def test_kernels_compile(resnet18, arch, every, tmp_path):
    """The kernels of the demo are CUDA that nvcc takes, and stay out of local memory."""
    context = make_context()
    module = Parser(context, resnet18).parse_module()
    run_pipeline(module, context, PassOptions(arch=arch))
    sources = print_sources(module)
    assert len(sources) > 10
    sources = dict(list(sources.items())[::every])
    store, toolchain = Store(tmp_path, max_bytes=1 << 30), Nvcc(arch)
    build_kernels(sources, toolchain, store.kernels)
    for symbol, source in sources.items():
        entry = store.kernels.entry(artifact_key(source, toolchain.fingerprint()))
        (used,) = entry.meta["resources"].values()
        assert used["registers"] <= 128, symbol
        assert used["stack_bytes"] == used["spill_store_bytes"] == 0, symbol
