"""Assembly formats that are read when the first operation is parsed or printed by them.

xDSL reads them where an operation is defined, which takes a tenth of the time in which all dialects
are loaded. A script that finds its kernels in the cache parses and prints no MLIR.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from xdsl.irdl import IRDLOperation, IRDLOperationInvT, OpDef
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.parser import Parser
from xdsl.printer import Printer

_read = FormatProgram.from_str


@dataclass
class DeferredFormat:
    """A format that stands for the program that it is read to.

    Attributes:
        text: the format.
        definition: the operation that it is of.
    """

    text: str
    definition: OpDef

    @cached_property
    def program(self) -> FormatProgram:
        """What parses and prints the operation."""
        return _read(self.text, self.definition)

    def parse(self, parser: Parser, op_type: type[IRDLOperationInvT]) -> IRDLOperationInvT:
        """Parse an operation."""
        return self.program.parse(parser, op_type)

    def print(self, printer: Printer, op: IRDLOperation) -> None:
        """Print an operation."""
        self.program.print(printer, op)


_inside: list[None] = []
"""As long as the number of blocks that are being run, of all threads."""


@contextmanager
def formats_deferred() -> Generator[None]:
    """Defer the formats of all operations that are defined inside of a `with` block.

    Where threads are in such blocks at once, the last one to leave ends it. One that enters as
    another leaves may find formats read at once, which takes longer and is all the same.
    """
    _inside.append(None)
    FormatProgram.from_str = DeferredFormat  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        _inside.pop()
        if not _inside:
            FormatProgram.from_str = _read
