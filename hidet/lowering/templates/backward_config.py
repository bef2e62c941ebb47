"""Tile sizes of the backward pass of attention: the search space, and a cost model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, gcd
from typing import NamedTuple

from xdsl.ir import Operation

from hidet.arch.chips import Arch
from hidet.arch.limits import WARP_GROUP
from hidet.arch.products import find_product
from hidet.dialects.graph import (
    AttentionKeyValueGradientsOp,
    AttentionLogsumexpOp,
    AttentionQueryGradientOp,
)
from hidet.dialects.graph.attention import ScoresOp
from hidet.dialects.task.layout import SWIZZLES
from hidet.lowering.templates.attention_config import GROUPS, WARPS, Attention, TileConfig
from hidet.lowering.templates.base import ceil_div
from hidet.lowering.templates.blocking import ALIGNMENT
from hidet.lowering.templates.legality import Footprint


class Tiles(NamedTuple):
    """The tiles of a block, [block_m or block_n, width], and [block_m, block_n] of scores.

    Attributes:
        kept: those of its own rows, which it loads once.
        streamed: those that each iteration loads.
        scores: matmuls whose results are scores, in f32.
        weights: what is computed from these, in the type of the operands.
        sums: accumulators, in f32.
    """

    kept: int
    streamed: int
    scores: int
    weights: int
    sums: int


TILES: dict[type[Operation], Tiles] = {
    AttentionLogsumexpOp: Tiles(kept=1, streamed=1, scores=1, weights=0, sums=0),
    AttentionQueryGradientOp: Tiles(kept=2, streamed=2, scores=2, weights=1, sums=1),
    AttentionKeyValueGradientsOp: Tiles(kept=2, streamed=2, scores=2, weights=2, sums=2),
}
"""The tiles of each operator."""


@dataclass(frozen=True)
class BackwardConfig(TileConfig):
    """The tile sizes of a kernel of the backward pass of attention.

    Its rows are queries, and it iterates over keys; for the gradients of keys and values it is the
    other way round.
    """

    def refusal(self, op: ScoresOp, arch: Arch) -> str | None:
        """Return why an architecture cannot run it, None if it can."""
        if self.has_groups and not Attention.of(op).streams:
            return "operands that TMA cannot load"
        return self.footprint(op).refusal(arch)

    def footprint(self, op: ScoresOp) -> Footprint:
        """Return the resources of a block."""
        problem, tiles = Attention.of(op), TILES[type(op)]
        width = max(problem.width, problem.values)
        numbers = width * (self.block_m * tiles.kept + self.block_n * self.stages * tiles.streamed)
        columns = self.block_n * (2 * tiles.scores + tiles.weights) // 2 + width * tiles.sums
        registers = self.block_m * columns // self.threads
        return Footprint(self.threads, 2 * numbers + ALIGNMENT, registers + SPARE)


SPARE = 40
"""Registers for fragments, addresses and statistics."""

TILE_ROWS = {WARPS: ((64, 4), (128, 8)), GROUPS: ((64, 1), (128, 2))}
"""The rows of a block, and its warps or warp groups."""

TILE_COLUMNS = (128, 96, 64, 48, 32)
"""The columns of a tile of scores."""


def candidates(op: ScoresOp, arch: Arch) -> Sequence[BackwardConfig]:
    """Return the configs that an architecture can run, best estimate first."""
    problem = Attention.of(op)
    found: list[BackwardConfig] = []
    for shape, rows in TILE_ROWS.items():
        instruction = find_product(f"{shape}_{problem.element}_f32")
        if instruction is None or not instruction.runs_on(arch):
            continue
        depth = instruction.shape[2]
        if problem.width % depth or problem.values % depth:
            continue
        found += [
            BackwardConfig(instruction.name, m, n, workers, columns=1, stages=2)
            for (m, workers), n in product(rows, TILE_COLUMNS)
        ]
    fitting = [
        replace(
            each, residents=min(each.footprint(op).residents(arch), MOST_THREADS // each.threads)
        )
        for each in found
        if each.refusal(op, arch) is None
    ]
    return sorted(fitting, key=lambda each: estimate(each, op, arch))


MOST_THREADS = 512
"""The most threads on a multiprocessor, without producers, for which registers are limited."""


PRODUCTS, TRAFFIC, LAUNCH = 2.39e6, 44.9e3, 3.0
"""The multiply-adds and the bytes from the L2 cache of a multiprocessor in a microsecond, and the
microseconds of a launch; these and the following are fitted on an H200: 189 kernels, rms 15%."""

START = {1: 1.78, 2: 3.58}
"""The fill and drain time of a block by its warp groups, in microseconds."""

STEP: dict[type[Operation], tuple[float, float]] = {
    AttentionLogsumexpOp: (0.08, 9.6e-6),
    AttentionQueryGradientOp: (0.11, 0),
    AttentionKeyValueGradientsOp: (0.32, 48.5e-6),
}
"""The exposed latency of an iteration, and the time of a score, in microseconds."""

OVERLAP = {1: 1.53, 2: 1.0, 3: 1.17, 4: 1.41}
"""The relative time of an iteration by resident warp groups."""

PANEL_LOAD = 0.011
"""The microseconds that a lone warp group, which has no producer, takes to load a panel of a tile:
columns that a swizzle spans."""

WARPS_FACTOR = 1.4
"""The relative time with mma.sync."""


def estimate(choice: BackwardConfig, op: ScoresOp, arch: Arch) -> float:
    """Return the estimated time in microseconds."""
    problem, tiles = Attention.of(op), TILES[type(op)]
    visited = _visited(choice, op)
    share = max(1.0, problem.batch * len(visited) / arch.processors)
    residents = min(share, choice.residents)
    area, row = choice.block_m * choice.block_n, 2 * problem.width
    products = area * (tiles.scores + tiles.sums) * problem.width
    fetched = choice.block_n * tiles.streamed * row
    latency, score = STEP[type(op)]
    groups = choice.threads / WARP_GROUP
    work = products / PRODUCTS + area * score
    work *= OVERLAP[min(max(round(groups * residents), 1), max(OVERLAP))]
    step = residents * max(work, fetched / TRAFFIC) + latency
    if groups == 1:
        step += residents * tiles.streamed * row / gcd(row, max(SWIZZLES)) * PANEL_LOAD
    rounds = share / residents
    if not problem.causal and choice.residents == 1:
        rounds = ceil(rounds)
    mean = sum(visited) / len(visited)
    if rounds <= 1:  # the longest block determines the time, the faster the fewer remain
        mean = (mean + max(visited)) / 2
    time = LAUNCH + rounds * (START[min(round(groups), 2)] + mean * step)
    return time if choice.has_groups else WARPS_FACTOR * time


def _visited(choice: BackwardConfig, op: ScoresOp) -> list[int]:
    """Return the tiles of scores that each block computes."""
    problem, m, n = Attention.of(op), choice.block_m, choice.block_n
    if isinstance(op, AttentionKeyValueGradientsOp):
        steps = ceil_div(problem.queries, n)
        blocks = range(0, problem.keys, m)
        return [max(steps - (k // n if problem.causal else 0), 0) for k in blocks]
    ends = [problem.keys] * ceil_div(problem.queries, m)
    if problem.causal:
        ends = [min(q + m, problem.keys) for q in range(0, problem.queries, m)]
    return [ceil_div(end, n) for end in ends]
