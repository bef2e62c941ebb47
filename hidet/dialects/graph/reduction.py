"""Reductions of all elements along some axes, softmax, and normalizations.

The `axes` of a reduction are distinct and in range; constructors also accept negative ones, and
None for all. Reduced dimensions vanish, or have size 1 with `keepdims`.
"""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, FloatAttr, TensorType, f64, i1
from xdsl.irdl import irdl_op_definition, prop_def

from hidet.dialects.graph.base import (
    FALSE,
    FLOAT64,
    FLOATS,
    INT,
    INTS,
    NUMBERS,
    OneOperandOp,
    SameTypeOp,
    Tensor,
    Value,
    check_axes,
    integer,
    normalized_axis,
    shape_of,
)
from hidet.dialects.graph.elementwise import define


class ReductionOp(OneOperandOp, ABC):
    """A reduction of all elements along the axes to one of the same type."""

    axes = prop_def(INTS)
    keepdims = prop_def(BoolAttr, default_value=FALSE)

    def __init__(
        self,
        x: Value,
        axes: Sequence[int] | None = None,
        keepdims: bool = False,
        **properties: int,
    ) -> None:
        rank = len(shape_of(x))
        given = range(rank) if axes is None else axes
        axes = sorted(normalized_axis(axis, rank) for axis in given)
        super().__init__(x, result=i1, axes=axes, keepdims=keepdims, **properties)

    def _infer_type(self) -> Tensor:
        sizes, axes = shape_of(self.x), self.axes.get_values()
        check_axes(axes, len(sizes))
        if self.keepdims:
            shape = [1 if axis in axes else size for axis, size in enumerate(sizes)]
        else:
            shape = [size for axis, size in enumerate(sizes) if axis not in axes]
        return TensorType(self.x_type.element_type, shape)


class ExtremumOp(ReductionOp, ABC):
    """A reduction that is undefined for no elements, except for `i1`."""

    def _infer_type(self) -> Tensor:
        found = super()._infer_type()
        if found.element_type != i1 and 0 not in found.get_shape() and 0 in shape_of(self.x):
            axes = list(self.axes.get_values())
            raise self.invalid(f"{self.x_type} has no elements along the axes {axes}")
        return found


@irdl_op_definition
class VarOp(ReductionOp):
    """The variance: the sum of squared deviations, divided by their number - `correction`."""

    name = "graph.var"
    ELEMENTS: ClassVar = FLOATS

    correction = prop_def(INT, default_value=integer(1))

    @property
    def mean(self) -> ReductionOp | None:
        """The operator right before this one if it is the mean of the same rows."""
        found = self.prev_op
        if not isinstance(found, MeanOp) or (found.x, found.axes) != (self.x, self.axes):
            return None
        return found


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


SumOp = define(ReductionOp, "sum", "The sum; 0 of no elements.", ELEMENTS=NUMBERS)
ProdOp = define(ReductionOp, "prod", "The product; 1 of no elements.", ELEMENTS=NUMBERS)
MaxOp = define(
    ExtremumOp, "max", "The largest element; NaN if any is. On `i1`, whether any is true."
)
MinOp = define(
    ExtremumOp, "min", "The smallest element; NaN if any is. On `i1`, whether all are true."
)
MeanOp = define(ReductionOp, "mean", "The mean; NaN of no elements.", ELEMENTS=FLOATS)
SoftmaxOp = define(SoftmaxBase, "softmax", "exp(x), divided by its sum along the axis.")
LogSoftmaxOp = define(SoftmaxBase, "log_softmax", "The logarithm of softmax.")
LayerNormOp = define(
    NormOp, "layer_norm", "(x - mean) / sqrt(variance + eps) over the last dimensions."
)
RmsNormOp = define(NormOp, "rms_norm", "x / sqrt(mean of squares + eps) over the last dimensions.")
