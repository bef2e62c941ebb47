"""Moving index arithmetic out of loops: what is the same in all iterations is computed once."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from hidet.dialects.constants import known_index
from hidet.dialects.cuda import BlockDimOp, BlockIdOp, GridDimOp, ThreadIdOp
from hidet.dialects.cuda.arithmetic import FloorModOp

_DIVISIONS = frozenset({arith.DivSIOp, arith.FloorDivSIOp, arith.RemSIOp, FloorModOp})
_HOISTED = _DIVISIONS | {
    *(arith.ConstantOp, arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MinSIOp, arith.MaxSIOp),
    *(arith.AndIOp, arith.OrIOp, arith.XOrIOp),
    *(BlockDimOp, BlockIdOp, GridDimOp, ThreadIdOp),
}


def hoist_index_arithmetic(op: Operation) -> None:
    """Move index arithmetic whose operands come from outside of a loop to the front of the loop.

    It leaves the branches of the loop too: it costs little, and computes the same where its
    results are used. Divisions are moved if the divisor is a constant that is not 0.
    """
    for region in op.regions:
        for block in region.blocks:
            for inner in tuple(block.ops):
                if inner.regions:
                    hoist_index_arithmetic(inner)
                if isinstance(inner, scf.ForOp):
                    _hoist(inner.body.block, inner, set())


def _hoist(block: Block, loop: scf.ForOp, inside: set[SSAValue]) -> None:
    """Move what can be moved out of a block of a loop; `inside` are the values of the loop."""
    inside.update(block.args)
    for op in tuple(block.ops):
        if _may_move(op) and inside.isdisjoint(op.operands):
            op.detach()
            assert loop.parent is not None
            loop.parent.insert_op_before(op, loop)
            continue
        inside.update(op.results)
        if isinstance(op, scf.IfOp):
            for region in op.regions:
                for branch in region.blocks:
                    _hoist(branch, loop, inside)


def _may_move(op: Operation) -> bool:
    """Return whether an op is index arithmetic that may run where its result is not needed."""
    if type(op) not in _HOISTED or not isinstance(op.results[0].type, IndexType):
        return False
    return type(op) not in _DIVISIONS or _is_positive(op.operands[1])


def _is_positive(value: SSAValue) -> bool:
    """Return whether a value is a constant greater than 0."""
    return (known_index(value) or 0) > 0
