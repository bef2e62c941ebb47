"""The profile of a compiled graph: the median times and the work of each launch, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
        start: its start, from the start of the graph's first launch.
        end: its end, likewise.
        time: from its start, or the end of all dependencies if later, to its end.
        wait: from the end of all dependencies to its start, negative if it begins earlier; None
            without dependencies.
        floor: the time of its roofline, if known.
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


UNKNOWN = "-"
"""The cell of an unknown value."""

_PREFIXES = ("", "k", "M", "G", "T", "P")


_TO_THE_LEFT = ("kernel", "limit", "waits for")


def rows_of(profile: Profile) -> list[dict[str, str]]:
    """Return the cells of each launch by heading; times are microseconds."""
    return [_row(profile, launch) for launch in profile.launches]


def table(profile: Profile) -> str:
    """Return a profile as a table, with a summary before and notes after it."""
    rows = rows_of(profile)
    columns: list[list[str]] = []
    for heading in rows[0]:
        cells = [heading, *(row[heading] for row in rows)]
        side, width = "<" if heading in _TO_THE_LEFT else ">", max(map(len, cells))
        columns.append([f"{cell:{side}{width}}" for cell in cells])
    lines = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
    return "\n".join([summary(profile), "", *lines, "", *notes(profile)])


def summary(profile: Profile) -> str:
    """Return a summary of a profile, in one line."""
    busy = sum(launch.time for launch in profile.launches)
    count = len(profile.launches)
    return (
        f"{count} {'launch' if count == 1 else 'launches'} on {profile.device}: "
        f"{profile.span:.2f} us from the first start to the last end, "
        f"{busy:.2f} us of work; medians of {profile.runs} runs"
    )


def notes(profile: Profile) -> Iterator[str]:
    """Yield notes about the columns."""
    arch = profile.arch
    yield "time: us from the start, or the end of all dependencies if later, to the end"
    yield "wait: us from the end of the dependencies to the start; negative if it begins earlier"
    if any(launch.edges == "programmatic" for launch in profile.launches):
        yield "programmatic: the kernel may begin earlier, and synchronizes itself"
    yield "flops: of matmuls; bytes: of all that is read and written, each once"
    if arch.is_cpu:
        yield "share: unknown on a CPU"
    else:
        yield (
            "share: the time of the roofline relative to the time, at the rates of the largest "
            f"{arch.name}, {arch.bandwidth / 1e9:.0f} GB/s"
        )
    if any((launch.share or 0) > 1 for launch in profile.launches):
        yield "more than 100%: data in the L2 cache is read faster than from memory"
    if any(launch.work is None or launch.work.moved is None for launch in profile.launches):
        yield f"{UNKNOWN}: unknown: accesses depend on data, or a script wrote the kernel"
    if profile.alike:
        numbers = ", ".join(map(str, profile.alike))
        yield f"equal kernels that ran concurrently, whose times may be swapped: {numbers}"


def _row(profile: Profile, launch: LaunchTimes) -> dict[str, str]:
    work = launch.work
    moved = None if work is None else work.moved
    return {
        "#": str(launch.number),
        "kernel": launch.name,
        "start": f"{launch.start:.2f}",
        "time": f"{launch.time:.2f}",
        "wait": UNKNOWN if launch.wait is None else f"{launch.wait:.2f}",
        "share": UNKNOWN if launch.share is None else f"{launch.share:.0%}",
        "limit": limit_of(profile, launch) or UNKNOWN,
        "flops": _amount(work.operations) if work is not None and work.operations else UNKNOWN,
        "bytes": UNKNOWN if moved is None else f"{_amount(moved)}B",
        "waits for": _after(launch),
    }


def limit_of(profile: Profile, launch: LaunchTimes) -> str:
    """Return what bounds the roofline of a launch, "" if unknown."""
    if launch.work is None or launch.floor is None:
        return ""
    return "flops" if launch.work.is_bound_by_products(profile.arch) else "bytes"


def _after(launch: LaunchTimes) -> str:
    numbers = ", ".join(map(str, launch.after))
    return f"{numbers} programmatic" if launch.edges == "programmatic" else numbers


def _amount(number: int) -> str:
    """Format a number with three digits and a unit prefix."""
    power = 0
    while number / 1000**power >= 999.5:  # which three digits would round to 1000
        power += 1
    return f"{number / 1000**power:.3g} {_PREFIXES[power]}"
