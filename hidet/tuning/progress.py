"""Two progress bars: candidates that are built, and candidates that are measured."""

from contextlib import ExitStack
from typing import Any

from hidet.backend.build import PROGRESS, ProgressBar


class Progress(ExitStack):
    """The bars of one tuning, which are closed at the end.

    Args:
        mode: the option `progress`.
    """

    def __init__(self, mode: str) -> None:
        super().__init__()
        shown = PROGRESS[mode]
        disabled = None if shown is None else not shown
        self._bars: list[Any] = [
            ProgressBar(
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
        for bar in self._bars:
            self.callback(bar.close)

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
