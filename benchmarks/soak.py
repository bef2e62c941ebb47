"""Whether memory stays flat and values right: 200 shapes, threads, weight updates, collections.

    python benchmarks/soak.py [--minutes 10] [--shapes 200] [--threads 4] [--direct]

Threads call one compiled model with inputs of any of the shapes. With `--direct` they call what
`hidet.compile` returns for each shape: dynamo sometimes traces again when threads call many shapes,
and while it does, calls of other threads fail (torch 2.11). Between the calls of all threads its
weights are updated in place or replaced, and the collector runs. Each result is compared with eager
torch. Memory is printed every half minute: after the first calls of all shapes it is flat.
"""

import argparse
import gc
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from time import monotonic

import torch
from torch import nn
from torch.nn import functional as F

import hidet

PAGE = os.sysconf("SC_PAGE_SIZE")


class Model(nn.Module):
    """A linear layer, an activation and a norm of inputs [rows, 16]."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(16, 16), nn.LayerNorm(16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a tensor of the input's shape."""
        return self.norm(F.gelu(self.linear(x)) + x)


def megabytes(device: torch.device) -> str:
    """Return the resident memory of the process, and the allocated memory of a GPU."""
    with open("/proc/self/statm", encoding="ascii") as file:
        resident = int(file.read().split()[1]) * PAGE
    on_gpu = torch.cuda.memory_allocated(device) if device.type == "cuda" else 0
    return f"{resident / 1e6:.0f} MB resident, {on_gpu / 1e6:.1f} MB on the GPU"


class Soak:
    """Counts the calls and the wrong results of threads that share a compiled model."""

    def __init__(self, device: torch.device, shapes: int, threads: int, *, direct: bool) -> None:
        self.calls = self.wrong = 0
        self._device, self._shapes, self._threads = device, shapes, threads
        self._model = Model().to(device).requires_grad_(False)
        self._compiled = torch.compile(self._model, backend="hidet", dynamic=False)
        self._direct: dict[int, Callable[..., torch.Tensor]] | None = {} if direct else None
        self._lock = threading.Lock()

    def call(self, rows: int) -> None:
        """Call the model once, with an input of this many rows."""
        x = torch.randn(rows, 16, device=self._device)
        function = self._compiled
        if self._direct is not None:
            if rows not in self._direct:
                self._direct[rows] = hidet.compile(self._model, x)
            function = self._direct[rows]
        is_right = torch.allclose(function(x), self._model(x), rtol=1e-4, atol=1e-4)
        with self._lock:
            self.calls += 1
            self.wrong += not is_right

    def call_all(self, rows: list[int]) -> None:
        """Call the model once for each number of rows, from all threads."""
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(self.call, rows))

    def run(self, minutes: float) -> None:
        """Print memory and counts until the time is over."""
        random, start = Random(0), monotonic()
        last = start
        # In one thread: while torch traces, it patches the modules of all threads (2.11).
        for rows in range(1, self._shapes + 1):
            self.call(rows)
        print(f"all shapes: {monotonic() - start:.0f} s, {megabytes(self._device)}", flush=True)
        while monotonic() < start + 60 * minutes:
            self.call_all([random.randint(1, self._shapes) for _ in range(20)])
            weight = self._model.linear.weight
            if random.random() < 0.5:
                weight.add_(torch.randn_like(weight), alpha=0.01)
            else:
                weight.data = weight.data.clone()
            if random.random() < 0.1:
                gc.collect()
            if monotonic() > last + 30:
                last = monotonic()
                counts = f"{self.calls} calls, {self.wrong} wrong"
                print(f"{last - start:.0f} s: {counts}, {megabytes(self._device)}", flush=True)
        print(f"{self.calls} calls, {self.wrong} wrong, {megabytes(self._device)}")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Look for leaks and wrong values in long runs.")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--shapes", type=int, default=200)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--direct", action="store_true")
    options = parser.parse_args()
    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 1000
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    Soak(device, options.shapes, options.threads, direct=options.direct).run(options.minutes)


if __name__ == "__main__":
    main()
