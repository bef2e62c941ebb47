"""Decides which values fold into the expression of their user, for `form-expressions`."""

from collections.abc import Callable
from itertools import takewhile

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i1, i64
from xdsl.ir import Block, Operation, SSAValue, Use

from hidet.analysis.memory import Memory, WritesAfter, is_arithmetic, reads_of_expression, writes_of
from hidet.dialects.cuda import FloorModOp, IdOp, ShflOp, Space, space_of
from hidet.dialects.cuda.marks import UPDATE
from hidet.dialects.walking import blocks_in, ops_of_block, parents_of
from hidet.lowering.cuda.demote_scf_values import operators_of, prints_operands_twice

_SUMS = (arith.AddfOp, arith.AddiOp, arith.MulfOp, arith.MuliOp)
_COMMUTATIVE = frozenset({*_SUMS, arith.AndIOp, arith.OrIOp, arith.XOrIOp})
_UPDATES = _COMMUTATIVE | {arith.DivfOp, arith.SubfOp, arith.SubiOp}
"""Ops with a compound assignment operator in C++."""


class Folding:
    """Walks a kernel backwards and decides for each op whether it folds."""

    def __init__(self, max_operators: int, original: Callable[[SSAValue], SSAValue]) -> None:
        self.max_operators = max_operators
        self._original = original
        self.folded: set[Operation] = set()
        # The statement that a folded op is part of.
        self._root: dict[Operation, Operation] = {}
        self._operators: dict[Operation, int] = {}
        self._position: dict[Operation, int] = {}
        # Loads replaced by a compound assignment `x[i] += v`: their operands are not printed.
        self._contracted: set[Operation] = set()
        # Folded ops that are evaluated conditionally: after `&&`, `?`.
        self._conditional: set[Operation] = set()

    def block(self, block: Block) -> set[Memory]:
        """Add the ops of a block that fold to `folded`; return the memory that the block writes."""
        after = WritesAfter()
        for position, op in reversed(list(enumerate(ops_of_block(block)))):
            self._position[op] = position
            if self._folds(op, after):
                self._fold(op)
            elif type(op) is scf.IfOp and op.results:
                self._operators[op] = self._operators.get(op, 0) + _operators(op)
            writes = writes_of(op)
            for inner in blocks_in(op):
                if op.results:
                    self._arm(op, inner)
                else:
                    writes |= self.block(inner)
            after.add(writes, position)
        return set(after.next)

    # Folding one operation.

    def _folds(self, op: Operation, after: WritesAfter) -> bool:
        if type(op) is arith.ConstantOp:
            return True
        if not _is_expression(op) or isinstance(op, IdOp):
            return False  # named ids are int, ids in C++ are unsigned
        use = self._only_use(op)
        if use is None or prints_operands_twice(use.operation):
            return False
        root = self._root.get(use.operation, use.operation)
        # A condition `a && b && ...` is folded or named as a whole.
        is_whole = _is_logical(op) and not _is_logical(use.operation)
        added = _operators_of_condition(op) if is_whole else _operators(op)
        if self._operators.get(root, 0) + added > self.max_operators:
            return False
        if root.parent is not op.parent:
            return is_arithmetic(op) and _may_sink(op, root)
        if isinstance(root, scf.ForOp) and not is_arithmetic(op):
            return False  # loop bounds are evaluated again in every iteration
        if isinstance(op, ShflOp) and self._is_conditional(use):
            return False
        end = self._position[root]
        return not any(after.is_written_before(memory, end) for memory in reads_of_expression(op))

    def _fold(self, op: Operation) -> None:
        """Fold an op into its user; a constant, into all of them."""
        self.folded.add(op)
        use = self._only_use(op)
        if isinstance(op, arith.ConstantOp) or use is None:
            return
        root = self._root.get(use.operation, use.operation)
        self._root[op] = root
        if self._is_conditional(use):
            self._conditional.add(op)
        if isinstance(op, memref.LoadOp) and self._contract(op, use):
            self._contracted.add(op)
        else:
            self._operators[root] = self._operators.get(root, 0) + _operators(op)

    def _arm(self, op: Operation, arm: Block) -> None:
        """Fold all ops of an arm of a conditional expression, which has no side effects."""
        root = self._root.get(op, op)
        for inner in arm.ops:
            self._root[inner] = root
            self._conditional.add(inner)
            if not isinstance(inner, scf.YieldOp):
                self.folded.add(inner)
            for block in blocks_in(inner):
                self._arm(inner, block)

    def _contract(self, load: memref.LoadOp, use: Use) -> bool:
        """Mark the store of `x[i] = x[i] + v` if the load is that of the old value."""
        store = self._root[load]
        computed = use.operation
        if (
            not isinstance(store, memref.StoreOp)
            or store.value.owner is not computed
            or type(computed) not in _UPDATES
            or (load.res.type == i1 and not _may_contract_booleans(load, computed))
            or UPDATE in store.attributes
            or store.memref is not load.memref
            or any(
                self._original(one) is not self._original(other)
                for one, other in zip(store.indices, load.indices, strict=True)
            )
        ):
            return False
        if use.index != 0 and type(computed) not in _COMMUTATIVE:
            return False
        store.attributes[UPDATE] = IntegerAttr(use.index, i64)
        load.operands = [load.memref, *store.indices]
        return True

    def _only_use(self, op: Operation) -> Use | None:
        """Return the only printed use of a result, None if there are several."""
        found = None
        for use in op.results[0].uses:
            if use.operation in self._contracted:
                continue
            if found is not None:
                return None
            found = use
        return found

    def _is_conditional(self, use: Use) -> bool:
        user = use.operation
        if user in self._conditional:
            return True
        if isinstance(user, arith.SelectOp):
            return use.index > 0
        return _is_logical(user) and use.index > 0


