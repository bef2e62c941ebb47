"""Operators that multiply, matmul, linear layers and convolutions; sliding windows."""

from abc import ABC
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from xdsl.dialects.builtin import BoolAttr, StringAttr, TensorType, f16
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.fields import Field
from hidet.dialects.graph.base import (
    FALSE,
    FLOATS,
    INT,
    INTEGERS,
    INTS,
    NUMBER,
    TENSOR,
    GraphOp,
    Number,
    OneOperandOp,
    Tensor,
    Value,
    broadcast_shapes,
    computation_type,
    element_type,
    integer,
    ints,
    number,
    shape_of,
    tensor_type,
)


class ProductOp(GraphOp, ABC):
    """An operator that sums products, whose result may be wider than the operands.

    `result_element` is its element type, by default that of the first operand.
    """

    def __init__(
        self, first: Value, *others: Field, result_element: Attribute | None = None, **named: Field
    ) -> None:
        result = TensorType(result_element or element_type(first), [])
        super().__init__(first, *others, result=result, **named)


class AnchorOp(ProductOp, ABC):
    """An operator that a template computes tile by tile, instead of becoming grids.

    `lower-graph-to-compute` keeps it, and `fuse` builds a kernel around it: producer grids become
    views that it loads, and grids that read one element of its result per element are its epilogue,
    evaluated at the stores. To add one, derive the operator from this class and write a template
    that accepts it.
    """


IEEE = StringAttr("ieee")
"""Operand precision, with f32 accumulation for f16 and bf16."""

PRECISIONS = ("ieee", "tf32", "f16", "fma")
"""`tf32` permits TF32 tensor cores for f32; `f16` accumulates f16 in f16; `fma` forbids tensor
cores."""


def check_precision(name: str, precision: StringAttr) -> None:
    """Raise `VerifyException` unless a precision is valid."""
    if precision.data not in PRECISIONS:
        names = ", ".join(PRECISIONS)
        raise VerifyException(f"{name}: precision must be one of {names}, got {precision}")


def sum_type(element: Attribute, precision: StringAttr) -> Attribute:
    """Return the accumulator type of an element type."""
    in_half = element == f16 and precision.data == "f16"
    return element if in_half else computation_type(element)


def check_bias(name: str, weight: SSAValue, bias: SSAValue | None) -> None:
    """Raise `VerifyException` unless a bias has the outputs of a weight [O, ...]."""
    if bias is not None and shape_of(bias) != shape_of(weight)[:1]:
        raise VerifyException(f"{name}: the bias of weight {weight.type} cannot be {bias.type}")


@irdl_op_definition
class MatmulOp(AnchorOp):
    """Matrix multiplication of [..., M, K] and [..., K, N]; leading dimensions broadcast.

    The result may be wider than the operands, such as f32 for f16: it has the accumulator type.
    """

    name = "graph.matmul"

    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)
    precision = prop_def(StringAttr, default_value=IEEE)

    def _infer_type(self) -> Tensor:
        check_precision(self.name, self.precision)
        self.check_same_element(*map(tensor_type, self.operands))
        left, right = map(shape_of, self.operands)
        if len(left) < 2 or len(right) < 2 or left[-1] != right[-2]:
            raise self.invalid(
                f"needs operands [..., M, K] and [..., K, N], got {self.lhs.type} and "
                f"{self.rhs.type}"
            )
        element = self.result_type.element_type
        self.check_sum_element(tensor_type(self.lhs), element)
        batch = broadcast_shapes(self.name, left[:-2], right[:-2])
        return TensorType(element, [*batch, left[-2], right[-1]])


@irdl_op_definition
class GroupedMatmulOp(AnchorOp):
    """Consecutive groups of the rows of [M, K], each times its own matrix of [G, K, N].

    `ends` [G] are the ends of the groups, in ascending order. Rows behind the last one are zeros.
    The result may be wider than the operands, as that of `graph.matmul`.
    """

    name = "graph.grouped_matmul"

    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)
    ends = operand_def(TENSOR)
    precision = prop_def(StringAttr, default_value=IEEE)

    def _infer_type(self) -> Tensor:
        check_precision(self.name, self.precision)
        lhs, rhs, ends = map(tensor_type, self.operands)
        self.check_same_element(lhs, rhs)
        INTEGERS.check(self.name, ends)
        left, right, groups = lhs.get_shape(), rhs.get_shape(), ends.get_shape()
        if len(left) != 2 or right[:-1] != (*groups, left[1]) or len(groups) != 1 or 0 in groups:
            raise self.invalid(f"needs [M, K], [G, K, N] and [G], got {lhs}, {rhs} and {ends}")
        element = self.result_type.element_type
        self.check_sum_element(lhs, element)
        return TensorType(element, [left[0], right[-1]])


