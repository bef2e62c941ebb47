"""Numbers of norms in parts, against float64: those of a convolution's images, and of long rows."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hidet
from hidet.testing.numeric import assert_close


@pytest.mark.parametrize(
    ("extents", "groups", "kernels"),
    [
        pytest.param((64, 64), 4, 4, id="runs of 16"),
        pytest.param((95, 45), 4, 4, id="runs of 15"),
        pytest.param((5, 9), 2, 3, id="small groups"),
        pytest.param((7, 7), 16, 3, id="single channels"),
        pytest.param((40, 41), 16, 4, id="single channels in parts"),
        pytest.param((2048,), 16, 4, id="single channels of a row"),
        pytest.param((1203,), 16, 5, id="single channels, three parts"),
        pytest.param((2048,), 1, 4, id="one group"),
        pytest.param((17,), 4, 2, id="no divisor"),
    ],
)
@torch.no_grad()
@pytest.mark.sample(2)
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


@pytest.mark.parametrize(
    ("extents", "kernels"),
    [pytest.param((9, 9), 4, id="whole"), pytest.param((33, 40), 5, id="parts")],
)
@torch.no_grad()
def test_instance_norm(extents, kernels):
    """Between convolutions, channels stay last: their moments are stored."""
    first, second = nn.Conv2d(3, 16, 1), nn.Conv2d(16, 8, 1)
    nn.init.uniform_(first.bias, 90, 110)
    model = nn.Sequential(first, nn.InstanceNorm2d(16), nn.ReLU(), second).eval()
    x = torch.randn(2, 3, *extents)
    compiled = hidet.compile(model, x)
    assert_close(compiled(x), copy.deepcopy(model).double()(x.double()), 5e-4)
    names = [launch.name for launch in compiled.profile(x, runs=1).launches]
    assert len(names) == kernels, names


class Statistic(nn.Module):
    """A function of one tensor, as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize(
    ("function", "shape", "kernels"),
    [
        pytest.param(lambda x: F.layer_norm(x, (400, 331)), (2, 400, 331), 3, id="layer norm"),
        pytest.param(lambda x: F.group_norm(x, 1), (3, 8, 130, 130), 3, id="group norm"),
        pytest.param(lambda x: F.rms_norm(x, (1 << 17,)), (2, 1 << 17), 3, id="rms norm"),
        pytest.param(lambda x: x.var(), (500, 263), 2, id="variance"),
        pytest.param(lambda x: x.var(1, correction=0), (2, 1 << 17), 2, id="population"),
        pytest.param(lambda x: x.softmax(1), (3, 50257), 3, id="softmax, few parts"),
        pytest.param(lambda x: x.log_softmax(1), (64, 50257), 3, id="log_softmax"),
        pytest.param(lambda x: x.softmax(1), (2, 1 << 16), 3, id="softmax"),
        pytest.param(lambda x: F.layer_norm(x, (131101,)), (1, 131101), 1, id="prime length"),
        pytest.param(lambda x: F.layer_norm(x, (4096,)), (64, 4096), 1, id="short rows"),
    ],
)
@torch.no_grad()
@pytest.mark.sample(2)
def test_long_rows(function, shape, kernels):
    """A few long rows take further kernels, so that many blocks read them."""
    x = 100 + torch.randn(shape)
    model = Statistic(function)
    compiled = hidet.compile(model, x)
    assert_close(compiled(x), model(x.double()), 5e-4)
    names = [launch.name for launch in compiled.profile(x, runs=1).launches]
    assert len(names) == kernels, names


@torch.no_grad()
def test_softmax_of_masked_parts():
    """What is not finite becomes what torch makes of it; others do not notice masked parts."""
    x = torch.randn(6, 1 << 15)
    x[1, : 1 << 14] = -torch.inf
    x[2] = -torch.inf
    x[3, 7], x[4, 7], x[5, 7] = torch.inf, torch.nan, -torch.inf
    model = Statistic(lambda x: (x.softmax(1), x.log_softmax(1)))
    for found, expected in zip(hidet.compile(model, x)(x), model(x.double()), strict=True):
        torch.testing.assert_close(found, expected.float(), rtol=1e-5, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("is_computed", [False, True], ids=["stored", "computed"])
def test_batch_norm_of_concatenated_channels(is_computed):
    """Moments are from distances to an element where a kernel has stored all, and exact."""

    class Dense(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList([nn.Conv2d(3, 24, 1), nn.Conv2d(3, 8, 1)])
            nn.init.uniform_(self.parts[0].bias, 90, 110)
            self.norm = nn.BatchNorm2d(32)

        def forward(self, x):
            parts = [part(x) for part in self.parts]
            return self.norm(torch.cat([p.tanh() for p in parts] if is_computed else parts, 1))

    model = Dense().to(memory_format=torch.channels_last)
    exact, x = copy.deepcopy(model).double(), torch.randn(8, 3, 40, 41)
    x = x.to(memory_format=torch.channels_last)
    found = torch.compile(model, backend="hidet")(x)
    if not is_computed:
        assert_close(found, exact(x.double()), 5e-4)
        assert_close(model.norm.running_var, exact.norm.running_var, 1e-5)
    else:
        torch.testing.assert_close(found[:, 24:], exact(x.double()).float()[:, 24:])
