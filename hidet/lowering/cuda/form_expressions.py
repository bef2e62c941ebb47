"""The pass `form-expressions`: decides which values fold into expressions, and names the others."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, UnitAttr, i1
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.dialects import cuda
from hidet.dialects.constants import known_index
from hidet.dialects.cuda import KernelOp, is_variable
from hidet.dialects.cuda.marks import DECLARES, DEFERRED, FORMED, UPDATE
from hidet.dialects.cuda.names import NameScopes, identifier_from
from hidet.dialects.walking import blocks_in, ops_in, ops_of_block, ops_of_class
from hidet.lowering.cuda.demote_scf_values import DemoteScfValuesPass
from hidet.lowering.cuda.folding import Folding
from hidet.rewriting.dead_code import drop_dead_code
from hidet.rewriting.kernel_pass import KernelPass

MAX_OPERATORS = 14
"""The most operators of a statement, subscripts included."""


@dataclass(frozen=True)
class FormExpressionsPass(KernelPass):
    """Decide which values of a kernel fold into expressions, and name the others.

    A folded value has no name hint; every other value gets a unique, valid C++ name. Constants
    always fold. Another value with one use folds if

    - the statement stays small,
    - and, if it reads memory, nothing between the read and the statement that the value is
      part of can write that memory.

    The statement counts, not the user: in `l = load a; p = l * 2; store a; q = p + 1`, `p` may fold
    into `q` only if `l` does not fold into `p`. The pass therefore walks backwards: when a value is
    visited, the statement of its user is known. A shuffle, which is collective, never moves into a
    branch or across another synchronization.

    Cheap values, `i * 4` and unmodified variables, are rematerialized at each use. A condition is
    folded or named as a whole, and a division stays outside of the loop that uses it. A variable
    that is stored once becomes a value.

    Expects: kernels at the `cuda` level, ready for printing. Leaves: the names; thread and block
    ids at the top; `cuda.update` on stores that print as `x[i] += v`; `cuda.declares` and
    `cuda.deferred` where the first store declares a variable; no dead values; the mark
    `cuda.formed` on the kernel. Any later pass would invalidate this.
    """

    name = "form-expressions"

    max_operators: int = MAX_OPERATORS

    def run(self, kernel: KernelOp) -> None:
        """Fold and name the values of one kernel."""
        # Merging equal ops may have turned a conditional expression into a statement.
        DemoteScfValuesPass().run(kernel)
        forward_single_stores(kernel)
        drop_dead_code(kernel)
        clear_marks(kernel)
        gather_ids(kernel)
        copies = Rematerializer(kernel)
        folding = Folding(self.max_operators, copies.original)
        folding.block(kernel.body.block)
        copies.unite(folding.folded)
        declare_variables(kernel)
        name_values(kernel.body.block, folding.folded, NameScopes())
        kernel.attributes[FORMED] = UnitAttr()


def forward_single_stores(kernel: KernelOp) -> None:
    """Replace every variable with a single store, in its own block, by the stored value.

    Loads before the store would be uninitialized, so all loads come after it.
    """
    for op in ops_of_class(kernel.body, memref.AllocaOp):
        if not is_variable(op.memref):
            continue
        users = [use.operation for use in op.memref.uses]
        loads = [user for user in users if isinstance(user, memref.LoadOp)]
        others = [user for user in users if not isinstance(user, memref.LoadOp)]
        store = others[0] if len(others) == 1 else None
        if isinstance(store, memref.StoreOp) and store.parent is op.parent:
            store.value.name_hint = store.value.name_hint or op.memref.name_hint
            for load in loads:
                Rewriter.replace_op(load, [], [store.value])
            Rewriter.erase_op(store)
            Rewriter.erase_op(op)


class Rematerializer:
    """Clones the cheap values of a kernel, one per use, so that each may fold into its use.

    Folding decides about every clone separately; a value is then inlined at all of its uses or
    named.
    """

    def __init__(self, kernel: KernelOp) -> None:
        self._groups: list[list[Operation]] = []
        self._originals: dict[SSAValue, SSAValue] = {}
        for op in ops_of_class(kernel.body, memref.LoadOp, arith.MuliOp):
            if _is_cheap(op) and not op.results[0].has_one_use():
                group = _copy_for_each_use(op)
                self._groups.append(group)
                self._originals.update((copy.results[0], op.results[0]) for copy in group)

    def original(self, value: SSAValue) -> SSAValue:
        """Return the value that a value is a clone of, or itself."""
        return self._originals.get(value, value)

    def unite(self, folded: set[Operation]) -> None:
        """Merge the clones of values that do not fold everywhere; drop them from `folded`."""
        for group in self._groups:
            used = [op for op in group if op.results[0].first_use is not None]
            if not folded.issuperset(used):
                folded.difference_update(used)
                for copy in used[1:]:
                    copy.results[0].replace_all_uses_with(used[0].results[0])
                used = used[:1]
            for copy in group:
                if copy not in used:
                    Rewriter.erase_op(copy)


def _copy_for_each_use(op: Operation) -> list[Operation]:
    """Clone an op for each use but the first."""
    assert op.parent is not None
    group = [op]
    for use in tuple(op.results[0].uses)[1:]:
        copy = op.clone()
        op.parent.insert_op_after(copy, group[-1])
        use.operation.operands[use.index] = copy.results[0]
        group.append(copy)
    return group


def _is_cheap(op: memref.LoadOp | arith.MuliOp) -> bool:
    """Return whether a value is a load of a variable, or a named index times a constant."""
    if isinstance(op, memref.LoadOp):
        return is_variable(op.memref)
    return (
        isinstance(op.result.type, IndexType)
        and isinstance(op.rhs.owner, arith.ConstantOp)
        and (isinstance(op.lhs, BlockArgument) or not op.lhs.has_one_use())
    )


def clear_marks(kernel: cuda.KernelOp) -> None:
    """Remove the marks of an earlier run of `form-expressions`."""
    for op in ops_in(kernel.body):
        if op.attributes:
            for mark in (UPDATE, DECLARES, DEFERRED):
                op.attributes.pop(mark, None)


def gather_ids(kernel: cuda.KernelOp) -> None:
    """Keep one op per thread and block id, at the top of the kernel."""
    first: dict[tuple[str, cuda.Dimension], cuda.IdOp] = {}
    for op in ops_of_class(kernel.body, cuda.IdOp):
        kept = first.setdefault((op.name, op.dimension.data), op)
        if kept is op:
            op.detach()
        else:
            Rewriter.replace_op(op, [], [kept.result])
    block = kernel.body.block
    for key in sorted(first, reverse=True):
        Rewriter.insert_op(first[key], InsertPoint.at_start(block))


def declare_variables(kernel: cuda.KernelOp) -> None:
    """Mark the stores that declare variables: the first use of a variable, in its block."""
    unused: dict[SSAValue, memref.AllocaOp] = {}
    for op in ops_in(kernel.body):
        if type(op) is memref.AllocaOp and cuda.is_variable(op.memref):
            unused[op.memref] = op
        for operand in op.operands if unused else ():
            alloca = unused.pop(operand, None)
            if alloca is None or not isinstance(op, memref.StoreOp):
                continue
            if op.parent is alloca.parent and UPDATE not in op.attributes:
                alloca.attributes[DEFERRED] = UnitAttr()
                op.attributes[DECLARES] = UnitAttr()


def name_values(
    block: Block, folded: AbstractSet[Operation], scopes: NameScopes, inside: Block | None = None
) -> None:
    """Give every declared value of a block a unique name in a new scope, and drop other hints.

    The body of a loop prints `inside` the block that computes its condition.
    """
    ops = ops_of_block(block)
    ids = [op for op in ops if isinstance(op, cuda.IdOp)]  # at the top of the kernel
    of_arguments = ("arg",) if isinstance(block.parent_op(), KernelOp) else (*"ijklmn", "i")
    with scopes.scope():
        for argument in block.args:
            _name(argument, scopes, *of_arguments)
        for op in ids:
            _name(op.result, scopes, op.name_among(ids))
        for op in ops:
            for result in op.results:
                if op in folded or result.first_use is None:
                    result.name_hint = None
                elif not isinstance(op, cuda.IdOp):
                    _name(result, scopes, *_names_by_kind(op))
            if type(op) is scf.WhileOp:
                name_values(op.before_region.block, folded, scopes, op.after_region.block)
            else:
                for inner in blocks_in(op):
                    name_values(inner, folded, scopes)
        if inside is not None:
            name_values(inside, folded, scopes)


def _name(value: SSAValue, scopes: NameScopes, *otherwise: str) -> None:
    """Name a value after its hint, or by the first free of some names."""
    wanted = identifier_from(value.name_hint) if value.name_hint is not None else None
    nearest = (wanted,) if wanted is not None else map(identifier_from, otherwise)
    value.name_hint = scopes.fresh(*(name for name in nearest if name is not None))


def _names_by_kind(op: Operation) -> tuple[str, ...]:
    """Return names for a result without a hint, by its op."""
    match op:
        case cuda.DynamicSharedOp():
            return ("smem",)
        case cuda.ViewOp():
            return ("view",)
        case cuda.MapSharedRankOp():
            return ("peer",)
        case memref.AllocaOp() if cuda.space_of(op.memref.type) is cuda.Space.SHARED:
            return ("smem",)
        case memref.AllocaOp():
            return (_name_by_target(op) or "buf",)
        case memref.LoadOp() if op.memref.name_hint is not None:
            return (f"{op.memref.name_hint}_value",)
        case cuda.MatrixDescriptorOp():
            return ("descriptor",)
        case arith.CmpiOp() | arith.CmpfOp():
            return ("cond",)
        case arith.AndIOp() | arith.OrIOp() if op.result.type == i1:
            return ("cond",)
        case arith.DivSIOp() | arith.RemSIOp() | arith.FloorDivSIOp() | cuda.FloorModOp():
            name = _name_of_division(op)
            return ("v",) if name is None else (name, "v")
        case arith.AddiOp() | arith.SubiOp() | arith.MuliOp() if _is_offset(op.result):
            return ("offset",)
        case _:
            return ("v",)


def _is_offset(value: SSAValue) -> bool:
    """Return whether an index is only used to address arrays."""
    accesses = memref.LoadOp | memref.StoreOp | cuda.CopyVectorOp | cuda.InstructionOp | cuda.ViewOp
    return isinstance(value.type, IndexType) and all(
        isinstance(use.operation, accesses)
        or (
            isinstance(use.operation, arith.AddiOp)
            and use.operation.result.has_one_use()
            and _is_offset(use.operation.result)
        )
        for use in value.uses
    )


def _name_by_target(alloca: memref.AllocaOp) -> str | None:
    """Return a name for a variable after the array that its value is stored to."""
    loads = [use.operation for use in alloca.memref.uses]
    for load in loads:
        if isinstance(load, memref.LoadOp) and isinstance(
            store := load.res.get_user_of_unique_use(), memref.StoreOp
        ):
            target = store.memref.name_hint
            return None if target is None or cuda.is_variable(store.memref) else f"{target}_value"
    return None


def _name_of_division(op: Operation) -> str | None:
    """Return `thread_div16` or `thread_mod16` for a division of a named value."""
    if not isinstance(op, arith.DivSIOp | arith.RemSIOp | arith.FloorDivSIOp | cuda.FloorModOp):
        return None
    number, dividend = known_index(op.rhs), op.lhs.name_hint
    if dividend is None and isinstance(op.lhs.owner, Operation):
        dividend = _name_of_division(op.lhs.owner)
    word = "div" if isinstance(op, arith.DivSIOp | arith.FloorDivSIOp) else "mod"
    return (
        None if dividend is None or number is None or number < 0 else f"{dividend}_{word}{number}"
    )
