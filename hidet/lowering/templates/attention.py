"""The template `attention`: scores, softmax and weighted values in one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from math import e as euler
from math import inf, log2
from typing import Any

from hidet.arch.chips import Arch
from hidet.dialects.compute import FusionOp
from hidet.dialects.graph import ScaledDotProductAttentionOp
from hidet.frontends.script.mathematics import minimum
from hidet.frontends.script.tensors import Tensor
from hidet.frontends.script.types import BOOL
from hidet.lang import f32, script, shared_tensor, task
from hidet.lang.cuda import blockIdx, fast_exp2, threadIdx
from hidet.lowering.templates.attention_config import (
    Attention,
    AttentionConfig,
    TileConfig,
    candidates,
)
from hidet.lowering.templates.base import KernelScope, Launch, Template, ceil_div
from hidet.lowering.templates.epilogue import accepted, anchor_of, anchor_tensors
from hidet.lowering.templates.matmul import matrix_of
from hidet.lowering.templates.parts import fill, in_type_of, unmapped_tile


class AttentionTemplate(Template[AttentionConfig]):
    """A block processes a tile of queries and iterates over tiles of keys.

    It keeps a running maximum and a running sum of exponentials per query, and rescales the
    accumulator when the maximum grows (Dao et al., FlashAttention-2, 2023).
    """

    name = "attention"
    config = AttentionConfig

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions whose anchor is attention."""
        return isinstance(anchor_of(fusion), ScaledDotProductAttentionOp)

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[AttentionConfig]:
        """Return the tilings, best estimate first."""
        return candidates(_problem(fusion), arch)

    def launch(self, fusion: FusionOp, config: AttentionConfig) -> Launch:
        """Return one block per tile of queries of the batch."""
        problem = _problem(fusion)
        tiles = ceil_div(problem.queries, config.block_m)
        return Launch((problem.batch * tiles,), (config.threads,), config.residents)

    def build(self, scope: KernelScope, fusion: FusionOp, config: AttentionConfig) -> None:
        """Build the kernel body."""
        query, key, value, *mask, result = anchor_tensors(scope, fusion)
        attend(query, key, value, mask, result, _problem(fusion), config)


def _problem(fusion: FusionOp) -> Attention:
    return Attention.of(accepted(fusion, ScaledDotProductAttentionOp))


@script
def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    masks: Sequence[Tensor],
    result: Tensor,
    problem: Attention,
    choice: AttentionConfig,
) -> None:
    """Compute one tile of queries; scores are scaled for exponentials of base 2."""
    thread = threadIdx.x
    tiles = ceil_div(problem.queries, choice.block_m)
    batch, row = place_of_block(problem, tiles, choice)
    q, k, v, r = (matrix_of(each, batch, result) for each in (query, key, value, result))
    m = [matrix_of(each, batch, result) for each in masks]
    queries = shared_tensor(query.dtype, [choice.block_m, problem.width])
    keys = shared_tensor(query.dtype, [choice.block_n, problem.width])
    values = shared_tensor(query.dtype, [choice.block_n, problem.values])
    scores = unmapped_tile(f32, choice.block_m, choice.block_n)
    weights = unmapped_tile(query.dtype, choice.block_m, choice.block_n)
    acc = unmapped_tile(f32, choice.block_m, problem.values)
    largest, factor, total = (unmapped_tile(f32, choice.block_m) for _ in range(3))
    scale = scale_of_weights(problem, masks)
    fill(acc, 0, thread)
    fill(largest, -inf, thread)
    fill(total, 0, thread)
    task.copy(task.window(query, *q, row, 0), queries, on=thread)
    for k0 in range(0, end_of_keys(problem, choice, row), choice.block_n):
        task.copy(task.window(key, *k, k0, 0), keys, on=thread)
        task.copy(task.window(value, *v, k0, 0), values, on=thread)
        fill(scores, 0, thread)
        task.matmul(queries, keys, scores, on=thread, transposed=True)
        mask_scores(scores, masks, m, problem, row, k0)
        weigh(scores, scale, largest, factor, total)
        for i, j in acc.on(thread):
            acc[i, j] = acc[i, j] * factor[i]
        for i, j in scores.on(thread):
            weights[i, j] = in_type_of(weights, scores[i, j])
        task.matmul(weights, values, acc, on=thread)
    task.combine(total, "add", on=thread)
    for i in total.on(thread):
        total[i] = inverse(total[i])
    if choice.has_groups and problem.values == problem.width:
        for i, j in acc.on(thread):
            queries[i, j] = in_type_of(queries, acc[i, j] * total[i])
        task.copy(queries, task.window(result, *r, row, 0), on=thread)
    else:
        for i, j in acc.on(thread):
            if row + i < problem.queries:
                result[(*r, row + i, j)] = in_type_of(result, acc[i, j] * total[i])


