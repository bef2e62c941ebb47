"""Training of small networks: the losses of 50 steps are those of eager torch."""

import copy
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from hidet.torch import backend

STEPS = 50


class Residual(nn.Module):
    """Two convolutions with norms, around which the input goes."""

    def __init__(self, channels):
        super().__init__()
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(2))

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(x + self.norms[1](self.second(y)))


def resnet():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        Residual(8),
        Residual(8),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 5),
    )


class Block(nn.Module):
    """Attention to what is before, and a network for each position."""

    def __init__(self, size):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2))
        self.inner, self.outer = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.wide, self.narrow = nn.Linear(size, 2 * size), nn.Linear(2 * size, size)

    def forward(self, x):
        batch, length, size = x.shape
        heads = self.inner(self.norms[0](x)).view(batch, length, 3, 2, size // 2)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.outer(seen.transpose(1, 2).reshape(batch, length, size))
        return x + self.narrow(F.gelu(self.wide(self.norms[1](x))))


class Gpt(nn.Module):
    """Two blocks over the characters of a text."""

    def __init__(self, words=23, size=16, length=12):
        super().__init__()
        self.words, self.places = nn.Embedding(words, size), nn.Embedding(length, size)
        self.blocks = nn.Sequential(Block(size), Block(size), nn.LayerNorm(size))
        self.head = nn.Linear(size, words)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.blocks(x)).flatten(0, 1)


def train(model, run, batches, device):
    """Train a model by calls of `run`; give the losses."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for x, target in batches:
        loss = F.cross_entropy(run(x.to(device)), target.flatten().to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses)


def images():
    return [(torch.randn(4, 3, 16, 16), torch.randint(0, 5, (4,))) for _ in range(STEPS)]


def texts():
    return [tuple(torch.randint(0, 23, (2, 3, 12))) for _ in range(STEPS)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)], ids=["cpu", "cuda"]
)
@pytest.mark.parametrize(("make", "data"), [(resnet, images), (Gpt, texts)], ids=["resnet", "gpt"])
def test_losses(make, data, device, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    torch.manual_seed(0)
    torch._dynamo.reset()
    model, batches = make().to(device), data()
    other = copy.deepcopy(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error", category=UserWarning)
        found = train(model, torch.compile(model, backend=backend), batches, device)
    torch.testing.assert_close(found, train(other, other, batches, device), rtol=1e-3, atol=1e-3)
    assert found[-5:].mean() < found[:5].mean()
