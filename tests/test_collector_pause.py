"""The garbage collector comes back after the passes, as it was before."""

import gc

import pytest

from hidet.collector_pause import collector_paused


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
