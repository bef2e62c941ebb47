"""How fast GPT-2 trains: steps of eager torch, inductor and hidet, in one run.

    python benchmarks/training.py [--shapes 1x128 8x512] [--dtype float16] [--rivals ...]

A step is forward, cross entropy and backward under autocast, without the optimizer; gradients are
set to None before it. Times are medians of steps that are waited for, of all backends in turn. The
error is |a - r| / (|r| + 1) of the gradients, the largest of all, against eager torch in float32.
"""

import argparse
import copy
import statistics
from collections.abc import Callable
from time import perf_counter

import torch
from run import synchronize
from torch import nn
from torch.nn import functional as F

from hidet.testing.numeric import error_of

BACKENDS: dict[str, Callable[[nn.Module], Callable[..., torch.Tensor]]] = {
    "eager": lambda model: model,
    "inductor": torch.compile,
    "hidet": lambda model: torch.compile(model, backend="hidet"),
}
"""What makes a model fast, by name."""


class LanguageModel(nn.Module):
    """GPT-2 with random weights, without dropout, whose result is its logits."""

    def __init__(self, layers: int) -> None:
        import transformers

        super().__init__()
        dropout = {"resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}
        config = transformers.GPT2Config(n_layer=layers, use_cache=False, **dropout)
        self.model = transformers.GPT2LMHeadModel(config)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return logits of shape [sequences * length, words]."""
        return self.model(tokens).logits.flatten(0, 1)


Step = Callable[[], float]


def step_of(
    model: nn.Module, run: Callable[..., torch.Tensor], tokens: torch.Tensor, dtype: torch.dtype
) -> Step:
    """Return a function that takes a step and returns its time in milliseconds."""
    target = tokens.roll(-1, 1).flatten()

    def step() -> float:
        model.zero_grad(set_to_none=True)
        synchronize()
        start = perf_counter()
        with torch.autocast(tokens.device.type, dtype, enabled=dtype is not torch.float32):
            loss = F.cross_entropy(run(tokens), target)
        loss.backward()
        synchronize()
        return (perf_counter() - start) * 1e3

    return step


def error_against(model: nn.Module, reference: nn.Module) -> float:
    """Return the largest error of a gradient, each relative to its own largest element."""
    errors: list[float] = []
    for ours, exact in zip(model.parameters(), reference.parameters(), strict=True):
        assert ours.grad is not None
        assert exact.grad is not None
        scale = exact.grad.abs().max()
        errors.append(float(error_of(ours.grad / scale, exact.grad / scale).max()))
    return max(errors)


def measure(shape: str, dtype: torch.dtype, layers: int, rivals: list[str], steps: int) -> None:
    """Print one line for each backend."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    torch._dynamo.reset()
    reference = LanguageModel(layers).to(device).train()
    tokens = torch.randint(0, 50257, [int(size) for size in shape.split("x")], device=device)
    step_of(reference, reference, tokens, torch.float32)()
    runs: dict[str, Step] = {}
    notes: dict[str, str] = {}
    for rival in rivals:
        model = copy.deepcopy(reference)
        runs[rival] = step_of(model, BACKENDS[rival](model), tokens, dtype)
        first = runs[rival]() / 1e3
        notes[rival] = f"{first:10.2f} {error_against(model, reference):10.1e}"
    times: dict[str, list[float]] = {rival: [] for rival in rivals}
    for run in runs.values():
        run()  # the second step of hidet compiles the program that saves intermediates
        run()
    for _ in range(steps):
        for rival, run in runs.items():
            times[rival].append(run())
    for rival in rivals:
        print(f"{shape:8} {rival:10} {statistics.median(times[rival]):10.3f} {notes[rival]}")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Measure training steps against PyTorch.")
    parser.add_argument("--shapes", nargs="+", default=["1x128", "8x512"], help="sequencesxlength")
    parser.add_argument("--dtype", default="float16", help="of autocast; float32: without")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--rivals", nargs="+", default=list(BACKENDS), choices=list(BACKENDS))
    parser.add_argument("--steps", type=int, default=30)
    arguments = parser.parse_args()
    print(f"{'shape':8} {'backend':10} {'ms a step':>10} {'first, s':>10} {'error':>10}")
    dtype = getattr(torch, arguments.dtype)
    for shape in arguments.shapes:
        measure(shape, dtype, arguments.layers, arguments.rivals, arguments.steps)


if __name__ == "__main__":
    main()
