"""A decoder-only transformer in the shape of GPT-2 (Radford et al., 2019).

Attention is written out (scores, mask, softmax) or left to torch's fused operator, so that both
forms can be compiled.
"""

import math

import torch
from torch import nn
from torch.nn import functional


class CausalAttention(nn.Module):
    """Self-attention in which a token sees itself and what comes before it.

    Args:
        features: size of a token's vector.
        heads: number of heads, which share the features evenly.
        context: the longest sequence.
        fused: use torch's scaled_dot_product_attention instead of its parts.
    """

    mask: torch.Tensor

    def __init__(self, features: int, heads: int, context: int, *, fused: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.fused = fused
        self.c_attn = nn.Linear(features, 3 * features)
        self.c_proj = nn.Linear(features, features)
        self.register_buffer("mask", torch.ones(context, context).tril().bool(), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens [N, length, features] to the same shape."""
        batch, length, features = x.shape
        split = (batch, length, self.heads, features // self.heads)
        q, k, v = (part.view(split).transpose(1, 2) for part in self.c_attn(x).chunk(3, dim=-1))
        if self.fused:
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(features // self.heads)
            scores = scores.masked_fill(~self.mask[:length, :length], float("-inf"))
            y = functional.softmax(scores, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).reshape(batch, length, features))


class Block(nn.Module):
    """A transformer block: attention, then a perceptron, each after a layer norm and added."""

    def __init__(self, features: int, heads: int, context: int, *, fused: bool = False) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(features)
        self.attn = CausalAttention(features, heads, context, fused=fused)
        self.ln_2 = nn.LayerNorm(features)
        self.mlp = nn.Sequential(
            nn.Linear(features, 4 * features),
            nn.GELU(approximate="tanh"),
            nn.Linear(4 * features, features),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens [N, length, features] to the same shape."""
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """The whole model; the output layer shares its weight with the token embedding.

    Args:
        vocabulary: number of tokens.
        context: the longest sequence.
        features: size of a token's vector.
        heads: number of attention heads.
        depth: number of blocks.
        fused: see `CausalAttention`.
    """

    def __init__(
        self,
        vocabulary: int = 50257,
        context: int = 1024,
        features: int = 768,
        heads: int = 12,
        depth: int = 12,
        *,
        fused: bool = False,
    ) -> None:
        super().__init__()
        self.wte = nn.Embedding(vocabulary, features)
        self.wpe = nn.Embedding(context, features)
        self.h = nn.Sequential(
            *(Block(features, heads, context, fused=fused) for _ in range(depth))
        )
        self.ln_f = nn.LayerNorm(features)
        self.lm_head = nn.Linear(features, vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Map token numbers [N, length] to scores [N, length, vocabulary]."""
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = self.wte(ids) + self.wpe(positions)
        return self.lm_head(self.ln_f(self.h(x)))


def gpt_block(features: int = 768, heads: int = 12, context: int = 128) -> Block:
    """Make one block of GPT-2's small size, with random weights, in inference mode."""
    return Block(features, heads, context).eval()


def gpt_tiny(*, fused: bool = False) -> GPT:
    """Make a model that runs anywhere at once, with random weights, in inference mode."""
    return GPT(vocabulary=97, context=32, features=48, heads=3, depth=2, fused=fused).eval()


def gpt2(*, fused: bool = False) -> GPT:
    """Make a model of GPT-2's small size, with random weights, in inference mode."""
    return GPT(fused=fused).eval()
