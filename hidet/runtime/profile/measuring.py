"""Measures the start and end of each launch while the graph runs as a whole.

On a GPU, torch's profiler records the kernels of the CUDA Graph (CUPTI kernel activities), so that
launches overlap as usual. On the CPU they run sequentially, and are timed individually.
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
"""The number of warm-up runs, which write addresses and raise the clock."""


def profile_of(
    executor: Executor,
    inputs: Sequence[torch.Tensor],
    constants: Sequence[torch.Tensor],
    runs: int,
) -> Profile:
    """Return the profile of a graph over a number of runs.

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
            raise HidetError("the graph was called by another thread while it was measured")
        return Profile.of(executor.plan, "the CPU", spans)
    events = _kernels(executor, lambda: executor.run(inputs, constants), runs + 1)
    # In the first run, the profiler allocates its buffers.
    placed = [_place(executor.plan, events[n + 1]) for n in range(runs)]
    alike = sorted({number for _, numbers in placed for number in numbers})
    device = torch.cuda.get_device_name(executor.device)
    return Profile.of(executor.plan, device, [spans for spans, _ in placed], alike)


class _Event(NamedTuple):
    """A kernel that ran on a GPU."""

    name: str
    span: Span


def _kernels(executor: Executor, run: Callable[[], object], runs: int) -> list[list[_Event]]:
    """Return the kernels of each run on a GPU, in the order of their start.

    Runs do not overlap, since CUDA orders the launches of one executable graph.
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
        # In microseconds with three digits.
        _Event(
            each.name, Span(*(round(t * 1e3) for t in (each.time_range.start, each.time_range.end)))
        )
        for each in cast("Sequence[Any]", profiler.events() or ())
        if each.name in names
    ]
    found.sort(key=lambda event: event.span.start)
    count = len(plan.forward)
    if len(found) != count * runs:
        raise HidetError(
            f"torch.profiler recorded {len(found)} kernels in {runs} runs of {count} launches",
            hint="nothing else may use the profiler, CUPTI, or kernels of these names meanwhile",
        )
    return [found[start : start + count] for start in range(0, len(found), count)]


def _place(plan: Plan, events: Sequence[_Event]) -> tuple[list[Span], set[int]]:
    """Match the kernels of a run to launches; also return launches that are ambiguous.

    A launch has the name of its kernel, and begins after its dependencies have begun, usually after
    they have ended. Where earlier choices among equal kernels rule that out, any launch of the
    kernel is taken.

    Raises:
        HidetError: a kernel ran more often than it is launched.
    """
    waiting: dict[str, list[int]] = {}
    for number, launch in enumerate(plan.forward):
        waiting.setdefault(plan.kernels[launch.kernel].symbol, []).append(number)
    placed: dict[int, Span] = {}
    alike: set[int] = set()
    for name, span in events:
        begun = [n for n in waiting[name] if placed.keys() >= {*plan.forward[n].dependencies}]
        ready = [n for n in begun if _is_ready(plan.forward[n], span, placed)]
        ready = ready or begun or waiting[name]
        if not ready:
            raise HidetError(f"torch.profiler recorded kernel '{name}' more often than launched")
        if len(ready) > 1:
            alike.update(ready)
        placed[ready[0]] = span
        waiting[name].remove(ready[0])
    return [placed[number] for number in range(len(plan.forward))], alike


def _is_ready(launch: Launch, span: Span, placed: Mapping[int, Span]) -> bool:
    """Return whether a launch that begins at `span` may depend on what has ended before."""
    return launch.edges == "programmatic" or all(
        placed[number].end <= span.start for number in launch.dependencies
    )
