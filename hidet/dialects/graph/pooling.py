"""Pooling over images [N, C, H, W] or [C, H, W]."""

from abc import ABC
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, TensorType, i1
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.base import (
    FALSE,
    FLOATS,
    INT,
    INTS,
    TRUE,
    OneOperandOp,
    Property,
    Tensor,
    Value,
    ints,
    shape_of,
)
from hidet.dialects.graph.window import Window, per_dimension


class PoolOp(OneOperandOp, ABC):
    """A reduction of each window that slides over images."""

    ELEMENTS: ClassVar = FLOATS

    kernel = prop_def(INTS)
    stride = prop_def(INTS)
    padding = prop_def(INTS, default_value=ints((0, 0)))
    ceil_mode = prop_def(BoolAttr, default_value=FALSE)

    def __init__(
        self,
        x: Value,
        kernel: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        *,
        dilation: int | Sequence[int] | None = None,
        **properties: Property,
    ) -> None:
        window = {"kernel": kernel, "stride": stride or kernel, "padding": padding}
        if dilation is not None:
            window["dilation"] = dilation
        pairs = {name: per_dimension(each, 2) for name, each in window.items()}
        super().__init__(x, result=i1, **pairs, **properties)

    @property
    def window(self) -> Window:
        """The sliding window."""
        return Window(
            kernel=self.kernel.get_values(),
            stride=self.stride.get_values(),
            padding=self.padding.get_values(),
            ceil_mode=bool(self.ceil_mode),
        )

    def _infer_type(self) -> Tensor:
        sizes, window = shape_of(self.x), self.window
        if len(sizes) not in (3, 4):
            raise VerifyException(
                f"{self.name}: needs images [N, C, H, W] or [C, H, W], got {self.x_type}"
            )
        if any(2 * p > k for p, k in zip(window.padding, window.kernel, strict=True)):
            raise VerifyException(
                f"{self.name}: padding {list(window.padding)} is more than half of the kernel "
                f"{list(window.kernel)}"
            )
        shape = [*sizes[:-2], *window.count(self.name, sizes[-2:])]
        return TensorType(self.x_type.element_type, shape)


@irdl_op_definition
class MaxPool2dOp(PoolOp):
    """The maximum of each window, NaN if any element is; padding is ignored."""

    name = "graph.max_pool2d"

    dilation = prop_def(INTS, default_value=ints((1, 1)))

    @property
    def window(self) -> Window:
        """The sliding window."""
        return replace(super().window, dilation=self.dilation.get_values())


@irdl_op_definition
class AvgPool2dOp(PoolOp):
    """The sum of each window, divided by `divisor`, or by the number of its elements.

    Padding counts as zeros unless `count_include_pad` is false; elements beyond the padding
    (`ceil_mode`) never count.
    """

    name = "graph.avg_pool2d"

    count_include_pad = prop_def(BoolAttr, default_value=TRUE)
    divisor = opt_prop_def(INT)

    def _infer_type(self) -> Tensor:
        if self.divisor is not None and self.divisor.value.data == 0:
            raise VerifyException(f"{self.name}: the divisor must not be 0")
        return super()._infer_type()


@irdl_op_definition
class AdaptiveAvgPool2dOp(OneOperandOp):
    """The mean of each of `output_size` parts of images.

    Part i of n of a dimension of size s has the elements floor(i s / n) ... ceil((i + 1) s / n),
    exclusive: parts overlap if n does not divide s.
    """

    name = "graph.adaptive_avg_pool2d"
    ELEMENTS: ClassVar = FLOATS

    output_size = prop_def(INTS)

    def __init__(self, x: Value, output_size: int | Sequence[int]) -> None:
        super().__init__(x, output_size=per_dimension(output_size, 2))

    def _infer_type(self) -> Tensor:
        sizes, wanted = shape_of(self.x), self.output_size.get_values()
        if len(sizes) not in (3, 4) or len(wanted) != 2 or min(wanted) < 1:
            raise VerifyException(
                f"{self.name}: needs images [N, C, H, W] or [C, H, W] and two sizes >= 1, got "
                f"{self.x_type} and {list(wanted)}"
            )
        if 0 in sizes[-2:]:
            raise VerifyException(f"{self.name}: there is no mean of no elements of {self.x_type}")
        return TensorType(self.x_type.element_type, [*sizes[:-2], *wanted])
