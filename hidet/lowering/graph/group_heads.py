"""The pass `group-heads`: broadcasts the keys and values of grouped attention."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from hidet.arch.chips import Arch
from hidet.dialects import graph
from hidet.dialects.graph.base import shape_of
from hidet.lowering.graph.graph_builder import GraphBuilder
from hidet.lowering.single_walk import apply_rules


def group_heads(b: GraphBuilder, op: graph.ScaledDotProductAttentionOp) -> SSAValue | None:
    """Attention to repeated heads becomes attention with a batch dimension of groups.

    Queries [.., G * R, L, E] become [.., G, R, L, E]; keys and values [.., G, S, E] that are
    repeated R times become [.., G, 1, S, E].
    """
    key, value = _before_repetition(op.key), _before_repetition(op.value)
    if key is None or value is None or shape_of(key)[:-2] != shape_of(value)[:-2]:
        return None
    groups = shape_of(key)[-4]
    grouped = graph.ScaledDotProductAttentionOp(
        _by_group(b, op.query, groups),
        key,
        value,
        None if op.mask is None else _by_group(b, op.mask, groups),
        causal=bool(op.causal),
        scale=None if op.scale is None else op.scale.value.data,
        fill=None if op.fill is None else op.fill.value.data,
        precision=op.precision.data,
    )
    return b.reshape(b.emit(grouped), shape_of(op.result))


def _before_repetition(x: SSAValue) -> SSAValue | None:
    """Return [.., G, 1, S, E] for heads [.., G * R, S, E] that repeat each of G heads R times."""
    merged = x.owner
    if not isinstance(merged, graph.ReshapeOp) or not isinstance(merged.x.owner, graph.ExpandOp):
        return None
    heads, repeated = shape_of(merged.x.owner.x), shape_of(merged.x)
    if len(repeated) != len(shape_of(x)) + 1 or len(heads) != len(repeated):
        return None
    *batch, groups, times, length, size = repeated
    is_repetition = heads == (*batch, groups, 1, length, size)
    is_merged = shape_of(x) == (*batch, groups * times, length, size)
    return merged.x.owner.x if is_repetition and is_merged else None


def _by_group(b: GraphBuilder, x: SSAValue, groups: int) -> SSAValue:
    """Return a tensor [.., G * R or 1, L, E] with a dimension of groups, G or 1."""
    if len(shape_of(x)) < 3:
        return x
    *batch, heads, length, size = shape_of(x)
    split = (1, 1) if heads == 1 else (groups, heads // groups)
    return b.reshape(x, [*batch, *split, length, size])


@dataclass(frozen=True)
class GroupHeadsPass(ModulePass):
    """Broadcast the keys and values of grouped attention, instead of repeating them.

    Expects attention whose keys and values are repeated by `graph.expand`, between two reshapes.
    Their tiles are then windows of buffers, which TMA can load; the index of a repeated head is no
    linear form. On a CPU, attention is decomposed, and left alone here.
    """

    name = "group-heads"

    arch: str = "sm_90a"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all functions of a module."""
        if not Arch.parse(self.arch).is_cpu:
            apply_rules(op.body, GraphBuilder, {graph.ScaledDotProductAttentionOp: group_heads})
