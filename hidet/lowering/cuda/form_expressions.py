"""The pass `form-expressions`: decides which values fold into expressions, and names the others."""

from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, UnitAttr
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from hidet.dialects.cuda import KernelOp, is_variable
from hidet.dialects.cuda.marks import FORMED
from hidet.lowering.cuda.declarations import clear_marks, declare_variables, gather_ids, name_values
from hidet.lowering.cuda.demote_scf_values import demote_values
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
        demote_values(kernel)
        forward_single_stores(kernel)
        drop_dead_code(kernel)
        clear_marks(kernel)
        gather_ids(kernel)
        copies = Rematerializer(kernel)
        folding = Folding(self.max_operators, copies.original)
        folding.run(kernel)
        copies.unite(folding.folded)
        declare_variables(kernel)
        name_values(kernel, folding.folded)
        kernel.attributes[FORMED] = UnitAttr()


def forward_single_stores(kernel: KernelOp) -> None:
    """Replace every variable with a single store, in its own block, by the stored value.

    Loads before the store would be uninitialized, so all loads come after it.
    """
    for op in tuple(kernel.body.walk()):
        if isinstance(op, memref.AllocaOp) and is_variable(op.memref):
            _forward(op)


def _forward(alloca: memref.AllocaOp) -> None:
    loads: list[memref.LoadOp] = []
    stores: list[Operation] = []
    for use in alloca.memref.uses:
        if isinstance(use.operation, memref.LoadOp):
            loads.append(use.operation)
        else:
            stores.append(use.operation)
    if len(stores) != 1 or stores[0].parent is not alloca.parent:
        return
    (store,) = stores
    if not isinstance(store, memref.StoreOp):
        return
    store.value.name_hint = store.value.name_hint or alloca.memref.name_hint
    for load in loads:
        Rewriter.replace_op(load, [], [store.value])
    for op in (store, alloca):
        Rewriter.erase_op(op)


class Rematerializer:
    """Clones the cheap values of a kernel, one per use, so that each may fold into its use.

    Folding decides about every clone separately; a value is then inlined at all of its uses or
    named.
    """

    def __init__(self, kernel: KernelOp) -> None:
        self._groups: list[list[Operation]] = []
        self._originals: dict[SSAValue, SSAValue] = {}
        for op in tuple(kernel.body.walk()):
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


def _is_cheap(op: Operation) -> bool:
    """Return whether a value is a load of a variable, or a named index times a constant."""
    match op:
        case memref.LoadOp():
            return is_variable(op.memref)
        case arith.MuliOp():
            factor = op.rhs.owner
            is_named = isinstance(op.lhs, BlockArgument) or not op.lhs.has_one_use()
            return (
                isinstance(op.result.type, IndexType)
                and isinstance(factor, arith.ConstantOp)
                and is_named
            )
        case _:
            return False
