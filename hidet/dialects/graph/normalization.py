"""Softmax and normalizations over trailing dimensions."""

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, f64
from xdsl.irdl import irdl_op_definition, prop_def

from hidet.dialects.graph.base import (
    FLOAT64,
    FLOATS,
    INT,
    SameTypeOp,
    Tensor,
    Value,
    check_axes,
    integer,
    normalized_axis,
    shape_of,
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


class NormOp(SameTypeOp, ABC):
    """A normalization over the last `normalized_rank` dimensions."""

    ELEMENTS: ClassVar = FLOATS

    normalized_rank = prop_def(INT, default_value=integer(1))
    eps = prop_def(FLOAT64, default_value=EPS)

    def _infer_type(self) -> Tensor:
        normalized = self.normalized_rank.value.data
        if not 1 <= normalized <= len(shape_of(self.x)):
            raise self.invalid(f"cannot normalise {normalized} dimensions of {self.x_type}")
        return self.x_type


@irdl_op_definition
class LayerNormOp(NormOp):
    """(x - mean) / sqrt(variance + eps) over the last dimensions."""

    name = "graph.layer_norm"


@irdl_op_definition
class RmsNormOp(NormOp):
    """x / sqrt(mean of squares + eps) over the last dimensions."""

    name = "graph.rms_norm"
