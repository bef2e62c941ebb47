"""A profile as a page: a timeline and the table, in one file of HTML without anything from outside.

The template escapes all text, whatever models and kernels are called.
"""

from collections.abc import Iterator
from math import log10
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, StrictUndefined

from hidet.runtime.profile.profile import LaunchTimes, Profile
from hidet.runtime.profile.table import HEADINGS, limit_of, notes, rows_of, summary

TEMPLATE = Path(__file__).parent / "page.html.jinja"
"""What the page is made of."""

TICKS = 10
"""About so many times are written along the timeline."""


class Bar(NamedTuple):
    """A launch in the timeline; places are percents of its width.

    Attributes:
        number: which launch.
        lane: the line that it is drawn in; those that overlap are in several.
        start: where it begins.
        width: how long it is.
        early: the percents of the bar itself that are ahead of the end of what it waits for.
        limit: what its roofline is of, "" where that is not known.
    """

    number: int
    lane: int
    start: float
    width: float
    early: float
    limit: str


def page(profile: Profile, title: str) -> str:
    """Return the page of a profile."""
    bars = list(_bars(profile))
    template = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        title=title,
        summary=summary(profile),
        headings=HEADINGS,
        launches=list(zip(profile.launches, rows_of(profile), bars, strict=True)),
        lanes=max(bar.lane for bar in bars) + 1,
        ticks=list(_ticks(profile)),
        notes=list(notes(profile)),
    )


def _bars(profile: Profile) -> Iterator[Bar]:
    """Give the bars of the launches, in their order; each in the first lane that is free."""
    scale = 100 / _end(profile)
    lanes: list[float] = []
    placed: dict[int, int] = {}
    for launch in sorted(profile.launches, key=lambda launch: launch.start):
        lane = next((n for n, end in enumerate(lanes) if end <= launch.start), len(lanes))
        lanes[lane : lane + 1] = [launch.end]
        placed[launch.number] = lane
    for launch in profile.launches:
        yield Bar(
            launch.number,
            placed[launch.number],
            launch.start * scale,
            (launch.end - launch.start) * scale,
            _early(launch),
            limit_of(profile, launch),
        )


def _early(launch: LaunchTimes) -> float:
    """Return the percents of a launch that are ahead of the end of what it waits for."""
    whole = launch.end - launch.start
    ahead = max(0.0, -(launch.wait or 0.0))
    return 100 * min(1.0, ahead / whole) if whole > 0 else 0.0


def _ticks(profile: Profile) -> Iterator[tuple[float, str]]:
    """Give places along the timeline in percents, and their microseconds."""
    end = _end(profile)
    rough = end / TICKS
    power = 10.0 ** int(log10(rough) // 1)
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= rough)
    for number in range(int(end / step) + 1):
        yield 100 * number * step / end, f"{number * step:g}"


def _end(profile: Profile) -> float:
    """Return the microseconds that the timeline shows."""
    return max(*(launch.end for launch in profile.launches), 1e-3)
