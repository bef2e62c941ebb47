"""Tensor maps: descriptors of tensors for TMA, passed by launches."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    FixedBitwidthType,
    IntAttr,
    MemRefType,
    TensorType,
    f32,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.cuda.tensor_core import SWIZZLES
from hidet.dialects.effects import PureOp
from hidet.dialects.fields import INT64
from hidet.dialects.shaped import memref_type
from hidet.dialects.syntax import int_array, parse_int_array

MAX_RANK, MAX_BOX = 5, 256
"""The maximum rank of a tensor, and extent of a box (CUDA driver API, cuTensorMapEncodeTiled)."""

ALIGNMENT = 16
"""The alignment of addresses, strides and box rows in bytes (the same)."""

MAX_COLUMN, MAX_STEP = 1024, 8
"""The maximum pixels of a copy, and their stride (the same, cuTensorMapEncodeIm2col)."""

SPATIAL = range(1, 4)
"""The number of spatial dimensions (the same)."""


def corner_bits(dims: int) -> int:
    """Return the bits of an image corner, and of an offset from a pixel.

    CUDA driver API, cuTensorMapEncodeIm2col; PTX ISA, cp.async.bulk.tensor, im2colOffsets.
    """
    return 16 // dims


class Pixels(NamedTuple):
    """The base pixels of im2col copies, by spatial dimension: the first and last one, the stride.

    They may be outside of the image.
    """

    first: tuple[int, ...]
    last: tuple[int, ...]
    step: tuple[int, ...]

    def problem(self, shape: Sequence[int], box: Sequence[int]) -> tuple[str, str] | None:
        """Return what is wrong with pixels of images [n, .., c], and the requirement."""
        dims = len(shape) - 2
        if dims not in SPATIAL or {len(each) for each in self} != {dims} or len(box) != 2:
            return (
                f"pixels {list(self.first)} to {list(self.last)} step {list(self.step)}, "
                f"{list(box)} a copy, of images with {len(shape)} dimensions",
                "a number for each dimension but those of images and of channels, of which there "
                f"are {SPATIAL.start} to {SPATIAL.stop - 1}, and a copy of pixels and channels",
            )
        if not (1 <= box[0] <= MAX_COLUMN and 1 <= box[1] <= MAX_BOX):
            return (
                f"a copy of {box[0]} pixels and {box[1]} channels",
                f"up to {MAX_COLUMN} pixels and {MAX_BOX} channels",
            )
        limit = 1 << corner_bits(dims) - 1
        beyond = [last + 1 - extent for last, extent in zip(self.last, shape[1:], strict=False)]
        if any(not -limit <= corner < limit for corner in (*self.first, *beyond)):
            return (
                f"pixels {list(self.first)} to {list(self.last)} of images {list(shape[1:-1])}",
                f"corners are {-limit} to {limit - 1} pixels from those of the image",
            )
        spans = zip(*self, strict=True)
        if any(not 1 <= step <= MAX_STEP or last < first for first, last, step in spans):
            return (
                f"pixels {list(self.first)} to {list(self.last)} step {list(self.step)}",
                f"steps are 1 to {MAX_STEP}, and the last pixel is not before the first",
            )
        return None


def box_problem(shape: Sequence[int], box: Sequence[int]) -> tuple[str, str] | None:
    """Return what is wrong with boxes of a tensor, and the requirement."""
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
    return None


def row_problem(box: Sequence[int], element_bytes: int, swizzle: int) -> tuple[str, str] | None:
    """Return what is wrong with the swizzle of box rows, and the requirement."""
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

    A kernel argument of 128 bytes, encoded by the host (cuTensorMapEncodeTiled): the tensor in
    global memory, the box of a copy in the order of the dimensions, and the span in bytes in which
    16-byte segments of box rows are permuted. With `tf32` at the end, loads round f32 to the
    nearest TF32 (CU_TENSOR_MAP_DATA_TYPE_TFLOAT32), as `wgmma` would truncate instead.

    `!cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [-1, -1] to [12, 12] step
    [1, 1]>`: channels-last images and their base pixels (cuTensorMapEncodeIm2col). A copy takes 128
    consecutive pixels of 64 channels: along a row from the first pixel to the last, then along the
    next row, then those of the next image, each displaced by the same offset.
    """

    name = "cuda.tensor_map"

    tensor: TensorType
    box: ArrayAttr[IntAttr]
    walk: ArrayAttr[ArrayAttr[IntAttr]]
    swizzle: IntAttr
    tf32: IntAttr

    def __init__(
        self,
        tensor: TensorType,
        box: Sequence[int],
        swizzle: int = 0,
        pixels: Pixels | None = None,
        *,
        tf32: bool = False,
    ) -> None:
        walk = ArrayAttr(map(int_array, pixels or ()))
        super().__init__(tensor, int_array(box), walk, IntAttr(swizzle), IntAttr(int(tf32)))

    @property
    def pixels(self) -> Pixels | None:
        """The base pixels of copies, None if copies take boxes."""
        found = [tuple(each.data for each in corner) for corner in self.walk]
        return Pixels(*found) if found else None

    @property
    def rounds(self) -> bool:
        """Whether loads round f32 to TF32."""
        return bool(self.tf32.data)

    @property
    def box_extents(self) -> tuple[int, ...]:
        """The extents of the box."""
        return tuple(extent.data for extent in self.box)

    @property
    def element_bytes(self) -> int:
        """The bytes of an element."""
        element = self.tensor.get_element_type()
        if not isinstance(element, FixedBitwidthType):
            raise VerifyException(f"a tensor map of elements of type {element}")
        return max(element.bitwidth // 8, 1)

    def verify(self) -> None:
        """Check the tensor and the box."""
        shape = self.tensor.get_shape()
        if DYNAMIC_INDEX in shape:
            raise VerifyException(f"a tensor map of {self.tensor}, whose extents must be known")
        if self.rounds and self.tensor.get_element_type() != f32:
            raise VerifyException(f"a tensor map that rounds {self.tensor} to TF32, not f32")
        size, box, pixels = self.element_bytes, self.box_extents, self.pixels
        problem = box_problem(shape, box) if pixels is None else pixels.problem(shape, box)
        problem = problem or row_problem(box, size, self.swizzle.data)
        if problem is not None:
            raise VerifyException("; ".join(problem))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<tensor<8x64xf32>, box [8, 16], pixels [..] to [..] step [..], swizzle 64, tf32>`.

        Pixels, swizzle and tf32 are optional.
        """
        with parser.in_angle_brackets():
            tensor = parser.parse_type()
            parser.parse_punctuation(",")
            parser.parse_keyword("box")
            box = parse_int_array(parser)
            walk: list[ArrayAttr[IntAttr]] = []
            swizzle = tf32 = 0
            while parser.parse_optional_punctuation(",") is not None:
                if not walk and parser.parse_optional_keyword("pixels") is not None:
                    walk.append(parse_int_array(parser))
                    for word in ("to", "step"):
                        parser.parse_keyword(word)
                        walk.append(parse_int_array(parser))
                elif not swizzle and parser.parse_optional_keyword("swizzle") is not None:
                    swizzle = parser.parse_integer()
                else:
                    parser.parse_keyword("tf32")
                    tf32 = 1
                    break
        return tensor, box, ArrayAttr(walk), IntAttr(swizzle), IntAttr(tf32)

    def print_parameters(self, printer: Printer) -> None:
        """Print the parameters."""
        with printer.in_angle_brackets():
            printer.print_attribute(self.tensor)
            printer.print_string(f", box {list(self.box_extents)}")
            if self.pixels is not None:
                first, last, step = map(list, self.pixels)
                printer.print_string(f", pixels {first} to {last} step {step}")
            if self.swizzle.data:
                printer.print_string(f", swizzle {self.swizzle.data}")
            if self.rounds:
                printer.print_string(", tf32")


@irdl_op_definition
class TensorMapOp(PureOp):
    """`cuda.tensor_map %x offset 64 : memref<..> -> !cuda.tensor_map<..>`: the map of a tensor.

    The tensor is in the memory of the buffer, regardless of the buffer's shape: at an offset, and
    row-major unless there are `strides`, both in elements. In a host function a launch passes the
    map. In a kernel it is made of an argument, until `hoist-tensor-maps`.
    """

    name = "cuda.tensor_map"

    buffer = operand_def(MemRefType)
    result = result_def(TensorMapType)
    offset = opt_prop_def(INT64)
    strides = opt_prop_def(DenseArrayBase.constr(i64))

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$buffer (`offset` $offset^)? (`strides` $strides^)? attr-dict `:` type($buffer) `->` "
        "type($result)"
    )

    def __init__(
        self,
        buffer: SSAValue,
        kind: TensorMapType,
        offset: int = 0,
        strides: Sequence[int] = (),
    ) -> None:
        super().__init__(buffer, kind, offset or None, strides)

    @property
    def kind(self) -> TensorMapType:
        """The type of the map."""
        assert isinstance(self.result.type, TensorMapType)
        return self.result.type

    @property
    def first(self) -> int:
        """The offset of the tensor in the buffer, in elements."""
        return 0 if self.offset is None else self.offset.value.data

    @property
    def steps(self) -> tuple[int, ...]:
        """The strides of the tensor, in elements."""
        if self.strides is not None:
            return tuple(self.strides.get_values())
        shape = self.kind.tensor.get_shape()
        return tuple(prod(shape[number + 1 :]) for number in range(len(shape)))

    def verify_(self) -> None:
        """Check the tensor against the buffer, and its strides."""
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
