"""Warp groups: partitions of a block with different roles."""

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def
from xdsl.traits import NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from hidet.arch.limits import MAX_THREADS_PER_BLOCK, WARP
from hidet.dialects.compute import single_block
from hidet.dialects.cuda import KernelOp
from hidet.dialects.cuda.instructions import BlockBarrier
from hidet.dialects.fields import INT64, FieldsOp
from hidet.dialects.syntax import IndexedRegion
from hidet.dialects.walking import ops_in, parent_of_type

BARRIERS = 16
"""The named barriers of a block; number 0 is that of the whole block (PTX ISA, barrier)."""


@irdl_op_definition
class GroupOp(FieldsOp):
    """`task.group first(128) count(256) (%worker) { ... }`: code of some warps of a block.

    The threads `first` to `first + count - 1` run the body, in which `%worker` is their index in
    the group. Task ops in the body are collective for the group, which synchronizes at the named
    `barrier(n)`, chosen by passes if omitted. Disjoint groups run concurrently: their accesses are
    only ordered by explicit barriers.

    `task.group first(128) count(128) copies(2) (%worker, %copy) { ... }` is two such groups of 128
    threads each; `%copy` is the number of the group, and `first` a multiple of `count`.
    """

    name = "task.group"

    first = prop_def(INT64)
    count = prop_def(INT64)
    copies = opt_prop_def(INT64)
    barrier = opt_prop_def(INT64)
    body = region_def("single_block")

    assembly_format = (
        "`first` `(` $first `)` `count` `(` $count `)` (`copies` `(` $copies^ `)`)? "
        "(`barrier` `(` $barrier^ `)`)? "
        "attr-dict-with-keyword custom<IndexedRegion>($body)"
    )
    custom_directives = (IndexedRegion,)
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(self, first: int, count: int, copies: int = 1) -> None:
        body = single_block([IndexType()] * min(copies, 2))
        super().__init__(first, count, copies if copies > 1 else None, body=body)

    @property
    def worker(self) -> SSAValue:
        """The index of the thread in the group."""
        return self.body.block.args[0]

    @property
    def workers(self) -> int:
        """The threads of the group, or of each copy."""
        return self.count.value.data

    @property
    def multiplicity(self) -> int:
        """The number of groups."""
        return 1 if self.copies is None else self.copies.value.data

    @property
    def threads(self) -> range:
        """The thread indices of the group, or of all copies, in the block."""
        first = self.first.value.data
        return range(first, first + self.workers * self.multiplicity)

    @property
    def barriers(self) -> range:
        """The named barriers of the group, one for each copy."""
        first = 0 if self.barrier is None else self.barrier.value.data
        return range(first, first + self.multiplicity)

    def overlaps(self, other: "GroupOp") -> bool:
        """Return whether another group has common threads."""
        one, two = self.threads, other.threads
        return max(one.start, two.start) < min(one.stop, two.stop)

    def verify_(self) -> None:
        """Check the threads, the barrier, and that groups are not nested."""
        threads, limit = self.threads, MAX_THREADS_PER_BLOCK
        if group_around(self) is not None:
            raise VerifyException("a task.group cannot be nested in another one")
        if (kernel := parent_of_type(self, KernelOp)) is not None:
            limit = kernel.threads
        whole = not (threads.start % WARP or self.workers % WARP)
        if not (whole and 0 <= threads.start < threads.stop):
            raise VerifyException(
                f"a group has whole warps, not {len(threads)} threads from {threads.start} on"
            )
        if self.multiplicity > 1 and threads.start % self.workers:
            raise VerifyException(
                f"copies of {self.workers} threads start at a multiple of that, not at "
                f"{threads.start}"
            )
        if threads.stop > limit:
            raise VerifyException(
                f"a group with the threads {threads.start} to {threads.stop - 1} in a block of "
                f"{limit}"
            )
        barriers = self.barriers
        if self.barrier is not None and not 0 < barriers.start < barriers.stop <= BARRIERS:
            raise VerifyException(f"a group has one of the barriers 1 to {BARRIERS - 1}")
        if list(self.body.block.arg_types) != [IndexType()] * min(self.multiplicity, 2):
            raise VerifyException(
                "the body of task.group has one argument, the worker, and that of several copies a "
                "second one, the copy"
            )
        if any(op.has_trait(BlockBarrier) for op in ops_in(self.body)):
            raise VerifyException(
                "cuda.sync_threads in a task.group: other threads do not reach it"
            )


def group_around(op: Operation) -> GroupOp | None:
    """Return the group that an op belongs to, None for the whole block."""
    return parent_of_type(op, GroupOp)
