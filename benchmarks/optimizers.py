"""How fast optimizers step: eager torch, its fused kernels, inductor and hidet, in one run.

    python benchmarks/optimizers.py [--models resnet50 gpt2] [--optimizers AdamW SGD] [--rivals ...]

The parameters of a model get random gradients. `waited` is the median of steps that are waited for,
`loop` the time of a step in a loop that is not, `GPU` what its kernels take; all in milliseconds.
The error is |a - r| / (|r| + 1) of the parameters after three steps, against eager in float64.
"""

import argparse
import copy
from collections.abc import Callable
from math import nan
from time import perf_counter
from typing import Any

import torch
from cases import CASES
from run import median_ms, synchronize
from torch import nn
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from hidet.testing.numeric import error_of

OPTIMIZERS: dict[str, dict[str, Any]] = {
    "AdamW": {"lr": 1e-3, "weight_decay": 0.01},
    "SGD": {"lr": 1e-2, "momentum": 0.9, "weight_decay": 1e-4},
}
"""The optimizers, by name, with their arguments."""

Step = Callable[[], object]

RIVALS: dict[str, tuple[dict[str, bool], Callable[[Step], Step]]] = {
    "eager": ({"foreach": True}, lambda step: step),
    "fused": ({"fused": True}, lambda step: step),
    "inductor": ({"foreach": True}, torch.compile),
    "hidet": ({"foreach": True}, lambda step: torch.compile(step, backend="hidet")),
}
"""The implementation of an optimizer, and what makes its step fast, by name."""

STEPS = 3
"""The steps before errors are compared."""


def optimizer_of(name: str, model: nn.Module, **options: bool) -> torch.optim.Optimizer:
    """Return an optimizer of a model's parameters."""
    return getattr(torch.optim, name)(model.parameters(), **OPTIMIZERS[name], **options)


def kernels_of(step: Step, steps: int = 10) -> tuple[float, float]:
    """Return the number of kernels of a step, and their time in milliseconds; NaN without a GPU."""
    if not torch.cuda.is_available():
        return nan, nan
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        for _ in range(steps):
            step()
        synchronize()
    events = [each for each in found.events() if each.device_type == DeviceType.CUDA]
    return len(events) / steps, sum(each.device_time for each in events) / steps / 1e3


def loop_ms(step: Step, steps: int = 100) -> float:
    """Return the time of a step in a loop, in milliseconds."""
    synchronize()
    start = perf_counter()
    for _ in range(steps):
        step()
    synchronize()
    return (perf_counter() - start) / steps * 1e3


def measure(model: nn.Module, optimizer: str, rivals: list[str], seconds: float) -> None:
    """Print one line for each rival."""
    reference = copy.deepcopy(model).double()
    for own, exact in zip(model.parameters(), reference.parameters(), strict=True):
        own.grad = torch.randn_like(own)
        exact.grad = own.grad.double()
    exact_optimizer = optimizer_of(optimizer, reference)
    for _ in range(STEPS):
        exact_optimizer.step()
    expected = list(reference.parameters())
    for rival in rivals:
        torch._dynamo.reset()
        own_model = copy.deepcopy(model)
        for own, given in zip(own_model.parameters(), model.parameters(), strict=True):
            own.grad = given.grad
        options, compiled = RIVALS[rival]
        step = compiled(optimizer_of(optimizer, own_model, **options).step)
        start = perf_counter()
        step()
        synchronize()
        first = perf_counter() - start
        for _ in range(STEPS - 1):
            step()
        found = zip(own_model.parameters(), expected, strict=True)
        error = max(float(error_of(a, b).max()) for a, b in found)
        times = [median_ms(step, seconds), loop_ms(step)]
        kernels, busy = kernels_of(step)
        print(
            f"{optimizer:8} {rival:10} {times[0]:9.3f} {times[1]:9.3f} {busy:9.3f} {kernels:9.0f} "
            f"{first:9.2f} {error:9.1e}",
            flush=True,
        )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Measure steps of optimizers against PyTorch.")
    parser.add_argument("--models", nargs="+", default=["resnet50", "gpt2"], choices=list(CASES))
    parser.add_argument("--optimizers", nargs="+", default=list(OPTIMIZERS), choices=OPTIMIZERS)
    parser.add_argument("--rivals", nargs="+", default=list(RIVALS), choices=RIVALS)
    parser.add_argument("--seconds", type=float, default=1.0, help="the time for one median")
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    for name in arguments.models:
        model, _ = CASES[name].make(device, torch.float32)
        count = len(list(model.parameters()))
        print(f"\n{name}: {count} parameters")
        columns = ("waited", "loop", "GPU", "kernels", "first", "error")
        print(" " * 19, *(f"{column:>9}" for column in columns))
        for optimizer in arguments.optimizers:
            measure(model, optimizer, arguments.rivals, arguments.seconds)


if __name__ == "__main__":
    main()
