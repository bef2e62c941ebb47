"""Loop-invariant code motion of index arithmetic and checks."""

from collections.abc import Callable, Iterator

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from hidet.dialects.constants import known_index
from hidet.dialects.cuda import BlockDimOp, BlockIdOp, GridDimOp, ThreadIdOp
from hidet.dialects.cuda.arithmetic import FloorModOp
from hidet.dialects.cuda.checks import FaultCheckOp
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.walking import blocks_in

_DIVISIONS = frozenset({arith.DivSIOp, arith.FloorDivSIOp, arith.RemSIOp, FloorModOp})
_HOISTED = _DIVISIONS | {
    *(arith.ConstantOp, arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MinSIOp, arith.MaxSIOp),
    *(arith.AndIOp, arith.OrIOp, arith.XOrIOp),
    *(BlockDimOp, BlockIdOp, GridDimOp, ThreadIdOp),
}


def hoist_index_arithmetic(op: Operation) -> None:
    """Hoist loop-invariant index arithmetic out of loops.

    It is also hoisted out of branches, since it is cheap and speculatable. Divisions are hoisted if
    the divisor is a positive constant.
    """
    for loop in _loops(op):
        _hoist(loop.body.block, loop, set(), _is_index_arithmetic, from_branches=True)


def hoist_checks(op: Operation) -> None:
    """Hoist checks, with the loads of the checked values, out of loops.

    The index of the lookup is then loop-invariant, so `vectorize` can load vectors. The loop must
    have an iteration; checks in branches stay. Only read-only kernel arguments are loaded.
    """
    for loop in _loops(op):
        if _is_run(loop):
            needed = _needed_by_checks(loop.body.block)
            _hoist(loop.body.block, loop, set(), needed.__contains__, from_branches=False)


def _loops(op: Operation) -> Iterator[scf.ForOp]:
    """Yield the loops in an op, inner ones first."""
    ops = list(op.walk(region_first=True))
    return (each for each in ops if isinstance(each, scf.ForOp) and each is not op)


def _hoist(
    block: Block,
    loop: scf.ForOp,
    inside: set[SSAValue],
    may_move: Callable[[Operation], bool],
    *,
    from_branches: bool,
) -> None:
    """Hoist ops out of a block of a loop; `inside` are the values defined in the loop."""
    inside.update(block.args)
    for op in tuple(block.ops):
        if may_move(op) and inside.isdisjoint(op.operands):
            op.detach()
            assert loop.parent is not None
            loop.parent.insert_op_before(op, loop)
            continue
        inside.update(op.results)
        if from_branches and isinstance(op, scf.IfOp):
            for branch in blocks_in(op):
                _hoist(branch, loop, inside, may_move, from_branches=True)


def _is_index_arithmetic(op: Operation) -> bool:
    """Return whether an op is speculatable index arithmetic."""
    if type(op) not in _HOISTED or not isinstance(op.results[0].type, IndexType):
        return False
    return type(op) not in _DIVISIONS or (known_index(op.operands[1]) or 0) > 0


def _needed_by_checks(block: Block) -> set[Operation]:
    """Return the checks of a block and the ops that can be hoisted along with them."""
    found = set[Operation]()
    for op in reversed(block.ops):
        is_source = isinstance(op, arith.IndexCastOp) or _reads_input(op)
        if isinstance(op, FaultCheckOp) or (
            is_source and any(use.operation in found for use in op.results[0].uses)
        ):
            found.add(op)
    return found


def _reads_input(op: Operation) -> bool:
    """Return whether an op loads from a read-only kernel argument."""
    if not isinstance(op, memref.LoadOp) or not isinstance(op.memref, BlockArgument):
        return False
    if not isinstance(op.memref.block.parent_op(), KernelOp):
        return False
    return all(isinstance(use.operation, memref.LoadOp) for use in op.memref.uses)


def _is_run(loop: scf.ForOp) -> bool:
    """Return whether the bounds of a loop are constants with at least one iteration."""
    start, stop = (known_index(bound) for bound in (loop.lb, loop.ub))
    return start is not None and stop is not None and start < stop
