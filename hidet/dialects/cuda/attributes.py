"""Attributes of the `cuda` dialect: memory spaces and small enumerations."""

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.dialects.enums import enum_attribute
from hidet.dialects.shaped import memref_type

Space = StrEnum("Space", "GLOBAL SHARED REGISTER LOCAL")
"""Where a memref lives.

`register`: a tile spread over workers, its layout is a task map. `local`: an array or, at
rank 0, a variable of one thread; what register tiles become in `lower-task`.
"""


@irdl_attr_definition
class SpaceAttr(EnumAttribute[Space]):
    """The memory space of a memref, `#cuda.space<shared>`; global memory is the absence of one."""

    name = "cuda.space"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Space:
        """Parse `<shared>`."""
        with parser.in_angle_brackets():
            return parser.parse_str_enum(Space)

    def print_parameter(self, printer: Printer) -> None:
        """Print `<shared>`."""
        with printer.in_angle_brackets():
            printer.print_string(str(self.data.value))


def space_of(memref: Attribute) -> Space:
    """Return the memory space of a memref type; raises VerifyException for one that is not ours."""
    assert isinstance(memref, MemRefType)
    if isinstance(memref.memory_space, SpaceAttr):
        return memref.memory_space.data
    if not isinstance(memref.memory_space, NoneAttr):
        raise VerifyException(f"{memref} lies in no space that #cuda.space<...> names")
    return Space.GLOBAL


def is_variable(value: SSAValue) -> bool:
    """Return whether a memref is a variable of one thread: `float acc;`."""
    kind = memref_type(value)
    return kind.get_num_dims() == 0 and space_of(kind) is Space.LOCAL


Dimension = StrEnum("Dimension", "X Y Z")
"""A dimension of a grid or a block."""

DimensionAttr = enum_attribute("cuda.dimension", Dimension)


ShuffleKind = StrEnum("ShuffleKind", "IDX XOR UP DOWN")
"""From which lane of the warp `cuda.shfl` takes its value."""

ShuffleKindAttr = enum_attribute("cuda.shuffle", ShuffleKind)


LeaveKind = StrEnum("LeaveKind", "BREAK CONTINUE RETURN")
"""What `cuda.leave` leaves: the loop around it, its iteration, or the kernel."""

LeaveKindAttr = enum_attribute("cuda.leave_kind", LeaveKind)


BufferKind = StrEnum("BufferKind", "ARENA PREPARED CONSTANT")
"""Who owns the memory behind `cuda.buffer`.

`arena`: one call. `prepared`: a set of weights. `constant`: the caller (a weight, read live)."""

BufferKindAttr = enum_attribute("cuda.buffer_kind", BufferKind)
