"""Loops that copy and multiply tiles, rewritten by `pipeline-copies` and `specialize-warps`."""

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, UnitAttr, i64
from xdsl.ir import Operation, SSAValue

from hidet.analysis.memory import is_arithmetic
from hidet.arch.chips import MAX_SHARED_BYTES
from hidet.dialects.cuda import KernelOp, Space, SpaceAttr, known_index
from hidet.dialects.shaped import memref_of, memref_type, nbytes_of
from hidet.dialects.task import CopyOp, MatmulOp
from hidet.dialects.task.marks import RING
from hidet.errors import LegalityError
from hidet.lowering.templates.config import PINGPONG, choices_of
from hidet.rewriting.builder import KernelBuilder

MAX_GROUPS = 7
"""The most groups that a wait can leave in flight (PTX ISA, wgmma.wait_group)."""


def stages_of(kernel: KernelOp) -> int:
    """Return the number of stages of a kernel's rings, from its config; 1 by default."""
    stages = choices_of(kernel).get("stages")
    return stages if isinstance(stages, int) else 1


def cluster_of(kernel: KernelOp) -> int:
    """Return the number of blocks of a cluster, from a kernel's config; 1 by default."""
    choices = choices_of(kernel)
    extents = [choices.get(f"cluster_{what}", 1) for what in ("rows", "columns")]
    return prod(extent for extent in extents if isinstance(extent, int))


def is_pingpong(kernel: KernelOp) -> bool:
    """Return whether the config of a persistent kernel asks for consumers that take turns."""
    return choices_of(kernel).get("schedule") == PINGPONG


class MatmulLoop:
    """A loop of copies to shared tiles, matmuls, and arithmetic on offsets."""

    def __init__(self, op: scf.ForOp) -> None:
        body = op.body.block
        self.op = op
        self.copies = [each for each in body.ops if isinstance(each, CopyOp)]
        self.matmuls = [each for each in body.ops if isinstance(each, MatmulOp)]
        self.offsets = [each for each in body.ops if is_arithmetic(each)]
        self.step = known_index(op.step) or 0

    @property
    def is_pure(self) -> bool:
        """Whether the loop consists of nothing else."""
        known = [*self.copies, *self.matmuls, *self.offsets]
        tiles = {copy.tile for copy in self.copies}
        return (
            self.feeds_matmuls
            and tiles == {tile for each in self.matmuls for tile in (each.lhs, each.rhs)}
            and all(op in known or isinstance(op, scf.YieldOp) for op in self.op.body.block.ops)
        )

    @property
    def feeds_matmuls(self) -> bool:
        """Whether only matmuls of the loop read the tiles that it copies."""
        body = self.op.body.block
        tiles = {copy.tile for copy in self.copies}
        known = [*self.copies, *self.matmuls]
        return (
            bool(tiles)
            and not self.op.iter_args
            and self.step > 0
            and len(tiles) == len(self.copies)
            and all(isinstance(tile.owner, memref.AllocaOp) for tile in tiles)
            and all(use.operation in known for tile in tiles for use in tile.uses)
            and all(copy.reads and not copy.tile_offsets for copy in self.copies)
            and all(
                value.owner in self.offsets
                for op in (*self.copies, *self.offsets)
                for value in op.operands
                if isinstance(value.owner, Operation) and value.owner.parent is body
            )
        )

    @property
    def rhs_copies(self) -> list[CopyOp]:
        """The copies of B tiles."""
        tiles = {each.rhs for each in self.matmuls}
        return [copy for copy in self.copies if copy.tile in tiles]

    def at(
        self, builder: KernelBuilder, k: SSAValue, outside: dict[SSAValue, SSAValue] | None = None
    ) -> dict[SSAValue, SSAValue]:
        """Clone the offset arithmetic for iteration k; return the mapping of values.

        `outside` maps values defined outside of the loop.
        """
        values = {**(outside or {}), self.op.body.block.args[0]: k}
        for op in self.offsets:
            builder.insert(op.clone(values))
        return values

    @staticmethod
    def multiply(
        builder: KernelBuilder,
        op: MatmulOp,
        tiles: dict[SSAValue, SSAValue],
        stage: SSAValue,
        *,
        is_async: bool,
        overwrites: bool = False,
    ) -> None:
        """Insert one matmul on the tiles of a stage."""
        builder.insert(
            MatmulOp(
                tiles.get(op.lhs, op.lhs),
                [stage] if op.lhs in tiles else (),
                tiles.get(op.rhs, op.rhs),
                [stage] if op.rhs in tiles else (),
                op.accumulator,
                op.worker,
                op.via,
                transposed=op.transposed is not None,
                is_async=is_async,
                overwrites=overwrites,
            )
        )

    def groups(self, steps: int) -> int:
        """Return the number of commit groups in some iterations, at most `MAX_GROUPS`."""
        return min(steps * len(self.matmuls), MAX_GROUPS)

    @property
    def accumulators(self) -> Sequence[SSAValue]:
        """The accumulators of the matmuls."""
        return list(dict.fromkeys(op.accumulator for op in self.matmuls))


def loop_ahead_of(op: CopyOp) -> MatmulLoop | None:
    """Return the tensor core matmul loop that computes what a copy stores, in its block.

    None if the copy stores to a place that is computed after the loop.
    """
    ahead = op.prev_op
    while ahead is not None and not isinstance(ahead, scf.ForOp):
        ahead = ahead.prev_op
    if ahead is None:
        return None
    if any(
        value.owner.parent is op.parent and ahead.is_before_in_block(value.owner)
        for value in op.target_offsets
        if isinstance(value.owner, Operation)
    ):
        return None
    loop = MatmulLoop(ahead)
    makes_it = loop.is_pure and op.source in loop.accumulators
    return loop if makes_it and all(product.via for product in loop.matmuls) else None


def allocate_ring(builder: KernelBuilder, kind: MemRefType, name: str | None) -> SSAValue:
    """Allocate a shared tile with barriers of its own, which `insert-barriers` ignores."""
    ring = builder.allocate(kind, name)
    cast("Operation", ring.owner).attributes[RING] = UnitAttr()
    return ring


def allocate_mbarriers(builder: KernelBuilder, name: str, *shape: int) -> SSAValue:
    """Allocate mbarriers."""
    return allocate_ring(builder, memref_of(i64, shape, space=SpaceAttr(Space.SHARED)), name)


def ring_of(tile: SSAValue, stages: int) -> SSAValue:
    """Allocate the ring of a tile before it.

    Raises:
        LegalityError: no architecture has so much shared memory.
    """
    kind, size = memref_type(tile), stages * nbytes_of(tile)
    if size > MAX_SHARED_BYTES:
        raise LegalityError(
            f"{stages} stages of a tile take {size} bytes of shared memory, "
            f"of {MAX_SHARED_BYTES} at most"
        )
    shape = [stages, *kind.get_shape()]
    builder = KernelBuilder.like(cast("Operation", tile.owner))
    kind = MemRefType(kind.element_type, shape, kind.layout, kind.memory_space)
    return allocate_ring(builder, kind, tile.name_hint)
