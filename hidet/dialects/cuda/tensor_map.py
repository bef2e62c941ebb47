"""Tensor maps: what launches pass for tensors whose boxes kernels copy (Hopper)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    I64,
    ArrayAttr,
    DenseArrayBase,
    FixedBitwidthType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.cuda.tensor_core import SWIZZLES
from hidet.dialects.shaped import memref_type

MAX_RANK, MAX_BOX = 5, 256
"""The dimensions of a tensor, and the elements of a box along each (CUDA driver API,
cuTensorMapEncodeTiled)."""

ALIGNMENT = 16
"""What an address, the strides of a tensor and a row of a box are multiples of, in bytes (the
same)."""


def box_problem(
    shape: Sequence[int], box: Sequence[int], element_bytes: int, swizzle: int
) -> tuple[str, str] | None:
    """Return what keeps such boxes of a tensor from being copied, and what would be right."""
    if not 1 <= len(shape) <= MAX_RANK or len(box) != len(shape):
        return (
            f"a box with {len(box)} extents of a tensor with {len(shape)} dimensions",
            f"as many extents as dimensions, of which there are 1 to {MAX_RANK}",
        )
    if any(not 1 <= extent <= MAX_BOX for extent in box):
        return (
            f"a box of {list(box)} elements",
            f"the extents are 1 to {MAX_BOX}; a larger tile takes several copies",
        )
    if swizzle not in SWIZZLES:
        return (
            f"a box cannot be swizzled in {swizzle!r} bytes",
            f"there is {', '.join(map(str, SWIZZLES))}",
        )
    row = box[-1] * element_bytes
    if row % ALIGNMENT or row > (swizzle or row):
        limit = f", and no more than the {swizzle} of the swizzle" if swizzle else ""
        return f"a row of the box has {row} bytes", f"a multiple of {ALIGNMENT}{limit}"
    return None


@irdl_attr_definition
class TensorMapType(ParametrizedAttribute, TypeAttribute):
    """`!cuda.tensor_map<tensor<8x64xf16>, box [8, 32], swizzle 64>`: a tensor and boxes of it.

    It is an argument of a kernel, of 128 bytes, which the host encodes (cuTensorMapEncodeTiled):
    the tensor in global memory, the box that one copy takes out of it, in the order of the
    dimensions, and the span in bytes that the 16-byte pieces of the box's rows are permuted in.
    """

    name = "cuda.tensor_map"

    tensor: TensorType
    box: ArrayAttr[IntAttr]
    swizzle: IntAttr

    def __init__(self, tensor: TensorType, box: Sequence[int], swizzle: int = 0) -> None:
        super().__init__(tensor, ArrayAttr([IntAttr(extent) for extent in box]), IntAttr(swizzle))

    @property
    def box_extents(self) -> tuple[int, ...]:
        """The extents of the box."""
        return tuple(extent.data for extent in self.box)

    @property
    def element_bytes(self) -> int:
        """The bytes of an element in memory."""
        element = self.tensor.get_element_type()
        if not isinstance(element, FixedBitwidthType):
            raise VerifyException(f"a tensor map of elements of type {element}")
        return max(element.bitwidth // 8, 1)

    def verify(self) -> None:
        """Check that there is a tensor map of such a tensor and box."""
        shape = self.tensor.get_shape()
        if DYNAMIC_INDEX in shape:
            raise VerifyException(f"a tensor map of {self.tensor}, whose extents must be known")
        problem = box_problem(shape, self.box_extents, self.element_bytes, self.swizzle.data)
        if problem is not None:
            raise VerifyException("; ".join(problem))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<tensor<8x64xf16>, box [8, 32], swizzle 64>`; the swizzle may be left out."""
        with parser.in_angle_brackets():
            tensor = parser.parse_type()
            parser.parse_punctuation(",")
            parser.parse_keyword("box")
            box = parser.parse_comma_separated_list(
                AttrParser.Delimiter.SQUARE, parser.parse_integer
            )
            swizzle = 0
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("swizzle")
                swizzle = parser.parse_integer()
        return tensor, ArrayAttr([IntAttr(extent) for extent in box]), IntAttr(swizzle)

    def print_parameters(self, printer: Printer) -> None:
        """Print what `parse_parameters` reads."""
        with printer.in_angle_brackets():
            printer.print_attribute(self.tensor)
            printer.print_string(f", box {list(self.box_extents)}")
            if self.swizzle.data:
                printer.print_string(f", swizzle {self.swizzle.data}")


