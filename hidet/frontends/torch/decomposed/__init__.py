"""Decompositions of ATen operators into others: one table per family.

A function here implements its operator by torch's own functions, so that it can be tested without a
compiler. It uses `require` to refuse calls that should not be decomposed, which is `NotImplemented`
to torch.
"""

from hidet.frontends.torch.attention import ATTENTION
from hidet.frontends.torch.decomposed.bessel import BESSEL
from hidet.frontends.torch.decomposed.convolution import CONVOLUTION
from hidet.frontends.torch.decomposed.counting import COUNTING, EXTREMA
from hidet.frontends.torch.decomposed.foreach import FOREACH
from hidet.frontends.torch.decomposed.matrices import MATRICES
from hidet.frontends.torch.decomposed.pooling import POOLING
from hidet.frontends.torch.decomposed.randomness import RANDOMNESS
from hidet.frontends.torch.decomposed.refusal import refusing
from hidet.frontends.torch.decomposed.scans import SCANS
from hidet.frontends.torch.decomposed.sorting import SORTING
from hidet.frontends.torch.decomposed.special import SPECIAL
from hidet.frontends.torch.decomposed.strides import keeping_strides
from hidet.frontends.torch.decomposed.writes import WRITES

FAMILIES = {
    "attention": ATTENTION,
    "bessel": BESSEL,
    "convolution": CONVOLUTION,
    "counting": COUNTING,
    "extrema": EXTREMA,
    "foreach": FOREACH,
    "matrices": MATRICES,
    "pooling": POOLING,
    "randomness": RANDOMNESS,
    "scans": SCANS,
    "sorting": SORTING,
    "special": SPECIAL,
    "writes": WRITES,
}
"""The tables by family."""

DECOMPOSED = {
    # Results of linear algebra have columns in memory.
    target: keeping_strides(target, refusing(function), always=table is MATRICES)
    for table in FAMILIES.values()
    for target, function in table.items()
}
"""All decompositions."""
