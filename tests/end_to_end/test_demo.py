"""The demo: it runs, and each of its kernels compiles for GPUs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.parser import Parser

from hidet.backend.build import build_kernels
from hidet.backend.cache import Store, artifact_key
from hidet.backend.toolchains import Nvcc
from hidet.context import make_context
from hidet.driver.compilation import print_sources
from hidet.lowering.pipelines import PassOptions, run_pipeline

DEMO = Path(__file__).parents[2] / "examples" / "resnet18.py"


@pytest.fixture(scope="module")
def demo(tmp_path_factory, shared_cache):
    """Run the demo on the CPU; give what it prints and the folder with its dump."""
    dump = tmp_path_factory.mktemp("dump")
    environment = {
        **os.environ,
        "HIDET_DUMP": str(dump),
        "HIDET_CACHE_DIR": str(shared_cache),
        "HIDET_VERIFY_LEVEL": "1",
    }
    command = [sys.executable, str(DEMO), "--device", "cpu"]
    done = subprocess.run(command, text=True, capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, dump


def test_output(demo):
    """It prints a kernel at each level, the stages, the error and the speed beside eager torch."""
    text, _ = demo
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
    [("sm_80", 5), pytest.param("sm_80", 1, marks=pytest.mark.slow), ("sm_90a", 1)],
)
def test_kernels_compile(demo, arch, every, tmp_path):
    """The kernels of the demo are CUDA that nvcc takes, and stay out of local memory."""
    _, dump = demo
    (program,) = [path for path in dump.glob("*/00_graph.mlir") if "max_pool" in path.read_text()]
    context = make_context()
    module = Parser(context, program.read_text()).parse_module()
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
