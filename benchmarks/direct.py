"""Host overhead of direct calls and saved graphs: `hidet.compile`, `hidet.load_compiled`.

    python benchmarks/direct.py [--device cuda]

Prints for sin(cos(x)) and ResNet-50 the host time of a call, and how long a new process takes to
load a saved ResNet-50, and to call it the first time. On a GPU the host time is all of a call, of
which the GPU's work is waited for between bursts only; on the CPU, where a call runs its kernels
itself, it is what is left of it without them.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import torch
from cases import CASES

import hidet
from hidet import option
from hidet.backend.cache.artifacts import open_store
from hidet.driver.compiler import native_library
from hidet.frontends.torch.direct import DirectCall
from hidet.runtime import compiled_graph
from hidet.runtime.snapshots import load_snapshots

BURST = 20
"""Calls, after which a GPU is waited for: so few do not fill its queue."""

LOAD = """
import sys, time, torch
import hidet.graph
from hidet.lowering import pipelines
pipelines.run_pipeline = None  # no pass runs
x = torch.randn(1, 3, 224, 224, device=sys.argv[2])
if x.is_cuda:
    torch.cuda.synchronize()
start = time.perf_counter()
graph = hidet.load_compiled(sys.argv[1])
loaded = time.perf_counter()
graph(x)
print(f"{loaded - start:.3f} s, and {time.perf_counter() - loaded:.3f} s for the first call")
"""


def check_weights_natively() -> None:
    """Check weights in native code on the CPU too, as on a GPU."""
    store = open_store(option.get_option("cache_dir"), option.get_option("cache_size_limit"))
    snapshots = load_snapshots(native_library(store))
    compiled_graph.load_snapshots = lambda _: snapshots


def without_kernels(fast: DirectCall) -> None:
    """Make calls on the CPU skip their kernels."""
    assert fast.program.runnable is not None
    (executor,) = vars(fast.program.runnable)["_executors"].values()
    executor._launch = lambda: None


def host_microseconds(call: Callable[[], object]) -> float:
    """Return the host time of a call: the best mean over bursts."""
    best = float("inf")
    for _ in range(200):
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        start = perf_counter()
        for _ in range(BURST):
            call()
        best = min(best, (perf_counter() - start) / BURST)
    return best * 1e6


@torch.no_grad()
def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Measure calls and saved graphs.")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    device = parser.parse_args().device
    if device == "cpu":
        check_weights_natively()
    resnet, image = CASES["resnet50"].make(device, torch.float32)
    cases = {
        "sin(cos(x))": (lambda x: torch.sin(torch.cos(x)), torch.randn(10000, device=device)),
        "ResNet-50": (resnet, image),
    }
    for name, (model, x) in cases.items():
        fast = hidet.compile(model, x)
        assert isinstance(fast, DirectCall)
        if device == "cpu":
            without_kernels(fast)
        print(f"{name}: {host_microseconds(lambda x=x, fast=fast: fast(x)):.2f} us a call")
    file = Path(tempfile.mkdtemp()) / "resnet50.hidet"
    hidet.save_compiled(hidet.compile(resnet, image), file)
    command = [sys.executable, "-c", LOAD, str(file), device]
    found = subprocess.run(command, check=True, text=True, capture_output=True)
    print(f"loading {file.stat().st_size >> 20} MiB: {found.stdout}", end="")


if __name__ == "__main__":
    main()
