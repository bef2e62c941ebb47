"""The cost of index checks: models with the option `checks` on and off, alternating.

python benchmarks/checks.py            # on the GPU if there is one
python benchmarks/checks.py --cpu
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import functional as F

Model = tuple[str, Callable[..., torch.Tensor], tuple[torch.Tensor, ...]]


def models(device: torch.device) -> Iterator[Model]:
    """Return name, function and arguments of each model."""
    table, places = (torch.randn(size, 768, device=device) for size in (50257, 1024))
    weight = torch.randn(768, device=device)
    tokens = torch.randint(0, 50257, (1, 1024), device=device)
    bags = torch.randint(0, 50257, (512, 16), device=device)
    picked = torch.randint(0, 50257, (4096,), device=device)

    def gpt2(tokens: torch.Tensor, table: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        x = F.embedding(tokens, table) + F.embedding(torch.arange(1024, device=device), places)
        return F.layer_norm(x, (768,), weight, weight)

    yield "the embedding of GPT-2", gpt2, (tokens, table, places)
    yield "an embedding bag", lambda i, x: F.embedding(i, x).sum(1), (bags, table)
    yield "rows of a matrix", lambda i, x: x[i], (picked, table)
    yield "gather", lambda i, x: x.gather(1, i) * 2, (tokens.view(-1, 1) % 768, places)


def measure(
    function: Callable[..., Any], arguments: tuple[Any, ...], device: torch.device, rounds: int
) -> dict[bool, float]:
    """Return the median time of a call in microseconds, with and without checks."""
    times: dict[bool, list[float]] = {True: [], False: []}
    compiled = {}
    for checks in times:
        torch._dynamo.reset()
        compiled[checks] = torch.compile(function, backend="hidet", options={"checks": checks})
        compiled[checks](*arguments)
    for _ in range(rounds):
        for checks, each in times.items():
            start = time.perf_counter()
            for _ in range(10):
                compiled[checks](*arguments)
            if device.type == "cuda":
                torch.cuda.synchronize()
            each.append((time.perf_counter() - start) / 10 * 1e6)
    return {checks: statistics.median(each) for checks, each in times.items()}


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() and not options.cpu else "cpu")
    with torch.no_grad():
        for name, function, arguments in models(device):
            found = measure(function, arguments, device, options.rounds)
            cost = found[True] / found[False] - 1
            print(f"{name:24} {found[True]:9.1f} us, without {found[False]:9.1f} us, {cost:+.1%}")


if __name__ == "__main__":
    main()