@irdl_op_definition
class TensorMapOp(IRDLOperation):
    """`cuda.tensor_map %x offset 64 : memref<..> -> !cuda.tensor_map<..>`: the map of a tensor.

    The tensor lies in the memory of the buffer, whose shape does not count: from an offset on, and
    row by row unless there are `strides`; both are numbers of elements. In a host function a launch
    passes the map. In a kernel it is one of an argument, until `pass-tensor-maps` moves it out.
    """

    name = "cuda.tensor_map"

    buffer = operand_def(MemRefType)
    offset = opt_prop_def(IntegerAttr[I64])
    strides = opt_prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorMapType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$buffer (`offset` $offset^)? (`strides` $strides^)? attr-dict `:` type($buffer) `->` "
        "type($result)"
    )
    traits = traits_def(Pure())

    def __init__(
        self,
        buffer: SSAValue,
        kind: TensorMapType,
        offset: int = 0,
        strides: Sequence[int] = (),
    ) -> None:
        super().__init__(
            operands=[buffer],
            properties={
                "offset": IntegerAttr(offset, i64) if offset else None,
                "strides": DenseArrayBase.from_list(i64, tuple(strides)) if strides else None,
            },
            result_types=[kind],
        )

    @property
    def kind(self) -> TensorMapType:
        """The type of the map."""
        assert isinstance(self.result.type, TensorMapType)
        return self.result.type

    @property
    def first(self) -> int:
        """Where the tensor begins in the buffer, in elements."""
        return 0 if self.offset is None else self.offset.value.data

    @property
    def steps(self) -> tuple[int, ...]:
        """The strides of the tensor, in elements."""
        if self.strides is not None:
            return tuple(self.strides.get_values())
        shape = self.kind.tensor.get_shape()
        return tuple(prod(shape[number + 1 :]) for number in range(len(shape)))

    def of(self, buffer: SSAValue) -> TensorMapOp:
        """Return the same map of another buffer."""
        strides = () if self.strides is None else self.steps
        return TensorMapOp(buffer, self.kind, self.first, strides)

    def verify_(self) -> None:
        """Check that the tensor lies in the buffer, where copies can follow its strides."""
        buffer, shape = memref_type(self.buffer), self.kind.tensor.get_shape()
        if 0 in shape:
            raise VerifyException(f"a map of {self.kind.tensor}, which has no elements to copy")
        if buffer.get_element_type() != self.kind.tensor.get_element_type():
            raise VerifyException(f"a map of {self.kind.tensor} over {buffer}")
        size = self.kind.element_bytes
        *outer, last = self.steps if len(self.steps) == len(shape) else (0,)
        if last != 1 or any(step < 1 or step * size % ALIGNMENT for step in outer):
            raise VerifyException(
                f"a tensor map with strides {list(self.steps)}; there is one for each dimension, "
                f"the last is 1, and the others are multiples of {ALIGNMENT} bytes"
            )
        if self.first < 0 or self.first * size % ALIGNMENT:
            raise VerifyException(
                f"a tensor map with offset {self.first}, which is no multiple of {ALIGNMENT} bytes"
            )
        end = self.first + 1 + sum((e - 1) * s for e, s in zip(shape, self.steps, strict=True))
        known = DYNAMIC_INDEX not in buffer.get_shape()
        if known and end > prod(buffer.get_shape()):
            raise VerifyException(f"a tensor map of {end} elements from the start of {buffer}")
