"""Swizzled layouts: where elements lie, compositions, and that no element is lost."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hidet.mapping import MappingError, column_repeat, repeat, spatial


def places(layout):
    """Give the place of each element."""
    return [layout.place(*index) for index in product(*map(range, layout.shape))]


def test_two_dimensions():
    """The index of a row changes the places in it; `log_step` rows in the same way."""
    plain, layout = repeat(8, 4), repeat(8, 4).swizzle(1)
    skewed = repeat(8, 4).swizzle(1, log_step=1)
    columns = repeat(4, 8).swizzle(0)
    for i, j in product(range(8), range(4)):
        assert layout.place(i, j) == plain.register_index((i, j ^ i % 4))
        assert skewed.place(i, j) == plain.register_index((i, j ^ i // 2 % 4))
        assert columns.place(j, i) == j * 8 + i + ((j ^ i % 4) - j) * 8
    assert layout == repeat(8, 4).swizzle(1, 0) == repeat(8, 4).swizzle(1, regards_dim=0)


def test_compositions():
    """What stands right of a swizzle moves as a whole; what stands left does not matter."""
    tile = repeat(8, 4).swizzle(1) * repeat(2, 8)
    for i, j in product(range(16), range(32)):
        assert tile.place(i, j) == (i // 2 * 4 + (j // 8 ^ i // 2 % 4)) * 16 + i % 2 * 8 + j % 8
    outer = column_repeat(2, 3) * tile
    stages = repeat(2) + tile
    assert outer.shape == (32, 96)
    assert stages.shape == (2, 16, 32)
    for i, j in product(range(16), range(32)):
        assert outer.place(16 + i, 64 + j) == 5 * 512 + tile.place(i, j)
        assert stages.place(1, i, j) == 512 + tile.place(i, j)
        assert (tile + repeat(3)).place(i, j, 2) == tile.place(i, j) * 3 + 2
    twice = repeat(4, 4).swizzle(1) * repeat(4, 4).swizzle(0)
    assert twice.place(6, 9) == ((1 * 4 + (2 ^ 1)) * 4 + (2 ^ 1)) * 4 + 1


def test_exchanges_follow_each_other():
    """The last exchange that was asked for happens to an index first."""
    layout = repeat(4, 4).swizzle(1).swizzle(0)
    for i, j in product(range(4), range(4)):
        assert layout.place(i, j) == (i ^ j) * 4 + (j ^ i ^ j)


def test_three_dimensions():
    """Of several dimensions the one is named that decides."""
    layout = repeat(3, 2, 8).swizzle(2, regards_dim=0)
    assert [layout.place(i, 1, 5) for i in range(3)] == [13, 16 + 8 + 4, 32 + 8 + 7]


sizes = st.integers(1, 5)
powers = st.sampled_from([1, 2, 4, 8])


@given(sizes, powers, st.integers(0, 3), sizes, sizes, sizes, sizes)
def test_no_element_is_lost(rows, columns, log_step, m, n, p, q):
    """Whatever the sizes, all places are taken once."""
    layout = repeat(m, n) * repeat(rows, columns).swizzle(1, log_step=log_step) * repeat(p, q)
    found = places(layout)
    assert sorted(found) == list(range(len(found)))
    lifted = repeat(2) + layout
    assert sorted(places(lifted)) == list(range(2 * len(found)))


def test_rows_meet_in_no_bank():
    """The 16 bytes of 8 rows of a column of segments lie in all 32 banks of 4 bytes."""
    for segments, log_step in ((2, 2), (4, 1), (8, 0), (16, 0)):
        layout = repeat(16, segments).swizzle(1, log_step=log_step)
        for first, j in product((0, 8), range(segments)):
            banks = {layout.place(first + i, j) % 8 for i in range(8)}
            assert len(banks) == 8


def test_texts():
    """The text says which digit of which index changes; the picture shows the places."""
    layout = repeat(2, 4).swizzle(1) * repeat(1, 2)
    assert str(layout) == repr(layout) == "repeat(2, 8) with d1 / 2 ^= d0 % 2"
    assert layout.draw(limit=4) == (
        "    0  1  2  3 ..\n"
        "0   0  1  2  3 ..\n"
        "1  10 11  8  9 ..\n\n"
        "repeat(2, 8) with d1 / 2 ^= d0 % 2\n"
        "p     the element lies at place p of memory"
    )
    assert str(repeat(16, 4).swizzle(1, log_step=1)) == "repeat(16, 4) with d1 ^= d0 / 2 % 4"


def test_mistakes():
    """What cannot be swizzled."""
    for make in (
        lambda: repeat(4, 4).swizzle(2),
        lambda: repeat(4, 4).swizzle(1, 1),
        lambda: repeat(4, 4, 4).swizzle(1),
    ):
        with pytest.raises(MappingError, match="cannot swizzle dimension"):
            make()
    for make in (
        lambda: repeat(4, 6).swizzle(1),
        lambda: spatial(4, 4).swizzle(1),
        lambda: repeat(4, 4).swizzle(1, log_step=-1),
    ):
        with pytest.raises(MappingError, match="with log_step"):
            make()
    with pytest.raises(MappingError, match="one of two dimensions"):
        (repeat(2) + repeat(4, 4).swizzle(1)).draw()
    for wrong in (2.5, "2"):
        with pytest.raises(TypeError):
            repeat(4, 4) * wrong
        with pytest.raises(TypeError):
            repeat(4, 4) + wrong


def test_sums_of_mappings():
    """`+` puts the dimensions of one before those of the other."""
    assert repeat(2) + repeat(3, 4) == repeat(2, 3, 4)
    assert repeat(2) + spatial(3) == repeat(2, 1) * spatial(1, 3)
    assert (repeat(2) + spatial(4).replicate(2)).replication == 2