@script
def mask_scores(
    scores: Tensor,
    masks: Sequence[Tensor],
    places: Sequence[Any],
    problem: Attention,
    row: Any,
    k0: Any,
    is_transposed: bool = False,
) -> None:
    """Scale a tile of scores, unless the softmax does, and mask it.

    The rows are queries from `row` on, and the columns keys from `k0` on, unless transposed.
    """
    if not scales_weights(problem, masks):
        for i, j in scores.on(threadIdx.x):
            scores[i, j] = scores[i, j] * problem.scale
    for mask, place in zip(masks, places, strict=True):
        for i, j in scores.on(threadIdx.x):
            at = masked_position(problem, scores, row, k0, i, j, is_transposed)
            scores[i, j] = masked(scores[i, j], mask[(*place, *at)], hidden_by(mask, problem))
    queries, keys = scores.shape[::-1] if is_transposed else scores.shape
    if hides_some(problem, queries, keys, row, k0, is_transposed):
        for i, j in scores.on(threadIdx.x):
            query, key = (row + j, k0 + i) if is_transposed else (row + i, k0 + j)
            if is_hidden(problem, query, key, is_transposed):
                scores[i, j] = -inf


@script
def weigh(
    scores: Tensor,
    scale: Any,
    largest: Tensor,
    factor: Tensor,
    total: Tensor,
) -> None:
    """Turn scores into softmax weights relative to the running maximum.

    `scale` is applied on the way. `factor` rescales the sums over earlier keys. `total` is
    distributed over the threads that share a row.
    """
    thread = threadIdx.x
    for i in largest.on(thread):
        factor[i] = largest[i]
    for i, j in scores.on(thread):
        largest[i] = max(largest[i], scores[i, j])
    task.combine(largest, "max", on=thread)
    for i in largest.on(thread):
        factor[i] = fast_exp2(factor[i] * scale - finite(largest[i]) * scale)
        total[i] = total[i] * factor[i]
    for i, j in scores.on(thread):
        scores[i, j] = fast_exp2(scores[i, j] * scale - finite(largest[i]) * scale)
        total[i] = total[i] + scores[i, j]


def place_of_block(problem: Attention, tiles: int, choice: TileConfig) -> tuple[Any, Any]:
    """Return the batch index of the block, and its first query.

    Causal queries with most keys come first, to balance the last wave.
    """
    tile = blockIdx.x % tiles
    if problem.causal:
        tile = tiles - 1 - tile
    return blockIdx.x // tiles, tile * choice.block_m


def end_of_keys(problem: Attention, choice: TileConfig, row: Any) -> Any:
    """Return the end of the keys that a tile of queries attends to."""
    return minimum(row + choice.block_m, problem.keys) if problem.causal else problem.keys


def scales_weights(problem: Attention, masks: Sequence[Tensor]) -> bool:
    """Return whether the scale is folded into the exponentials: no mask, and monotonic."""
    return not masks and problem.scale > 0


def scale_of_weights(problem: Attention, masks: Sequence[Tensor]) -> Any:
    """Return the scale that is left for the exponentials."""
    return problem.scale if scales_weights(problem, masks) else 1


def hides_some(
    problem: Attention, queries: Any, keys: Any, row: Any, k0: Any, is_transposed: bool
) -> Any:
    """Return whether a tile of scores is partially masked; rows beyond the end are not stored."""
    end, tile, first = (
        (problem.queries, queries, row) if is_transposed else (problem.keys, keys, k0)
    )
    beyond = first + tile > end if end % tile else False
    return beyond | (k0 + keys - 1 > row) if problem.causal else beyond


def is_hidden(problem: Attention, query: Any, key: Any, is_transposed: bool) -> Any:
    """Return whether a query does not attend to a key, or there is no such column of scores."""
    beyond = query >= problem.queries if is_transposed else key >= problem.keys
    return beyond | (key > query) if problem.causal else beyond


def masked_position(
    problem: Attention, scores: Tensor, row: Any, k0: Any, i: Any, j: Any, is_transposed: bool
) -> tuple[Any, Any]:
    """Return the query and the key of a score, or the last ones in the place of those beyond.

    Scores beyond the end are hidden later, or not stored.
    """
    queries, keys = (j, i) if is_transposed else (i, j)
    rows, columns = scores.shape[::-1] if is_transposed else scores.shape
    return within(row + queries, rows, problem.queries), within(k0 + keys, columns, problem.keys)


def within(place: Any, tile: Any, end: int) -> Any:
    """Return a place in tiles of this size, or the last place if there are places beyond."""
    return minimum(place, end - 1) if end % tile else place


def hidden_by(mask: Tensor, problem: Attention) -> float | None:
    """Return the score where a mask is false, None for one that is added."""
    return problem.fill if mask.element == BOOL else None


@script
def masked(score: Any, mask: Any, hidden: float | None) -> Any:
    """Return a masked score: another number by a boolean mask, or the sum with an additive one."""
    if hidden is not None:
        return score if mask else hidden
    return score + f32(mask) * log2(euler)


@script
def finite(largest: Any) -> Any:
    """Return the maximum of a query, or 0 if all its keys are masked."""
    return largest if largest > -inf else 0.0


@script
def inverse(total: Any) -> Any:
    """Return the normalization factor; a query without keys yields zeros."""
    return 0.0 if total == 0 else 1 / total
