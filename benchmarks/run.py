"""How fast models run: eager torch, torch.compile with inductor, and hidet, in one run.

    python benchmarks/run.py [--models resnet18 gpt2] [--dtypes float32 float16] [--rivals ...]

TF32 is off. Times are medians of calls that are waited for; errors are |a - r| / (|r| + 1) against
float64. All backends run in this process, one after the other, on the same weights.
"""

import argparse
import copy
import gc
import statistics
from collections.abc import Callable
from time import perf_counter

import torch
from cases import CASES
from torch import nn

from hidet.testing.numeric import error_of

BACKENDS: dict[str, Callable[[nn.Module], Callable[..., torch.Tensor]]] = {
    "eager": lambda model: model,
    "inductor": lambda model: torch.compile(model, mode="default"),
    "reduce-overhead": lambda model: torch.compile(model, mode="reduce-overhead"),
    "max-autotune": lambda model: torch.compile(model, mode="max-autotune"),
    "hidet": lambda model: torch.compile(model, backend="hidet"),
}
"""What makes a model fast, by name."""


def synchronize() -> None:
    """Wait for the GPU, if there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def median_ms(function: Callable[[], object], seconds: float) -> float:
    """Return the median time of a call, in milliseconds."""
    for _ in range(3):
        function()
    synchronize()
    times: list[float] = []
    end = perf_counter() + seconds
    while perf_counter() < end or len(times) < 5:
        start = perf_counter()
        function()
        synchronize()
        times.append(perf_counter() - start)
    return statistics.median(times) * 1e3


def measure(name: str, dtype: torch.dtype, rivals: list[str], seconds: float) -> None:
    """Print one line for each backend."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model, x = CASES[name].make(device, dtype)
    double = x.double() if x.is_floating_point() else x
    reference = copy.deepcopy(model).double()(double)
    for rival in rivals:
        torch._dynamo.reset()
        compiled = BACKENDS[rival](model)
        start = perf_counter()
        y = compiled(x)
        synchronize()
        first = perf_counter() - start
        error = float(error_of(y, reference).max())
        time = median_ms(lambda run=compiled: run(x), seconds)
        kind = str(dtype).removeprefix("torch.")
        print(f"{name:12} {kind:9} {rival:16} {time:10.4f} {first:10.2f} {error:10.1e}", flush=True)
        del compiled, y
        gc.collect()


@torch.no_grad()
def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Measure models against PyTorch.")
    parser.add_argument("--models", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--dtypes", nargs="+", default=["float32", "float16"])
    parser.add_argument("--rivals", nargs="+", default=list(BACKENDS), choices=list(BACKENDS))
    parser.add_argument("--seconds", type=float, default=1.0, help="for each figure")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    print(
        f"{'model':12} {'type':9} {'backend':16} {'ms a call':>10} {'first, s':>10} {'error':>10}"
    )
    for name in arguments.models:
        for dtype in arguments.dtypes:
            measure(name, getattr(torch, dtype), arguments.rivals, arguments.seconds)


if __name__ == "__main__":
    main()
