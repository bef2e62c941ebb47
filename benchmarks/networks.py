"""Convolutional networks that `transformers` lacks, with random weights.

They show groups, dense connections, branches and large filters; images are [N, 3, 224, 224].
"""

import torch
from torch import nn


def conv_norm(inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1) -> nn.Module:
    """Return a convolution that keeps the image's size but for its stride, its norm, and a ReLU."""
    conv = nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), nn.ReLU())


def stem(channels: int) -> nn.Module:
    """Return what most networks begin with: a 7x7 convolution and a pooling, both of stride 2."""
    return nn.Sequential(conv_norm(3, channels, 7, 2), nn.MaxPool2d(3, 2, 1))


def head(channels: int) -> nn.Module:
    """Return the mean over an image and a linear layer to 1000 classes."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def settle(model: nn.Module) -> nn.Module:
    """Return a model whose norms are of the images that it sees, as those of trained models are.

    Filters are drawn such that ReLU keeps the variance; norms keep statistics of two images.
    """
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        elif isinstance(module, nn.BatchNorm2d):
            module.momentum = 1.0
    with torch.no_grad():
        model.train()(torch.randn(2, 3, 224, 224))
    return model.eval()


class Residual(nn.Module):
    """The sum of a branch and its input, which a 1x1 convolution brings to its shape."""

    def __init__(self, branch: nn.Module, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.branch = branch
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map images [N, inputs, H, W] to [N, outputs, H / stride, W / stride]."""
        return torch.relu(self.branch(x) + self.shortcut(x))


class Concatenated(nn.Module):
    """The results of branches of one input, side by side along the channels."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map images [N, inputs, H, W] to [N, sum of outputs, H, W]."""
        return torch.cat([branch(x) for branch in self.branches], 1)


def resnext101() -> nn.Module:
    """Return ResNeXt-101 32x8d (Xie et al., 2017): bottlenecks with filters of 32 groups."""
    stages: list[nn.Module] = [stem(64)]
    inputs = 64
    for depth, width, stride in ((3, 256, 1), (4, 512, 2), (23, 1024, 2), (3, 2048, 2)):
        for block in range(depth):
            step, outputs = stride if block == 0 else 1, width
            branch = nn.Sequential(
                conv_norm(inputs, width, 1),
                conv_norm(width, width, 3, step, groups=32),
                nn.Conv2d(width, outputs, 1, bias=False),
                nn.BatchNorm2d(outputs),
            )
            stages.append(Residual(branch, inputs, outputs, step))
            inputs = outputs
    return nn.Sequential(*stages, head(inputs))


def densenet121() -> nn.Module:
    """Return DenseNet-121 (Huang et al., 2017): layers read all that those before them made."""
    stages: list[nn.Module] = [stem(64)]
    channels, growth = 64, 32
    for number, depth in enumerate((6, 12, 24, 16)):
        if number:
            stages += [conv_norm(channels, channels // 2, 1), nn.AvgPool2d(2)]
            channels //= 2
        for _ in range(depth):
            layer = nn.Sequential(
                conv_norm(channels, 4 * growth, 1), conv_norm(4 * growth, growth, 3)
            )
            stages.append(Concatenated(nn.Identity(), layer))
            channels += growth
    return nn.Sequential(*stages, head(channels))


def inception() -> nn.Module:
    """Return GoogLeNet (Szegedy et al., 2015) with norms: four branches a block."""
    stages: list[nn.Module] = [stem(64), conv_norm(64, 64, 1), conv_norm(64, 192, 3)]
    channels = 192
    for pool, a, b, c, d, e, f in (
        (1, 64, 96, 128, 16, 32, 32),
        (0, 128, 128, 192, 32, 96, 64),
        (1, 192, 96, 208, 16, 48, 64),
        (0, 160, 112, 224, 24, 64, 64),
        (0, 128, 128, 256, 24, 64, 64),
        (0, 112, 144, 288, 32, 64, 64),
        (0, 256, 160, 320, 32, 128, 128),
        (1, 256, 160, 320, 32, 128, 128),
        (0, 384, 192, 384, 48, 128, 128),
    ):
        if pool:
            stages.append(nn.MaxPool2d(3, 2, 1))
        stages.append(
            Concatenated(
                conv_norm(channels, a, 1),
                nn.Sequential(conv_norm(channels, b, 1), conv_norm(b, c, 3)),
                nn.Sequential(conv_norm(channels, d, 1), conv_norm(d, e, 5)),
                nn.Sequential(nn.MaxPool2d(3, 1, 1), conv_norm(channels, f, 1)),
            )
        )
        channels = a + c + e + f
    return nn.Sequential(*stages, head(channels))


def large_kernels() -> nn.Module:
    """Return a network of depthwise filters of 31 to 13 pixels (after Ding et al., 2022)."""
    stages: list[nn.Module] = [stem(128)]
    inputs = 128
    for depth, width, size in ((2, 128, 31), (2, 256, 29), (6, 512, 27), (2, 1024, 13)):
        if width != inputs:
            stages.append(conv_norm(inputs, width, 3, 2))
        for _ in range(depth):
            filters = nn.Sequential(
                conv_norm(width, width, 1),
                conv_norm(width, width, size, groups=width),
                conv_norm(width, width, 1),
            )
            wide = nn.Sequential(conv_norm(width, 4 * width, 1), conv_norm(4 * width, width, 1))
            stages += [Residual(filters, width, width, 1), Residual(wide, width, width, 1)]
        inputs = width
    return nn.Sequential(*stages, head(inputs))


NETWORKS = {
    "resnext101": resnext101,
    "densenet121": densenet121,
    "inception": inception,
    "large-kernels": large_kernels,
}
"""The networks by name."""
