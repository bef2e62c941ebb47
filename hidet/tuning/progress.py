"""Two progress bars: candidates that are built, and candidates that are measured."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from tqdm import tqdm

PROGRESS = {"auto": None, "on": True, "off": False}
"""The values of the option `progress`: whether bars are shown; None is on a terminal only."""


class Progress:
    """The bars of one tuning.

    Args:
        mode: the option `progress`.
    """

    def __init__(self, mode: str) -> None:
        shown = PROGRESS[mode]
        disabled = None if shown is None else not shown
        self._bars: list[Any] = [
            tqdm(
                total=0,
                desc=text,
                unit="kernel",
                leave=False,
                disable=disabled,
                position=place,
                mininterval=0,  # there are few candidates, and each takes its time
            )
            for place, text in enumerate(("Building", "Measuring"))
        ]

    def expect(self, count: int) -> None:
        """Note that so many more candidates are built, and measured."""
        for bar in self._bars:
            bar.total += count
            bar.refresh()

    def built(self) -> None:
        """Note that a candidate is built, or cannot be."""
        self._bars[0].update()

    def measured(self, best: str) -> None:
        """Note that a candidate is measured, or cannot be; and what the best is now."""
        self._bars[1].set_postfix_str(best, refresh=False)
        self._bars[1].update()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for bar in reversed(self._bars):
            bar.close()
