"""Tile sizes of attention: the search space, and a cost model of their run times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, inf, log2, prod, sqrt
from math import e as euler

from hidet.arch.chips import Arch
from hidet.arch.limits import ROLE_REGISTERS, WARP_GROUP
from hidet.arch.products import find_product, product_named
from hidet.dialects.graph.attention import (
    AttentionGradientOp,
    ScaledDotProductAttentionOp,
    ScoresOp,
)
from hidet.dialects.shaped import element_of, shape_of
from hidet.lowering.templates.base import ceil_div
from hidet.lowering.templates.blocking import ALIGNMENT
from hidet.lowering.templates.config import Config
from hidet.lowering.templates.legality import Footprint
from hidet.lowering.templates.problem import is_aligned_window


@dataclass(frozen=True)
class Attention:
    """An attention problem: queries [batch, queries, width] and keys [batch, keys, width].

    Attributes:
        batch: the number of matrices, over all heads.
        queries: the rows of queries and of the result.
        keys: the rows of keys and values.
        width: the columns of queries and keys.
        values: the columns of values and of the result.
        element: the element type.
        scale: the factor of scores, for exponentials of base 2.
        causal: whether query i attends to the keys 0 ... i only.
        masked: whether scores are masked.
        streams: whether TMA can load keys and values.
        fill: the score where a boolean mask is false, for exponentials of base 2.
    """

    batch: int
    queries: int
    keys: int
    width: int
    values: int
    element: str
    scale: float
    causal: bool
    masked: bool = False
    streams: bool = True
    fill: float = -inf

    @classmethod
    def of(cls, op: ScoresOp) -> Attention:
        """Return the problem of an operator."""
        queries, width = shape_of(op.query)[-2:]
        matrices = op.matrices
        streamed = matrices if isinstance(op, AttentionGradientOp) else matrices[1:]
        scale = 1 / sqrt(width) if op.scale is None else op.scale.value.data
        return cls(
            batch=prod(op.batch),
            queries=queries,
            keys=shape_of(op.key)[-2],
            width=width,
            values=shape_of(matrices[2])[-1] if len(matrices) > 2 else 0,
            element=str(element_of(op.query)),
            scale=scale * log2(euler),
            causal=bool(op.causal),
            masked=op.mask is not None,
            streams=all(map(is_aligned_window, streamed)),
            fill=max(LOWEST, fill_of(op) * log2(euler)) if fill_of(op) > -inf else -inf,
        )


LOWEST = -3.4028234663852886e38
"""The lowest finite number of f32."""


def fill_of(op: ScoresOp) -> float:
    """Return the score where a boolean mask is false."""
    fill = op.fill if isinstance(op, ScaledDotProductAttentionOp) else None
    return -inf if fill is None else fill.value.data


@dataclass(frozen=True)
class TileConfig(Config):
    """The tile sizes of matmuls in attention.

    Attributes:
        instruction: a name of `hidet.arch.products`; for warp groups the widest instruction,
            which is narrowed to the columns of a tile.
        block_m: the queries of a block.
        block_n: the keys of a tile.
        rows: the number of warps, or warp groups, along the queries.
        columns: 1, since each worker sees all keys of its queries.
        stages: the number of stages of key and value tiles.
        residents: the minimum number of resident blocks per multiprocessor, which limits registers.
    """

    instruction: str
    block_m: int
    block_n: int
    rows: int
    columns: int
    stages: int = 1
    residents: int = 1

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.rows * product_named(self.instruction).group

    @property
    def has_groups(self) -> bool:
        """Whether warp groups compute matmuls by wgmma."""
        return product_named(self.instruction).group == WARP_GROUP


@dataclass(frozen=True)
class AttentionConfig(TileConfig):
    """The tile sizes of attention."""

    def refusal(self, problem: Attention, arch: Arch) -> str | None:
        """Return why an architecture cannot or should not run it, None if it can."""
        if self.has_groups and not problem.streams:
            return "keys or values that TMA cannot load"
        if (
            self.has_groups
            and self.rows > 2
            and (problem.causal or problem.masked or self.block_n < FEW_KEYS)
        ):
            return f"{self.rows} warp groups, which lack registers for masks, or with few keys"
        footprint = self.footprint(problem)
        if self.has_groups and self.rows in ROLE_REGISTERS:
            _, most = ROLE_REGISTERS[self.rows]
            if footprint.registers > most:
                return f"{footprint.registers} registers a thread, of {most}"
        return footprint.refusal(arch)

    def footprint(self, problem: Attention) -> Footprint:
        """Return the resources of a block."""
        is_single = problem.keys <= self.block_n and not problem.causal
        stages = 1 if self.has_groups and is_single else self.stages
        fetched = stages * self.block_n * (problem.width + problem.values)
        numbers = self.block_m * problem.width + fetched
        # A thread also holds the exponentials of the last tile, in half as many registers, while
        # wgmma computes the scores of the next one.
        scores = self.block_n if self.has_groups and is_single else self.block_n * 3 // 2
        sums = self.block_m * (problem.values + scores) // self.threads
        if not self.has_groups:
            return Footprint(self.threads, 2 * numbers, sums + SPARE)
        # Several groups have a producer, which cedes most of its registers.
        spare = GROUP_SPARE + MASK_SPARE if problem.masked else GROUP_SPARE
        return Footprint(self.threads, 2 * numbers + ALIGNMENT, sums + spare)


SPARE, GROUP_SPARE, MASK_SPARE = 48, 32, 16
"""Registers for fragments and addresses with mma.sync, for addresses with wgmma, and for masks."""

TILES = ((64, 4), (128, 8), (32, 2), (128, 4), (16, 1))
"""Queries of a block, and its warps."""

KEYS = (32, 64, 80, 96, 112, 128, 256)
"""Keys of a tile."""

GROUP_TILES = ((64, 1), (128, 2), (192, 3))
"""Queries of a block, and its consumer warp groups."""

GROUP_KEYS = (208, 176, 160, 128, 112, 96, 80, 64)
"""Keys of a tile for warp groups, by preference among equal estimates."""

WARPS, GROUPS = "m16n8k16", "m64n256k16"
"""The shapes of mma.sync, and of the widest wgmma."""

COLUMNS, MOST_COLUMNS = 8, 256
"""The granularity and the maximum of the columns of values."""


def candidates(problem: Attention, arch: Arch) -> Sequence[AttentionConfig]:
    """Return the configs that an architecture can run, best estimate first."""
    found: list[AttentionConfig] = []
    for shape, tiles, keys in ((WARPS, TILES, KEYS), (GROUPS, GROUP_TILES, GROUP_KEYS)):
        instruction = find_product(f"{shape}_{problem.element}_f32")
        if instruction is None or not instruction.runs_on(arch):
            continue
        depth = instruction.shape[2]
        if problem.width % depth or problem.values % COLUMNS or problem.values > MOST_COLUMNS:
            continue
        found += [
            AttentionConfig(instruction.name, m, n, workers, columns=1, stages=2)
            for (m, workers), n in product(tiles, keys)
        ]
    fitting = [
        replace(each, residents=min(each.footprint(problem).residents(arch), most_residents(each)))
        for each in found
        if each.refusal(problem, arch) is None
    ]
    return sorted(fitting, key=lambda each: estimate(each, problem, arch))


FEW_KEYS = 96
"""With fewer keys per tile, three warp groups are slower than two."""


def most_residents(choice: AttentionConfig) -> int:
    """Return the largest number of resident blocks that has paid off."""
    if not choice.has_groups:
        return 16
    return 4 if choice.rows == 1 else 1


@dataclass(frozen=True)
class Pace:
    """The throughput and latency of a multiprocessor, in microseconds.

    Attributes:
        products: multiply-adds per microsecond.
        scores: exponentials per microsecond; infinite if included in `products`.
        traffic: bytes read from the L2 cache per microsecond.
        launch: the launch overhead.
        start: the fill and drain time of a block.
        group: the additional fill time per warp group.
        step: the exposed latency of an iteration, for mma.sync without other resident blocks.
    """

    products: float
    scores: float
    traffic: float
    launch: float
    start: float
    group: float
    step: float


WARP_PACE = Pace(1.4e6, inf, 45e3, 1, 0.9, 0, 0.56)
"""For mma.sync, fitted on an H200: 31 kernels, rms 11%."""

GROUP_PACE = Pace(4.07e6, 22.2e3, 60e3, 2, 0.2, 0.6, 0.1)
"""For wgmma, fitted on an H200 and an H100."""

OVERLAP = {1: 1.24, 2: 1.0, 3: 0.835}
"""The relative time of an iteration by resident warp groups, whose matmuls and exponentials
overlap."""


def estimate(choice: AttentionConfig, problem: Attention, arch: Arch) -> float:
    """Return the estimated time in microseconds."""
    tiles, steps = ceil_div(problem.queries, choice.block_m), ceil_div(problem.keys, choice.block_n)
    visited = [steps] * tiles
    if problem.causal:
        ends = (min((tile + 1) * choice.block_m, problem.keys) for tile in range(tiles))
        visited = [ceil_div(end, choice.block_n) for end in ends]
    mean = sum(visited) / tiles
    share = max(1, problem.batch * tiles / arch.processors)
    products = choice.block_m * choice.block_n * (problem.width + problem.values)
    fetched = 2 * choice.block_n * (problem.width + problem.values)
    scores = choice.block_m * choice.block_n
    residents = min(share, choice.residents)
    rounds = share / residents
    if choice.has_groups:
        pace = GROUP_PACE
        groups = choice.rows * residents
        work = products / pace.products + scores / pace.scores
        work *= OVERLAP[min(round(groups), max(OVERLAP))]
        each = residents * max(work, fetched / pace.traffic) + pace.step
        if choice.residents == 1 and not problem.causal:
            rounds = ceil(rounds)
        if rounds == 1:  # the longest block determines the time, the faster the fewer remain
            mean = (mean + max(visited)) / 2
        waiting = pace.start + pace.group * groups
        return pace.launch + rounds * (waiting + mean * each)
    pace = WARP_PACE
    work = max(products / pace.products, fetched / pace.traffic)
    waiting = pace.start + pace.step * (mean if rounds > 1 else steps)
    return pace.launch + share * mean * work + rounds * waiting
