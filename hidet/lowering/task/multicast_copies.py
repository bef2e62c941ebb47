"""The pass `multicast-copies`: blocks of a cluster fetch tiles that they have in common once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.kernels import kernels_of
from hidet.arch.chips import Arch
from hidet.arch.hopper import TMA_LOAD_MULTICAST
from hidet.dialects.constants import known_index
from hidet.dialects.cuda import (
    BlockIdOp,
    ClusterArriveOp,
    ClusterWaitOp,
    KernelOp,
    MbarrierArriveClusterOp,
    MbarrierArriveOp,
    MbarrierInitOp,
    MbarrierWaitOp,
    SyncThreadsOp,
    TensorMapOp,
    TensorMapType,
    TmaLoadOp,
)
from hidet.dialects.cuda.attributes import Dimension
from hidet.dialects.cuda.table_ops import Element
from hidet.dialects.task.layout import shared_layout_of
from hidet.dialects.walking import parents_of
from hidet.lowering.task.product_loops import cluster_of
from hidet.rewriting.builder import KernelBuilder

GROUP_ROWS = 8
"""The rows of a box whose segments trade places: a part of it has a multiple of so many."""


@dataclass(frozen=True)
class _Multicast:
    """Rewrites one kernel, with a loop that fetches tiles into a ring.

    Attributes:
        kernel: the kernel.
        blocks: the blocks of a cluster.
        loads: what they have in common.
        empty: the barriers that tell when a stage may be filled again.
    """

    kernel: KernelOp
    blocks: int
    loads: list[TmaLoadOp]
    empty: set[SSAValue]

    @staticmethod
    def of(kernel: KernelOp) -> _Multicast | None:
        """Return what there is to share in a kernel, None where there is nothing."""
        blocks = cluster_of(kernel)
        loads = [op for op in kernel.body.walk() if isinstance(op, TmaLoadOp)]
        places = {op.parent for op in loads}
        if blocks == 1 or len(places) != 1:
            return None
        (place,) = places
        assert place is not None
        empty = {op.barrier for op in place.ops if isinstance(op, MbarrierWaitOp)}
        shared = [op for op in loads if _can_be_shared(op, blocks)]
        inits = [op for op in kernel.body.walk() if isinstance(op, MbarrierInitOp)]
        loops = [op for op in parents_of(loads[0]) if isinstance(op, scf.ForOp)]
        bounds = [bound for loop in loops for bound in (loop.lb, loop.ub, loop.step)]
        is_known = all(known_index(op.number) is not None for op in inits)
        if not shared or not empty or not is_known or any(_varies(b, blocks) for b in bounds):
            return None
        return _Multicast(kernel, blocks, shared, empty)

    def build(self) -> None:
        """Make clusters, have each block fetch a part for all, and have all wait for all."""
        kernel = self.kernel
        kernel.cluster = (self.blocks, 1, 1)
        ops = list(kernel.body.walk())
        for op in ops:
            if isinstance(op, MbarrierInitOp) and op.barrier in self.empty:
                builder = KernelBuilder(InsertPoint.before(op))
                count = builder.scalar((known_index(op.number) or 0) * self.blocks, i32)
                builder.insert(MbarrierInitOp(Element(op.barrier, op.indices), count))
                Rewriter.erase_op(op)
            elif isinstance(op, MbarrierArriveOp) and op.barrier in self.empty:
                self._arrive_everywhere(op)
        for load in self.loads:
            self._fetch_part(load)
        # Barriers of other blocks are there before, and their shared memory still after, they are
        # used from here.
        made = next(op for op in kernel.body.block.ops if isinstance(op, SyncThreadsOp))
        for place in (InsertPoint.after(made), InsertPoint.at_end(kernel.body.block)):
            builder = KernelBuilder(place)
            builder.insert(ClusterArriveOp())
            builder.insert(ClusterWaitOp())

    def _arrive_everywhere(self, op: MbarrierArriveOp) -> None:
        """Have all blocks know that this one needs a stage no longer: any of them may fill it."""
        builder = KernelBuilder(InsertPoint.before(op))
        for number in range(self.blocks):
            at = Element(op.barrier, op.indices)
            builder.insert(MbarrierArriveClusterOp(at, builder.scalar(number, i32)))
        Rewriter.erase_op(op)

    def _fetch_part(self, op: TmaLoadOp) -> None:
        """Have a block fetch its part of the rows of a box, for all blocks."""
        whole = cast("TensorMapOp", op.map.owner)
        kind = whole.kind
        rows = _rows_of(kind) // self.blocks
        box = [*kind.box_extents]
        box[-2] = rows
        builder = KernelBuilder(InsertPoint.before(whole))
        part = TensorMapType(kind.tensor, box, kind.swizzle.data)
        new_map = builder.insert(TensorMapOp(whole.buffer, part, whole.first, whole.steps))
        builder = KernelBuilder(InsertPoint.before(op))
        rank = builder.mod(builder.insert(BlockIdOp()).result, self.blocks)
        first = builder.index(builder.mul(rank, rows))
        coordinates = [*op.coordinates]
        row = builder.insert(arith.IndexCastOp(first, i32)).result
        coordinates[1] = builder.insert(arith.AddiOp(coordinates[1], row)).result
        place = [*op.target_indices]
        across = -1 - shared_layout_of(op.target).contiguous
        place[across] = builder.index(builder.add(place[across], first))
        everyone = builder.scalar((1 << self.blocks) - 1, i32)
        barrier = Element(op.barrier, op.barrier_indices)
        builder.insert(
            TmaLoadOp(new_map.result, coordinates, (), Element(op.target, place), barrier, everyone)
        )
        Rewriter.erase_op(op)
        if not whole.result.uses:
            Rewriter.erase_op(whole)


def _can_be_shared(op: TmaLoadOp, blocks: int) -> bool:
    """Return whether all blocks of a cluster fetch the same box, which has a part for each.

    Pixels are left alone: a part of them would begin at another place in the images.
    """
    kind = op.map.type
    return (
        op.blocks is None
        and isinstance(op.map.owner, TensorMapOp)
        and isinstance(kind, TensorMapType)
        and kind.pixels is None
        and len(kind.box_extents) > 1
        and _rows_of(kind) % (blocks * GROUP_ROWS) == 0
        and not any(_varies(each, blocks) for each in (*op.coordinates, *op.target_indices))
    )


def _rows_of(kind: TensorMapType) -> int:
    """Return how many rows of contiguous elements a box has."""
    return kind.box_extents[-2]


def _varies(value: SSAValue, blocks: int) -> bool:
    """Return whether a value may differ between the blocks of a cluster, so many along x."""
    owner = value.owner
    if isinstance(owner, Block):  # a variable, which counts from one bound on
        loop = owner.parent_op()
        return isinstance(loop, scf.ForOp) and any(_varies(b, blocks) for b in (loop.lb, loop.step))
    if isinstance(owner, BlockIdOp):
        return owner.dimension.data is Dimension.X
    if isinstance(owner, arith.DivSIOp | arith.FloorDivSIOp):
        is_cluster = isinstance(owner.lhs.owner, BlockIdOp)
        if is_cluster and (known_index(owner.rhs) or 1) % blocks == 0:
            return False
    return any(_varies(operand, blocks) for operand in owner.operands)


@dataclass(frozen=True)
class MulticastCopiesPass(ModulePass):
    """Have the blocks of a cluster share the tiles that they fetch alike, by TMA.

    Expects kernels after `specialize-warps`. Where a kernel's config has clusters
    (`cluster_rows`, `cluster_columns`), and the place that TMA fetches a tile from is the same in
    all blocks of one, each block fetches a part of its rows and TMA gives that to all of them. The
    stages of the ring are then free when all blocks have multiplied them; the blocks wait for each
    other at the start and at the end of the kernel. Other kernels are left alone, and so are
    machines without clusters.
    """

    name = "multicast-copies"

    arch: str = "sm_90a"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Share copies in every kernel of the module."""
        if not TMA_LOAD_MULTICAST[2].runs_on(Arch.parse(self.arch)):
            return
        for kernel in kernels_of(op):
            found = _Multicast.of(kernel)
            if found is not None:
                found.build()
