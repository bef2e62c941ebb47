"""The pass `early-cse`: eliminates common subexpressions and redundant loads."""

from collections import Counter
from collections.abc import Collection, Hashable
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove, IsTerminator, MemoryAllocEffect, is_side_effect_free

from hidet.analysis.memory import accesses_of, is_arithmetic, is_noalias, may_alias, root_of
from hidet.dialects.cuda.checks import FaultCheckOp
from hidet.dialects.effects import has_trait
from hidet.dialects.walking import blocks_in, ops_of_block


class EarlyCsePass(ModulePass):
    """Replace an op by an equal one that dominates it.

    Ops are equal if they have the same class, operands, properties and attributes. Ops without side
    effects and value checks are merged if the first one dominates; memory reads if, in addition,
    nothing may have written the memory in between. Ops with regions are kept.

    xDSL's `cse` searches for writes by walking from one read to the other, which is quadratic in
    the number of reads. Here memory has versions, like the generations of LLVM's EarlyCSE.
    """

    name = "early-cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run on a module."""
        merger = _Merger({})
        for block in blocks_in(op):
            merger.visit(block)


class _Writes(NamedTuple):
    """The memory written in a region."""

    roots: frozenset[SSAValue]
    anything: bool


class _Merger:
    """Visits a program once, in execution order.

    Ops isolated from above, such as kernels, have a merger of their own: they see no values from
    outside, and their memrefs need no alias queries against others.
    """

    def __init__(self, written: dict[Operation, _Writes]) -> None:
        # Versions of memory: while the version of a memref is unchanged, so are its elements.
        self._version_of_all = 0
        self._version_of_root: Counter[SSAValue] = Counter()
        self._unclear = set[SSAValue]()
        """The roots of memory that has been written, and may be that of other roots."""
        self._known: dict[Hashable, Operation] = {}
        self._written = written

    def visit(self, block: Block) -> None:
        """Merge the ops of a block with each other and with dominating ops."""
        added: list[Hashable] = []
        for op in ops_of_block(block):
            if op.regions:
                self._visit_regions(op)
            elif (key := self._key(op)) is not None:
                earlier = self._known.setdefault(key, op)
                if earlier is op:
                    added.append(key)
                    continue
                for result, known in zip(op.results, earlier.results, strict=True):
                    result.replace_all_uses_with(known)
                block.erase_op(op)
            else:
                self._note(self._writes_of(op))
        for key in added:
            del self._known[key]

    def _visit_regions(self, op: Operation) -> None:
        """Merge inside an op with regions.

        Loop-carried writes precede the body, so its writes are recorded before it.
        """
        merger, writes = self, self._writes_of(op)
        if op.has_trait(IsolatedFromAbove, value_if_unregistered=True):
            # Its memrefs alias those outside under other names.
            merger = _Merger(self._written)
            writes = _Writes(frozenset(), bool(writes.roots) or writes.anything)
        self._note(writes)
        for block in blocks_in(op):
            merger.visit(block)

    def _note(self, writes: _Writes) -> None:
        """Advance the versions of memory."""
        self._version_of_all += writes.anything
        self._version_of_root.update(writes.roots)
        self._unclear.update(root for root in writes.roots if not is_noalias(root))

    def _key(self, op: Operation) -> Hashable | None:
        """Return the key under which equal ops are merged; None if an op must be kept."""
        kind = type(op)
        if not op.results or has_trait(kind, IsTerminator) or has_trait(kind, MemoryAllocEffect):
            return None
        version = 0
        is_repeatable = is_arithmetic(op) or isinstance(op, FaultCheckOp)
        if not is_repeatable and not is_side_effect_free(op):
            accesses = accesses_of(op)
            if accesses is None or accesses.writes or not accesses.reads:
                return None
            version = self._version_of_all + sum(
                self._version_of_root[root] for root in self._written_under(accesses.reads)
            )
        return (
            op.name,
            tuple(op.operands),
            frozenset(op.properties.items()),
            frozenset(op.attributes.items()) if op.attributes else None,
            op.result_types,
            version,
        )

    def _written_under(self, reads: Collection[SSAValue]) -> set[SSAValue]:
        """Return the roots of memory that has been written and may alias what is read."""
        roots = {root_of(memory) for memory in reads}
        if all(map(is_noalias, roots)):
            written = self._unclear | roots
        else:
            written = self._version_of_root.keys()
        return {root for root in written if any(may_alias(root, each) for each in reads)}

    def _writes_of(self, op: Operation) -> _Writes:
        """Return what an op writes, nested ops included."""
        if (known := self._written.get(op)) is not None:
            return known
        accesses = accesses_of(op)
        roots = {root_of(memory) for memory in accesses.writes} if accesses else set[SSAValue]()
        anything = accesses is None
        for block in blocks_in(op):
            for inner in ops_of_block(block):
                if type(inner) is not memref.LoadOp and not is_arithmetic(inner):
                    writes = self._writes_of(inner)
                    roots |= writes.roots
                    anything |= writes.anything
        found = self._written[op] = _Writes(frozenset(roots), anything)
        return found
