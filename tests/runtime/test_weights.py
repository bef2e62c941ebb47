"""Sets of weights: recognised, refreshed, and dropped when a weight dies."""

import gc
import sys

import pytest
import torch

from hidet.runtime.weights import UncountedWeightsError, WeightSets


class _Counting:
    """A `prepare` that notes how often it ran."""

    def __init__(self):
        self.calls = 0

    def __call__(self, constants):
        self.calls += 1
        return torch.cat([constant.detach() for constant in constants])


@pytest.fixture
def prepare():
    return _Counting()


def test_dead_weights_free_their_memory(prepare):
    sets = WeightSets([0, 1])
    weights = [torch.randn(4), torch.randn(4)]
    other = [torch.randn(4), torch.randn(4)]
    known = sets.select(weights, prepare)
    sets.select(other, prepare)
    assert len(sets) == 2
    weights.pop()
    gc.collect()
    assert known.prepared is None
    assert len(sets) == 1
    sets.select(other, prepare)
    assert prepare.calls == 2


def test_a_view_made_for_one_call_does_not_matter(prepare):
    """What counts is the storage, since a frontend may pass new views of it each time."""
    sets = WeightSets([0])
    weight = torch.nn.Parameter(torch.randn(4, 4))
    first = sets.select([weight.detach().view(16)], prepare)
    gc.collect()
    assert sets.select([weight.detach().view(16)], prepare) is first
    assert prepare.calls == 1


def test_new_weights_at_an_old_address_are_new(prepare):
    """The module is alive, but its data moved elsewhere and another tensor took their place."""
    sets = WeightSets([0])
    buffer = bytearray(4096)
    address = torch.frombuffer(buffer, dtype=torch.float32).data_ptr()
    weight = torch.nn.Parameter(torch.frombuffer(buffer, dtype=torch.float32))
    known = sets.select([weight], prepare)
    weight.data = torch.randn(4)
    gc.collect()
    taker = torch.frombuffer(buffer, dtype=torch.float32)
    assert taker.data_ptr() == address
    assert taker._version == 0
    assert known.prepared is None
    assert sets.select([taker], prepare) is not known
    assert prepare.calls == 2


def test_nothing_interrupts_the_end_of_a_weight(prepare):
    """A Ctrl-C comes in code of Python, and is lost where a reference calls that."""

    def interrupt(frame, event, argument):
        raise KeyboardInterrupt

    sets = WeightSets([0])
    weight = torch.randn(4)
    known = sets.select([weight], prepare)
    sys.settrace(interrupt)
    del weight
    sys.settrace(None)
    assert known.prepared is None


def test_capacity_drops_the_least_recently_used(prepare):
    sets = WeightSets([0], capacity=2)
    a, b, c = ([torch.randn(4)] for _ in range(3))
    for weights in (a, b, a, c, a):
        sets.select(weights, prepare)
    assert prepare.calls == 3
    sets.select(b, prepare)
    assert prepare.calls == 4
    assert len(sets) == 2


def test_only_the_given_positions_count(prepare):
    sets = WeightSets([1])
    weight = torch.randn(4)
    for _ in range(3):
        sets.select([torch.randn(4), weight], prepare)
    assert prepare.calls == 1


def test_empty_weights(prepare):
    sets = WeightSets([0])
    weight = torch.empty(0)
    sets.select([weight], prepare)
    sets.select([weight], prepare)
    assert prepare.calls == 1


def test_weights_without_versions_are_in_no_set(prepare):
    with torch.inference_mode():
        weight = torch.randn(4)
    sets = WeightSets([1])
    with pytest.raises(UncountedWeightsError, match="no version counter"):
        sets.select([torch.randn(4), weight], prepare)
    assert prepare.calls == len(sets) == 0
    sets.select([weight, torch.randn(4)], prepare)  # of which only the second one is prepared


def test_failed_prepare_leaves_no_set():
    def fail(constants):
        raise RuntimeError("no memory")

    sets = WeightSets([0])
    with pytest.raises(RuntimeError, match="no memory"):
        sets.select([torch.randn(4)], fail)
    assert len(sets) == 0
