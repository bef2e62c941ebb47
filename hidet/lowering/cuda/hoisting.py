"""Moving out of loops what is the same in all iterations: index arithmetic, and checks."""

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
    """Move index arithmetic whose operands come from outside of a loop to the front of the loop.

    It leaves the branches of the loop too: it costs little, and computes the same where its
    results are used. Divisions are moved if the divisor is a constant that is not 0.
    """
    for loop in _loops(op):
        _hoist(loop.body.block, loop, set(), _is_index_arithmetic, from_branches=True)


def hoist_checks(op: Operation) -> None:
    """Move checks, with the loads of what they check, to the front of loops around them.

    What is looked up at a checked index is then at a place that is known before the loop, so that
    `vectorize` can load vectors of it. A loop must be sure to run; a check in a branch stays there.
    What is loaded must be an argument of the kernel that the kernel only loads from.
    """
    for loop in _loops(op):
        if _is_run(loop):
            needed = _needed_by_checks(loop.body.block)
            _hoist(loop.body.block, loop, set(), needed.__contains__, from_branches=False)


def _loops(op: Operation) -> Iterator[scf.ForOp]:
    """Give the loops inside of an op, inner ones before those around them."""
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
    """Move what can be moved out of a block of a loop; `inside` are the values of the loop."""
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
    """Return whether an op is index arithmetic that may run where its result is not needed."""
    if type(op) not in _HOISTED or not isinstance(op.results[0].type, IndexType):
        return False
    return type(op) not in _DIVISIONS or (known_index(op.operands[1]) or 0) > 0


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
