"""Operators that combine all elements along some axes into one.

`axes` are different and in range; the constructors also take negative ones, and None for all.
Reduced dimensions vanish, or stay with size 1 where `keepdims` is set.
"""

from abc import ABC
from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import BoolAttr, TensorType, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.base import (
    FALSE,
    INT,
    INTS,
    TENSOR,
    GraphOp,
    Tensor,
    Value,
    check_axes,
    check_float,
    integer,
    ints,
    normalized_axes,
    tensor_type,
)


class ReductionOp(GraphOp, ABC):
    """All elements along the axes combined into one of the same type."""

    x = operand_def(TENSOR)
    axes = prop_def(INTS)
    keepdims = prop_def(BoolAttr, default_value=FALSE)

    def __init__(
        self,
        x: Value,
        axes: Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        extra: Mapping[str, Attribute] | None = None,
    ) -> None:
        rank = tensor_type(x).get_num_dims()
        axes = range(rank) if axes is None else normalized_axes(axes, rank)
        super().__init__(
            operands=[x],
            properties={
                "axes": ints(axes),
                "keepdims": BoolAttr.from_bool(keepdims),
                **(extra or {}),
            },
            result_types=[self.reduced(tensor_type(x), axes, keepdims)],
        )

    @classmethod
    def reduced(cls, x: Tensor, axes: Sequence[int], keepdims: bool) -> Tensor:
        """Give the type of x with the axes reduced."""
        sizes = x.get_shape()
        check_axes(axes, len(sizes))
        if keepdims:
            shape = [1 if axis in axes else size for axis, size in enumerate(sizes)]
        else:
            shape = [size for axis, size in enumerate(sizes) if axis not in axes]
        return TensorType(x.element_type, shape)

    def infer_type(self) -> Tensor:
        """Give the type without, or with single, reduced dimensions."""
        return self.reduced(tensor_type(self.x), self.axes.get_values(), bool(self.keepdims))


class NumberReductionOp(ReductionOp, ABC):
    """A reduction of numbers, not of `i1`."""

    @classmethod
    def reduced(cls, x: Tensor, axes: Sequence[int], keepdims: bool) -> Tensor:
        """Give the type of x with the axes reduced."""
        if x.element_type == i1:
            raise VerifyException(f"{cls.name}: needs elements that are numbers, got {x}")
        return super().reduced(x, axes, keepdims)


class ExtremumOp(NumberReductionOp, ABC):
    """A reduction that has no value for no elements."""

    @classmethod
    def reduced(cls, x: Tensor, axes: Sequence[int], keepdims: bool) -> Tensor:
        """Give the type of x with the axes reduced."""
        found = super().reduced(x, axes, keepdims)
        if 0 not in found.get_shape() and 0 in x.get_shape():
            raise VerifyException(f"{cls.name}: {x} has no elements along the axes {list(axes)}")
        return found


class FloatReductionOp(ReductionOp, ABC):
    """A reduction of floating-point numbers."""

    @classmethod
    def reduced(cls, x: Tensor, axes: Sequence[int], keepdims: bool) -> Tensor:
        """Give the type of x with the axes reduced."""
        check_float(cls.name, x)
        return super().reduced(x, axes, keepdims)


class TruthReductionOp(ReductionOp, ABC):
    """A reduction of truth values; numbers count as true where they are not 0."""

    @classmethod
    def reduced(cls, x: Tensor, axes: Sequence[int], keepdims: bool) -> Tensor:
        """Give a tensor of `i1` with the axes reduced."""
        return TensorType(i1, super().reduced(x, axes, keepdims).shape)


@irdl_op_definition
class SumOp(NumberReductionOp):
    """The sum; 0 of no elements."""

    name = "graph.sum"


@irdl_op_definition
class ProdOp(NumberReductionOp):
    """The product; 1 of no elements."""

    name = "graph.prod"


@irdl_op_definition
class MaxOp(ExtremumOp):
    """The largest element; NaN if any is."""

    name = "graph.max"


@irdl_op_definition
class MinOp(ExtremumOp):
    """The smallest element; NaN if any is."""

    name = "graph.min"


@irdl_op_definition
class AnyOp(TruthReductionOp):
    """Whether any element is true."""

    name = "graph.any"


@irdl_op_definition
class AllOp(TruthReductionOp):
    """Whether all elements are true."""

    name = "graph.all"


@irdl_op_definition
class MeanOp(FloatReductionOp):
    """The mean; NaN of no elements."""

    name = "graph.mean"


@irdl_op_definition
class VarOp(FloatReductionOp):
    """The variance: squared distances to the mean, divided by their number - `correction`."""

    name = "graph.var"

    correction = prop_def(INT, default_value=integer(1))

    def __init__(
        self,
        x: Value,
        axes: Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        correction: int = 1,
    ) -> None:
        super().__init__(x, axes, keepdims, extra={"correction": integer(correction)})
