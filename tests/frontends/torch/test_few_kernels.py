"""The number of kernels of what used to take more."""

import pytest
import torch
from torch import nn

import hidet


class Module(nn.Module):
    """A function of tensors, as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


def route(x, weight):
    """The two best of 8 experts."""
    return torch.softmax(x @ weight, -1).topk(2)


def by_expert(x):
    """The three best of 100 experts of 30 tokens, in order: their numbers have seven bits."""
    return x.topk(3).indices.reshape(-1).sort(stable=True)


def ordered(x):
    """Sorted rows; of equal elements, torch gives the first one first only if asked to."""
    return x.sort(dim=-1, stable=True)


def embed(image, time, kernel, weight):
    """A convolution of an image, and what a linear layer makes of a time step."""
    hidden = nn.functional.conv2d(image, kernel, padding=1)
    return hidden + nn.functional.linear(time, weight)[:, :, None, None]


@pytest.mark.parametrize(
    ("function", "shapes", "kernels"),
    [
        pytest.param(lambda x: x.argmax(1), [(64, 1000)], 1, id="argmax"),
        pytest.param(lambda x: x.max(1), [(64, 1000)], 1, id="values too"),
        pytest.param(lambda x: x.argmin(1), [(2, 19, 32, 32)], 1, id="across rows"),
        pytest.param(lambda x: x.softmax(-1), [(64, 8)], 1, id="short softmax"),
        pytest.param(lambda x: x.log_softmax(1), [(2, 16, 32, 32)], 1, id="short log_softmax"),
        pytest.param(route, [(256, 64), (64, 8)], 5, id="router"),
        pytest.param(ordered, [(16, 1000)], 2, id="sort"),
        pytest.param(ordered, [(4, 10000)], 4, id="sort in two parts"),
        pytest.param(by_expert, [(30, 100)], 4, id="sort of positions"),
        pytest.param(lambda x: (x.sum(-1), x.amax(-1)), [(64, 100)], 1, id="two of rows"),
        pytest.param(lambda x, y: torch.cat([x.exp(), y.tanh()]), [(9, 8), (7, 8)], 1, id="join"),
        pytest.param(embed, [(2, 8, 9, 9), (2, 16), (8, 8, 3, 3), (8, 16)], 4, id="embedding"),
    ],
)
@torch.no_grad()
@pytest.mark.sample(4)
def test_kernels(function, shapes, kernels):
    """As many as the changelog says, with the results of eager torch."""
    model, arguments = Module(function), [torch.randn(shape) for shape in shapes]
    compiled = hidet.compile(model, *arguments)
    torch.testing.assert_close(compiled(*arguments), function(*arguments))
    names = [launch.name for launch in compiled.profile(*arguments, runs=1).launches]
    assert len(names) == kernels, names