def _may_contract_booleans(load: memref.LoadOp, computed: Operation) -> bool:
    """Return whether `x |= v` updates a local boolean; a byte of other memory may be no 0 or 1.

    Unlike `x || v` it computes v in any case, without a branch around what v loads.
    """
    return _is_logical(computed) and space_of(load.memref.type) is Space.LOCAL


def _is_expression(op: Operation) -> bool:
    """Return whether an op can be part of a C++ expression."""
    if type(op) is scf.IfOp:
        return bool(op.results)
    return is_arithmetic(op) or type(op) is memref.LoadOp or isinstance(op, ShflOp | IdOp)


def _may_sink(op: Operation, root: Operation) -> bool:
    """Return whether arithmetic may sink into the region of a statement.

    Into a branch always; into a loop only if it is cheap or certain to be hoisted by compilers.
    """
    is_division = isinstance(op, arith.DivSIOp | arith.RemSIOp | arith.FloorDivSIOp | FloorModOp)
    if isinstance(op.results[0].type, IndexType | IntegerType) and not is_division:
        return True
    around = takewhile(lambda parent: parent is not op.parent_op(), parents_of(root))
    return not any(isinstance(parent, scf.ForOp) for parent in around)


def _operators(op: Operation) -> int:
    if type(op) is scf.IfOp:
        operators = operators_of(op)
        assert operators is not None, "form-expressions demotes other branches"
        return operators
    return 0 if type(op) is arith.IndexCastOp else 1


def _is_logical(op: Operation) -> bool:
    return type(op) in (arith.AndIOp, arith.OrIOp) and op.results[0].type == i1


def _operators_of_condition(op: Operation) -> int:
    """Return the number of operators of a condition, foldable operands included."""
    total = 1
    for operand in op.operands:
        inner = operand.owner
        if (
            isinstance(inner, Operation)
            and is_arithmetic(inner)
            and not isinstance(inner, arith.ConstantOp)
            and operand.has_one_use()
        ):
            total += _operators_of_condition(inner)
    return total
