"""Attributes of the `cuda` dialect: memory spaces and enumerations."""

from xdsl.dialects.builtin import MemRefType, NoneAttr, StringAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.dialects.fields import INT64
from hidet.dialects.shaped import memref_type

Space = StrEnum("Space", "GLOBAL SHARED REGISTER LOCAL")
"""Memory spaces.

`register`: a tile distributed over workers by a task map, its layout. `local`: an array or, at
rank 0, a variable of one thread, which `lower-task` lowers register tiles to.
"""


@irdl_attr_definition
class SpaceAttr(EnumAttribute[Space]):
    """The memory space of a memref, `#cuda.space<shared>`; global memory has none."""

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


@irdl_attr_definition
class BoundsAttr(ParametrizedAttribute):
    """`#cuda.bounds<5 : i64, "aten.gather (model.py:4)">`: integers from 0 to 4.

    The text is the operator and the line in the error.
    """

    name = "cuda.bounds"

    size: INT64
    where: StringAttr


def space_of(memref: Attribute) -> Space:
    """Return the memory space of a memref type; raise VerifyException for a foreign one."""
    assert isinstance(memref, MemRefType)
    space = memref.memory_space
    if isinstance(space, SpaceAttr):
        return space.data
    if not isinstance(space, NoneAttr):
        raise VerifyException(f"{memref} has no memory space of #cuda.space<...>")
    return Space.GLOBAL


def is_variable(value: SSAValue) -> bool:
    """Return whether a memref is a variable of one thread: `float acc;`."""
    kind = memref_type(value)
    return kind.get_num_dims() == 0 and space_of(kind) is Space.LOCAL


Dimension = StrEnum("Dimension", "X Y Z")
"""A dimension of a grid or a block."""

ShuffleKind = StrEnum("ShuffleKind", "IDX XOR UP DOWN")
"""The source lane of `cuda.shfl`."""

LeaveKind = StrEnum("LeaveKind", "BREAK CONTINUE RETURN")
"""What `cuda.leave` exits: the loop around it, its iteration, or the kernel."""

BufferKind = StrEnum("BufferKind", "ARENA PREPARED CONSTANT")
"""The owner of the memory of a `cuda.buffer`.

`arena`: one call. `prepared`: a weight set. `constant`: the caller (a weight, read live)."""
