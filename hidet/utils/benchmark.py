"""Measures how long a function takes, on the GPU where there is one."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import torch

from hidet.absent import explain_missing
from hidet.errors import HidetError


def benchmark_func(
    run_func: Callable[[], object],
    warmup: int = 1,
    number: int = 5,
    repeat: int = 5,
    median: bool = True,
) -> Any:
    """Return how many milliseconds a call takes, as a float or a list of them.

    The clock is that of the host, read when the GPU has finished all that was launched.

    Args:
        run_func: what is measured.
        warmup: so many calls come first and are not measured.
        number: so many calls are measured together.
        repeat: so many times this is done.
        median: whether to return the median of the measurements, or all of them.

    Raises:
        HidetError: nothing is measured.
    """
    if number < 1 or repeat < 1:
        raise HidetError(f"number={number} and repeat={repeat} measure nothing")
    from statistics import median as median_of

    for _ in range(warmup):
        run_func()
    times: list[float] = []
    for _ in range(repeat):
        _wait()
        start = perf_counter()
        for _ in range(number):
            run_func()
        _wait()
        times.append((perf_counter() - start) * 1000 / number)
    return median_of(times) if median else times


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


explain_missing(__name__)

__all__ = ["benchmark_func"]
