"""Renders a profile as a self-contained HTML page with a timeline and the table."""

from collections.abc import Iterator
from math import log10
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from hidet.runtime.profile.profile import LaunchTimes, Profile, limit_of, notes, rows_of, summary

TEMPLATE = Path(__file__).parent / "page.html.jinja"

TICKS = 10
"""The approximate number of labels along the timeline."""


def page(profile: Profile, title: str) -> str:
    """Return the HTML page of a profile."""
    bars, rows = list(_bars(profile)), rows_of(profile)
    template = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        title=title,
        summary=summary(profile),
        headings=list(rows[0]),
        launches=list(zip(profile.launches, rows, bars, strict=True)),
        lanes=max(bar["lane"] for bar in bars) + 1,
        ticks=list(_ticks(profile)),
        notes=list(notes(profile)),
    )


def _bars(profile: Profile) -> Iterator[dict[str, Any]]:
    """Yield the bars of the launches in order, each in the first free lane.

    Positions are percents of the width of the timeline; `early` is the percentage of the bar before
    the end of its dependencies, `limit` that of its roofline, "" if unknown.
    """
    scale = 100 / _end(profile)
    lanes: list[float] = []
    placed: dict[int, int] = {}
    for launch in sorted(profile.launches, key=lambda launch: launch.start):
        lane = next((n for n, end in enumerate(lanes) if end <= launch.start), len(lanes))
        lanes[lane : lane + 1] = [launch.end]
        placed[launch.number] = lane
    for launch in profile.launches:
        yield {
            "number": launch.number,
            "lane": placed[launch.number],
            "start": launch.start * scale,
            "width": (launch.end - launch.start) * scale,
            "early": _early(launch),
            "limit": limit_of(profile, launch),
        }


def _early(launch: LaunchTimes) -> float:
    """Return the percentage of a launch before the end of its dependencies."""
    whole = launch.end - launch.start
    ahead = max(0.0, -(launch.wait or 0.0))
    return 100 * min(1.0, ahead / whole) if whole > 0 else 0.0


def _ticks(profile: Profile) -> Iterator[tuple[float, str]]:
    """Yield positions along the timeline in percents, and their labels in microseconds."""
    end = _end(profile)
    rough = end / TICKS
    power = 10.0 ** int(log10(rough) // 1)
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= rough)
    for number in range(int(end / step) + 1):
        yield 100 * number * step / end, f"{number * step:g}"


def _end(profile: Profile) -> float:
    """Return the end of the timeline in microseconds."""
    return max(*(launch.end for launch in profile.launches), 1e-3)
