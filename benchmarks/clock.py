"""Timing of GPU work for the matmul benchmarks."""

import statistics
from collections.abc import Callable

import torch

L2_BYTES = 60 << 20
"""The L2 cache of an H200."""

LAUNCHES, RUNS = 20, 7
CYCLES = 10_000_000
"""What the GPU waits for, while launches come in: some milliseconds."""


def microseconds(run: Callable[[], object]) -> float:
    """Return the median time of a run on the GPU, with no gaps for the host between launches."""
    for _ in range(3):
        run()
    times: list[float] = []
    for _ in range(RUNS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(CYCLES)  # pyright: ignore[reportPrivateUsage]
        start.record()
        for _ in range(LAUNCHES):
            run()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / LAUNCHES * 1e3)
    return statistics.median(times)
