"""The profile of a compiled graph: the median times and the work of each launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from hidet.arch.chips import Arch
from hidet.arch.roofline import Work
from hidet.runtime.plan import Plan
from hidet.runtime.specs import Span


@dataclass(frozen=True)
class LaunchTimes:
    """A launch of `Plan.forward`; times are microseconds, each the median over the runs.

    Attributes:
        number: its position in the plan.
        name: the name of its kernel.
        start: its start, from the start of the graph's first launch.
        end: its end, likewise.
        time: from its start, or the end of all dependencies if later, to its end.
        wait: from the end of all dependencies to its start, negative if it begins earlier; None
            without dependencies.
        work: its work, if known.
        floor: the time of its roofline, if known.
        after: its dependencies.
        edges: the kind of these dependencies; see `Launch`.
    """

    number: int
    name: str
    start: float
    end: float
    time: float
    wait: float | None
    work: Work | None
    floor: float | None
    after: tuple[int, ...]
    edges: str

    @property
    def share(self) -> float | None:
        """The time of the roofline relative to `time`."""
        return None if self.floor is None or self.time <= 0 else self.floor / self.time


@dataclass(frozen=True)
class Profile:
    """The launches of a compiled graph with their times; `str()` of it is a table.

    Attributes:
        device: the name of the device.
        arch: the architecture of the rooflines.
        runs: the number of runs over which the times are medians.
        span: the microseconds from the start of the first launch to the end of the last.
        launches: the launches, in the order of the plan.
        alike: concurrent launches of one kernel, whose times may be swapped.
    """

    device: str
    arch: Arch
    runs: int
    span: float
    launches: tuple[LaunchTimes, ...]
    alike: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        plan: Plan,
        device: str,
        runs: Sequence[Sequence[Span]],
        alike: Sequence[int] = (),
    ) -> Profile:
        """Return the profile of a plan from the spans of its launches in each run."""
        arch = Arch.parse(plan.target)
        whole = median(max(s.end for s in run) - min(s.start for s in run) for run in runs)
        launches = [_times(plan, number, runs, arch) for number in range(len(plan.forward))]
        return cls(device, arch, len(runs), whole / 1e3, tuple(launches), tuple(alike))

    def __str__(self) -> str:
        from hidet.runtime.profile.table import table

        return table(self)

    def html(self, title: str = "hidet profile") -> str:
        """Return a self-contained HTML page with a timeline and the table."""
        from hidet.runtime.profile.page import page

        return page(self, title)

    def save(self, file: str | Path, title: str = "") -> None:
        """Write the page to a file, whose name is the default title.

        Raises:
            OSError: it cannot be written.
        """
        Path(file).write_text(self.html(title or Path(file).stem), encoding="utf-8")


def _times(plan: Plan, number: int, runs: Sequence[Sequence[Span]], arch: Arch) -> LaunchTimes:
    """Return the medians of a launch."""
    launch = plan.forward[number]
    kernel = plan.kernels[launch.kernel]
    starts = [min(span.start for span in run) for run in runs]
    own = [run[number] for run in runs]
    ready = [max((run[n].end for n in launch.dependencies), default=None) for run in runs]
    waits = [span.start - end for span, end in zip(own, ready, strict=True) if end is not None]
    times = [s.end - max(s.start, e or s.start) for s, e in zip(own, ready, strict=True)]
    return LaunchTimes(
        number,
        kernel.symbol,
        start=median(s.start - start for s, start in zip(own, starts, strict=True)) / 1e3,
        end=median(s.end - start for s, start in zip(own, starts, strict=True)) / 1e3,
        time=median(times) / 1e3,
        wait=median(waits) / 1e3 if waits else None,
        work=kernel.work,
        floor=None if kernel.work is None else kernel.work.floor(arch),
        after=launch.dependencies,
        edges=launch.edges,
    )
