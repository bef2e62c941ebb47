"""A profile as text: a line for each launch, and what the columns mean."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hidet.runtime.profile.profile import LaunchTimes, Profile

UNKNOWN = "-"
"""What stands for that which is not known."""

_PREFIXES = ("", "k", "M", "G", "T", "P")


class Row(NamedTuple):
    """What a table says of a launch; times are microseconds."""

    number: str
    kernel: str
    start: str
    time: str
    wait: str
    share: str
    limit: str
    flops: str
    bytes: str
    after: str


HEADINGS = Row(
    "#", "kernel", "start", "time", "wait", "share", "limit", "flops", "bytes", "waits for"
)
"""The headings of the columns."""

_TO_THE_LEFT = ("kernel", "limit", "after")


def rows_of(profile: Profile) -> list[Row]:
    """Return what there is to say of each launch."""
    return [_row(profile, launch) for launch in profile.launches]


def table(profile: Profile) -> str:
    """Return a profile as a table, with a line ahead of it that sums up, and notes behind it."""
    rows = [HEADINGS, *rows_of(profile)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_line(row, widths) for row in rows]
    return "\n".join([summary(profile), "", *lines, "", *notes(profile)])


def summary(profile: Profile) -> str:
    """Return what sums a profile up, as a sentence."""
    busy = sum(launch.time for launch in profile.launches)
    count = len(profile.launches)
    return (
        f"{count} {'launch' if count == 1 else 'launches'} on {profile.device}: "
        f"{profile.span:.2f} us from the first start to the last end, "
        f"{busy:.2f} us of work; medians of {profile.runs} runs"
    )


def notes(profile: Profile) -> Iterator[str]:
    """Give what has to be known to read the columns."""
    arch = profile.arch
    yield "time: us from when a launch could work to its end"
    yield "wait: us from the end of what it waits for to its start; below 0 it begins ahead of that"
    if any(launch.edges == "programmatic" for launch in profile.launches):
        yield "programmatic: the kernel may begin ahead of that, and waits itself"
    yield "flops: of products of matrices; bytes: of all that is read and written, each once"
    if arch.is_cpu:
        yield "share: not known on a CPU"
    else:
        yield (
            "share: the time of the roofline as a part of the time, at the rates of the largest "
            f"{arch.name}, {arch.bandwidth / 1e9:.0f} GB/s"
        )
    if any((launch.share or 0) > 1 for launch in profile.launches):
        yield "more than 100%: what lies in the L2 cache comes faster than from memory"
    if any(launch.work is None or launch.work.moved is None for launch in profile.launches):
        yield f"{UNKNOWN}: not known: what is read depends on data, or a script wrote the kernel"
    if profile.alike:
        numbers = ", ".join(map(str, profile.alike))
        yield f"side by side and of equal kernels, so any may have the times of another: {numbers}"


def _line(row: Row, widths: Sequence[int]) -> str:
    """Return a line of the table."""
    cells = zip(Row._fields, row, widths, strict=True)
    aligned = (
        f"{text:{'<' if name in _TO_THE_LEFT else '>'}{width}}" for name, text, width in cells
    )
    return "  ".join(aligned).rstrip()


def _row(profile: Profile, launch: LaunchTimes) -> Row:
    work = launch.work
    moved = None if work is None else work.moved
    return Row(
        number=str(launch.number),
        kernel=launch.name,
        start=f"{launch.start:.2f}",
        time=f"{launch.time:.2f}",
        wait=UNKNOWN if launch.wait is None else f"{launch.wait:.2f}",
        share=UNKNOWN if launch.share is None else f"{launch.share:.0%}",
        limit=limit_of(profile, launch) or UNKNOWN,
        flops=_amount(work.operations) if work is not None and work.operations else UNKNOWN,
        bytes=UNKNOWN if moved is None else f"{_amount(moved)}B",
        after=_after(launch),
    )


def limit_of(profile: Profile, launch: LaunchTimes) -> str:
    """Return what the roofline of a launch is of, "" where that is not known."""
    if launch.work is None or launch.floor is None:
        return ""
    return "flops" if launch.work.is_bound_by_products(profile.arch) else "bytes"


def _after(launch: LaunchTimes) -> str:
    """Return what a launch waits for."""
    numbers = ", ".join(map(str, launch.after))
    return f"{numbers} programmatic" if launch.edges == "programmatic" else numbers


def _amount(number: int) -> str:
    """Return a number with three digits and the prefix of its unit."""
    power = 0
    while number / 1000**power >= 999.5:  # which three digits would round to 1000
        power += 1
    return f"{number / 1000**power:.3g} {_PREFIXES[power]}"
