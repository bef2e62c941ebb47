"""Which arguments of an FX graph go to a program."""

import pytest

from hidet.frontends.torch.imported import Source
from hidet.frontends.torch.program import _reader


@pytest.mark.parametrize(
    "positions",
    [[], [3], [0, 1, 2], [0, 2, 3, 4], [4, 2, 0], [1, 0], [0, 2, 4, 5]],
    ids=str,
)
def test_reader_gives_the_arguments_in_order(positions):
    arguments = ["a", "b", "c", "d", "e", "f"]
    read = _reader([Source(position, None) for position in positions])
    assert list(read(arguments)) == [arguments[position] for position in positions]
