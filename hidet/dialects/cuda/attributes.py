"""Attributes of the `cuda` dialect: memory spaces and small enumerations."""

from __future__ import annotations

from enum import auto

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.dialects.shaped import memref_type


class Space(StrEnum):
    """Where a memref lives.

    `register`: a tile spread over workers, its layout is a task map. `local`: an array or, at
    rank 0, a variable of one thread; what register tiles become in `lower-task`.
    """

    GLOBAL = auto()
    SHARED = auto()
    REGISTER = auto()
    LOCAL = auto()


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


class Dimension(StrEnum):
    """A dimension of a grid or a block."""

    X = auto()
    Y = auto()
    Z = auto()


@irdl_attr_definition
class DimensionAttr(EnumAttribute[Dimension], SpacedOpaqueSyntaxAttribute):
    """`x`, `y` or `z`."""

    name = "cuda.dimension"


class ShuffleKind(StrEnum):
    """From which lane of the warp `cuda.shfl` takes its value."""

    IDX = auto()
    XOR = auto()
    UP = auto()
    DOWN = auto()


@irdl_attr_definition
class ShuffleKindAttr(EnumAttribute[ShuffleKind], SpacedOpaqueSyntaxAttribute):
    """`idx`, `xor`, `up` or `down`, as in CUDA's `__shfl_*_sync`."""

    name = "cuda.shuffle"


class LeaveKind(StrEnum):
    """What `cuda.leave` leaves: the loop around it, its iteration, or the kernel."""

    BREAK = auto()
    CONTINUE = auto()
    RETURN = auto()


@irdl_attr_definition
class LeaveKindAttr(EnumAttribute[LeaveKind], SpacedOpaqueSyntaxAttribute):
    """`break`, `continue` or `return`, the statements of C++."""

    name = "cuda.leave_kind"


class BufferKind(StrEnum):
    """Who owns the memory behind `cuda.buffer`.

    `arena`: one call. `prepared`: a set of weights. `constant`: the caller (a weight, read live).
    """

    ARENA = auto()
    PREPARED = auto()
    CONSTANT = auto()


@irdl_attr_definition
class BufferKindAttr(EnumAttribute[BufferKind], SpacedOpaqueSyntaxAttribute):
    """`arena`, `prepared` or `constant`."""

    name = "cuda.buffer_kind"