@irdl_op_definition
class LinearOp(GraphOp):
    """x [..., I] times the transposed weight [O, I], plus the optional bias [O]."""

    name = "graph.linear"

    x = operand_def(TENSOR)
    weight = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    precision = prop_def(StringAttr, default_value=IEEE)

    def _infer_type(self) -> Tensor:
        check_precision(self.name, self.precision)
        self.check_same_element(*map(tensor_type, self.operands))
        sizes, weights = shape_of(self.x), shape_of(self.weight)
        if not sizes or len(weights) != 2 or sizes[-1] != weights[1]:
            raise self.invalid(
                f"needs x [..., I] and weight [O, I], got {self.x.type} and {self.weight.type}"
            )
        check_bias(self.name, self.weight, self.bias)
        return TensorType(element_type(self.x), [*sizes[:-1], weights[0]])


@dataclass(frozen=True)
class Window:
    """A window over the spatial dimensions, with one number of each field per dimension.

    `stride` is the distance of window positions, `dilation` that of window elements; the padding is
    on both sides. In `ceil_mode` a last position that exceeds the end counts, if it begins in the
    image or its leading padding.
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
        return [self._positions(name, *each) for each in zip(sizes, *fields, strict=True)]

    def _positions(
        self, name: str, size: int, kernel: int, stride: int, padding: int, dilation: int
    ) -> int:
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
class Conv2dOp(ProductOp):
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

    @property
    def window(self) -> Window:
        """The sliding window."""
        fields = self.stride, self.padding, self.dilation
        stride, padding, dilation = (each.get_values() for each in fields)
        return Window(shape_of(self.weight)[2:], stride, padding, dilation)

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


class FilterGradientOp(ProductOp, ABC):
    """An operator of images and `grad`, the gradient of their convolution, and its window."""

    x = operand_def(TENSOR)
    grad = operand_def(TENSOR)
    kernel = prop_def(INTS)
    stride = prop_def(INTS, default_value=ints((1, 1)))
    dilation = prop_def(INTS, default_value=ints((1, 1)))
    groups = prop_def(INT, default_value=integer(1))

    @property
    def window(self) -> Window:
        """The sliding window."""
        fields = self.kernel, self.stride, self.dilation
        kernel, stride, dilation = (each.get_values() for each in fields)
        return Window(kernel, stride, (0, 0), dilation)

    def _check_operands(self) -> None:
        """Raise `VerifyException` unless images and gradient fit to each other and the result."""
        x, grad = tensor_type(self.x), tensor_type(self.grad)
        if x.get_num_dims() != 4 or grad.get_num_dims() != 4:
            raise self.invalid(f"input and gradient must have rank 4, got {x} and {grad}")
        self.check_sum_element(x, self.result_type.element_type)
        self.check_same_element(x, grad)
        FLOATS.check(self.name, x)

    def _check_groups(self, channels: int, filters: int) -> int:
        """Return the number of groups; raise `VerifyException` unless it divides both numbers."""
        groups = self.groups.value.data
        if groups < 1 or channels % groups or filters % groups:
            raise self.invalid(
                f"{groups} groups do not fit input {self.x.type} and gradient {self.grad.type}"
            )
        return groups

    def _check_gradient(self, *shape: int) -> None:
        """Raise `VerifyException` unless the gradient has the shape of the convolution."""
        if shape_of(self.grad) != shape:
            raise self.invalid(
                f"the gradient of input {self.x.type} must have shape {shape}, got {self.grad.type}"
            )


@irdl_op_definition
class Conv2dFilterGradientOp(FilterGradientOp):
    """The gradient [F, C / groups, KH, KW] of the filters of `graph.conv2d`.

    x [N, C, H, W] is what it convolves, `grad` [N, F, OH, OW] the gradient of its result.
    """

    name = "graph.conv2d_filter_gradient"

    padding = prop_def(INTS, default_value=ints((0, 0)))
    precision = prop_def(StringAttr, default_value=IEEE)

    @property
    def window(self) -> Window:
        """The sliding window."""
        return replace(super().window, padding=self.padding.get_values())

    def _infer_type(self) -> Tensor:
        check_precision(self.name, self.precision)
        self._check_operands()
        images, channels, *sizes = shape_of(self.x)
        filters = shape_of(self.grad)[1]
        groups = self._check_groups(channels, filters)
        self._check_gradient(images, filters, *self.window.count(self.name, sizes))
        shape = [filters, channels // groups, *self.window.kernel]
        return TensorType(self.result_type.element_type, shape)


@irdl_op_definition
class GroupedConv2dOp(AnchorOp):
    """x [N, H, W, C] convolved with filters [KH, KW, D, F], without padding, group by group.

    There are C / D groups, each with D adjacent channels and the same number of adjacent filters;
    of a depthwise convolution D is 1. The result [N, OH, OW, F] may be wider than the operands,
    such as f32 for f16.
    """

    name = "graph.grouped_conv2d"

    x = operand_def(TENSOR)
    weight = operand_def(TENSOR)
    stride = prop_def(INTS, default_value=ints((1, 1)))
    dilation = prop_def(INTS, default_value=ints((1, 1)))

    @property
    def window(self) -> Window:
        """The sliding window."""
        stride, dilation = self.stride.get_values(), self.dilation.get_values()
        return Window(shape_of(self.weight)[:2], stride, (0, 0), dilation)

    def _infer_type(self) -> Tensor:
        x, weight = tensor_type(self.x), tensor_type(self.weight)
        if x.get_num_dims() != 4 or weight.get_num_dims() != 4:
            raise self.invalid(f"input and weight must have rank 4, got {x} and {weight}")
        element = self.result_type.element_type
        self.check_sum_element(x, element)
        self.check_same_element(x, weight)
        FLOATS.check(self.name, x)
        (images, *sizes, channels), (*_, depth, filters) = x.get_shape(), weight.get_shape()
        if depth < 1 or channels % depth or filters % max(channels // depth, 1):
            raise self.invalid(f"groups of {depth} channels do not fit input {x}, weight {weight}")
        return TensorType(element, [images, *self.window.count(self.name, sizes), filters])


@irdl_op_definition
class GroupedFilterGradientOp(FilterGradientOp, AnchorOp):
    """The gradient of the filters of a grouped convolution of x [N, H, W, C], without padding.

    `grad` [N, OH, OW, F] is the gradient of its result. Its rows, N OH, are split into `parts` of
    the same size, of which the last one may have fewer; the result [parts, KH, KW, C / groups, F]
    has the sums of each part. It may be wider than the operands, such as f32 for f16.
    """

    name = "graph.grouped_filter_gradient"

    parts = prop_def(INT, default_value=integer(1))

    def _infer_type(self) -> Tensor:
        self._check_operands()
        images, *sizes, channels = shape_of(self.x)
        filters = shape_of(self.grad)[3]
        groups = self._check_groups(channels, filters)
        self._check_gradient(images, *self.window.count(self.name, sizes), filters)
        parts = self.parts.value.data
        if parts < 1:
            raise self.invalid(f"parts must be at least 1, got {parts}")
        shape = [parts, *self.window.kernel, channels // groups, filters]
        return TensorType(self.result_type.element_type, shape)


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
        super().__init__(x, outside=number(outside, element_type(x)), **asdict(window))

    @property
    def window(self) -> Window:
        """The sliding window."""
        fields = self.kernel, self.stride, self.padding, self.dilation
        kernel, stride, padding, dilation = (each.get_values() for each in fields)
        return Window(kernel, stride, padding, dilation, bool(self.ceil_mode))

    def _infer_type(self) -> Tensor:
        found, sizes, window = self.x_type, shape_of(self.x), self.window
        if len(sizes) < 2:
            raise self.invalid(f"needs images [..., H, W], got {found}")
        if self.outside.type != found.element_type:
            raise self.invalid(f"the value {self.outside} does not fit {found}")
        counts = window.count(self.name, sizes[-2:])
        return TensorType(found.element_type, [*sizes[:-2], *counts, *window.kernel])
