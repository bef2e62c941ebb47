"""MLP-Mixer: image patches mixed by perceptrons alone (Tolstikhin et al., 2021)."""

import torch
from torch import nn


class Perceptron(nn.Module):
    """Two linear layers with GELU between them, over the last dimension."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(features, hidden)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden, features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [..., features] to the same shape."""
        return self.fc2(self.act(self.fc1(x)))


class MixerBlock(nn.Module):
    """Mix between the patches of each channel, then between the channels of each patch."""

    def __init__(self, patches: int, channels: int, token_hidden: int, channel_hidden: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(channels)
        self.mlp_tokens = Perceptron(patches, token_hidden)
        self.norm2 = nn.LayerNorm(channels)
        self.mlp_channels = Perceptron(channels, channel_hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [N, patches, channels] to the same shape."""
        x = x + self.mlp_tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.mlp_channels(self.norm2(x))


class Mixer(nn.Module):
    """The whole network.

    Args:
        image: height and width of the images in pixels.
        patch: height and width of a patch in pixels.
        channels: features of a patch.
        depth: number of blocks.
        token_hidden: hidden features of the perceptrons between patches.
        channel_hidden: hidden features of the perceptrons between channels.
        classes: how many classes the images fall into.
    """

    def __init__(
        self,
        image: int = 224,
        patch: int = 16,
        channels: int = 768,
        depth: int = 12,
        token_hidden: int = 384,
        channel_hidden: int = 3072,
        classes: int = 1000,
    ) -> None:
        super().__init__()
        patches = (image // patch) ** 2
        self.stem = nn.Conv2d(3, channels, patch, stride=patch)
        self.blocks = nn.Sequential(
            *(MixerBlock(patches, channels, token_hidden, channel_hidden) for _ in range(depth))
        )
        self.norm = nn.LayerNorm(channels)
        self.head = nn.Linear(channels, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map images [N, 3, image, image] to scores [N, classes]."""
        x = self.stem(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(dim=1))


def mixer_tiny(classes: int = 10) -> Mixer:
    """Make a small mixer for images of 32x32 pixels, with random weights, in inference mode."""
    return Mixer(
        image=32,
        patch=8,
        channels=64,
        depth=2,
        token_hidden=32,
        channel_hidden=128,
        classes=classes,
    ).eval()


def mixer_base(classes: int = 1000) -> Mixer:
    """Make the paper's B/16 for images of 224x224 pixels, with random weights, for inference."""
    return Mixer(classes=classes).eval()
