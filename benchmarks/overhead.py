"""What hidet costs beside its kernels: a call on the host, and a start with a full cache.

    python benchmarks/overhead.py [--model resnet18] [--dtype float32]

Prints the host time of a call of hidet (dynamo's and AOTAutograd's come on top), the CUDA Graph
launches and the kernel launches that the profiler sees in one call of the model, and the stages of
a warm start in a new process. Needs a GPU.
"""

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import patch

import torch
from cases import CASES
from cuda.bindings import driver
from torch.profiler import ProfilerActivity, profile

from hidet.frontends.torch import aot
from hidet.runtime.snapshots import NativeSnapshots, Snapshots

Call = tuple[Callable[[list[Any]], object], list[Any]]
"""What hidet hands to torch in the place of a graph, and the arguments that torch passes it."""


def compile_and_record(
    name: str, dtype: torch.dtype, device: str = "cuda"
) -> tuple[Callable[[], object], Call]:
    """Compile a model; give a call of it, and the call of hidet inside."""
    calls: list[Call] = []
    compile_aten = aot.compile_aten

    def recording(*arguments: Any) -> Callable[[list[Any]], object]:
        function = compile_aten(*arguments)

        def call(values: list[Any]) -> object:
            calls.append((function, list(values)))
            return function(values)

        call._boxed_call = True
        return call

    aot.compile_aten = recording
    model, x = CASES[name].make(device, dtype)
    compiled = torch.compile(model, backend="hidet")
    compiled(x)
    aot.compile_aten = compile_aten
    (call,) = calls
    return lambda: compiled(x), call


def host_microseconds(call: Call, kept: int) -> float:
    """Return the host time of one call of hidet: the best mean over bursts of 20 calls.

    All of hidet is in it, from torch's arguments to torch's results. The GPU is waited for between
    bursts only, so that its queue never fills.

    Args:
        call: the function and its arguments.
        kept: how many outputs stay alive, so that new ones are at other addresses.
    """
    function, arguments = call
    alive: list[object] = [None] * kept
    places = cycle(range(kept)) if kept else None
    best = float("inf")
    for _ in range(50):
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        start = perf_counter()
        for _ in range(20):
            outputs = function(arguments)
            if places is not None:
                alive[next(places)] = outputs
        best = min(best, (perf_counter() - start) / 20)
    return best * 1e6


def own_microseconds(name: str, dtype: torch.dtype) -> float:
    """Return the host time of one call without the driver's part: no graph is launched."""
    torch._dynamo.reset()
    done = (driver.CUresult.CUDA_SUCCESS,)
    with (
        patch.object(driver, "cuGraphExecKernelNodeSetParams", lambda *_: done),
        patch.object(NativeSnapshots, "launcher", lambda *_: lambda _stream: 0),
    ):
        _, call = compile_and_record(name, dtype)
        return host_microseconds(call, 3)


def launches(name: str, dtype: torch.dtype) -> Counter[str]:
    """Count what one call hands to the CUDA driver, by the name of the driver's function.

    torch's own launches go through the runtime API; the profiler counts those.
    """
    counted: Counter[str] = Counter()

    def counting(function_name: str, function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            counted[function_name] += 1
            return function(*arguments)

        return call

    for function_name in ("cuGraphLaunch", "cuLaunchKernel", "cuGraphExecKernelNodeSetParams"):
        function = getattr(driver, function_name)
        setattr(driver, function_name, counting(function_name, function))
    torch._dynamo.reset()
    # Native code would launch graphs by the address of the driver's function.
    with patch("hidet.runtime.compiled_graph.load_snapshots", lambda _: Snapshots()):
        function, _ = compile_and_record(name, dtype)
    function()
    torch.cuda.synchronize()
    counted.clear()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        function()
        torch.cuda.synchronize()
    events = profiler.key_averages()
    counted.update({e.key: e.count for e in events if e.key.startswith("cudaLaunch")})
    return counted


WARM_START = """
import sys, time
sys.path.insert(0, {folder!r})
import torch, hidet
from cases import CASES
model, x = CASES[{name!r}].make("cuda", torch.{dtype})
with torch.no_grad():
    torch.compile(model, backend="hidet")(x)
report = hidet.torch.compiled_graphs()[-1].report
assert report.cached
print(report.table())
"""


@torch.no_grad()
def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Measure what hidet costs beside its kernels.")
    parser.add_argument("--model", default="resnet18", choices=list(CASES))
    parser.add_argument("--dtype", default="float32")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("this benchmark needs a CUDA device")
    dtype = getattr(torch, arguments.dtype)
    _, call = compile_and_record(arguments.model, dtype)
    print(f"host, outputs dropped at once: {host_microseconds(call, 0):8.2f} us")
    print(f"host, the last three kept:     {host_microseconds(call, 3):8.2f} us")
    own = own_microseconds(arguments.model, dtype)
    print(f"host, without the driver:      {own:8.2f} us")
    print(f"launches in one call: {dict(launches(arguments.model, dtype))}")
    folder = str(Path(__file__).parent)
    program = WARM_START.format(folder=folder, name=arguments.model, dtype=arguments.dtype)
    warm = subprocess.run(
        [sys.executable, "-c", program], check=True, text=True, capture_output=True
    )
    print(f"warm start in a new process:\n{warm.stdout}", end="")


if __name__ == "__main__":
    main()
