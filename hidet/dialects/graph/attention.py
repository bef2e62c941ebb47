"""Attention, and what its gradients are computed from."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import BoolAttr, StringAttr, TensorType, i1
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def

from hidet.dialects.graph.base import (
    FALSE,
    FLOAT64,
    FLOATS,
    TENSOR,
    Tensor,
    broadcast_shapes,
    computation_type,
    element_type,
    shape_of,
    tensor_type,
)
from hidet.dialects.graph.contraction import IEEE, AnchorOp, check_precision


class AttentionOp(AnchorOp, ABC):
    """An operator on scores of attention: query [..., L, E] key [..., S, E]^T * scale + mask.

    `scale` is 1 / sqrt(E) by default. A mask of `i1` selects keys, another one is added to the
    scores. With `causal`, query i attends to the keys 0 ... i only.
    """

    MATRICES: ClassVar[tuple[str, ...]] = ("query", "key")

    @property
    def matrices(self) -> Sequence[SSAValue]:
        """The operands of matmuls, query and key first."""
        return [getattr(self, name) for name in self.MATRICES]

    @property
    def batch(self) -> tuple[int, ...]:
        """The batch dimensions, broadcast."""
        return broadcast_shapes(self.name, *(shape_of(each)[:-2] for each in self.matrices))

    def _check_sizes(self) -> None:
        """Raise `VerifyException` unless there are scores of query and key."""
        query, key = self.matrices[:2]
        q, k = shape_of(query), shape_of(key)
        if min(len(q), len(k)) < 2 or q[-1] != k[-1]:
            raise self.invalid(
                f"needs query [..., L, E] and key [..., S, E], got {query.type} and {key.type}"
            )

    def _infer_batch(self, mask: SSAValue | None, precision: StringAttr) -> tuple[int, ...]:
        """Return the batch dimensions, after checks of the operands."""
        check_precision(self.name, precision)
        matrices = list(map(tensor_type, self.matrices))
        self.check_same_element(*matrices)
        FLOATS.check(self.name, matrices[0])
        if mask is not None:
            lengths = (shape_of(each)[-2] for each in self.matrices[:2])
            self._check_mask(tensor_type(mask), (*self.batch, *lengths))
        return self.batch

    def _check_mask(self, mask: Tensor, scores: tuple[int, ...]) -> None:
        element = element_type(self.matrices[0])
        if mask.element_type not in (i1, element):
            raise self.invalid(f"the mask must be of i1 or of {element}")
        if broadcast_shapes(self.name, scores, mask.get_shape()) != scores:
            raise self.invalid(f"{mask} does not broadcast to scores {list(scores)}")


@irdl_op_definition
class ScaledDotProductAttentionOp(AttentionOp):
    """softmax(scores) value, for value [..., S, V].

    A boolean mask puts `fill` in the place of scores, -inf unless it is given.
    """

    name = "graph.scaled_dot_product_attention"
    MATRICES: ClassVar = ("query", "key", "value")

    query = operand_def(TENSOR)
    key = operand_def(TENSOR)
    value = operand_def(TENSOR)
    mask = opt_operand_def(TENSOR)
    causal = prop_def(BoolAttr, default_value=FALSE)
    scale = opt_prop_def(FLOAT64)
    fill = opt_prop_def(FLOAT64)
    precision = prop_def(StringAttr, default_value=IEEE)

    def _infer_type(self) -> Tensor:
        q, k, v = shapes = [shape_of(each) for each in (self.query, self.key, self.value)]
        if min(map(len, shapes)) < 2 or q[-1] != k[-1] or k[-2] != v[-2]:
            raise self.invalid(
                "needs query [..., L, E], key [..., S, E] and value [..., S, V], got "
                f"{self.query.type}, {self.key.type} and {self.value.type}"
            )
        batch = self._infer_batch(self.mask, self.precision)
        return TensorType(element_type(self.query), [*batch, q[-2], v[-1]])


@irdl_op_definition
class AttentionLogsumexpOp(AttentionOp):
    """log(sum(exp(scores))) over the keys, [..., L, 1], in the computation type; -inf without keys.

    It is what the backward pass of attention needs to compute the weights again.
    """

    name = "graph.attention_logsumexp"

    query = operand_def(TENSOR)
    key = operand_def(TENSOR)
    mask = opt_operand_def(TENSOR)
    causal = prop_def(BoolAttr, default_value=FALSE)
    scale = opt_prop_def(FLOAT64)
    precision = prop_def(StringAttr, default_value=IEEE)

    def _infer_type(self) -> Tensor:
        self._check_sizes()
        batch = self._infer_batch(self.mask, self.precision)
        element = computation_type(element_type(self.query))
        return TensorType(element, [*batch, shape_of(self.query)[-2], 1])


class AttentionGradientOp(AttentionOp, ABC):
    """A gradient of attention, given that of its result, [..., L, V].

    With the weights w = exp(scores - logsumexp), those of the scores are w * (gradient value^T -
    delta), where delta [..., L, 1] is the sum of gradient * result over V (Dao et al.,
    FlashAttention-2, 2023, algorithm 2). All operands have the same batch dimensions, but the mask.
    """

    MATRICES: ClassVar = ("query", "key", "value", "gradient")

    query = operand_def(TENSOR)
    key = operand_def(TENSOR)
    value = operand_def(TENSOR)
    gradient = operand_def(TENSOR)
    logsumexp = operand_def(TENSOR)
    delta = operand_def(TENSOR)
    mask = opt_operand_def(TENSOR)
    causal = prop_def(BoolAttr, default_value=FALSE)
    scale = opt_prop_def(FLOAT64)
    precision = prop_def(StringAttr, default_value=IEEE)

    def _check_operands(self) -> None:
        self._check_sizes()
        (*batch, queries, width), keys = shape_of(self.query), shape_of(self.key)[-2]
        values = shape_of(self.value)[-1:]
        sizes = ((keys, width), (keys, *values), (queries, *values), (queries, 1), (queries, 1))
        element = element_type(self.query)
        elements = (element, element, element, *[computation_type(element)] * 2)
        expected = [
            TensorType(kind, [*batch, *size]) for kind, size in zip(elements, sizes, strict=True)
        ]
        operands = (self.key, self.value, self.gradient, self.logsumexp, self.delta)
        found = list(map(tensor_type, operands))
        if found != expected:
            wanted, given = (", ".join(map(str, types)) for types in (expected, found))
            raise self.invalid(
                f"needs key, value, gradient, logsumexp and delta of {wanted}, got {given}"
            )
        self._infer_batch(self.mask, self.precision)


@irdl_op_definition
class AttentionQueryGradientOp(AttentionGradientOp):
    """The gradient of the queries: that of the scores, times key and scale."""

    name = "graph.attention_query_gradient"

    def _infer_type(self) -> Tensor:
        self._check_operands()
        return tensor_type(self.query)


@irdl_op_definition
class AttentionKeyValueGradientsOp(AttentionGradientOp):
    """The gradients of keys and values, [2, ..., S, E], which have the same sizes.

    That of the keys is the transposed gradient of the scores, times query and scale; that of the
    values are the transposed weights, times gradient.
    """

    name = "graph.attention_key_value_gradients"

    def _infer_type(self) -> Tensor:
        self._check_operands()
        key = tensor_type(self.key)
        if key != self.value.type:
            raise self.invalid(f"needs keys and values of one type, got {key}, {self.value.type}")
        return TensorType(key.element_type, [2, *key.get_shape()])


ScoresOp: TypeAlias = ScaledDotProductAttentionOp | AttentionLogsumexpOp | AttentionGradientOp
"""All operators on scores, with the fields that these depend on."""
