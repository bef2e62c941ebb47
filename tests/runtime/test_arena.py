"""Placing buffers in the arena: never two at the same bytes at the same step."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.arch.limits import BUFFER_ALIGNMENT, align
from hidet.lowering.host.plan_memory import Lifetime, place

_lifetimes = st.lists(
    st.builds(
        lambda first, length, size: Lifetime(first, first + length, size),
        st.integers(0, 30),
        st.integers(0, 8),
        st.one_of(st.just(0), st.integers(1, 5000)),
    ),
    max_size=40,
)


@settings(max_examples=300, deadline=None)
@given(_lifetimes)
def test_no_two_live_buffers_overlap(lifetimes):
    offsets, total = place(lifetimes)
    for i, (a, at) in enumerate(zip(lifetimes, offsets, strict=True)):
        assert at % BUFFER_ALIGNMENT == 0
        assert at + a.size <= total or a.size == 0
        for b, bt in list(zip(lifetimes, offsets, strict=True))[i + 1 :]:
            if max(a.first, b.first) <= min(a.last, b.last):
                assert max(at, bt) >= min(at + a.size, bt + b.size)


@settings(max_examples=300, deadline=None)
@given(_lifetimes)
def test_size_is_between_what_is_needed_and_the_sum(lifetimes):
    _, total = place(lifetimes)
    needed = max(
        (sum(align(b.size) for b in lifetimes if b.first <= step <= b.last) for step in range(40)),
        default=0,
    )
    assert needed <= total <= sum(align(b.size) for b in lifetimes)


def test_a_chain_needs_two_buffers():
    chain = [Lifetime(step, step + 1, 1000) for step in range(100)]
    offsets, total = place(chain)
    assert total == 2048
    assert set(offsets) == {0, 1024}


def test_empty_buffers_lie_at_zero_and_take_nothing():
    assert place([Lifetime(0, 9, 4096), Lifetime(0, 9, 0)]) == ([0, 0], 4096)
    assert place([]) == ([], 0)
