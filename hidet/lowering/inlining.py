"""Replacing loads of a grid by its body."""

from __future__ import annotations

from collections import defaultdict

from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from hidet.dialects.compute import GridOp, LoadOp
from hidet.lowering.builder import KernelBuilder


def inline_into_loads(grid: GridOp) -> None:
    """Replace every load of a grid by the grid's body at that element.

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
        inline_load(first, grid, loads)


def inline_load(first: LoadOp, grid: GridOp, loads: list[LoadOp]) -> None:
    """Evaluate a grid before `first`, in place of several loads of that element."""
    (value,) = KernelBuilder(InsertPoint.before(first)).splice(grid.body, first.indices)
    value.name_hint = value.name_hint or grid.result.name_hint
    for load in loads:
        load.result.replace_all_uses_with(value)
        load.detach()
        load.erase()
