"""Assembly formats that are parsed lazily, when the first operation is parsed or printed.

xDSL parses them when an operation is defined, which takes a tenth of the import time of all
dialects. A script with cached kernels parses and prints no MLIR.
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
    """A lazily parsed format."""

    text: str
    definition: OpDef

    @cached_property
    def program(self) -> FormatProgram:
        """The parsed format."""
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
    """Defer parsing the formats of all operations that are defined inside a `with` block.

    With concurrent threads, the last one to leave restores the default. One that enters meanwhile
    may parse formats eagerly, which is slower, but correct.
    """
    _inside.append(None)
    FormatProgram.from_str = DeferredFormat  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        _inside.pop()
        if not _inside:
            FormatProgram.from_str = _read
