"""Dependencies against the definition, written out naively."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.runtime.dependencies import Access, find_dependencies


def _conflict(first, second):
    return any(
        a.memory == b.memory
        and (a.writes or b.writes)
        and max(a.start, b.start) < min(a.stop, b.stop)
        for a in first
        for b in second
    )


def _closure(dependencies):
    before = []
    for waits_for in dependencies:
        before.append(set(waits_for).union(*(before[number] for number in waits_for)))
    return before


def _brute_force(launches):
    """Every pair in conflict, then the transitive reduction by its definition."""
    waits_for = [
        {i for i in range(n) if _conflict(launches[i], launches[n])} for n in range(len(launches))
    ]
    before = _closure(waits_for)
    return [
        tuple(sorted(d for d in direct if not any(d in before[other] for other in direct)))
        for direct in waits_for
    ]


_accesses = st.builds(
    lambda memory, start, size, writes: Access(memory, start, start + size, writes),
    st.sampled_from(["arena", ("output", 0)]),
    st.integers(0, 12),
    st.integers(0, 6),
    st.booleans(),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.lists(_accesses, max_size=4), max_size=14))
def test_equals_the_definition(launches):
    assert find_dependencies(launches) == _brute_force(launches)


def test_kinds_of_dependency():
    launches = [
        [Access("m", 0, 8, True)],
        [Access("m", 4, 6, False)],  # reads what 0 wrote
        [Access("m", 6, 8, False)],
        [Access("m", 4, 8, True)],  # must not overwrite before 1 and 2 have read; 0 is implied
        [Access("m", 0, 4, True)],  # overwrites what 0 wrote, nobody read it
        [Access("m", 8, 9, True)],  # adjacent bytes are others
        [Access("n", 0, 8, True)],
    ]
    assert find_dependencies(launches) == [(), (0,), (0,), (1, 2), (0,), (), ()]


def test_a_launch_does_not_wait_for_itself():
    assert find_dependencies([[Access("m", 0, 8, False), Access("m", 0, 8, True)]]) == [()]


def test_long_chain_with_a_value_read_everywhere():
    """The work stays small: the candidates of every launch are few, and one chain holds them."""
    launches = [[Access("long", 0, 1, True), Access("m", 0, 256, True)]]
    launches.extend(
        [
            Access("long", 0, 1, False),
            Access("m", 256 * ((number - 1) % 2), 256 * ((number - 1) % 2 + 1), False),
            Access("m", 256 * (number % 2), 256 * (number % 2 + 1), True),
        ]
        for number in range(1, 4000)
    )
    dependencies = find_dependencies(launches)
    assert dependencies == [(), *((number,) for number in range(3999))]
