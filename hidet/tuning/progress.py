"""The progress bars of the tuner: candidates built, and candidates measured."""

from contextlib import ExitStack
from typing import Any

from hidet.backend.build import PROGRESS, ProgressBar


class Progress(ExitStack):
    """The bars of one tuning, as a context manager; `mode` is the option `progress`."""

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
                position=position,
                mininterval=0,  # updates are rare
            )
            for position, text in enumerate(("Building", "Measuring"))
        ]
        for bar in self._bars:
            self.callback(bar.close)

    def expect(self, count: int) -> None:
        """Add candidates to the totals."""
        for bar in self._bars:
            bar.total += count
            bar.refresh()

    def built(self) -> None:
        """Advance the first bar by a candidate, built or failed."""
        self._bars[0].update()

    def measured(self, best: str) -> None:
        """Advance the second bar by a candidate, measured or failed; show the best one."""
        self._bars[1].set_postfix_str(best, refresh=False)
        self._bars[1].update()
