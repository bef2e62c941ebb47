"""Operators that we take apart ourselves, into others of ATen: one table for each family.

A function here computes what its operator does, with torch's own functions, so that it can be tried
without a compiler. It returns `NotImplemented` where the operator is to stay whole.
"""

from hidet.frontends.torch.decomposed.attention import ATTENTION
from hidet.frontends.torch.decomposed.bessel import BESSEL
from hidet.frontends.torch.decomposed.convolution import CONVOLUTION
from hidet.frontends.torch.decomposed.counting import COUNTING
from hidet.frontends.torch.decomposed.matrices import MATRICES
from hidet.frontends.torch.decomposed.pooling import POOLING
from hidet.frontends.torch.decomposed.randomness import RANDOMNESS
from hidet.frontends.torch.decomposed.sorting import SORTING
from hidet.frontends.torch.decomposed.special import SPECIAL
from hidet.frontends.torch.decomposed.writes import WRITES

DECOMPOSED = {
    **ATTENTION,
    **BESSEL,
    **CONVOLUTION,
    **COUNTING,
    **MATRICES,
    **POOLING,
    **RANDOMNESS,
    **SORTING,
    **SPECIAL,
    **WRITES,
}
"""What takes an operator apart, by operator."""

__all__ = ["DECOMPOSED"]
