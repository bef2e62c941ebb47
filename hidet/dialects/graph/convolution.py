"""Convolutions over one and two dimensions."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.base import (
    INT,
    INTS,
    TENSOR,
    GraphOp,
    Tensor,
    Value,
    check_float,
    check_same_element,
    check_sum_element,
    element_type,
    integer,
    ints,
    optional_type,
    shape_of,
    tensor_type,
)
from hidet.dialects.graph.contraction import IEEE, check_precision
from hidet.dialects.graph.window import Window, per_dimension


def convolved(
    name: str, x: Tensor, weight: Tensor, bias: Tensor | None, window: Window, groups: int
) -> list[int]:
    """Give the shape of a convolution; see `ConvolutionOp` for the shapes of the operands."""
    check_same_element(name, *(t for t in (x, weight, bias) if t is not None))
    check_float(name, x)
    sizes, weights = x.get_shape(), weight.get_shape()
    if groups < 1 or sizes[1] != weights[1] * groups or weights[0] % groups:
        raise VerifyException(f"{name}: {groups} groups do not fit input {x} and weight {weight}")
    if bias is not None and bias.get_shape() != (weights[0],):
        raise VerifyException(f"{name}: the bias of weight {weight} cannot be {bias}")
    return [sizes[0], weights[0], *window.count(name, sizes[2:])]


class ConvolutionOp(GraphOp, ABC):
    """x [N, C, ...] convolved with filters [O, C / groups, ...], plus the bias [O] if there is one.

    Zeros are added on either side of the spatial dimensions (`padding`). With groups, C and O are
    split in as many parts, which are convolved on their own. The result may be wider than the
    operands, f32 for f16: the type that is accumulated in.
    """

    x = operand_def(TENSOR)
    weight = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
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
        kernel = self.kernel_of(tensor_type(x), tensor_type(weight))
        rank = len(kernel)
        window = Window(
            kernel=kernel,
            stride=per_dimension(stride, rank),
            padding=per_dimension(padding, rank),
            dilation=per_dimension(dilation, rank),
        )
        shape = convolved(
            self.name, tensor_type(x), tensor_type(weight), optional_type(bias), window, groups
        )
        super().__init__(
            operands=[x, weight, bias],
            properties={
                "stride": ints(window.stride),
                "padding": ints(window.padding),
                "dilation": ints(window.dilation),
                "groups": integer(groups),
                "precision": StringAttr(precision),
            },
            result_types=[TensorType(result_element or element_type(x), shape)],
        )

    @staticmethod
    @abstractmethod
    def spatial_rank() -> int:
        """Give the number of dimensions that the filters slide over."""

    @property
    @abstractmethod
    def window(self) -> Window:
        """The window that slides over the image."""

    @classmethod
    def kernel_of(cls, x: Tensor, weight: Tensor) -> tuple[int, ...]:
        """Give the spatial shape of the filters, after a check of both ranks."""
        rank = cls.spatial_rank() + 2
        if x.get_num_dims() != rank or weight.get_num_dims() != rank:
            raise VerifyException(
                f"{cls.name}: input and weight must have rank {rank}, got {x} and {weight}"
            )
        return weight.get_shape()[2:]

    def infer_type(self) -> Tensor:
        """Give the type of one number for each image, filter and position."""
        check_precision(self.name, self.precision)
        x, weight = tensor_type(self.x), tensor_type(self.weight)
        self.kernel_of(x, weight)
        bias, groups = optional_type(self.bias), self.groups.value.data
        element = self.result_type.element_type
        check_sum_element(self.name, x, element)
        return TensorType(element, convolved(self.name, x, weight, bias, self.window, groups))


@irdl_op_definition
class Conv2dOp(ConvolutionOp):
    """A convolution of images [N, C, H, W] with filters [O, C / groups, KH, KW]."""

    name = "graph.conv2d"

    stride = prop_def(INTS, default_value=ints((1, 1)))
    padding = prop_def(INTS, default_value=ints((0, 0)))
    dilation = prop_def(INTS, default_value=ints((1, 1)))

    @staticmethod
    def spatial_rank() -> int:
        """Two: height and width."""
        return 2

    @property
    def window(self) -> Window:
        """The window that slides over the image."""
        return Window(
            kernel=shape_of(self.weight)[2:],
            stride=self.stride.get_values(),
            padding=self.padding.get_values(),
            dilation=self.dilation.get_values(),
        )


@irdl_op_definition
class Conv1dOp(ConvolutionOp):
    """A convolution of sequences [N, C, L] with filters [O, C / groups, K]."""

    name = "graph.conv1d"

    stride = prop_def(INTS, default_value=ints((1,)))
    padding = prop_def(INTS, default_value=ints((0,)))
    dilation = prop_def(INTS, default_value=ints((1,)))

    @staticmethod
    def spatial_rank() -> int:
        """One: the length."""
        return 1

    @property
    def window(self) -> Window:
        """The window that slides over the sequence."""
        return Window(
            kernel=shape_of(self.weight)[2:],
            stride=self.stride.get_values(),
            padding=self.padding.get_values(),
            dilation=self.dilation.get_values(),
        )
