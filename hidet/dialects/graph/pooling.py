"""Operators that combine the elements of a window sliding over images [N, C, H, W] or [C, H, W]."""

from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.base import (
    FALSE,
    INT,
    INTS,
    TENSOR,
    TRUE,
    GraphOp,
    Tensor,
    Value,
    check_float,
    integer,
    ints,
    tensor_type,
)
from hidet.dialects.graph.window import Window, per_dimension


def pooled(name: str, x: Tensor, window: Window) -> Tensor:
    """Give the type of one element for each position of the window."""
    check_float(name, x)
    sizes = x.get_shape()
    if len(sizes) not in (3, 4):
        raise VerifyException(f"{name}: needs images [N, C, H, W] or [C, H, W], got {x}")
    if any(2 * p > k for p, k in zip(window.padding, window.kernel, strict=True)):
        raise VerifyException(
            f"{name}: padding {list(window.padding)} is more than half of the kernel "
            f"{list(window.kernel)}"
        )
    return TensorType(x.element_type, [*sizes[:-2], *window.count(name, sizes[-2:])])


@irdl_op_definition
class MaxPool2dOp(GraphOp):
    """The largest element of each window, NaN if any is; padding never counts."""

    name = "graph.max_pool2d"

    x = operand_def(TENSOR)
    kernel = prop_def(INTS)
    stride = prop_def(INTS)
    padding = prop_def(INTS, default_value=ints((0, 0)))
    dilation = prop_def(INTS, default_value=ints((1, 1)))
    ceil_mode = prop_def(BoolAttr, default_value=FALSE)

    def __init__(
        self,
        x: Value,
        kernel: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        *,
        ceil_mode: bool = False,
    ) -> None:
        window = Window(
            kernel=per_dimension(kernel, 2),
            stride=per_dimension(kernel if stride is None else stride, 2),
            padding=per_dimension(padding, 2),
            dilation=per_dimension(dilation, 2),
            ceil_mode=ceil_mode,
        )
        super().__init__(
            operands=[x],
            properties={
                "kernel": ints(window.kernel),
                "stride": ints(window.stride),
                "padding": ints(window.padding),
                "dilation": ints(window.dilation),
                "ceil_mode": BoolAttr.from_bool(ceil_mode),
            },
            result_types=[pooled(self.name, tensor_type(x), window)],
        )

    @property
    def window(self) -> Window:
        """The window that slides over the image."""
        return Window(
            kernel=self.kernel.get_values(),
            stride=self.stride.get_values(),
            padding=self.padding.get_values(),
            dilation=self.dilation.get_values(),
            ceil_mode=bool(self.ceil_mode),
        )

    def infer_type(self) -> Tensor:
        """Give the type of one element for each position of the window."""
        return pooled(self.name, tensor_type(self.x), self.window)


@irdl_op_definition
class AvgPool2dOp(GraphOp):
    """The sum of each window, divided by `divisor` or else by the number of its elements.

    Padding counts as elements of value 0 unless `count_include_pad` is false; what hangs over the
    padding (`ceil_mode`) never counts.
    """

    name = "graph.avg_pool2d"

    x = operand_def(TENSOR)
    kernel = prop_def(INTS)
    stride = prop_def(INTS)
    padding = prop_def(INTS, default_value=ints((0, 0)))
    ceil_mode = prop_def(BoolAttr, default_value=FALSE)
    count_include_pad = prop_def(BoolAttr, default_value=TRUE)
    divisor = opt_prop_def(INT)

    def __init__(
        self,
        x: Value,
        kernel: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        *,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor: int | None = None,
    ) -> None:
        window = Window(
            kernel=per_dimension(kernel, 2),
            stride=per_dimension(kernel if stride is None else stride, 2),
            padding=per_dimension(padding, 2),
            ceil_mode=ceil_mode,
        )
        super().__init__(
            operands=[x],
            properties={
                "kernel": ints(window.kernel),
                "stride": ints(window.stride),
                "padding": ints(window.padding),
                "ceil_mode": BoolAttr.from_bool(ceil_mode),
                "count_include_pad": BoolAttr.from_bool(count_include_pad),
                "divisor": None if divisor is None else integer(divisor),
            },
            result_types=[pooled(self.name, tensor_type(x), window)],
        )

    @property
    def window(self) -> Window:
        """The window that slides over the image."""
        return Window(
            kernel=self.kernel.get_values(),
            stride=self.stride.get_values(),
            padding=self.padding.get_values(),
            ceil_mode=bool(self.ceil_mode),
        )

    def infer_type(self) -> Tensor:
        """Give the type of one element for each position of the window."""
        if self.divisor is not None and self.divisor.value.data == 0:
            raise VerifyException(f"{self.name}: the divisor must not be 0")
        return pooled(self.name, tensor_type(self.x), self.window)


def adaptively_pooled(x: Tensor, output_size: Sequence[int]) -> Tensor:
    """Give the type of the means of `output_size` parts of images."""
    name = "graph.adaptive_avg_pool2d"
    check_float(name, x)
    sizes = x.get_shape()
    if len(sizes) not in (3, 4) or len(output_size) != 2 or min(output_size) < 1:
        raise VerifyException(
            f"{name}: needs images [N, C, H, W] or [C, H, W] and two sizes >= 1, got {x} and "
            f"{list(output_size)}"
        )
    if 0 in sizes[-2:]:
        raise VerifyException(f"{name}: there is no mean of no elements of {x}")
    return TensorType(x.element_type, [*sizes[:-2], *output_size])


@irdl_op_definition
class AdaptiveAvgPool2dOp(GraphOp):
    """The mean of each of `output_size` parts of images.

    Part i of n of a dimension of size s holds the elements floor(i s / n) ... ceil((i + 1) s / n),
    the last not among them: parts overlap where n does not divide s.
    """

    name = "graph.adaptive_avg_pool2d"

    x = operand_def(TENSOR)
    output_size = prop_def(INTS)

    def __init__(self, x: Value, output_size: int | Sequence[int]) -> None:
        size = per_dimension(output_size, 2)
        super().__init__(
            operands=[x],
            properties={"output_size": ints(size)},
            result_types=[adaptively_pooled(tensor_type(x), size)],
        )

    def infer_type(self) -> Tensor:
        """Give the type of the means."""
        return adaptively_pooled(tensor_type(self.x), self.output_size.get_values())
