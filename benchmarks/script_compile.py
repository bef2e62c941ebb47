"""How long scripts take: to become CUDA, and to start where their kernels are in the cache.

    python benchmarks/script_compile.py [repetitions]

The first table is about trace and passes of the matmul of the tutorial; nothing is compiled by nvcc
or g++, and the first time includes what Python imports on the way. The second one is about a
process that runs a script of a few lines on the CPU, whose kernel is in the cache, beside one that
only has torch do the same, by turns: until the result is there, and until the process has ended,
where Python takes apart what was loaded. Times of the CPU say more where other work runs beside it.
"""

import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

EXAMPLE = Path(__file__).parents[1] / "examples" / "script" / "matmul_simt.py"

TORCH = """
import os, time
import torch

x, y = torch.rand(1000), torch.empty(1000)
torch.mul(x, 2.0, out=y)
"""

SCRIPT = """
import os, time
import torch
import hidet
from hidet.lang import attrs, f32
from hidet.lang.cuda import blockIdx, threadIdx

with hidet.script_module() as module:

    @hidet.script
    def scale(x: f32[1000], y: f32[1000]):
        attrs.cuda.grid_dim = 4
        attrs.cuda.block_dim = 256
        i = blockIdx.x * 256 + threadIdx.x
        if i < 1000:
            y[i] = x[i] * 2.0

x, y = torch.rand(1000), torch.empty(1000)
module.build()(x, y)
"""

CHECK = """
now = time.perf_counter(), time.process_time()
assert torch.equal(y, 2 * x)
print(*now)
"""

ROWS = ("result, wall", "result, CPU", "process, wall", "process, CPU")
"""What is measured of a process, in seconds."""


def load_example() -> ModuleType:
    """Import the example."""
    specification = importlib.util.spec_from_file_location("matmul_simt", EXAMPLE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def start(path: Path) -> tuple[float, ...]:
    """Run a program in a process of its own; return the times of `ROWS`."""
    begin = time.perf_counter()
    with subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        wall, cpu = map(float, process.stdout.read().split())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    end = time.perf_counter()
    return wall - begin, cpu, end - begin, usage.ru_utime + usage.ru_stime


def warm_start(repetitions: int) -> None:
    """Measure starts from a cache that has the kernel, and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        programs = {"torch": TORCH, "script": SCRIPT}
        paths = {name: Path(folder, f"start_{name}.py") for name in programs}
        times: dict[str, list[tuple[float, ...]]] = {name: [] for name in programs}
        for name, path in paths.items():
            path.write_text(programs[name] + CHECK)
            start(path)
        for _ in range(repetitions):
            for name, path in paths.items():
                times[name].append(start(path))
    print(f"\n{'warm start':<16} {'torch ms':>9} {'script ms':>9} {'more ms':>9} {'least':>9}")
    for row, *pairs in zip(ROWS, *(zip(*times[name], strict=True) for name in times), strict=True):
        torch_ms, script_ms = (1e3 * statistics.median(pair) for pair in pairs)
        least = 1e3 * (min(pairs[1]) - min(pairs[0]))
        more = script_ms - torch_ms
        print(f"{row:<16} {torch_ms:9.0f} {script_ms:9.0f} {more:9.0f} {least:9.0f}")


def lowering(repetitions: int) -> None:
    """Measure how long a script takes to become CUDA, and print a table."""
    example = load_example()
    times: list[float] = []
    for number in range(repetitions):
        begin = time.perf_counter()
        example.build(4096, 4096, 4096 - 8 * number).source()
        times.append(time.perf_counter() - begin)
    first, *others = (1e3 * seconds for seconds in times)
    print(f"{'script to CUDA':<16} {'ms':>8}")
    for name, value in (
        ("first", first),
        ("median", statistics.median(others)),
        ("slowest", max(others)),
    ):
        print(f"{name:<16} {value:8.1f}")


def main() -> None:
    """Measure, and print tables."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    lowering(repetitions)
    warm_start(repetitions)


if __name__ == "__main__":
    main()
