"""Decompositions of ATen operators into others: one table per family.

A function here implements its operator by torch's own functions, so that it can be tested without a
compiler. It returns `NotImplemented` if the operator should not be decomposed.
"""

from hidet.frontends.torch.attention import ATTENTION
from hidet.frontends.torch.decomposed.bessel import BESSEL
from hidet.frontends.torch.decomposed.convolution import CONVOLUTION
from hidet.frontends.torch.decomposed.counting import COUNTING
from hidet.frontends.torch.decomposed.extrema import EXTREMA
from hidet.frontends.torch.decomposed.iterated import ITERATED
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
    **EXTREMA,
    **ITERATED,
    **MATRICES,
    **POOLING,
    **RANDOMNESS,
    **SORTING,
    **SPECIAL,
    **WRITES,
}
"""All decompositions."""

__all__ = ["DECOMPOSED"]
