"""The two bars: on a terminal or on request, with the best time."""

import pytest

from hidet.tuning.tuner import Progress


@pytest.mark.parametrize(("mode", "shown"), [("on", True), ("off", False), ("auto", False)])
def test_bars(mode, shown, capsys):
    """Standard error is no terminal here, so `auto` shows nothing."""
    with Progress(mode) as progress:
        progress.expect(2)
        for best in ("best 12.5 us, 80% of the roofline", "best 11.0 us, 91% of the roofline"):
            progress.built()
            progress.measured(best)
    text = capsys.readouterr().err
    assert ("Building" in text) == ("Measuring" in text) == shown
    assert ("2/2" in text) == shown
    assert ("best 12.5 us, 80% of the roofline" in text) == shown
