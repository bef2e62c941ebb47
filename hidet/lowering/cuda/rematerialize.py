"""Rematerialization of cheap values, such as `i * 4` and loads of variables."""

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from hidet.dialects.cuda.attributes import is_variable
from hidet.dialects.cuda.kernel import KernelOp


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
