"""What is declared where in a kernel, and under which name."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, SSAValue

from hidet.dialects.cuda.attributes import Dimension, Space, memref_type, space_of
from hidet.dialects.cuda.instructions import BlockIdOp, ThreadIdOp
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.cuda.marks import DECLARES, DEFERRED, UPDATE
from hidet.dialects.cuda.names import NameScopes, identifier_from


def clear_marks(kernel: KernelOp) -> None:
    """Remove what an earlier run of `form-expressions` marked."""
    for op in kernel.body.walk():
        for mark in (UPDATE, DECLARES, DEFERRED):
            op.attributes.pop(mark, None)


def gather_ids(kernel: KernelOp) -> None:
    """Leave one operation for each thread and block id that is used, at the top of the kernel."""
    first: dict[tuple[str, Dimension], ThreadIdOp | BlockIdOp] = {}
    for op in list(kernel.body.walk()):
        if not isinstance(op, ThreadIdOp | BlockIdOp):
            continue
        kept = first.setdefault((op.name, op.dimension.data), op)
        if kept is not op:
            op.result.replace_all_uses_with(kept.result)
        op.detach()
        if kept is not op:
            op.erase()
    block = kernel.body.block
    for key in sorted(first, reverse=True):
        if block.first_op is None:
            block.add_op(first[key])
        else:
            block.insert_op_before(first[key], block.first_op)


def declare_variables(kernel: KernelOp) -> None:
    """Mark the variables of one thread whose first use is a store: it declares them."""
    unused: dict[SSAValue, memref.AllocaOp] = {}
    for op in kernel.body.walk():
        if isinstance(op, memref.AllocaOp) and _is_variable(op.memref):
            unused[op.memref] = op
        for operand in op.operands:
            alloca = unused.pop(operand, None)
            if alloca is None or not isinstance(op, memref.StoreOp):
                continue
            if op.parent is alloca.parent and UPDATE not in op.attributes:
                alloca.attributes[DEFERRED] = UnitAttr()
                op.attributes[DECLARES] = UnitAttr()


def _is_variable(value: SSAValue) -> bool:
    kind = memref_type(value)
    return kind.get_num_dims() == 0 and space_of(kind) is Space.LOCAL


def name_values(kernel: KernelOp, folded: AbstractSet[Operation]) -> None:
    """Give every value that is declared a unique name, and take the hint of every other one."""
    scopes = NameScopes()
    for argument in kernel.arguments:
        _name(argument, scopes, "arg")
    _name_block(kernel.body.block, folded, scopes)


def _name_block(block: Block, folded: AbstractSet[Operation], scopes: NameScopes) -> None:
    """Name the values of a block, in a scope of its own."""
    scopes.enter()
    ids = [op for op in block.ops if isinstance(op, ThreadIdOp | BlockIdOp)]
    for op in ids:
        _name(op.result, scopes, _name_of_id(op, ids))
    for op in block.ops:
        for result in op.results:
            if op in folded or result.first_use is None:
                result.name_hint = None
            elif not isinstance(op, ThreadIdOp | BlockIdOp):
                _name(result, scopes, *_names_by_kind(op))
        for region in op.regions:
            for inner in region.blocks:
                scopes.enter()
                for argument in inner.args:
                    _name(argument, scopes, *"ijklmn", "i")
                _name_block(inner, folded, scopes)
                scopes.exit()
    scopes.exit()


def _name(value: SSAValue, scopes: NameScopes, *otherwise: str) -> None:
    """Name a value after its hint, else by the first free of some names."""
    wanted = identifier_from(value.name_hint) if value.name_hint is not None else None
    value.name_hint = scopes.fresh(*((wanted,) if wanted is not None else otherwise))


def _name_of_id(op: ThreadIdOp | BlockIdOp, ids: list[ThreadIdOp | BlockIdOp]) -> str:
    """Return `tid` for the only thread id of a kernel, `tx`, `ty` and `tz` for several."""
    letter = "t" if isinstance(op, ThreadIdOp) else "b"
    if sum(type(other) is type(op) for other in ids) == 1 and op.dimension.data is Dimension.X:
        return f"{letter}id"
    return f"{letter}{op.dimension.data.value}"


def _names_by_kind(op: Operation) -> tuple[str, ...]:
    """Return the names for a result without a hint."""
    if isinstance(op, memref.AllocaOp):
        return ("smem",) if space_of(op.memref.type) is Space.SHARED else ("buf",)
    if isinstance(op, arith.CmpiOp | arith.CmpfOp):
        return ("cond",)
    return ("v",)
