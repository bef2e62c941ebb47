"""Softmax and normalizations.

Normalizations have a weight and a bias that scale and shift the result; a bias needs a weight.
"""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, f64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.base import (
    FLOAT64,
    FLOATS,
    INT,
    TENSOR,
    OneOperandOp,
    SameTypeOp,
    Tensor,
    Value,
    check_axes,
    integer,
    normalized_axis,
    shape_of,
    tensor_type,
)

EPS = FloatAttr(1e-5, f64)
"""The default epsilon that is added to a variance, as in torch."""


class SoftmaxBase(SameTypeOp, ABC):
    """A function of all elements along one axis."""

    ELEMENTS: ClassVar = FLOATS

    axis = prop_def(INT)

    def __init__(self, x: Value, axis: int = -1) -> None:
        super().__init__(x, axis=normalized_axis(axis, len(shape_of(x))))

    def _infer_type(self) -> Tensor:
        check_axes([self.axis.value.data], len(shape_of(self.x)))
        return self.x_type


@irdl_op_definition
class SoftmaxOp(SoftmaxBase):
    """exp(x), divided by its sum along the axis."""

    name = "graph.softmax"


@irdl_op_definition
class LogSoftmaxOp(SoftmaxBase):
    """The logarithm of softmax."""

    name = "graph.log_softmax"


class NormOp(OneOperandOp, ABC):
    """A normalization, scaled by a weight and shifted by a bias if present.

    The parameters may have another floating-point type than the tensor.
    """

    ELEMENTS: ClassVar = FLOATS

    x = operand_def(TENSOR)
    parameters = var_operand_def(TENSOR)
    eps = prop_def(FLOAT64, default_value=EPS)

    @property
    def weight(self) -> SSAValue | None:
        """The scale."""
        return self.parameters[0] if self.parameters else None

    @property
    def bias(self) -> SSAValue | None:
        """The shift."""
        return self.parameters[1] if len(self.parameters) > 1 else None

    def check_parameters(self, shape: Sequence[int]) -> None:
        """Raise `VerifyException` unless all operands but x have the shape."""
        if len(self.parameters) > 2:
            raise self.invalid("takes a weight and a bias, no more")
        for parameter in self.operands[1:]:
            found = tensor_type(parameter)
            if found.get_shape() != tuple(shape):
                raise self.invalid(f"a parameter must have shape {list(shape)}, got {found}")


def weight_and_bias(name: str, weight: Value | None, bias: Value | None) -> list[Value]:
    """Return the parameters that are present; a bias needs a weight."""
    if weight is None and bias is not None:
        raise VerifyException(f"{name}: a bias needs a weight")
    return [parameter for parameter in (weight, bias) if parameter is not None]


class TrailingNormOp(NormOp, ABC):
    """A normalization over the last `normalized_rank` dimensions."""

    normalized_rank = prop_def(INT, default_value=integer(1))

    def __init__(
        self,
        x: Value,
        weight: Value | None = None,
        bias: Value | None = None,
        *,
        normalized_rank: int = 1,
        eps: float = 1e-5,
    ) -> None:
        parameters = weight_and_bias(self.name, weight, bias)
        super().__init__(x, parameters, normalized_rank=normalized_rank, eps=eps)

    def _infer_type(self) -> Tensor:
        found = self.x_type
        rank, normalized = found.get_num_dims(), self.normalized_rank.value.data
        if not 1 <= normalized <= rank:
            raise self.invalid(f"cannot normalise {normalized} dimensions of {found}")
        self.check_parameters(found.get_shape()[rank - normalized :])
        return found


@irdl_op_definition
class LayerNormOp(TrailingNormOp):
    """(x - mean) / sqrt(variance + eps) over the last dimensions, scaled and shifted."""

    name = "graph.layer_norm"


@irdl_op_definition
class RmsNormOp(TrailingNormOp):
    """x / sqrt(mean of squares + eps) over the last dimensions, scaled."""

    name = "graph.rms_norm"

    def _infer_type(self) -> Tensor:
        if self.bias is not None:
            raise self.invalid("takes a weight, but no bias")
        return super()._infer_type()


@irdl_op_definition
class BatchNormOp(NormOp):
    """(x - mean) / sqrt(var + eps) by channel of x [N, C, ...], scaled and shifted: inference.

    Mean, variance, weight and bias are operands [C].
    """

    name = "graph.batch_norm"

    x = operand_def(TENSOR)
    mean = operand_def(TENSOR)
    variance = operand_def(TENSOR)
    parameters = var_operand_def(TENSOR)

    def __init__(
        self,
        x: Value,
        weight: Value | None,
        bias: Value | None,
        mean: Value,
        variance: Value,
        *,
        eps: float = 1e-5,
    ) -> None:
        parameters = weight_and_bias(self.name, weight, bias)
        super().__init__(x, mean, variance, parameters, eps=eps)

    def _infer_type(self) -> Tensor:
        found = self.x_type
        if found.get_num_dims() < 2:
            raise self.invalid(f"needs x [N, C, ...], got {found}")
        self.check_parameters([found.get_shape()[1]])
        return found
