"""Sliding windows over images, and convolutions with them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from xdsl.dialects.builtin import BoolAttr, StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.base import (
    FALSE,
    FLOATS,
    INT,
    INTS,
    NUMBER,
    TENSOR,
    GraphOp,
    Number,
    OneOperandOp,
    Tensor,
    Value,
    element_type,
    integer,
    ints,
    number,
    shape_of,
    tensor_type,
)
from hidet.dialects.graph.contraction import IEEE, AnchorOp, check_bias, check_precision


@dataclass(frozen=True)
class Window:
    """A window over the spatial dimensions; every field has one number per dimension.

    Args:
        kernel: the size of the window.
        stride: the distance of window positions.
        padding: the padding on both sides.
        dilation: the distance of window elements.
        ceil_mode: whether a last position that exceeds the end counts, if it begins in the image
            or its leading padding.
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...] = (1, 1)
    ceil_mode: bool = False

    def count(self, name: str, sizes: Sequence[int]) -> list[int]:
        """Return the number of positions in each dimension of an image."""
        fields = (self.kernel, self.stride, self.padding, self.dilation)
        if any(len(field) != len(sizes) for field in fields):
            raise VerifyException(
                f"{name}: kernel {list(self.kernel)}, stride {list(self.stride)}, padding "
                f"{list(self.padding)} and dilation {list(self.dilation)} must have "
                f"{len(sizes)} numbers each"
            )
        return [self._positions(name, size, axis) for axis, size in enumerate(sizes)]

    def _positions(self, name: str, size: int, axis: int) -> int:
        kernel, stride = self.kernel[axis], self.stride[axis]
        padding, dilation = self.padding[axis], self.dilation[axis]
        if min(kernel, stride, dilation) < 1 or padding < 0:
            raise VerifyException(
                f"{name}: kernel {kernel}, stride {stride} and dilation {dilation} must be at "
                f"least 1, and padding {padding} not negative"
            )
        room = size + 2 * padding - dilation * (kernel - 1) - 1
        if room < 0:
            raise VerifyException(
                f"{name}: a window of {kernel} with dilation {dilation} is larger than {size} "
                f"elements with padding {padding}"
            )
        if not self.ceil_mode:
            return room // stride + 1
        positions = -(-room // stride) + 1
        return positions - 1 if (positions - 1) * stride >= size + padding else positions


def per_dimension(value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """Return one number per dimension, where a single one applies to all."""
    values = (value,) if isinstance(value, int) else tuple(value)
    return values * rank if len(values) == 1 else values


@irdl_op_definition
class Conv2dOp(GraphOp):
    """x [N, C, H, W] convolved with filters [O, C / groups, KH, KW], plus the optional bias [O].

    Images are zero-padded on both sides. With groups, C and O are split into parts that are
    convolved separately. The result may be wider than the operands, such as f32 for f16: it has the
    accumulator type.
    """

    name = "graph.conv2d"

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
        super().__init__(
            x,
            weight,
            bias,
            result=TensorType(result_element or element_type(x), []),
            stride=per_dimension(stride, 2),
            padding=per_dimension(padding, 2),
            dilation=per_dimension(dilation, 2),
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
        if x.get_num_dims() != 4 or weight.get_num_dims() != 4:
            raise self.invalid(f"input and weight must have rank 4, got {x} and {weight}")
        element = self.result_type.element_type
        self.check_sum_element(x, element)
        self.check_same_element(*map(tensor_type, self.operands))
        FLOATS.check(self.name, x)
        sizes, weights, groups = x.get_shape(), weight.get_shape(), self.groups.value.data
        if groups < 1 or sizes[1] != weights[1] * groups or weights[0] % groups:
            raise self.invalid(f"{groups} groups do not fit input {x} and weight {weight}")
        check_bias(self.name, self.weight, self.bias)
        shape = [sizes[0], weights[0], *self.window.count(self.name, sizes[2:])]
        return TensorType(element, shape)


@irdl_op_definition
class DepthwiseConv2dOp(AnchorOp):
    """x [N, H, W, C] convolved channel by channel with filters [KH, KW, C], without padding.

    The result [N, OH, OW, C] may be wider than the operands, such as f32 for f16.
    """

    name = "graph.depthwise_conv2d"

    x = operand_def(TENSOR)
    weight = operand_def(TENSOR)
    stride = prop_def(INTS, default_value=ints((1, 1)))
    dilation = prop_def(INTS, default_value=ints((1, 1)))

    def __init__(
        self,
        x: Value,
        weight: Value,
        *,
        stride: Sequence[int] = (1, 1),
        dilation: Sequence[int] = (1, 1),
        result_element: Attribute | None = None,
    ) -> None:
        result = TensorType(result_element or element_type(x), [])
        super().__init__(x, weight, result=result, stride=stride, dilation=dilation)

    @property
    def window(self) -> Window:
        """The sliding window."""
        return Window(
            kernel=shape_of(self.weight)[:2],
            stride=self.stride.get_values(),
            padding=(0, 0),
            dilation=self.dilation.get_values(),
        )

    def _infer_type(self) -> Tensor:
        x, weight = tensor_type(self.x), tensor_type(self.weight)
        if x.get_num_dims() != 4 or weight.get_num_dims() != 3:
            raise self.invalid(f"input and weight must have ranks 4 and 3, got {x} and {weight}")
        element = self.result_type.element_type
        self.check_sum_element(x, element)
        self.check_same_element(x, weight)
        FLOATS.check(self.name, x)
        images, *sizes, channels = x.get_shape()
        if weight.get_shape()[2] != channels:
            raise self.invalid(f"input {x} and weight {weight} have different channels")
        return TensorType(element, [images, *self.window.count(self.name, sizes), channels])


@irdl_op_definition
class WindowsOp(OneOperandOp):
    """The windows that slide over images [..., H, W], as a view [..., OH, OW, KH, KW].

    Elements that are not in the image are `outside`.
    """

    name = "graph.windows"

    kernel = prop_def(INTS)
    stride = prop_def(INTS, default_value=ints((1, 1)))
    padding = prop_def(INTS, default_value=ints((0, 0)))
    dilation = prop_def(INTS, default_value=ints((1, 1)))
    ceil_mode = prop_def(BoolAttr, default_value=FALSE)
    outside = prop_def(NUMBER)

    def __init__(self, x: Value, outside: Number, window: Window) -> None:
        properties = asdict(window)
        super().__init__(x, outside=number(outside, element_type(x)), **properties)

    @property
    def window(self) -> Window:
        """The sliding window."""
        return Window(
            kernel=self.kernel.get_values(),
            stride=self.stride.get_values(),
            padding=self.padding.get_values(),
            dilation=self.dilation.get_values(),
            ceil_mode=bool(self.ceil_mode),
        )

    def _infer_type(self) -> Tensor:
        found, sizes, window = self.x_type, shape_of(self.x), self.window
        if len(sizes) < 2:
            raise self.invalid(f"needs images [..., H, W], got {found}")
        if self.outside.type != found.element_type:
            raise self.invalid(f"the value {self.outside} does not fit {found}")
        counts = window.count(self.name, sizes[-2:])
        return TensorType(found.element_type, [*sizes[:-2], *counts, *window.kernel])
