"""Draws a landscape of `landscape.py` as SVG, with numbers out of its JSON alone."""

from math import floor, log10
from typing import Any
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 44, 58
INK, POINT, SEED, STEP, WINNER = "#222", "#b8c4d6", "#2a6fbb", "#e08a1e", "#c22f2f"
RADIUS = 3.5
STEPS = (1, 1.5, 2, 3, 5, 7)
"""Where the axis of times has lines, in each power of ten."""


class Axes:
    """Places of ranks and of times, on a scale of logarithms.

    Args:
        ranks: how many there are.
        times: the least and the largest, in microseconds.
    """

    def __init__(self, ranks: int, times: tuple[float, float]) -> None:
        self.ranks = max(ranks, 2)
        self.low, self.high = log10(times[0] / 1.1), log10(times[1] * 1.1)

    def x(self, rank: int) -> float:
        """Return the place of a rank."""
        return LEFT + (WIDTH - LEFT - RIGHT) * rank / (self.ranks - 1)

    def y(self, microseconds: float) -> float:
        """Return the place of a time."""
        share = (log10(microseconds) - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    def lines(self) -> list[float]:
        """Return the times that the axis names."""
        powers = range(floor(self.low), floor(self.high) + 1)
        named = [step * 10.0**power for power in powers for step in STEPS]
        return [each for each in named if self.low <= log10(each) <= self.high]


def picture(found: dict[str, Any]) -> str:
    """Return the picture of a landscape."""
    times = {
        each["rank"]: each["microseconds"] for each in found["configs"] if "microseconds" in each
    }
    limit = found["roofline"]
    bounds = [*times.values(), *([limit] if limit else [])]
    axes = Axes(len(found["configs"]), (min(bounds), max(bounds)))
    title = f"{found['title']} on {found['arch'].split('/')[0]}: {len(times)} configs"
    parts = [_text(LEFT, 22, title, size=15), *_scale(axes)]
    if limit:
        y = axes.y(limit)
        parts.append(_line(LEFT, y, WIDTH - RIGHT, y, WINNER, dashed=True))
        parts.append(_text(WIDTH - RIGHT, y - 5, f"roofline {limit:.0f} us", anchor="end"))
    seeds, *later = found["steps"] or [[]]
    colours = dict.fromkeys((rank for round in later for rank in round), STEP)
    colours |= dict.fromkeys(seeds, SEED)
    for rank, microseconds in sorted(times.items(), key=lambda item: item[0] in colours):
        colour = colours.get(rank, POINT)
        parts.append(_circle(axes.x(rank), axes.y(microseconds), RADIUS, fill=colour))
    measured = [rank for rank in colours if rank in times]
    if measured:
        best = min(measured, key=times.__getitem__)
        parts.append(_circle(axes.x(best), axes.y(times[best]), 2 * RADIUS, stroke=WINNER))
    parts += _legend()
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    style = 'font-family="sans-serif" font-size="12"'
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _scale(axes: Axes) -> list[str]:
    """Return the lines of the axis of times with their numbers, and what the other axis is."""
    parts: list[str] = []
    for each in axes.lines():
        y = axes.y(each)
        parts.append(_line(LEFT, y, WIDTH - RIGHT, y, "#e4e4e4"))
        parts.append(_text(LEFT - 8, y + 4, f"{each:g}", anchor="end"))
    parts.append(_text(LEFT - 8, TOP - 6, "us", anchor="end"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    label = "place in the cost model's order, the best estimate at the left"
    parts.append(_text(middle, HEIGHT - BOTTOM + 20, label, anchor="middle"))
    return parts


def _legend() -> list[str]:
    """Return what the colours mean."""
    parts: list[str] = []
    kinds = (
        (SEED, "space 2 begins with these"),
        (STEP, "neighbours that it goes on to"),
        (POINT, "not measured by it"),
    )
    for number, (colour, meaning) in enumerate(kinds):
        x, y = LEFT + number * 200, HEIGHT - 14
        parts.append(_circle(x, y - 4, RADIUS, fill=colour))
        parts.append(_text(x + 10, y, meaning))
    parts.append(_circle(LEFT + 600, HEIGHT - 18, 2 * RADIUS, stroke=WINNER))
    parts.append(_text(LEFT + 612, HEIGHT - 14, "winner"))
    return parts


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
    return f'<text {place} fill="{INK}">{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, *, dashed: bool = False) -> str:
    place = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    dashes = ' stroke-dasharray="6 4"' if dashed else ""
    return f'<line {place} stroke="{colour}"{dashes}/>'


def _circle(x: float, y: float, r: float, *, fill: str = "none", stroke: str = "none") -> str:
    place = f'cx="{x:.1f}" cy="{y:.1f}" r="{r}"'
    return f'<circle {place} fill="{fill}" stroke="{stroke}" stroke-width="1.5"/>'
