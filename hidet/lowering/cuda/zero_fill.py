"""Zero-filling asynchronous copies, of vectors and of single elements, for `vectorize`.

for v in 0..8: s[v] = x[i + v] if i < n else 0     becomes     cp_async x[i] to s[0] valid
                                                                   (i < n ? 8 : 0)
"""

from typing import cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.memory import is_arithmetic
from hidet.arch.instructions import CP_ASYNC
from hidet.dialects.cuda.async_copy import CopyCache, CpAsyncOp
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.fields import Element
from hidet.dialects.shaped import bytes_of
from hidet.dialects.task.marks import ASYNC
from hidet.lowering.cuda.unswitch import ConditionHoister
from hidet.lowering.cuda.vector_accesses import VectorLoop
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.regions import inline_region


def zero_filled(vectors: VectorLoop) -> SSAValue | None:
    """Remove the guards of an asynchronous copy; return the condition under which it reads.

    Return None and change nothing if the loop is no vector copy to shared memory or has no guards.
    Otherwise the copy must be made with `valid`: its source may be out of bounds.
    """
    loop = vectors.loop
    branches = _branches(loop)
    if not branches or ASYNC not in loop.attributes or not vectors.is_async_copy:
        return None
    hoisted = ConditionHoister(loop, vectors.count, vectors.forms)
    conditions = [hoisted.condition(branch.cond) for branch in branches]
    if None in conditions:
        return None
    values = [condition() for condition in conditions if condition is not None]
    for branch in branches:
        inline_region(branch, branch.true_region)
    return KernelBuilder(InsertPoint.before(loop)).all_of(values)


def valid_elements(builder: KernelBuilder, valid: SSAValue, width: int) -> SSAValue:
    """Return the number of elements that a copy reads: all of them if `valid` holds, else none."""
    choice = arith.SelectOp(valid, builder.index(width), builder.index(0))
    return builder.insert(choice).result


def copy_elements(vectors: VectorLoop) -> bool:
    """Use `cp.async` in an asynchronous loop that copies single elements; return whether it is one.

    A loop that copies a vector is left alone.
    """
    loop = vectors.loop
    match [op for op in loop.body.walk() if isinstance(op, memref.LoadOp | memref.StoreOp)]:
        case [memref.LoadOp() as load, memref.StoreOp() as store]:
            pass
        case _:
            return False
    branches = _branches(loop)
    spaces = space_of(load.memref.type), space_of(store.memref.type)
    if (
        ASYNC not in loop.attributes
        or (vectors.is_candidate and vectors.is_async_copy)
        or spaces != (Space.GLOBAL, Space.SHARED)
        or bytes_of(load.res.type) not in CP_ASYNC["ca"].sizes
        or not (branches or store.value is load.res)
    ):
        return False
    conditions = [branch.cond for branch in branches]
    for branch in branches:
        inline_region(branch, branch.true_region)
    builder = KernelBuilder.like(store, InsertPoint.before(store))
    valid = valid_elements(builder, builder.all_of(conditions), 1) if conditions else None
    source, target = (Element(op.memref, op.indices) for op in (load, store))
    builder.insert(CpAsyncOp(1, source, target, CopyCache.CA, valid))
    for op in (store, load):
        Rewriter.erase_op(op)
    return True


def _branches(loop: scf.ForOp) -> list[scf.IfOp]:
    """Return the branches, outermost first, through which a loop stores a load or else zero."""
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
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return False
    number = owner.value
    return isinstance(number, FloatAttr | IntegerAttr) and str(number.value.data) in ("0", "0.0")
