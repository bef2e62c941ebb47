"""Moving checks out of loops: a value that is the same in all iterations is checked once.

What is looked up at a checked index is then at a place that is known before the loop, so that
`vectorize` can load vectors of it.
"""

from __future__ import annotations

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from hidet.dialects.constants import known_index
from hidet.dialects.cuda.checks import FaultCheckOp
from hidet.dialects.cuda.kernel import KernelOp


def hoist_checks(op: Operation) -> None:
    """Move checks, with the loads of what they check, to the front of loops around them.

    A loop must be sure to run; a check in a branch stays there. What is loaded must be an argument
    of the kernel that the kernel only loads from.
    """
    for region in op.regions:
        for block in region.blocks:
            for inner in tuple(block.ops):
                hoist_checks(inner)
                if isinstance(inner, scf.ForOp) and _is_run(inner):
                    _hoist(inner)


def _hoist(loop: scf.ForOp) -> None:
    """Move what checks need, and the checks, from the body of a loop to its front."""
    needed = _needed_by_checks(loop.body.block)
    inside = set[SSAValue](loop.body.block.args)
    for op in tuple(loop.body.block.ops):
        if op in needed and inside.isdisjoint(op.operands):
            op.detach()
            assert loop.parent is not None
            loop.parent.insert_op_before(op, loop)
        else:
            inside.update(op.results)


def _needed_by_checks(block: Block) -> set[Operation]:
    """Return the checks of a block, and the ops there that may move along with them."""
    found = set[Operation]()
    for op in reversed(block.ops):
        is_source = isinstance(op, arith.IndexCastOp) or _reads_input(op)
        if isinstance(op, FaultCheckOp) or (
            is_source and any(use.operation in found for use in op.results[0].uses)
        ):
            found.add(op)
    return found


def _reads_input(op: Operation) -> bool:
    """Return whether an op loads from an argument of the kernel that nothing writes."""
    if not isinstance(op, memref.LoadOp) or not isinstance(op.memref, BlockArgument):
        return False
    if not isinstance(op.memref.block.parent_op(), KernelOp):
        return False
    return all(isinstance(use.operation, memref.LoadOp) for use in op.memref.uses)


def _is_run(loop: scf.ForOp) -> bool:
    """Return whether a loop has an iteration for sure: its bounds are numbers that say so."""
    start, stop = (known_index(bound) for bound in (loop.lb, loop.ub))
    return start is not None and stop is not None and start < stop
