"""Numbers of group norms of images that a convolution computes, against float64."""

import copy

import pytest
import torch
from torch import nn

import hidet
from hidet.testing.numeric import assert_close


@pytest.mark.parametrize(
    ("extents", "groups", "kernels"),
    [
        pytest.param((8, 8), 4, 6, id="runs of 16"),
        pytest.param((5, 9), 2, 6, id="runs of 15"),
        pytest.param((7, 7), 16, 6, id="single channels"),
        pytest.param((30,), 1, 4, id="one group"),
        pytest.param((17,), 4, 2, id="no divisor"),
    ],
)
@torch.no_grad()
def test_group_norm(extents, groups, kernels):
    """Means are far from zero, so that a difference of sums of squares would be too inexact."""
    conv = (nn.Conv1d, nn.Conv2d)[len(extents) - 1](3, 16, 1)
    nn.init.uniform_(conv.bias, 90, 110)
    norm = nn.GroupNorm(groups, 16)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    model, x = nn.Sequential(conv, norm).eval(), torch.randn(2, 3, *extents)
    compiled = hidet.compile(model, x)
    assert_close(compiled(x), copy.deepcopy(model).double()(x.double()), 5e-4)
    names = [launch.name for launch in compiled.profile(x, runs=1).launches]
    assert len(names) == kernels, names
