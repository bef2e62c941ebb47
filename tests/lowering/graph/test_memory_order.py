"""Which dimension of a tensor of the graph dialect is the fastest in memory; mixers of tokens."""

import pytest
import torch
from torch import nn
from xdsl.parser import Parser

from hidet.context import make_context
from hidet.lowering.graph.memory_order import adjacent_dim
from hidet.testing.numeric import assert_close

PROGRAM = """
func.func @f(%x : tensor<2x3x4x5xf32>, %f : tensor<6x3x1x1xf32>, %m : tensor<2x3x5x3xf32>) {
  %permuted = graph.permute %x {dims = array<i64: 0, 3, 1, 2>}
    : (tensor<2x3x4x5xf32>) -> tensor<2x5x3x4xf32>
  %merged_before = graph.reshape %permuted : (tensor<2x5x3x4xf32>) -> tensor<10x12xf32>
  %merged_after = graph.reshape %permuted : (tensor<2x5x3x4xf32>) -> tensor<2x5x12xf32>
  %split_before = graph.reshape %x : (tensor<2x3x4x5xf32>) -> tensor<1x2x12x5xf32>
  %added = graph.add %permuted, %permuted
    : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>) -> tensor<2x5x3x4xf32>
  %norm = graph.layer_norm %permuted : tensor<2x5x3x4xf32>
  %image = graph.conv2d %x, %f : (tensor<2x3x4x5xf32>, tensor<6x3x1x1xf32>) -> tensor<2x6x4x5xf32>
  %flat = graph.reshape %image : (tensor<2x6x4x5xf32>) -> tensor<2x6x20xf32>
  %tokens = graph.permute %flat {dims = array<i64: 0, 2, 1>}
    : (tensor<2x6x20xf32>) -> tensor<2x20x6xf32>
  %product = graph.matmul %x, %m : (tensor<2x3x4x5xf32>, tensor<2x3x5x3xf32>) -> tensor<2x3x4x3xf32>
  %sum = graph.sum %x {axes = array<i64: 0>} : (tensor<2x3x4x5xf32>) -> tensor<3x4x5xf32>
  func.return
}
"""

DIMS = {
    "permuted": 1,
    "merged_before": 0,
    "merged_after": 1,
    "split_before": 3,
    "added": 1,
    "norm": 1,
    "image": 1,
    "flat": 1,
    "tokens": 2,
    "product": 3,
    "sum": None,
}


@pytest.mark.parametrize("name", DIMS)
def test_adjacent_dim(name):
    """Views move the dimension, and elementwise operators and norms keep it."""
    module = Parser(make_context(), PROGRAM).parse_module()
    (value,) = (
        op.results[0] for op in module.walk() if op.results if op.results[0].name_hint == name
    )
    assert adjacent_dim(value) == DIMS[name]


class Mixer(nn.Module):
    """Mixes 64 tokens, and then 96 channels."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))
        self.channels = nn.Sequential(nn.LayerNorm(96), nn.Linear(96, 128), nn.Linear(128, 96))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return [images, tokens, channels]."""
        x = x + self.tokens(x.transpose(1, 2)).transpose(1, 2)
        return x + self.channels(x)


@torch.no_grad()
def test_mixed_tokens():
    """The products of weights and columns are those of columns and weights."""
    model, x = nn.Sequential(Mixer(), Mixer()), torch.randn(2, 64, 96)
    result = torch.compile(model, backend="hidet")(x)
    assert_close(result, model.double()(x.double()), 1e-5)
