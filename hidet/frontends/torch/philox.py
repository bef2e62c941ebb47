"""The torch operators of random numbers: `draw_seeds`, and `random`, which is pure.

    seeds = hidet.draw_seeds(1, device)                              reads torch's generator
    u = hidet.random(seeds, 0, [8, 64], "uniform", torch.float32)    is a function of its arguments

So the second may be fused into its consumers, and recomputed in a backward pass. Its implementation
here, in eager torch, is the reference of `graph.random`.
"""

from collections.abc import Sequence
from math import pi, prod
from typing import Any

import torch
from torch import Tensor
from torch.library import custom_op

_WORD = 0xFFFFFFFF


def draw(count: int, device: torch.device) -> Tensor:
    """Return int32 seeds [count, 2] from torch's generator of a device, drawn on the device.

    So there is no synchronization, and torch can capture it in a CUDA Graph.
    """
    limit = 1 << 31
    return torch.randint(-limit, limit, (count, 2), dtype=torch.int32, device=device)


_SEEDED = (torch.Tag.nondeterministic_seeded,)
draw_seeds = custom_op("hidet::draw_seeds", draw, mutates_args=(), tags=_SEEDED)


@draw_seeds.register_fake
def _(count: int, device: torch.device) -> Tensor:
    return torch.empty(count, 2, dtype=torch.int32, device=device)


@custom_op("hidet::random", mutates_args=())
def random(
    seeds: Tensor, number: int, size: Sequence[int], distribution: str, dtype: torch.dtype
) -> Tensor:
    """Return random numbers, a pure function of the arguments.

    A row, `number`, of the seeds, int32 [n, 2], is the key. The distribution is `bits` (int32,
    int64), `uniform` in [0, 1) or `normal` (float32, float64).
    """
    is_wide = dtype.itemsize == 8
    per_counter, count = (2 if is_wide else 4), prod(size)
    counters = torch.arange(-(-count // per_counter), device=seeds.device)
    zero = torch.zeros_like(counters)
    key = seeds[number].to(torch.int64) & _WORD
    words = philox(key, [counters & _WORD, counters >> 32, zero, zero])
    if is_wide:
        words = words[..., 1::2] << 32 | words[..., ::2]
    if distribution == "bits":
        found = words.to(dtype)
    else:
        upper = words >> 11 & (1 << 53) - 1 if is_wide else words >> 8
        found = upper.to(dtype) * 2.0 ** (-53 if is_wide else -24)
    if distribution == "normal":  # of adjacent pairs of uniform ones (Box-Muller transform)
        distance, turn = found[..., ::2], found[..., 1::2]
        radius = (torch.log(1 - distance) * -2).sqrt()
        turns = torch.stack([turn, turn - 0.25], -1)
        found = (radius.unsqueeze(-1) * torch.cos(turns * (2 * pi))).flatten(-2)
    return found.flatten()[:count].reshape(tuple(size))


@random.register_fake
def _(
    seeds: Tensor, number: int, size: Sequence[int], distribution: str, dtype: torch.dtype
) -> Tensor:
    return seeds.new_empty(size, dtype=dtype)


def philox(key: Tensor, counter: Sequence[Tensor]) -> Tensor:
    """Return Philox4x32-10 of counters, as int64 [n, 4] of words from 0 to 2^32 - 1.

    The key has two words, int64 [2], and a counter four, int64 [n] each. Source: Salmon et al.,
    Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011).
    """
    (a, b, c, d), (k0, k1) = counter, key
    for _ in range(10):
        low, high = _product(a, 0xD2511F53), _product(c, 0xCD9E8D57)
        a, b, c, d = high[1] ^ b ^ k0, high[0], low[1] ^ d ^ k1, low[0]
        k0, k1 = (k0 + 0x9E3779B9) & _WORD, (k1 + 0xBB67AE85) & _WORD
    return torch.stack([a, b, c, d], -1)


def _product(x: Tensor, factor: int) -> tuple[Tensor, Tensor]:
    """Return the low and the high word of products of words; int64 wraps around."""
    product = x * factor
    return product & _WORD, product >> 32 & _WORD


DRAW: Any = torch.ops.hidet.draw_seeds.default
"""`draw_seeds` as graphs have it."""
RANDOM: Any = torch.ops.hidet.random.default
"""`random` as graphs have it."""
