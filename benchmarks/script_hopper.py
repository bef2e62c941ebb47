"""The matrix product of `examples/script/matmul_hopper.py` against `torch.matmul`, on a Hopper GPU.

    python benchmarks/script_hopper.py [size ...]

Random data, results checked against float64. Each time is that of a call among several in a row,
so that the host is left out; the median of rounds in which both take turns, since the GPU lowers
its clock under load.
"""

import importlib.util
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import torch

EXAMPLE = Path(__file__).parents[1] / "examples" / "script" / "matmul_hopper.py"
ROUNDS, CALLS = 15, 10


def load_example() -> ModuleType:
    """Import the example."""
    specification = importlib.util.spec_from_file_location("matmul_hopper", EXAMPLE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def milliseconds(call: Callable[[], object]) -> float:
    """Return how long one call takes, among several in a row."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(CALLS):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / CALLS


def compare(example: ModuleType, size: int) -> tuple[float, float, float]:
    """Return the TFLOP/s of torch and of the example for square matrices, and its error."""
    a, b = (torch.rand(size, size, device="cuda").mul_(2).sub_(1).half() for _ in range(2))
    c, d = torch.full_like(a, torch.nan), torch.empty_like(a)
    matmul = example.build(size, size, size)
    calls = (lambda: torch.matmul(a, b.T, out=d)), (lambda: matmul(a, b, c))
    for call in calls:
        call()
    wanted = a.double() @ b.double().T
    error = (
        torch.dist(c.double(), wanted).item() / torch.dist(wanted, torch.zeros_like(wanted)).item()
    )
    del wanted
    times: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for call, found in zip(calls, times, strict=True):
            found.append(milliseconds(call))
    torch_rate, rate = (2 * size**3 / statistics.median(found) / 1e9 for found in times)
    return torch_rate, rate, error


def main() -> None:
    """Measure, and print a table."""
    sizes = [int(size) for size in sys.argv[1:]] or [4096, 8192]
    example = load_example()
    print(f"{'size':>6} {'torch':>8} {'script':>8} {'ratio':>6} {'error':>9}   (TFLOP/s)")
    for size in sizes:
        torch_rate, rate, error = compare(example, size)
        ratio = rate / torch_rate
        print(f"{size:6} {torch_rate:8.0f} {rate:8.0f} {ratio:6.2f} {error:9.1e}")


if __name__ == "__main__":
    main()
