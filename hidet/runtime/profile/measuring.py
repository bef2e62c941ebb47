"""Measures when each launch of a graph begins and ends, while the graph runs as a whole.

On a GPU, torch's profiler notes each kernel of the CUDA Graph (CUPTI's activities of kernels), so
that launches overlap as ever. On the CPU they run one after the other, and a clock is read around
each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import torch

from hidet.errors import HidetError
from hidet.runtime.cpu import CpuExecutor
from hidet.runtime.profile.profile import Profile
from hidet.runtime.specs import Span

if TYPE_CHECKING:
    from hidet.runtime.executor import Executor
    from hidet.runtime.plan import Launch, Plan

WARM_UP = 5
"""So many runs come first and are not measured: they write addresses, and wake the device up."""


def profile_of(
    executor: Executor,
    inputs: Sequence[torch.Tensor],
    constants: Sequence[torch.Tensor],
    runs: int,
) -> Profile:
    """Run a graph so many times, and return its profile.

    Raises:
        HidetError: nothing was measured, or not each launch of the graph.
    """
    if runs < 1 or not executor.plan.forward:
        what = "the graph has no launches" if runs > 0 else f"runs={runs}"
        raise HidetError(f"there is nothing to measure: {what}")
    for _ in range(WARM_UP):
        executor.run(inputs, constants)
    if isinstance(executor, CpuExecutor):
        spans = [executor.timed(inputs, constants) for _ in range(runs)]
        if any(len(run) != len(executor.plan.forward) for run in spans):
            raise HidetError("others have called the graph while it was measured")
        return Profile.of(executor.plan, "the CPU", spans)
    events = _kernels(executor, lambda: executor.run(inputs, constants), runs + 1)
    # The first run finds the profiler's own buffers to be made.
    placed = [_place(executor.plan, events[n + 1]) for n in range(runs)]
    alike = sorted({number for _, numbers in placed for number in numbers})
    device = torch.cuda.get_device_name(executor.device)
    return Profile.of(executor.plan, device, [spans for spans, _ in placed], alike)


class _Event(NamedTuple):
    """A kernel that ran on a GPU."""

    name: str
    span: Span


def _kernels(executor: Executor, run: Callable[[], object], runs: int) -> list[list[_Event]]:
    """Return the kernels of each run on a GPU, in the order in which they began.

    A run does not begin before the one ahead of it is over, since CUDA orders the launches of one
    executable graph.
    """
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize(executor.device)
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as profiler:
        for _ in range(runs):
            run()
        torch.cuda.synchronize(executor.device)
    plan = executor.plan
    names = {plan.kernels[launch.kernel].symbol for launch in plan.forward}
    found = [
        _Event(each.name, Span(*map(_nanoseconds, (each.time_range.start, each.time_range.end))))
        for each in cast("Sequence[Any]", profiler.events() or ())
        if each.name in names
    ]
    found.sort(key=lambda event: event.span.start)
    count = len(plan.forward)
    if len(found) != count * runs:
        raise HidetError(
            f"torch.profiler has seen {len(found)} kernels in {runs} runs of {count} launches",
            hint="nothing else may use the profiler, CUPTI, or kernels of these names meanwhile",
        )
    return [found[start : start + count] for start in range(0, len(found), count)]


def _nanoseconds(microseconds: float) -> int:
    """Return a time as the GPU has told it; the profiler gives three digits of it."""
    return round(microseconds * 1e3)


def _place(plan: Plan, events: Sequence[_Event]) -> tuple[list[Span], set[int]]:
    """Return which kernel of a run each launch was, and launches that could be each other.

    A launch has the name of its kernel, and begins after those that it waits for have begun, as a
    rule after they are over.

    Raises:
        HidetError: there is no such order.
    """
    waiting: dict[str, list[int]] = {}
    for number, launch in enumerate(plan.forward):
        waiting.setdefault(plan.kernels[launch.kernel].symbol, []).append(number)
    placed: dict[int, Span] = {}
    alike: set[int] = set()
    for name, span in events:
        begun = [n for n in waiting[name] if placed.keys() >= {*plan.forward[n].dependencies}]
        ready = [n for n in begun if _is_ready(plan.forward[n], span, placed)] or begun
        if not ready:
            raise HidetError(f"torch.profiler has seen kernel '{name}' ahead of its time")
        if len(ready) > 1:
            alike.update(ready)
        placed[ready[0]] = span
        waiting[name].remove(ready[0])
    return [placed[number] for number in range(len(plan.forward))], alike


def _is_ready(launch: Launch, span: Span, placed: Mapping[int, Span]) -> bool:
    """Return whether all is over that has to be for a launch to begin."""
    return launch.edges == "programmatic" or all(
        placed[number].end <= span.start for number in launch.dependencies
    )
