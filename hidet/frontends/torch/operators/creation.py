"""ATen operators that create tensors."""

import torch
from xdsl.ir import SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import Number
from hidet.frontends.torch.dtypes import type_of
from hidet.frontends.torch.operators.emitter import Emitter, Table
from hidet.frontends.torch.philox import RANDOM

aten = torch.ops.aten


def full(g: Emitter, *arguments: Number) -> SSAValue:
    """A tensor of one value, the last argument."""
    return g.fill(arguments[-1])


def empty(g: Emitter, *_: object) -> SSAValue:
    """An uninitialized tensor."""
    return g.fill(0)


def arange(g: Emitter, start: Number, end: Number, step: Number = 1) -> SSAValue:
    """A range, whose length is that of the result."""
    return g.emit(graph.IotaOp(type_of(g.meta), start=start, step=step))


def random(
    g: Emitter, seeds: SSAValue, number: int, size: object, distribution: str, *_: object
) -> SSAValue:
    """Random numbers, a function of a seed."""
    return g.emit(graph.RandomOp(seeds, number, distribution, type_of(g.meta)))


CREATION: Table = {
    aten.full.default: full,
    aten.full_like.default: full,
    aten.scalar_tensor.default: full,
    aten.empty.memory_format: empty,
    aten.empty_permuted.default: empty,
    aten.empty_strided.default: empty,
    aten.new_empty_strided.default: empty,
    aten.arange.start_step: arange,
    RANDOM: random,
}
"""The translations of operators that create tensors."""
