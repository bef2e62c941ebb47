"""Groups of grids and anchors that become one fusion, and the rules by which they grow.

Groups are numbered in the order of creation and read only groups of lower numbers: an op may join a
group if all its other producers are in earlier groups. The group graph is therefore acyclic by
construction.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from math import prod

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, SSAValue

from hidet.analysis.grids import (
    has_reduction,
    is_cheap,
    is_cheap_again,
    is_in_order,
    linear_index,
    linear_index_of_load,
    loads_of,
)
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.inverse import inverse_of
from hidet.analysis.rows import Rows, is_serial, read_in_order, row_reduces, rows_of, rows_of_grid
from hidet.dialects.compute import GridOp, LoadOp, ReduceOp, YieldOp
from hidet.dialects.cuda.checks import CheckedIndexOp, FaultCheckOp
from hidet.dialects.graph import AnchorOp, GroupedConv2dOp, GroupedFilterGradientOp
from hidet.dialects.shaped import size_of
from hidet.dialects.walking import ops_in, ops_of_class, parents_of
from hidet.rewriting.inlining import inline_into_loads

MIN_CHECKS = 1 << 16
"""Number of checks that take longer than a kernel launch."""

MIN_REPEATED = 8
"""Number of repetitions of a check that are worth a kernel of its own."""


class Kind(Enum):
    """How a group is scheduled, which decides what may join."""

    ANCHOR = auto()
    ROWS = auto()
    ELEMENTS = auto()
    CALL = auto()


@dataclass(frozen=True)
class GridReads:
    """What a grid reads of other grids, and the number of its ops.

    `sources` has each grid once per index, and whether the read is in order: the linear index is
    that of the element, and the load is unconditional.
    """

    size: int
    sources: Sequence[tuple[GridOp, bool]]

    @classmethod
    def of(cls, grid: GridOp) -> "GridReads":
        """Return the reads of a grid."""
        forms = IndexForms()
        block = grid.body.block
        own = linear_index(forms, grid.indices, grid.shape, block)
        found: dict[tuple[object, ...], tuple[GridOp, bool]] = {}
        for load in loads_of(grid):
            if isinstance(source := load.source.owner, GridOp):
                number = linear_index_of_load(forms, load)
                in_order = load.parent is block and number == own
                found[source, load.parent, number] = (source, in_order)
        return cls(len(ops_in(grid)), list(found.values()))


@dataclass(eq=False)
class Group:
    """Ops that become one fusion, in the order of joining.

    `size` is the number of elements of the results of an elementwise group. With `checks_apart`,
    consumers that would repeat index checks stay apart. `reads_of` computes what a grid reads once,
    as groups grow by hundreds of grids.
    """

    number: int
    kind: Kind
    ops: dict[Operation, None] = field(default_factory=lambda: dict[Operation, None]())
    size: int = 0
    checks_apart: bool = False
    reads_of: Callable[[GridOp], GridReads] = field(default_factory=lambda: cache(GridReads.of))

    @property
    def anchors(self) -> list[AnchorOp]:
        """The anchors: one, or siblings that share an operand."""
        return [op for op in self.ops if isinstance(op, AnchorOp)]

    @property
    def grids(self) -> list[GridOp]:
        """The members that are grids."""
        return [op for op in self.ops if isinstance(op, GridOp)]

    def holds(self, value: SSAValue) -> bool:
        """Return whether a member defines a value."""
        return isinstance(value.owner, Operation) and value.owner in self.ops


def may_join(grid: GridOp, group: Group) -> bool:
    """Return whether a grid may join a group; its other producers are in earlier groups."""
    match group.kind:
        case Kind.ANCHOR:
            return _is_epilogue(grid, group)
        case Kind.ROWS:
            return _fits_rows(grid, group)
        case Kind.ELEMENTS:
            if (rows := rows_of_grid(grid)) is not None:
                fits = rows.size == group.size and _fits_rows(grid, group)
                return fits and not any(map(is_serial, group.grids))
            return _extends_elements(grid, group)
        case Kind.CALL:
            return False


def _is_epilogue(grid: GridOp, group: Group) -> bool:
    """Return whether a grid reads one anchor element per element, invertibly.

    Of grouped convolutions only grids in order are: each thread stores its own channels.
    """
    if has_reduction(grid):
        return False
    sources = {load.source for load in loads_of(grid) if group.holds(load.source)}
    if len(sources) == 1:
        (source,) = sources
        if is_in_order(grid, source):
            return True  # of an anchor, or chained to another epilogue
    trial = with_members_inlined(grid, group)
    results = [anchor.result for anchor in group.anchors]
    is_epilogue = inverse_of(trial, *results) is not None
    if any(isinstance(anchor, GroupedConv2dOp) for anchor in group.anchors):
        is_epilogue = is_epilogue and all(is_in_order(trial, result) for result in results)
    trial.erase()
    return is_epilogue


def with_members_inlined(grid: GridOp, group: Group) -> GridOp:
    """Return a copy of a grid that reads the anchor directly instead of other epilogues."""
    copy = grid.clone()
    for member in reversed(group.ops):  # consumers first: a common producer is inlined once
        if isinstance(member, GridOp) and (loads := loads_of(copy, member.result)):
            inline_into_loads(member, loads)
    return copy


def _fits_rows(grid: GridOp, group: Group) -> bool:
    """Return whether a grid reads values per row, and elements in the order of its own."""
    rows = rows_of([*group.ops, grid])
    if rows is None or (not row_reduces(grid) and has_reduction(grid)):
        return False
    is_stored = group.kind is Kind.ELEMENTS
    if is_stored and rows.stride > 1 and rows.length > MAX_COLUMN:
        return False
    stored = {prod(grid.shape), group.size if is_stored else rows.count}
    if not stored <= {rows.count, rows.size} or (rows.size in stored and _is_narrow(rows)):
        return False
    return read_in_order(rows, grid, (load for load in loads_of(grid) if group.holds(load.source)))


def reads_alike(grid: GridOp, member: GridOp, value: SSAValue, group: Group) -> bool:
    """Return whether a grid and a member of a row group read a value in the order of the rows."""
    rows = rows_of([*group.ops, grid]) if group.kind is Kind.ROWS else None
    return rows is not None and all(
        read_in_order(rows, reader, loads_of(reader, value)) for reader in (grid, member)
    )


def may_merge(first: Group, second: Group) -> bool:
    """Return whether two groups compute the same elements, or reduce the same rows, in order."""
    ops = {**first.ops, **second.ops}
    if first.kind is second.kind is Kind.ELEMENTS:
        reads = [each for grid in second.grids for each in second.reads_of(grid).sources]
        in_order = all(is_in_order for source, is_in_order in reads if source in first.ops)
        return first.size == second.size and in_order
    rows = rows_of(ops) if first.kind is second.kind is Kind.ROWS else None
    return rows is not None and all(
        read_in_order(rows, grid, (load for load in loads_of(grid) if load.source.owner in ops))
        for grid in (*first.grids, *second.grids)
    )


MAX_COLUMN = 1 << 10
"""The length of strided rows up to which a block keeps elements that it computes, until it has
reduced and stored them: longer ones would be computed twice."""

MIN_COLUMNS, MAX_NARROW = 1 << 10, 1 << 16
"""The fewest strided rows that one kernel reduces and computes elements of, unless it is all of few
elements: blocks process 16 adjacent rows, and a few blocks do not occupy a GPU."""


def _is_narrow(rows: Rows) -> bool:
    """Return whether strided rows are too few to compute their elements where they are reduced."""
    return rows.stride > 1 and rows.count < MIN_COLUMNS and rows.size > MAX_NARROW


def reduces_same_rows(grid: GridOp, other: GridOp) -> bool:
    """Return whether a grid that reduces rows and another one do so with the same strides."""
    is_same = rows_of_grid(grid) == rows_of_grid(other)
    return is_same and not set(_strides(grid)).isdisjoint(_strides(other))


def _strides(grid: GridOp) -> Iterator[tuple[int, ...]]:
    """Yield the strides of loads in row reductions, by the dimensions of the grid and the row."""
    forms = IndexForms()
    for reduce in row_reduces(grid):
        indices = [*grid.indices, *reduce.indices]
        for load in ops_of_class(reduce, LoadOp):
            form = linear_index_of_load(forms, load)
            if set(form.terms) <= set(indices):
                yield tuple(form.coefficient_of(index) for index in indices)


def _extends_elements(grid: GridOp, group: Group) -> bool:
    """Return whether a grid continues its producers element by element, or consumes them.

    It consumes a group if it is the only reader of the group's only result, and recomputation costs
    no more than storing.
    """
    if has_reduction(grid):
        return False
    forms = IndexForms()
    own = linear_index(forms, grid.indices, grid.shape, grid.body.block)
    loads = [load for load in loads_of(grid) if group.holds(load.source)]
    if prod(grid.shape) == group.size and all(
        linear_index_of_load(forms, load) == own for load in loads
    ):
        return grows_little(grid, group)
    return consumes(grid, group)


def consumes(op: Operation, group: Group, others: Iterable[Operation] = ()) -> bool:
    """Return whether only an op consumes an elementwise group, which is cheap to fuse into it.

    The group would move into that of the op, whose members are `others`; they may consume it too,
    if all do element by element.
    """
    if group.kind is not Kind.ELEMENTS:
        return False
    if op in group.ops:
        return False
    block = next(iter(group.ops)).parent
    assert block is not None
    users = {
        block.find_ancestor_op_in_block(use.operation)
        for member in group.ops
        for result in member.results
        for use in result.uses
    } - set(group.ops)
    if users != {op} and not (op in users <= {op, *others} and _read_in_order(users, group)):
        return False
    if any(isinstance(member, GridOp) and member.is_stored for member in group.ops):
        return False
    if isinstance(op, GridOp):
        if group.checks_apart and _repeats_checks(op, group):
            return False
        if rows_of_grid(op) is not None and any(map(is_serial, group.grids)):
            return False
        sources = {load.source for load in loads_of(op) if group.holds(load.source)}
        again = all(isinstance(each, GridOp) and is_cheap_again(each) for each in group.ops)
        few = again or _evaluations(op, group) <= group.size * len(sources)
        return few and grows_little(op, group, others)
    cheap = all(isinstance(member, GridOp) and is_cheap(member) for member in group.ops)
    return cheap and not _reads_repeatedly(op, group)


MAX_SIMPLE = 8
"""The most operations for an element of a simple group, beside loads."""


def is_simple(group: Group) -> bool:
    """Return whether a group computes elements by a few operations, none of which is a function.

    An example is the mask of a ReLU, but not the derivative of a GELU: with the latter in
    epilogues, a training step of ConvNeXt-T takes 6.8 ms of an H200 instead of 6.6.
    """
    ops = [op for grid in group.grids for op in ops_in(grid.body)]
    others = [op for op in ops if not isinstance(op, arith.ConstantOp | LoadOp | YieldOp)]
    return len(others) <= MAX_SIMPLE and not any(op.name.startswith("math.") for op in others)


def _read_in_order(users: Collection[Operation | None], group: Group) -> bool:
    """Return whether all consumers of a group read its elements in order."""
    grids = [user for user in users if isinstance(user, GridOp)]
    reads = {(grid, load.source) for grid in grids for load in loads_of(grid)}
    in_order = (is_in_order(grid, source) for grid, source in reads if group.holds(source))
    return len(grids) == len(users) and all(in_order)


def _reads_repeatedly(anchor: Operation, group: Group) -> bool:
    """Return whether an anchor reads elements of a group several times, as image windows."""
    if isinstance(anchor, GroupedConv2dOp | GroupedFilterGradientOp):
        return prod(anchor.window.kernel) > 1
    return any(
        isinstance(view := operand.owner, GridOp)
        and prod(view.shape) > group.size
        and any(group.holds(load.source) for load in loads_of(view))
        for operand in anchor.operands
    )


def _repeats_checks(grid: GridOp, group: Group) -> bool:
    """Return whether a grid would repeat the checks of a group per element.

    Row grids do not: a check that is uniform along a row is done once.
    """
    checks = (op for member in group.ops for op in ops_of_class(member, FaultCheckOp))
    if all(isinstance(check, CheckedIndexOp) and check.ahead for check in checks):
        return False
    if rows_of_grid(grid) is not None:
        return False
    return _evaluations(grid, group) >= max(MIN_CHECKS, MIN_REPEATED * group.size)


def is_repeated(check: CheckedIndexOp) -> bool:
    """Return whether a fusion would repeat a check of elements that it loads."""
    domains = [op.shape for op in parents_of(check) if isinstance(op, GridOp | ReduceOp)]
    cast = check.index.owner
    load = cast.input.owner if isinstance(cast, arith.IndexCastOp) else None
    return isinstance(load, LoadOp) and prod(map(prod, domains)) >= max(
        MIN_CHECKS, MIN_REPEATED * size_of(load.source)
    )


def _evaluations(grid: GridOp, group: Group) -> int:
    """Return how many elements of a group's members a grid evaluates, with repetitions.

    Of arms that partition the elements, as those of a concatenation, all are counted, else the one
    with the most evaluations.
    """
    forms = IndexForms()

    def reached(block: Block) -> int:
        """Return the number of elements of the grid that may reach a block."""
        ranges = (forms.range(index, block) for index in grid.indices)
        return prod(each.hi - each.lo + 1 for each in ranges if each is not None)

    def count(block: Block, times: int) -> int:
        places: set[tuple[object, ...]] = set()
        inside = 0
        for op in block.ops:
            match op:
                case LoadOp() if group.holds(op.source):
                    places.add((op.source, *map(forms.form, op.indices)))
                case ReduceOp():
                    inside += count(op.body.block, times * prod(op.shape))
                case scf.IfOp():
                    arms = [arm for region in op.regions for arm in region.blocks]
                    shares = [times * reached(arm) // max(reached(block), 1) for arm in arms]
                    if sum(shares) <= times:
                        inside += sum(map(count, arms, shares))
                    else:
                        inside += max(count(arm, times) for arm in arms)
                case _:
                    pass
        return inside + times * len(places)

    return count(grid.body.block, prod(grid.shape))


def reads_once(reader: GridOp, grid: GridOp, share: float = 1) -> bool:
    """Return whether a grid reads no more elements of another one than that has, or a share."""
    group = Group(0, Kind.ELEMENTS, {grid: None})
    return _evaluations(reader, group) <= share * size_of(grid.result)


MAX_PICKED = 1 / 8
"""The share of a tensor up to which its elements are computed where they are read."""


def is_picked_from(grid: GridOp) -> bool:
    """Return whether one other grid reads few elements of a grid, and nothing else any.

    An example are the logarithms of probabilities, of which a loss reads one per row.
    """
    assert grid.parent is not None
    readers = {grid.parent.find_ancestor_op_in_block(use.operation) for use in grid.result.uses}
    reader = readers.pop() if len(readers) == 1 else None
    if not isinstance(reader, GridOp) or has_reduction(grid):
        return False
    return reads_once(reader, grid, MAX_PICKED)


MAX_GROWTH = 4
"""The most copies of a member of a fusion in its consumers, on average."""


def grows_little(grid: GridOp, group: Group, others: Iterable[Operation] = ()) -> bool:
    """Return whether a grid stays small after the group, and others, are inlined into it.

    Members that are read in order are inlined once, however many consumers they have; others are
    inlined once per distinct index, with everything that they read.
    """
    members = {*group.ops, *others}
    sizes = {grid: group.reads_of(grid).size}

    @cache
    def inlined(top: GridOp) -> int:
        """Return the operations of a grid and of all that is inlined into it."""
        total, seen, pending = 0, {top}, [top]
        while pending:
            reads = group.reads_of(reader := pending.pop())
            sizes[reader] = reads.size
            total += reads.size
            for member, in_order in reads.sources:
                if member not in members:
                    continue
                if not in_order:
                    total += inlined(member)
                elif member not in seen:
                    seen.add(member)
                    pending.append(member)
        return total

    return inlined(grid) <= MAX_GROWTH * sum(sizes.values())
