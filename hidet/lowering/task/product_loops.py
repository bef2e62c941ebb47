"""Loops that copy tiles and multiply them: `pipeline-copies`, `specialize-warps` rewrite them."""

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from hidet.analysis.memory import is_arithmetic
from hidet.dialects.cuda import KernelOp
from hidet.dialects.cuda.table_ops import known_index
from hidet.dialects.shaped import memref_type
from hidet.dialects.task import CopyOp, MatmulOp
from hidet.dialects.task.marks import RING
from hidet.lowering.templates.config import choices_of
from hidet.rewriting.builder import KernelBuilder

MAX_GROUPS = 7
"""So many groups of products can be left under way by a wait (PTX ISA, wgmma.wait_group)."""


def stages_of(kernel: KernelOp) -> int:
    """Return how many tiles a kernel has of each operand, as its config says; else 1."""
    stages = choices_of(kernel).get("stages")
    return stages if isinstance(stages, int) else 1


def cluster_of(kernel: KernelOp) -> int:
    """Return how many blocks are a cluster, as a kernel's config says; else 1."""
    choices = choices_of(kernel)
    extents = [choices.get(f"cluster_{what}", 1) for what in ("rows", "columns")]
    return prod(extent for extent in extents if isinstance(extent, int))


class ProductLoop:
    """A loop of copies into tiles of its own, products of these, and arithmetic of their offsets.

    Attributes:
        op: the loop.
        copies: what fetches the tiles.
        products: what multiplies them.
        offsets: the arithmetic.
        step: that of the loop.
    """

    def __init__(self, op: scf.ForOp) -> None:
        body = op.body.block
        self.op = op
        self.copies = [each for each in body.ops if isinstance(each, CopyOp)]
        self.products = [each for each in body.ops if isinstance(each, MatmulOp)]
        self.offsets = [each for each in body.ops if is_arithmetic(each)]
        self.step = known_index(op.step) or 0

    @property
    def is_one(self) -> bool:
        """Whether the loop consists of nothing else."""
        known = [*self.copies, *self.products, *self.offsets]
        tiles = {copy.tile for copy in self.copies}
        return (
            self.feeds_products
            and tiles == {factor for each in self.products for factor in (each.lhs, each.rhs)}
            and all(op in known or isinstance(op, scf.YieldOp) for op in self.op.body.block.ops)
        )

    @property
    def feeds_products(self) -> bool:
        """Whether only products of the loop read what it copies, whatever else it does."""
        body = self.op.body.block
        tiles = {copy.tile for copy in self.copies}
        known = [*self.copies, *self.products]
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
    def right_copies(self) -> list[CopyOp]:
        """What fetches the right factors."""
        tiles = {each.rhs for each in self.products}
        return [copy for copy in self.copies if copy.tile in tiles]

    @property
    def left_copies(self) -> list[CopyOp]:
        """What fetches all else."""
        right = self.right_copies
        return [copy for copy in self.copies if copy not in right]

    def at(
        self, builder: KernelBuilder, k: SSAValue, outside: dict[SSAValue, SSAValue] | None = None
    ) -> dict[SSAValue, SSAValue]:
        """Compute the offsets of a step of the loop; return what has which value there.

        Args:
            builder: where to compute.
            k: the variable of the loop.
            outside: what stands for the values from outside of the loop, where it is copied.
        """
        values = {**(outside or {}), self.op.body.block.args[0]: k}
        for op in self.offsets:
            builder.insert(op.clone(values))
        return values

    def multiply(
        self,
        builder: KernelBuilder,
        tiles: dict[SSAValue, SSAValue],
        stage: SSAValue,
        *,
        is_async: bool,
    ) -> None:
        """Insert the products of the tiles of a stage; what is no such tile stays as it is."""
        for op in self.products:
            self.multiply_once(builder, op, tiles, stage, is_async=is_async)

    @staticmethod
    def multiply_once(
        builder: KernelBuilder,
        op: MatmulOp,
        tiles: dict[SSAValue, SSAValue],
        stage: SSAValue,
        *,
        is_async: bool,
        overwrites: bool = False,
    ) -> None:
        """Insert one product of tiles of a stage, which adds to its accumulator or replaces it."""
        builder.insert(
            MatmulOp(
                tiles.get(op.lhs, op.lhs),
                tiles.get(op.rhs, op.rhs),
                op.accumulator,
                op.worker,
                lhs_offsets=[stage] if op.lhs in tiles else (),
                rhs_offsets=[stage] if op.rhs in tiles else (),
                via=None if op.via is None else op.via.data,
                is_async=is_async,
                overwrites=overwrites,
            )
        )

    def groups(self, steps: int) -> int:
        """Return how many groups of products are under way with some steps; or as many as count."""
        return min(steps * len(self.products), MAX_GROUPS)

    @property
    def accumulators(self) -> Sequence[SSAValue]:
        """What the products are added to."""
        return list(dict.fromkeys(op.accumulator for op in self.products))


def ring_of(tile: SSAValue, stages: int) -> SSAValue:
    """Allocate the tiles of all stages beside one of them."""
    kind = memref_type(tile)
    shape = [stages, *kind.get_shape()]
    builder = KernelBuilder(InsertPoint.before(cast("Operation", tile.owner)))
    ring = builder.allocate(MemRefType(kind.element_type, shape, kind.layout, kind.memory_space))
    ring.name_hint = tile.name_hint
    cast("Operation", ring.owner).attributes[RING] = UnitAttr()
    return ring
