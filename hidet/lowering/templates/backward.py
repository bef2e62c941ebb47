"""The template `backward`: what gradients of attention are computed from, one kernel each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import e as euler
from math import inf, log, log2
from typing import Any

from xdsl.ir import Operation

from hidet.arch.chips import Arch
from hidet.dialects.compute import FusionOp
from hidet.dialects.graph import (
    AttentionKeyValueGradientsOp,
    AttentionLogsumexpOp,
    AttentionQueryGradientOp,
)
from hidet.dialects.graph.attention import ScoresOp
from hidet.frontends.script.tensors import Tensor
from hidet.lang import f32, script, shared_tensor, task
from hidet.lang.cuda import blockIdx, fast_exp2, fast_log2, threadIdx
from hidet.lowering.templates.attention import (
    end_of_keys,
    finite,
    mask_scores,
    place_of_block,
    scale_of_weights,
    weigh,
    within,
)
from hidet.lowering.templates.attention_config import Attention
from hidet.lowering.templates.backward_config import TILES, BackwardConfig, candidates
from hidet.lowering.templates.base import KernelScope, Launch, Template, ceil_div
from hidet.lowering.templates.epilogue import anchor_of, anchor_tensors
from hidet.lowering.templates.matmul import matrix_of
from hidet.lowering.templates.parts import fill, in_type_of, unmapped_tile


class BackwardTemplate(Template[BackwardConfig]):
    """A block processes a tile of queries and iterates over tiles of keys, or the other way round.

    Scores are computed again in each kernel, and weights from them and the logsumexp of a query
    (Dao et al., FlashAttention-2, 2023). Gradients of queries have a kernel of their own, so that
    nothing is added atomically.
    """

    name = "backward"
    config = BackwardConfig

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions whose anchor is an operator of the backward pass."""
        return type(anchor_of(fusion)) in TILES

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[BackwardConfig]:
        """Return the tilings, best estimate first."""
        return candidates(_operator(fusion), arch)

    def launch(self, fusion: FusionOp, config: BackwardConfig) -> Launch:
        """Return one block per tile of rows of the batch."""
        op = _operator(fusion)
        problem = Attention.of(op)
        of_keys = isinstance(op, AttentionKeyValueGradientsOp)
        tiles = ceil_div(problem.keys if of_keys else problem.queries, config.block_m)
        return Launch((problem.batch * tiles,), (config.threads,), config.residents)

    def build(self, scope: KernelScope, fusion: FusionOp, config: BackwardConfig) -> None:
        """Build the kernel body."""
        op = _operator(fusion)
        *operands, result = anchor_tensors(scope, fusion)
        BODIES[type(op)](operands, result, Attention.of(op), config)


def _operator(fusion: FusionOp) -> ScoresOp:
    op = anchor_of(fusion)
    assert isinstance(op, ScoresOp), "a fusion that the template has accepted"
    return op


@script
def compute_logsumexp(
    operands: Sequence[Tensor], result: Tensor, problem: Attention, choice: BackwardConfig
) -> None:
    """Compute one tile of queries; scores are scaled for exponentials of base 2."""
    query, key, *masks = operands
    thread = threadIdx.x
    batch, row = place_of_block(problem, ceil_div(problem.queries, choice.block_m), choice)
    q, k, r = (matrix_of(each, batch, result) for each in (query, key, result))
    m = [matrix_of(each, batch, result) for each in masks]
    queries = shared_tensor(query.dtype, [choice.block_m, problem.width])
    keys = shared_tensor(query.dtype, [choice.block_n, problem.width])
    scores = unmapped_tile(f32, choice.block_m, choice.block_n)
    largest, factor, total = (unmapped_tile(f32, choice.block_m) for _ in range(3))
    scale = scale_of_weights(problem, masks)
    fill(largest, -inf, thread)
    fill(total, 0, thread)
    task.copy(task.window(query, *q, row, 0), queries, on=thread)
    for k0 in range(0, end_of_keys(problem, choice, row), choice.block_n):
        task.copy(task.window(key, *k, k0, 0), keys, on=thread)
        fill(scores, 0, thread)
        task.matmul(queries, keys, scores, on=thread, transposed=True)
        mask_scores(scores, masks, m, problem, row, k0)
        weigh(scores, scale, largest, factor, total)
    task.combine(total, "add", on=thread)
    for i in total.on(thread):
        if row + i < problem.queries:
            result[(*r, row + i, 0)] = natural(finite(largest[i]) * scale + fast_log2(total[i]))


