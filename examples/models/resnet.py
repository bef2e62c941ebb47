"""ResNet-18: residual learning with two 3x3 convolutions a block (He et al., 2015).

Submodules carry torchvision's names, so that a state dict of torchvision's `resnet18` fits. The
weights here are random.
"""

import torch
from torch import nn


class BasicBlock(nn.Module):
    """Two 3x3 convolutions, whose result is added to the block's input.

    Args:
        inputs: channels that come in.
        outputs: channels that go out.
        stride: by how much the first convolution shrinks height and width. Where the shape changes,
            a 1x1 convolution brings the input to the shape of the result.
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample: nn.Module | None = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map images [N, inputs, H, W] to [N, outputs, H / stride, W / stride]."""
        shortcut = x if self.downsample is None else self.downsample(x)
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return self.relu(y + shortcut)


class ResNet18(nn.Module):
    """The 18-layer residual network for images of 224x224 pixels.

    Args:
        classes: how many classes the images fall into.
    """

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._stage(64, 64, stride=1)
        self.layer2 = self._stage(64, 128, stride=2)
        self.layer3 = self._stage(128, 256, stride=2)
        self.layer4 = self._stage(256, 512, stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512, classes)
        self._initialize()

    @staticmethod
    def _stage(inputs: int, outputs: int, stride: int) -> nn.Sequential:
        """Make two blocks, of which the first may shrink the image."""
        return nn.Sequential(BasicBlock(inputs, outputs, stride), BasicBlock(outputs, outputs, 1))

    def _initialize(self) -> None:
        """Draw convolution weights so that ReLU keeps the variance, and statistics that matter.

        A fresh batch norm would be the identity; random statistics make it count in tests.
        """
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.uniform_(module.weight, 0.5, 1.0)
                nn.init.normal_(module.bias, std=0.1)
                nn.init.normal_(module.running_mean, std=0.1)
                nn.init.uniform_(module.running_var, 0.5, 1.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map images [N, 3, H, W] to scores [N, classes]."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet18(classes: int = 1000) -> ResNet18:
    """Make a ResNet-18 with random weights, in inference mode."""
    return ResNet18(classes).eval()
