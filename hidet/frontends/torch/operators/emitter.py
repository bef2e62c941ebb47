"""The builder of translations."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, cast

import torch
from torch import fx
from xdsl.dialects.builtin import LocationAttr, TensorType, UnknownLoc, i64
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.irdl import IRDLOperation

from hidet.dialects import graph
from hidet.dialects.graph.base import Number, element_type, is_float, is_integer, shape_of
from hidet.errors import UnsupportedOperatorError
from hidet.frontends.torch.dtypes import element_of, type_of
from hidet.frontends.torch.locations import location_of, name_hint
from hidet.frontends.torch.nodes import Overload, first_tensor, fp32_precision, may_be_tf32

Operand: TypeAlias = SSAValue | Number
"""An operand of an elementwise operator: a tensor or a Python scalar."""
Results: TypeAlias = SSAValue | tuple[SSAValue | None, ...]
"""The result of a translation: a value, or several, with None for one that is not computed."""
Translation: TypeAlias = Callable[..., Results]
"""Builds the operations for a call of an ATen operator.

It takes an `Emitter` and the arguments of the call, tensors as values, except `dtype`, `device`,
`memory_format` and the like, which the type of the result implies. It raises
`UnsupportedOperatorError`, or an operation's `VerifyException`, if the graph dialect cannot express
the call.
"""
Table: TypeAlias = dict[Overload, Translation]
"""Translations by operator."""


class Emitter:
    """Appends operations to a block, with the location and the name of the current FX node."""

    def __init__(self, block: Block, integers_of: Callable[[Any], list[int] | None]) -> None:
        self.block = block
        self.integers_of = integers_of
        """Returns the elements of a node that depends on no input; None of others."""
        self.node: fx.Node
        """The current node."""
        self.flags: set[str] = set()
        """The kinds of contractions that are emitted, if torch's flags for TF32 apply to them."""
        self._location: LocationAttr = UnknownLoc()
        self._hint: str | None = None

    def start(self, node: fx.Node) -> None:
        """Set the current node."""
        self.node = node
        self._location = location_of(node)
        self._hint = name_hint(node)

    def emit(self, op: graph.GraphOp) -> SSAValue:
        """Append an operation, and return its result; see `emit_all`."""
        return self.emit_all(op, self._hint)[0]

    def emit_all(self, op: IRDLOperation, hint: str | None) -> Sequence[SSAValue]:
        """Append an operation, and return its results, which are named after `hint`.

        Raises:
            VerifyException: the operation is invalid.
        """
        op.verify_()
        op.location = self._location
        for result in op.results:
            result.name_hint = hint
        self.block.add_op(op)
        return op.results

    @property
    def meta(self) -> torch.Tensor:
        """The fake tensor of the result, the first of several."""
        return first_tensor(self.node)

    @property
    def statistics_element(self) -> Attribute:
        """The element type of the second result: of the statistics that norms return."""
        return element_of(cast("Sequence[torch.Tensor]", self.node.meta["val"])[1].dtype)

    @property
    def element(self) -> Attribute:
        """The element type of the result."""
        return element_of(self.meta.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        return tuple(self.meta.shape)

    def precision(self, kind: Literal["matmul", "conv"]) -> str:
        """Return the precision of a contraction with this result: "ieee" or "tf32"."""
        if not may_be_tf32(self.meta):
            return "ieee"
        self.flags.add(kind)
        return fp32_precision(kind)

    def scalar(self, value: Number, element: Attribute) -> SSAValue:
        """Append a scalar constant."""
        result = self.emit(graph.FillOp(value, TensorType(element, [])))
        result.name_hint = None  # the node's name is for its result
        return result

    def fill(self, value: Number) -> SSAValue:
        """Append a tensor filled with a value, of the type of the result."""
        return self.emit(graph.FillOp(value, type_of(self.meta)))

    def cast(self, x: SSAValue, element: Attribute) -> SSAValue:
        """Convert the element type, if it differs."""
        return x if element_type(x) == element else self.emit(graph.CastOp(x, element))

    def operand(self, x: Operand, element: Attribute) -> SSAValue:
        """Return a tensor or a Python scalar as a value of an element type."""
        return self.cast(x, element) if isinstance(x, SSAValue) else self.scalar(x, element)

    def reshape(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Change the shape, if it differs; consecutive reshapes are combined."""
        x = before_reshape(x)
        return x if shape_of(x) == tuple(shape) else self.emit(graph.ReshapeOp(x, shape))

    def permute(self, x: SSAValue, dims: Sequence[int]) -> SSAValue:
        """Permute the dimensions, unless in order."""
        unchanged = list(dims) == list(range(len(dims)))
        return x if unchanged else self.emit(graph.PermuteOp(x, dims))

    def expand(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Broadcast to a shape, if it differs."""
        return x if shape_of(x) == tuple(shape) else self.emit(graph.ExpandOp(x, shape))

    def slice(self, x: SSAValue, axis: int, start: int, stop: int, step: int = 1) -> SSAValue:
        """Slice along an axis, with bounds of a range, unless the slice is everything."""
        sizes = shape_of(x)
        if (start, stop, step) == (0, sizes[axis], 1):
            return x
        starts, stops, steps = [0] * len(sizes), list(sizes), [1] * len(sizes)
        starts[axis], stops[axis], steps[axis] = start, stop, step
        return self.emit(graph.SliceOp(x, starts, stops, steps))

    @property
    def operator_name(self) -> str:
        """The name of the current node's operator: `aten.index_select`."""
        return str(self.node.target).rpartition(".")[0]

    def positions(self, ids: SSAValue, size: int, *, from_end: bool = False) -> SSAValue:
        """Append a bounds check of indices, and return them, nonnegative.

        Negative ones may count from the end.

        Raises:
            UnsupportedOperatorError: the dimension is empty, where eager torch raises an error.
        """
        if size == 0 and 0 not in shape_of(ids):
            raise unsupported("it looks for something in a dimension of size 0")
        if size == 0:
            return ids
        return self.emit(graph.CheckedPositionsOp(ids, size, from_end, self.operator_name))

    def along(self, sizes: Sequence[int], dim: int, start: int = 0, step: int = 1) -> SSAValue:
        """Append the i64 numbers along a dimension, as a tensor that broadcasts to the sizes."""
        kind = TensorType(i64, [size if axis == dim else 1 for axis, size in enumerate(sizes)])
        return self.emit(graph.IotaOp(kind, dim=dim, start=start, step=step))

    def divisor(self, x: Operand) -> SSAValue:
        """Return a divisor in the type of the result; integers are checked for 0, except on GPUs.

        Torch's kernels for GPUs do not check them either.
        """
        result = self.operand(x, self.element)
        may_be_zero = isinstance(x, SSAValue) or x == 0
        if not is_integer(self.element) or not may_be_zero or self.meta.device.type != "cpu":
            return result
        return self.emit(graph.CheckedDivisorOp(result, self.operator_name))


def before_reshape(x: SSAValue) -> SSAValue:
    """Return the operand of a reshape, which has the same elements; other values themselves."""
    return x.owner.x if isinstance(x.owner, graph.ReshapeOp) else x


def holds_floats(x: SSAValue) -> bool:
    """Return whether a tensor has a floating-point type."""
    return is_float(element_type(x))


def unsupported(reason: str) -> UnsupportedOperatorError:
    """Return the error of an unsupported call; the subject of the reason is the operator."""
    return UnsupportedOperatorError(
        reason, hint="options={'fallback': True} leaves such operators to eager torch"
    )
