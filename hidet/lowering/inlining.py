"""Replacing loads of a grid by its body."""

from __future__ import annotations

from collections import defaultdict

from xdsl.ir import Block, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.dialects.compute import GridOp, LoadOp
from hidet.lowering.builder import KernelBuilder


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
