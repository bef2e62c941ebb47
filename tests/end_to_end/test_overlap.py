"""Kernels that begin before those ahead of them are over compute what they compute otherwise."""

import pytest
import torch
from torch import nn
from torch.nn import functional

import hidet

REPLAYS = 300
POISON = 0xFF, 0x7C, 0
"""Bytes that the arena holds ahead of a call: of NaNs, of large numbers, and zeros."""


class Branches(nn.Module):
    """Convolutions with norms, of which two branches meet; a pool, a mean and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3), nn.BatchNorm2d(32), nn.ReLU())
        self.wide = nn.Sequential(nn.Conv2d(32, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU())
        self.deep = nn.Sequential(nn.Conv2d(64, 64, 3, 1, 1), nn.BatchNorm2d(64))
        self.side = nn.Conv2d(32, 64, 1, 2)
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        x = functional.max_pool2d(self.stem(x), 3, 2, 1)
        x = torch.relu(self.deep(self.wide(x)) + self.side(x))
        return self.head(x.mean((2, 3)))


class Block(nn.Module):
    """A block of a transformer: norms, attention, and two products with a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(128), nn.LayerNorm(128)
        self.qkv, self.out = nn.Linear(128, 384), nn.Linear(128, 128)
        self.up, self.down = nn.Linear(128, 512), nn.Linear(512, 128)

    def forward(self, x):
        q, k, v = (
            part.unflatten(-1, (2, 64)).transpose(1, 2)
            for part in self.qkv(self.first(x)).chunk(3, -1)
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.second(x))))


def sums(x):
    """Short kernels in a row, each of which reads what the one before writes, and overwrites."""
    for _ in range(6):
        x = torch.softmax(x.t() * 3, 1) + x.sum(0, keepdim=True).t().cos()
        x = x.cumsum(0).sin().t()
    return x


MODELS = {
    "mlp": (
        lambda: nn.Sequential(
            nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)
        ),
        (128, 784),
    ),
    "long sums": (lambda: nn.Sequential(nn.Linear(8192, 64), nn.Linear(64, 8192)), (64, 8192)),
    "one row": (lambda: nn.Sequential(nn.Linear(1024, 1024), nn.Linear(1024, 512)), (1, 1024)),
    "branches": (Branches, (2, 3, 64, 64)),
    "block": (Block, (1, 96, 128)),
    "sums": (lambda: sums, (96, 160)),
}
"""Models by name, with the shapes of their inputs."""


def bits(x):
    """Give the bytes of a tensor, in which NaNs are equal, too."""
    return x.contiguous().view(torch.uint8)


def compiled(model, x, overlap):
    """Compile a model; return what runs it, and its one graph."""
    torch._dynamo.reset()
    run = torch.compile(
        model, backend="hidet", fullgraph=True, options={"overlap_launches": overlap}
    )
    run(x)
    return run, hidet.torch.compiled_graphs()[-1]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_equal_bit_by_bit(name, dtype):
    """Calls follow each other at once, with other inputs, in an arena that is overwritten."""
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("needs Hopper")
    torch.manual_seed(0)
    make, shape = MODELS[name]
    model = make()
    if isinstance(model, nn.Module):
        model = model.eval().to("cuda", dtype)
    inputs = [torch.randn(shape, device="cuda", dtype=dtype) for _ in range(4)]
    reference, plain = compiled(model, inputs[0], overlap=False)
    expected = [bits(reference(x)).clone() for x in inputs]
    assert {launch.edges for launch in plain.plan.forward} == {"full"}
    run, graph = compiled(model, inputs[0], overlap=True)
    assert "programmatic" in {launch.edges for launch in graph.plan.forward}
    arena = graph._replicas[0].executors[0]._arena
    wrong = torch.zeros((), dtype=torch.int64, device="cuda")
    for call in range(REPLAYS):
        number = (call * 7 + call // 5) % len(inputs)
        if call % 4:
            arena.fill_(POISON[call % 4 - 1])
        wrong += (bits(run(inputs[number])) != expected[number]).any()
    assert not wrong.item()
