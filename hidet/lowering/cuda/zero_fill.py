"""Asynchronous copies that write zeros where a branch does not load.

    for v in 0..8: s[v] = x[i + v] if i < n else 0     becomes     cp_async x[i] to s[0] valid
                                                                       (i < n ? 8 : 0)

Part of `vectorize`: threads that copy zeros go along with those that copy elements.
"""

from functools import reduce
from typing import cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.memory import is_arithmetic
from hidet.dialects.task.marks import ASYNC
from hidet.lowering.cuda.unswitch import Hoisted
from hidet.lowering.cuda.vector_accesses import VectorLoop
from hidet.rewriting.regions import inline_region


def zero_filled(vectors: VectorLoop) -> SSAValue | None:
    """Take the branches out of an asynchronous copy; return the condition on which it reads.

    None where the loop is no copy of a vector to the shared memory, or has no such branches; it is
    as it was then. Otherwise the copy may only be made with `valid`: its source may not exist.
    """
    loop = vectors.loop
    branches = _branches(loop)
    if not branches or ASYNC not in loop.attributes or not vectors.is_async_copy:
        return None
    hoisted = Hoisted(loop, vectors.count, vectors.forms)
    conditions = [hoisted.condition(branch.cond) for branch in branches]
    if None in conditions:
        return None
    values = [condition() for condition in conditions if condition is not None]
    for branch in branches:
        inline_region(branch, branch.true_region)

    def both(one: SSAValue, other: SSAValue) -> SSAValue:
        op = arith.AndIOp(one, other)
        Rewriter.insert_op(op, InsertPoint.before(loop))
        return op.result

    return reduce(both, values)


def _branches(loop: scf.ForOp) -> list[scf.IfOp]:
    """Return the branches, outer ones first, through which a loop stores a load, or else zero."""
    stores = [op for op in loop.body.block.ops if isinstance(op, memref.StoreOp)]
    others = [op for op in loop.body.walk() if op not in stores and not is_arithmetic(op)]
    loads = [op for op in others if isinstance(op, memref.LoadOp)]
    if len(stores) != 1 or len(loads) != 1:
        return []
    found: list[scf.IfOp] = []
    value: SSAValue = stores[0].value
    while isinstance(branch := value.owner, scf.IfOp) and branch.false_region.blocks:
        number = branch.results.index(value)
        sides = [cast("scf.YieldOp", side.block.last_op) for side in branch.regions]
        if not _is_zero(sides[1].operands[number]):
            return []
        found.append(branch)
        value = sides[0].operands[number]
    known = (*found, *loads)
    rest = [op for op in others if op not in known and not isinstance(op, scf.YieldOp)]
    return found if value is loads[0].res and not rest else []


def _is_zero(value: SSAValue) -> bool:
    """Return whether a value is the constant that bytes of 0 are."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return False
    number = owner.value
    return isinstance(number, FloatAttr | IntegerAttr) and str(number.value.data) in ("0", "0.0")
