"""Which arguments of an FX graph go to a program, and how its results come back."""

import pytest
import torch
from torch import nn

import hidet.torch
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


def compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, backend=hidet.torch.backend)


@torch.no_grad()
def test_results_have_their_strides_at_once():
    """They are no views of contiguous ones, which would take longer to make than to allocate."""
    model = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 8, 8).contiguous(memory_format=torch.channels_last)
    y, expected = compiled(model)(x), model(x)
    assert y._base is None
    assert y.stride() == expected.stride()
    torch.testing.assert_close(y, expected)


def test_views_of_one_result_share_it():
    def function(x):
        y = x.exp()
        return y.t(), y[1:], y

    x = torch.randn(3, 4)
    found, expected = compiled(function)(x), function(x)
    torch.testing.assert_close(found, expected)
    assert [y.stride() for y in found] == [y.stride() for y in expected]
    assert len({y.untyped_storage().data_ptr() for y in found}) == 1
