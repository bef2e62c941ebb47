"""The garbage collector comes back after the passes, as it was before."""

import gc

import pytest

from hidet.lowering.collection import collection_paused


def test_paused_inside_only():
    assert gc.isenabled()
    with collection_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_comes_back_after_an_error():
    with pytest.raises(KeyError), collection_paused():
        raise KeyError
    assert gc.isenabled()


def test_stays_off_where_it_was_off():
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
