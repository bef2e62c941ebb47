"""Replacing loads of a grid by its body."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from xdsl.ir import Block, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.dialects.compute import GridOp, LoadOp, YieldOp
from hidet.rewriting.builder import KernelBuilder


def inline_into_loads(grid: GridOp, rewriter: PatternRewriter | None = None) -> None:
    """Replace every load of a grid by the grid's body at that element.

    A pattern hands in its rewriter, so that its driver learns which loads are gone.

    Loads of one element in one block share a copy, so that a chain of grids that each load their
    predecessor twice does not cost a power of two. Other users of the grid are left alone.
    """
    groups: defaultdict[tuple[Block | None, tuple[SSAValue, ...]], list[LoadOp]] = defaultdict(list)
    for use in grid.result.uses:
        if isinstance(load := use.operation, LoadOp):
            groups[load.parent, tuple(load.indices)].append(load)
    for (block, _), loads in groups.items():
        first = loads[0]
        if len(loads) > 1 and block is not None:
            first = next(op for op in block.ops if isinstance(op, LoadOp) and op in loads)
        inline_load(first, grid, loads, rewriter)


def inline_load(
    first: LoadOp, grid: GridOp, loads: list[LoadOp], rewriter: PatternRewriter | None = None
) -> None:
    """Evaluate a grid before `first`, in place of several loads of that element."""
    (value,) = KernelBuilder(InsertPoint.before(first)).splice(grid.body, first.indices)
    value.name_hint = value.name_hint or grid.result.name_hint
    for load in loads:
        if rewriter is None:
            Rewriter.replace_op(load, [], [value])
        else:
            rewriter.replace(load, [], [value])


def element_at(
    builder: KernelBuilder,
    grid: GridOp,
    indices: Sequence[SSAValue],
    buffers: Mapping[SSAValue, SSAValue],
    known: Mapping[SSAValue, SSAValue],
) -> SSAValue:
    """Evaluate a grid of a fusion at one element, in a kernel.

    Args:
        builder: where to.
        grid: the grid.
        indices: those of the element.
        buffers: what the kernel has for values that the grid reads.
        known: the element that is read, of tensors of which it is known already.
    """
    values = dict(buffers)
    values.update(zip(grid.indices, indices, strict=True))
    for op in grid.body.block.ops:
        if isinstance(op, LoadOp) and op.source in known:
            values[op.result] = known[op.source]
        elif not isinstance(op, YieldOp):
            builder.insert(op.clone(values))
    return values[grid.yielded]
