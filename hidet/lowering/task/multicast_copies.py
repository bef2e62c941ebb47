"""The pass `multicast-copies`: blocks of a cluster load common tiles once, by TMA multicast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.arch.chips import Arch
from hidet.arch.hopper import TMA_LOAD_MULTICAST
from hidet.dialects import cuda
from hidet.dialects.constants import known_index
from hidet.dialects.fields import Element
from hidet.dialects.task.layout import shared_layout_of
from hidet.dialects.walking import ops_in, ops_of_class, parents_of
from hidet.lowering.task.matmul_loops import cluster_of
from hidet.lowering.task.tensor_cores import GROUP_ROWS
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.kernel_pass import KernelPass


@dataclass(frozen=True)
class _Multicast:
    """Rewrites one kernel whose producer loads tiles into a ring.

    `loads` are those that all `blocks` of a cluster have in common, `empty` mbarriers of the ring.
    """

    kernel: cuda.KernelOp
    blocks: int
    loads: list[cuda.TmaLoadOp]
    empty: set[SSAValue]

    @staticmethod
    def of(kernel: cuda.KernelOp) -> _Multicast | None:
        """Return the rewriting of a kernel, None if there is nothing to share."""
        blocks = cluster_of(kernel)
        loads = ops_of_class(kernel.body, cuda.TmaLoadOp)
        places = {op.parent for op in loads}
        if blocks == 1 or len(places) != 1:
            return None
        (place,) = places
        assert place is not None
        empty = {op.barrier for op in place.ops if isinstance(op, cuda.MbarrierWaitOp)}
        shared = [op for op in loads if _can_be_shared(op, blocks)]
        inits = ops_of_class(kernel.body, cuda.MbarrierInitOp)
        loops = [op for op in parents_of(loads[0]) if isinstance(op, scf.ForOp)]
        bounds = [bound for loop in loops for bound in (loop.lb, loop.ub, loop.step)]
        is_known = all(known_index(op.number) is not None for op in inits)
        if not shared or not empty or not is_known or any(_varies(b, blocks) for b in bounds):
            return None
        return _Multicast(kernel, blocks, shared, empty)

    def build(self) -> None:
        """Launch clusters, split common loads among their blocks, and synchronize them."""
        kernel = self.kernel
        kernel.cluster = (self.blocks, 1, 1)
        for op in ops_in(kernel.body):
            if isinstance(op, cuda.MbarrierInitOp) and op.barrier in self.empty:
                builder = KernelBuilder.like(op)
                count = builder.scalar((known_index(op.number) or 0) * self.blocks, i32)
                builder.insert(cuda.MbarrierInitOp(Element(op.barrier, op.indices), count))
                Rewriter.erase_op(op)
            elif isinstance(op, cuda.MbarrierArriveOp) and op.barrier in self.empty:
                self._arrive_everywhere(op)
        for load in self.loads:
            self._load_slice(load)
        # Other blocks access this block's mbarriers and shared memory: they must be initialized
        # before, and alive until all blocks are done.
        made = next(op for op in kernel.body.block.ops if isinstance(op, cuda.SyncThreadsOp))
        for place in (InsertPoint.after(made), InsertPoint.at_end(kernel.body.block)):
            builder = KernelBuilder(place)
            builder.insert(cuda.ClusterArriveOp())
            builder.insert(cuda.ClusterWaitOp())

    def _arrive_everywhere(self, op: cuda.BarrierOp) -> None:
        """Release a stage in all blocks of the cluster, since any of them may refill it."""
        builder = KernelBuilder.like(op)
        for number in range(self.blocks):
            at = Element(op.barrier, op.indices)
            builder.insert(cuda.MbarrierArriveClusterOp(at, builder.scalar(number, i32)))
        Rewriter.erase_op(op)

    def _load_slice(self, op: cuda.TmaLoadOp) -> None:
        """Load a slice of the rows of a box, multicast to all blocks."""
        whole = cast("cuda.TensorMapOp", op.map.owner)
        kind = whole.kind
        rows = kind.box_extents[-2] // self.blocks
        box = [*kind.box_extents]
        box[-2] = rows
        builder = KernelBuilder.like(whole)
        part = cuda.TensorMapType(kind.tensor, box, kind.swizzle.data, tf32=kind.rounds)
        new_map = builder.insert(cuda.TensorMapOp(whole.buffer, part, whole.first, whole.steps))
        builder = KernelBuilder.like(op)
        rank = builder.mod(builder.insert(cuda.BlockIdOp()).result, self.blocks)
        first = builder.index(builder.mul(rank, rows))
        coordinates = [*op.coordinates]
        row = arith.AddiOp(coordinates[1], builder.word(first))
        coordinates[1] = builder.insert(row).result
        place = [*op.target_indices]
        across = -1 - shared_layout_of(op.target).contiguous
        place[across] = builder.index(builder.add(place[across], first))
        everyone = builder.scalar((1 << self.blocks) - 1, i32)
        barrier = Element(op.barrier, op.barrier_indices)
        builder.insert(
            cuda.TmaLoadOp(
                new_map.result, coordinates, (), Element(op.target, place), barrier, everyone
            )
        )
        Rewriter.erase_op(op)
        if not whole.result.uses:
            Rewriter.erase_op(whole)


def _can_be_shared(op: cuda.TmaLoadOp, blocks: int) -> bool:
    """Return whether all blocks of a cluster load the same box, divisible among them.

    Im2col loads are not shared: a slice would start at another base pixel.
    """
    kind = op.map.type
    return (
        op.blocks is None
        and isinstance(op.map.owner, cuda.TensorMapOp)
        and isinstance(kind, cuda.TensorMapType)
        and kind.pixels is None
        and len(kind.box_extents) > 1
        and kind.box_extents[-2] % (blocks * GROUP_ROWS) == 0
        and not any(_varies(each, blocks) for each in (*op.coordinates, *op.target_indices))
    )


def _varies(value: SSAValue, blocks: int) -> bool:
    """Return whether a value may differ between the `blocks` blocks of a cluster along x."""
    owner = value.owner
    if isinstance(owner, Block):  # an induction variable
        loop = owner.parent_op()
        return isinstance(loop, scf.ForOp) and any(_varies(b, blocks) for b in (loop.lb, loop.step))
    if isinstance(owner, cuda.BlockIdOp):
        return owner.dimension.data is cuda.Dimension.X
    if isinstance(owner, arith.DivSIOp | arith.FloorDivSIOp):
        is_cluster = isinstance(owner.lhs.owner, cuda.BlockIdOp)
        if is_cluster and (known_index(owner.rhs) or 1) % blocks == 0:
            return False
    return any(_varies(operand, blocks) for operand in owner.operands)


@dataclass(frozen=True)
class MulticastCopiesPass(KernelPass):
    """Load tiles that the blocks of a cluster have in common once, by TMA multicast.

    Expects kernels after `specialize-warps`. Matches kernels with clusters in their config
    (`cluster_rows`, `cluster_columns`) and loads with the same coordinates in all blocks of a
    cluster: each block loads a slice of the rows and multicasts it. A stage is empty once all
    blocks have consumed it, and the blocks synchronize at the start and the end of the kernel.
    Other kernels and architectures without clusters are left alone.
    """

    name = "multicast-copies"

    arch: str = "sm_90a"

    def run(self, kernel: cuda.KernelOp) -> None:
        """Share loads in one kernel."""
        has_multicast = TMA_LOAD_MULTICAST[2].runs_on(Arch.parse(self.arch))
        found = _Multicast.of(kernel) if has_multicast else None
        if found is not None:
            found.build()
