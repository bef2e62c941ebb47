"""Operators that combine all elements along some axes into one.

`axes` are different and in range; the constructors also take negative ones, and None for all.
Reduced dimensions vanish, or stay with size 1 where `keepdims` is set.
"""

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, TensorType, i1
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.base import (
    FALSE,
    INT,
    INTS,
    OneOperandOp,
    Tensor,
    Value,
    check_axes,
    check_float,
    integer,
    normalized_axes,
    shape_of,
)
from hidet.dialects.graph.elementwise_trait import define


class ReductionOp(OneOperandOp, ABC):
    """All elements along the axes combined into one of the same type."""

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
        axes = range(rank) if axes is None else normalized_axes(axes, rank)
        super().__init__(x, result=i1, axes=axes, keepdims=keepdims, **properties)

    def infer_type(self) -> Tensor:
        """Give the type without, or with single, reduced dimensions."""
        sizes, axes = shape_of(self.x), self.axes.get_values()
        check_axes(axes, len(sizes))
        if self.keepdims:
            shape = [1 if axis in axes else size for axis, size in enumerate(sizes)]
        else:
            shape = [size for axis, size in enumerate(sizes) if axis not in axes]
        return TensorType(self.x_type.element_type, shape)


class NumberReductionOp(ReductionOp, ABC):
    """A reduction of numbers, not of `i1`."""

    def infer_type(self) -> Tensor:
        """Give the type of x with the axes reduced."""
        if self.x_type.element_type == i1:
            raise VerifyException(
                f"{self.name}: needs elements that are numbers, got {self.x_type}"
            )
        return super().infer_type()


class ExtremumOp(NumberReductionOp, ABC):
    """A reduction that has no value for no elements."""

    def infer_type(self) -> Tensor:
        """Give the type of x with the axes reduced."""
        found = super().infer_type()
        if 0 not in found.get_shape() and 0 in shape_of(self.x):
            axes = list(self.axes.get_values())
            raise VerifyException(
                f"{self.name}: {self.x_type} has no elements along the axes {axes}"
            )
        return found


class FloatReductionOp(ReductionOp, ABC):
    """A reduction of floating-point numbers."""

    def infer_type(self) -> Tensor:
        """Give the type of x with the axes reduced."""
        check_float(self.name, self.x_type)
        return super().infer_type()


class TruthReductionOp(ReductionOp, ABC):
    """A reduction of truth values; numbers count as true where they are not 0."""

    def infer_type(self) -> Tensor:
        """Give a tensor of `i1` with the axes reduced."""
        return TensorType(i1, super().infer_type().shape)


@irdl_op_definition
class VarOp(FloatReductionOp):
    """The variance: squared distances to the mean, divided by their number - `correction`."""

    name = "graph.var"

    correction = prop_def(INT, default_value=integer(1))


SumOp = define(NumberReductionOp, "sum", "The sum; 0 of no elements.")
ProdOp = define(NumberReductionOp, "prod", "The product; 1 of no elements.")
MaxOp = define(ExtremumOp, "max", "The largest element; NaN if any is.")
MinOp = define(ExtremumOp, "min", "The smallest element; NaN if any is.")
AnyOp = define(TruthReductionOp, "any", "Whether any element is true.")
AllOp = define(TruthReductionOp, "all", "Whether all elements are true.")
MeanOp = define(FloatReductionOp, "mean", "The mean; NaN of no elements.")
