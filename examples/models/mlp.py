"""A multilayer perceptron: linear layers with ReLU between them."""

from collections.abc import Sequence
from itertools import pairwise

from torch import nn


def mlp(sizes: Sequence[int] = (784, 512, 256, 10)) -> nn.Sequential:
    """Make a perceptron with random weights, in inference mode.

    Args:
        sizes: features that go in, of each hidden layer, and that come out.
    """
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1]).eval()
