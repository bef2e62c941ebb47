"""The garbage collector comes back after passes and imports, as it was before."""

import gc

import pytest

from hidet.loading import collector_paused


def test_paused_inside_only():
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_comes_back_after_an_error():
    with pytest.raises(KeyError), collector_paused():
        raise KeyError
    assert gc.isenabled()


def test_stays_off_where_it_was_off():
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_lives_on_counts_as_old():
    """The collector, switched on again, looks at nothing; what somebody has frozen stays so."""
    with collector_paused(for_good=True):
        made = [[] for _ in range(10_000)]
    assert gc.get_count()[0] < len(made) // 10
    assert gc.get_freeze_count() == 0
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with collector_paused(for_good=True):
            pass
        assert 0 < gc.get_freeze_count() <= frozen  # some of the frozen may have died since
    finally:
        gc.unfreeze()
