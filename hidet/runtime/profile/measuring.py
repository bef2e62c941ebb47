"""Measures the start and end of each launch while the graph runs as a whole.

On a GPU, torch's profiler records the kernels of the CUDA Graph (CUPTI kernel activities), so that
launches overlap as usual. On the CPU they run sequentially, and are timed individually.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from hidet.errors import HidetError
from hidet.runtime.cpu import CpuExecutor
from hidet.runtime.profile.profile import Profile
from hidet.runtime.specs import Span

if TYPE_CHECKING:
    from hidet.runtime.executor import Executor
    from hidet.runtime.plan import Kernel, Plan

WARM_UP = 5
"""The number of warm-up runs, which write addresses and raise the clock."""


def profile_of(
    executor: Executor,
    inputs: Sequence[torch.Tensor],
    constants: Iterable[torch.Tensor],
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
    grid: tuple[int, ...]
    block: tuple[int, ...]
    span: Span

    def may_be(self, kernel: Kernel) -> bool:
        """Return whether this may be a launch of a kernel.

        The name does not tell: CUPTI knows kernels by handles, and gives one that has the handle of
        an unloaded kernel the name of that one.
        """
        return (self.grid, self.block) == (kernel.grid, kernel.block)


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
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        trace = json.loads(path.read_text())["traceEvents"]
    plan = executor.plan
    events = [_event(each) for each in trace if each.get("cat") == "kernel"]
    found = [each for each in events if any(map(each.may_be, plan.kernels))]
    found.sort(key=lambda event: event.span.start)
    count = len(plan.forward)
    if len(found) != count * runs:
        raise HidetError(
            f"torch.profiler recorded {len(found)} kernels in {runs} runs of {count} launches",
            hint="nothing else may use the profiler, CUPTI, or the GPU meanwhile",
        )
    return [found[start : start + count] for start in range(0, len(found), count)]


def _event(entry: Mapping[str, Any]) -> _Event:
    """Return an entry of a trace, whose times are in microseconds with three digits."""
    start, arguments = round(entry["ts"] * 1e3), entry["args"]
    span = Span(start, start + round(entry["dur"] * 1e3))
    return _Event(entry["name"], tuple(arguments["grid"]), tuple(arguments["block"]), span)


def _place(plan: Plan, events: Sequence[_Event]) -> tuple[list[Span], set[int]]:
    """Match the kernels of a run to launches; also return launches that are ambiguous.

    A launch has the extents of its kernel, and usually its name, and begins after its dependencies
    have begun, usually after they have ended. Where earlier choices among equal kernels rule that
    out, any launch of the kernel is taken.

    Raises:
        HidetError: a kernel ran more often than it is launched.
    """
    waiting = dict(enumerate(plan.forward))
    placed: dict[int, Span] = {}
    alike: set[int] = set()
    for event in events:
        name, span = event.name, event.span
        kernels = {n: plan.kernels[launch.kernel] for n, launch in waiting.items()}
        candidates = [n for n, kernel in kernels.items() if event.may_be(kernel)]
        candidates = [n for n in candidates if kernels[n].symbol == name] or candidates
        begun = [n for n in candidates if placed.keys() >= {*waiting[n].dependencies}]
        ready = [
            n
            for n in begun
            if waiting[n].edges == "programmatic"
            or all(placed[before].end <= span.start for before in waiting[n].dependencies)
        ]
        ready = ready or begun or candidates
        if not ready:
            raise HidetError(f"torch.profiler recorded kernel '{name}' more often than launched")
        if len(ready) > 1:
            alike.update(ready)
        placed[ready[0]] = span
        del waiting[ready[0]]
    return [placed[number] for number in range(len(plan.forward))], alike