@script
def compute_query_gradient(
    operands: Sequence[Tensor], result: Tensor, problem: Attention, choice: BackwardConfig
) -> None:
    """Compute one tile of queries."""
    query, key, value, gradient, logsumexp, delta, *masks = operands
    thread = threadIdx.x
    batch, row = place_of_block(problem, ceil_div(problem.queries, choice.block_m), choice)
    at = matrix_of(query, batch, result)
    m = [matrix_of(each, batch, result) for each in masks]
    queries = shared_tensor(query.dtype, [choice.block_m, problem.width])
    gradients = shared_tensor(query.dtype, [choice.block_m, problem.values])
    keys = shared_tensor(query.dtype, [choice.block_n, problem.width])
    values = shared_tensor(query.dtype, [choice.block_n, problem.values])
    scores, products = (unmapped_tile(f32, choice.block_m, choice.block_n) for _ in range(2))
    slopes = unmapped_tile(query.dtype, choice.block_m, choice.block_n)
    acc = unmapped_tile(f32, choice.block_m, problem.width)
    ends, deltas = (unmapped_tile(f32, choice.block_m) for _ in range(2))
    scale = scale_of_weights(problem, masks)
    fill(acc, 0, thread)
    for i in ends.on(thread):
        own = within(row + i, choice.block_m, problem.queries)
        ends[i] = exponent(logsumexp[(*at, own, 0)])
        deltas[i] = delta[(*at, own, 0)]
    task.copy(task.window(query, *at, row, 0), queries, on=thread)
    task.copy(task.window(gradient, *at, row, 0), gradients, on=thread)
    for k0 in range(0, end_of_keys(problem, choice, row), choice.block_n):
        task.copy(task.window(key, *at, k0, 0), keys, on=thread)
        task.copy(task.window(value, *at, k0, 0), values, on=thread)
        fill(scores, 0, thread)
        task.matmul(queries, keys, scores, on=thread, transposed=True)
        fill(products, 0, thread)
        task.matmul(gradients, values, products, on=thread, transposed=True)
        mask_scores(scores, masks, m, problem, row, k0)
        for i, j in scores.on(thread):
            scores[i, j] = fast_exp2(scores[i, j] * scale - ends[i])
        for i, j in scores.on(thread):
            slopes[i, j] = in_type_of(slopes, scores[i, j] * (products[i, j] - deltas[i]))
        task.matmul(slopes, keys, acc, on=thread)
    for i, j in acc.on(thread):
        if row + i < problem.queries:
            result[(*at, row + i, j)] = in_type_of(result, acc[i, j] * natural(problem.scale))


@script
def compute_key_value_gradients(
    operands: Sequence[Tensor], result: Tensor, problem: Attention, choice: BackwardConfig
) -> None:
    """Compute one tile of keys and values; scores are transposed."""
    query, key, value, gradient, logsumexp, delta, *masks = operands
    thread = threadIdx.x
    batch, row = place_of_keys(problem, choice)
    at = matrix_of(key, batch, key)
    m = [matrix_of(each, batch, key) for each in masks]
    keys = shared_tensor(key.dtype, [choice.block_m, problem.width])
    values = shared_tensor(key.dtype, [choice.block_m, problem.values])
    queries = shared_tensor(key.dtype, [choice.block_n, problem.width])
    gradients = shared_tensor(key.dtype, [choice.block_n, problem.values])
    scores, products = (unmapped_tile(f32, choice.block_m, choice.block_n) for _ in range(2))
    weights, slopes = (unmapped_tile(key.dtype, choice.block_m, choice.block_n) for _ in range(2))
    of_key = unmapped_tile(f32, choice.block_m, problem.width)
    of_value = unmapped_tile(f32, choice.block_m, problem.values)
    scale = scale_of_weights(problem, masks)
    fill(of_key, 0, thread)
    fill(of_value, 0, thread)
    task.copy(task.window(key, *at, row, 0), keys, on=thread)
    task.copy(task.window(value, *at, row, 0), values, on=thread)
    first = row // choice.block_n if problem.causal else 0
    for step in range(0, ceil_div(problem.queries, choice.block_n) - first):
        q0 = (first + step) * choice.block_n
        task.copy(task.window(query, *at, q0, 0), queries, on=thread)
        task.copy(task.window(gradient, *at, q0, 0), gradients, on=thread)
        fill(scores, 0, thread)
        task.matmul(keys, queries, scores, on=thread, transposed=True)
        fill(products, 0, thread)
        task.matmul(values, gradients, products, on=thread, transposed=True)
        mask_scores(scores, masks, m, problem, q0, row, is_transposed=True)
        for i, j in scores.on(thread):
            own = within(q0 + j, choice.block_n, problem.queries)
            scores[i, j] = fast_exp2(scores[i, j] * scale - exponent(logsumexp[(*at, own, 0)]))
            weights[i, j] = in_type_of(weights, scores[i, j])
        task.matmul(weights, gradients, of_value, on=thread)
        for i, j in scores.on(thread):
            own = within(q0 + j, choice.block_n, problem.queries)
            slope = scores[i, j] * (products[i, j] - delta[(*at, own, 0)])
            slopes[i, j] = in_type_of(slopes, slope)
        task.matmul(slopes, queries, of_key, on=thread)
    for i, j in of_key.on(thread):
        if row + i < problem.keys:
            result[(0, *at, row + i, j)] = in_type_of(result, of_key[i, j] * natural(problem.scale))
    for i, j in of_value.on(thread):
        if row + i < problem.keys:
            result[(1, *at, row + i, j)] = in_type_of(result, of_value[i, j])


def place_of_keys(problem: Attention, choice: BackwardConfig) -> tuple[Any, Any]:
    """Return the batch index of the block, and its first key.

    Causal keys that most queries attend to come first, to balance the last wave.
    """
    tiles = ceil_div(problem.keys, choice.block_m)
    return blockIdx.x // tiles, blockIdx.x % tiles * choice.block_m


@script
def exponent(logsumexp: Any) -> Any:
    """Return the exponent of base 2, 0 for a query without keys."""
    return logsumexp * log2(euler) if logsumexp > -inf else 0.0


def natural(exponent: Any) -> Any:
    """Return the exponent of base e for one of base 2."""
    return exponent * log(2)


BODIES: dict[type[Operation], Callable[..., object]] = {
    AttentionLogsumexpOp: compute_logsumexp,
    AttentionQueryGradientOp: compute_query_gradient,
    AttentionKeyValueGradientsOp: compute_key_value_gradients,
}
"""The script of each operator."""
