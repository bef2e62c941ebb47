"""LeNet-5: two convolutions and three linear layers for handwritten digits (LeCun et al., 1998).

With ReLU and max pooling instead of the paper's scaled tanh and trainable average pooling.
"""

import torch
from torch import nn
from torch.nn import functional


class LeNet(nn.Module):
    """The network for grey images of 28x28 pixels.

    Args:
        classes: how many classes the images fall into.
    """

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map images [N, 1, 28, 28] to scores [N, classes]."""
        x = functional.max_pool2d(functional.relu(self.conv1(x)), 2)
        x = functional.max_pool2d(functional.relu(self.conv2(x)), 2)
        x = functional.relu(self.fc1(x.flatten(1)))
        return self.fc3(functional.relu(self.fc2(x)))


def lenet(classes: int = 10) -> LeNet:
    """Make a LeNet with random weights, in inference mode."""
    return LeNet(classes).eval()
