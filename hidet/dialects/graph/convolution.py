"""Convolutions over one and two dimensions."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.base import (
    FLOATS,
    INT,
    INTS,
    TENSOR,
    GraphOp,
    Tensor,
    Value,
    check_same_element,
    check_sum_element,
    element_type,
    integer,
    ints,
    shape_of,
    tensor_type,
)
from hidet.dialects.graph.contraction import IEEE, check_bias, check_precision
from hidet.dialects.graph.window import Window, per_dimension


class ConvolutionOp(GraphOp, ABC):
    """x [N, C, ...] convolved with filters [O, C / groups, ...], plus the optional bias [O].

    The spatial dimensions are zero-padded on both sides. With groups, C and O are split into parts
    that are convolved separately. The result may be wider than the operands, such as f32 for f16:
    it has the accumulator type.
    """

    SPATIAL_RANK: ClassVar[int]
    """The number of spatial dimensions."""

    x = operand_def(TENSOR)
    weight = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    stride = prop_def(INTS, default_value=ints((1, 1)))
    padding = prop_def(INTS, default_value=ints((0, 0)))
    dilation = prop_def(INTS, default_value=ints((1, 1)))
    groups = prop_def(INT, default_value=integer(1))
    precision = prop_def(StringAttr, default_value=IEEE)

    def __init__(
        self,
        x: Value,
        weight: Value,
        bias: Value | None = None,
        *,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        precision: str = "ieee",
        result_element: Attribute | None = None,
    ) -> None:
        rank = self.SPATIAL_RANK
        super().__init__(
            x,
            weight,
            bias,
            result=TensorType(result_element or element_type(x), []),
            stride=per_dimension(stride, rank),
            padding=per_dimension(padding, rank),
            dilation=per_dimension(dilation, rank),
            groups=groups,
            precision=precision,
        )

    @property
    def window(self) -> Window:
        """The sliding window."""
        return Window(
            kernel=shape_of(self.weight)[2:],
            stride=self.stride.get_values(),
            padding=self.padding.get_values(),
            dilation=self.dilation.get_values(),
        )

    def _infer_type(self) -> Tensor:
        check_precision(self.name, self.precision)
        x, weight = tensor_type(self.x), tensor_type(self.weight)
        rank = self.SPATIAL_RANK + 2
        if x.get_num_dims() != rank or weight.get_num_dims() != rank:
            raise VerifyException(
                f"{self.name}: input and weight must have rank {rank}, got {x} and {weight}"
            )
        element = self.result_type.element_type
        check_sum_element(self.name, x, element)
        check_same_element(self.name, *map(tensor_type, self.operands))
        FLOATS.check(self.name, x)
        sizes, weights, groups = x.get_shape(), weight.get_shape(), self.groups.value.data
        if groups < 1 or sizes[1] != weights[1] * groups or weights[0] % groups:
            raise VerifyException(
                f"{self.name}: {groups} groups do not fit input {x} and weight {weight}"
            )
        check_bias(self.name, self.weight, self.bias)
        shape = [sizes[0], weights[0], *self.window.count(self.name, sizes[2:])]
        return TensorType(element, shape)


@irdl_op_definition
class Conv2dOp(ConvolutionOp):
    """A convolution of images [N, C, H, W] with filters [O, C / groups, KH, KW]."""

    name = "graph.conv2d"
    SPATIAL_RANK: ClassVar = 2


@irdl_op_definition
class Conv1dOp(ConvolutionOp):
    """A convolution of sequences [N, C, L] with filters [O, C / groups, K]."""

    name = "graph.conv1d"
    SPATIAL_RANK: ClassVar = 1

    stride = prop_def(INTS, default_value=ints((1,)))
    padding = prop_def(INTS, default_value=ints((0,)))
    dilation = prop_def(INTS, default_value=ints((1,)))
