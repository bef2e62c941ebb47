"""The pass `fuse`: groups grids and anchors into kernels."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import chain

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.grids import is_cheap_again, loads_of
from hidet.analysis.rows import rows_of_grid
from hidet.arch.chips import Arch
from hidet.dialects.compute import FusionOp, GridOp, YieldOp
from hidet.dialects.cuda.checks import CheckedIndexOp
from hidet.dialects.graph import AnchorOp, CallKernelOp, ConstantOp, MatmulOp
from hidet.dialects.shaped import nbytes_of, size_of
from hidet.dialects.walking import ops_in, ops_of_class, reached
from hidet.lowering.compute.fusion_groups import (
    Group,
    Kind,
    consumes,
    is_picked_from,
    is_repeated,
    is_simple,
    may_join,
    may_merge,
    reads_alike,
    reduces_same_rows,
)
from hidet.lowering.compute.fusion_reads import Reads
from hidet.lowering.templates.splits import are_siblings, worth_sharing
from hidet.rewriting.inlining import inline_into_loads
from hidet.rewriting.locations import locate


class Fuser:
    """Partitions the ops of a function into groups, and makes each a fusion."""

    def __init__(self, function: FuncOp, arch: Arch) -> None:
        self.arch = arch
        self.block = function.body.block
        self.reads = Reads(self.block)
        self.groups: list[Group] = []
        self.group_of: dict[Operation, Group] = {}

    def run(self) -> None:
        """Fuse the function."""
        for op in list(self.block.ops):
            if isinstance(op, AnchorOp | CallKernelOp) or (
                isinstance(op, GridOp) and not self.reads.is_transparent(op)
            ):
                self._place(op)
        for group in self.groups:
            if group.ops:
                self._emit(group)
        for op in reversed(self.reads.order):
            if isinstance(op, GridOp | AnchorOp) and op.parent is self.block:
                Rewriter.erase_op(op)

    def _place(self, op: Operation) -> None:
        """Add an op to the latest group that it reads and may join, or to a new one."""
        producers = self._producers(op)
        latest = max(producers, key=lambda group: group.number, default=None)
        group = None
        if isinstance(op, GridOp):
            if not is_picked_from(op):
                group = self._group_of_grid(op, producers)
        elif isinstance(op, MatmulOp) and (group := self._shared(op, latest)) is not None:
            op.operands[0] = group.anchors[0].operands[0]
        group = group or self._new_group(op)
        self._join(op, group)
        if group.kind is Kind.CALL:
            return
        for producer in producers - {group}:
            if consumes(op, producer, group.ops) or self._merges(producer, group):
                for member in producer.ops:
                    self.group_of[member] = group
                group.ops = {**producer.ops, **group.ops}
                producer.ops = {}

    def _merges(self, group: Group, later: Group) -> bool:
        """Return whether a group should move into a later one: `may_merge`.

        Groups between them do not read it. Examples are the two sums in the backward pass of a
        layer norm, and both moments in a step of Adam.
        """
        results = chain.from_iterable(member.results for member in group.ops)
        readers = chain.from_iterable(map(self.reads.readers, results))
        reading = {self.group_of.get(reader, later) for reader in readers}
        is_between = (group.number < each.number < later.number for each in reading)
        return may_merge(group, later) and not any(is_between)

    def _producers(self, op: Operation) -> set[Group]:
        """Return the groups that an op reads."""
        return {
            group
            for value in self.reads.sources(op)
            if isinstance(value.owner, Operation)
            and (group := self.group_of.get(value.owner)) is not None
        }

    def _group_of_grid(self, op: GridOp, producers: set[Group]) -> Group | None:
        """Return the group that a grid joins: rather one that stays than one that it consumes.

        An anchor's epilogue takes up simple producers only: it does not hide what others compute.
        """
        consumed = [group for group in producers if consumes(op, group)]
        staying = producers.difference(consumed)
        if any(each.kind is Kind.ANCHOR for each in staying) and not all(map(is_simple, consumed)):
            consumed, staying = list[Group](), producers
        group = self._joined(op, staying, producers) or self._beside(op, staying, consumed)
        return group or self._joined(op, consumed, producers)

    def _joined(
        self, op: GridOp, candidates: Collection[Group], producers: Collection[Group]
    ) -> Group | None:
        """Return the producer that a grid joins, after which all others are computed or moved."""
        for group in sorted(candidates, key=lambda group: -group.number):
            if not may_join(op, group) or (
                group.kind is Kind.ANCHOR
                and is_better_recomputed(op, group, self.reads, self.group_of)
            ):
                continue
            later = [each for each in producers if each.number > group.number]
            if not later or self._move_behind(later, group):
                return group
        return None

    def _move_behind(self, groups: Collection[Group], other: Group) -> bool:
        """Move a group, and what needs it, behind other groups, unless one of these needs it.

        An example is a convolution to whose result the embedding of a time step is added.
        """
        behind = 1 + max(group.number for group in groups)
        moved, stays = [other], list[Group]()
        for group in self.groups[other.number + 1 : behind]:
            producers = chain.from_iterable(map(self._producers, group.ops))
            (stays if set(moved).isdisjoint(producers) else moved).append(group)
        if not set(moved).isdisjoint(groups):
            return False
        self.groups[other.number : behind] = [*stays, *moved]
        for number, group in enumerate(self.groups):
            group.number = number
        return True

    def _shared(self, op: MatmulOp, latest: Group | None) -> Group | None:
        """Return a group of matmuls with the same A operand that a matmul should join.

        The group was created after all producers of the matmul.
        """
        lhs = op.lhs.owner
        sources: list[SSAValue] = [op.lhs]
        if isinstance(lhs, GridOp) and self.reads.is_transparent(lhs):
            sources = self.reads.sources(lhs)
        readers = chain.from_iterable(map(self.reads.readers, sources))
        siblings = [each for each in readers if isinstance(each, MatmulOp)]
        siblings = [each for each in siblings if are_siblings(each, op)]
        for group in dict.fromkeys(map(self.group_of.get, siblings)):
            if group is None or (latest is not None and latest.number >= group.number):
                continue
            own = [each for each in siblings if each is op or self.group_of.get(each) is group]
            if any(worth_sharing(products, self.arch) for products in (siblings, own)):
                return group
        return None

    def _beside(
        self, op: GridOp, staying: Collection[Group], consumed: Collection[Group]
    ) -> Group | None:
        """Return a group that reduces the same rows of what a grid reads, or of what comes with it.

        The group was created after all producers of the grid, and of those that it consumes, which
        move there.
        """
        if rows_of_grid(op) is None:
            return None
        members = [member for group in consumed for member in group.ops]
        before = {*staying, *chain.from_iterable(map(self._producers, members))}.difference(
            consumed
        )
        latest = max(before, key=lambda group: group.number, default=None)
        together = [result for member in latest.ops for result in member.results] if latest else []
        read = chain.from_iterable(map(self.reads.sources, (op, *members)))
        for value in dict.fromkeys(chain(read, together)):
            for reader in self.reads.readers(value):
                group = self.group_of.get(reader)
                if group is None or (latest is not None and latest.number >= group.number):
                    continue
                if (
                    isinstance(reader, GridOp)
                    and (reduces_same_rows(op, reader) or reads_alike(op, reader, value, group))
                    and all(consumes(op, each, group.ops) for each in consumed)
                ):
                    return group
        return None

    def _join(self, op: Operation, group: Group) -> None:
        if group.kind is not Kind.ANCHOR and isinstance(op, GridOp):
            if rows_of_grid(op) is not None:
                group.kind = Kind.ROWS
            elif group.kind is Kind.ELEMENTS:
                group.size = size_of(op.result)
        group.ops[op] = None
        self.group_of[op] = group

    def _new_group(self, op: Operation) -> Group:
        kind = Kind.ELEMENTS if isinstance(op, GridOp) else Kind.ANCHOR
        if isinstance(op, CallKernelOp):
            kind = Kind.CALL
        group = Group(len(self.groups), kind, checks_apart=self.arch.is_cpu)
        self.groups.append(group)
        return group

    def _emit(self, group: Group) -> None:
        """Replace the members of a group by a fusion at the end of the function.

        A kernel call, which is a group by itself, is moved there.
        """
        if group.kind is Kind.CALL:
            (call,) = group.ops
            call.detach()
            self._append(call)
            return
        ops = sorted(self._with_views(group.ops), key=self.reads.order.__getitem__)
        results = [
            op.results[0]
            for op in ops
            if op in group.ops and not self.reads.readers(op.results[0]).keys() <= group.ops.keys()
        ]
        if not results:
            return
        inputs = [
            value
            for value in dict.fromkeys(v for op in ops for v in self.reads.direct_sources(op))
            if not (isinstance(value.owner, Operation) and value.owner in ops)
        ]
        body = Block(arg_types=[value.type for value in inputs])
        values: dict[SSAValue, SSAValue] = dict(zip(inputs, body.args, strict=True))
        for argument, value in zip(body.args, inputs, strict=True):
            argument.name_hint = value.name_hint
        # Views that other kernels read, too, are copied.
        for op in ops:
            is_own = op in group.ops or self._is_read_only_by(op, ops)
            body.add_op(_moved(op, values) if is_own else op.clone(values))
        body.add_op(YieldOp(*(values[result] for result in results)))
        fusion = FusionOp(inputs, [result.type for result in results], body=Region(body))
        origin = ops[0] if group.kind is not Kind.ANCHOR else group.anchors[0]
        locate(fusion, origin.location)
        self._append(fusion)
        for result, replacement in zip(results, fusion.results_, strict=True):
            replacement.name_hint = result.name_hint
            result.replace_uses_with_if(
                replacement, lambda use: not fusion.is_ancestor(use.operation)
            )
        # In a row group all grids are evaluated once; results of elementwise groups are, too.
        kept = [values[result] for result in results if group.kind is Kind.ELEMENTS]
        for op in reversed(list(body.ops)) if group.kind is not Kind.ROWS else ():
            if isinstance(op, GridOp) and op.result not in kept:
                inline_into_loads(op)
        for check in ops_of_class(fusion, CheckedIndexOp):
            if check.ahead and not is_repeated(check):
                check.ahead = None

    def _append(self, op: Operation) -> None:
        terminator = self.block.last_op
        assert terminator is not None
        Rewriter.insert_op(op, InsertPoint.before(terminator))

    def _with_views(self, members: Iterable[Operation]) -> set[Operation]:
        """Return the members and the views that they read."""

        def views(op: Operation) -> list[Operation]:
            owners = [value.owner for value in self.reads.direct_sources(op)]
            return [v for v in owners if isinstance(v, GridOp) and v not in self.group_of]

        return set(reached(members, views))

    def _is_read_only_by(self, view: Operation, readers: Collection[Operation]) -> bool:
        """Return whether no op of the function but some readers reads a view."""
        users = (use.operation for use in view.results[0].uses)
        return all(self.block.find_ancestor_op_in_block(user) in readers for user in users)


def _moved(op: Operation, values: dict[SSAValue, SSAValue]) -> Operation:
    """Detach an op, and replace the values that it reads."""
    op.detach()
    for inner in ops_in(op):
        for number, operand in enumerate(inner.operands):
            if operand in values:
                inner.operands[number] = values[operand]
    values.update(zip(op.results, op.results, strict=True))
    return op


def is_better_recomputed(
    grid: GridOp, group: Group, reads: Reads, groups: Mapping[Operation, Group]
) -> bool:
    """Return whether a grid should be recomputed in its consumers, not join an anchor's group.

    This is so if its only consumer is a grid that cannot join, and all members of the group that it
    reads are stored for others anyway: recomputing is then cheaper than a store and a load. An
    example are the squares that a norm sums up. So it is if members are half as wide as the grid,
    and stored instead, as the products in f16 of which a softmax takes the exponents in f32.
    """
    readers = reads.readers(grid.result).keys()
    sources = {load.source for load in loads_of(grid) if group.holds(load.source)}
    if not (sources and readers and is_cheap_again(grid)):
        return False
    if not all(isinstance(each, GridOp) for each in readers):
        return False
    outside, joined = _readers_outside(grid, group, reads, groups)
    if all(2 * nbytes_of(source) <= nbytes_of(grid.result) for source in sources):
        return readers <= outside | joined and all(map(is_cheap_again, joined))
    others = [reads.readers(source).keys() - {grid} for source in sources]
    is_stored = all(others) and not any(map(outside.isdisjoint, others))
    return len(readers) == 1 and readers <= outside and is_stored


def _readers_outside(
    grid: GridOp, group: Group, reads: Reads, groups: Mapping[Operation, Group]
) -> tuple[set[Operation], set[GridOp]]:
    """Return the readers of a group with a grid added that cannot join it, and those that can."""
    trial = Group(group.number, group.kind, {**group.ops, grid: None})
    outside: set[Operation] = set()
    joined: set[GridOp] = set()
    pending: list[int] = []
    ops = {number: op for op, number in reads.order.items()}
    seen = set(trial.ops)
    for member in trial.ops:
        fresh = reads.readers(member.results[0]).keys() - seen
        seen |= fresh
        pending.extend(reads.order[op] for op in fresh)
    heapify(pending)
    while pending:
        op = ops[heappop(pending)]
        producers = {value.owner for value in reads.sources(op)} - trial.ops.keys()
        late = any(_is_later(producer, group, groups) for producer in producers)
        if isinstance(op, GridOp) and op not in groups and not late and may_join(op, trial):
            trial.ops[op] = None
            joined.add(op)
            for reader in reads.readers(op.result).keys() - seen:
                seen.add(reader)
                heappush(pending, reads.order[reader])
        else:
            outside.add(op)
    return outside, joined


def _is_later(producer: Operation | Block, group: Group, groups: Mapping[Operation, Group]) -> bool:
    """Return whether a producer comes after a group, so that its consumer cannot join the group."""
    if isinstance(producer, Block | ConstantOp):
        return False
    return producer not in groups or groups[producer].number > group.number


@dataclass(frozen=True)
class FusePass(ModulePass):
    """Make fusions, each of which becomes one kernel.

    Expects functions of grids and anchors (`graph.matmul` and any other `AnchorOp`), with views
    inlined. An op joins the latest group that it reads

    1. as the epilogue of an anchor, if it reads one anchor element per element of its own through
       an invertible index map (`invert`), unless recomputing it in its consumers is cheaper;
    2. in a row group: reductions over the same rows, and grids per row or per element of a row;
       rows are strided if their elements are, as columns;
    3. in an elementwise group, in the same element order.

    Reductions of the same rows of one tensor, or of results of one group, share a group too, and
    row groups that a grid reads both of become one, as do elementwise groups that it reads in
    order.

    An elementwise group with a single consumer moves into the consumer's group if recomputing it
    costs less than storing it. No op is fused if the code of the fusion would grow by more than
    `MAX_GROWTH`. Small views that anchors read are copied into every kernel that reads them, and so
    are cheap functions of arguments. Few elements of a row are computed where they are read.
    Matmuls with a common A operand become one kernel, with the epilogues of all, if the cost model
    says that this is no slower. Kernel calls stay between fusions. Leaves functions of
    `compute.fusion`, `graph.constant` and `graph.call_kernel`.

    On the CPU an index check that would be repeated for many elements stays in a kernel of its own:
    it is a branch in the loop over the threads. A check ahead of the kernel moves into the kernel
    unless it would be repeated there.
    """

    name = "fuse"

    arch: str = "sm_90a"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse every function of the module."""
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                Fuser(function, Arch.parse(self.arch)).run()
