"""A printer that aliases long attributes at the top of a module.

Task maps are part of the type of every tile. In

    #m0 = #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>
    builtin.module {
      %0 = memref.alloca() : memref<16x8xf32, #m0>

the map is printed once; every MLIR parser reads that.
"""

from collections import Counter
from dataclasses import dataclass, field
from io import StringIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.printer import Printer

ALIASED_ATTRIBUTE = "task.map"

# Shorter attributes are not aliased.
SHORTEST_ALIASED_TEXT = 25


@dataclass(eq=False, repr=False)
class AliasPrinter(Printer):
    """A printer that prints aliases of attributes, and counts the uses of aliasable ones."""

    aliases: dict[Attribute, str] = field(default_factory=dict[Attribute, str])
    uses: Counter[Attribute] = field(default_factory=Counter[Attribute])

    def print_attribute(self, attribute: Attribute) -> None:
        """Print an attribute, or its alias."""
        if attribute.name == ALIASED_ATTRIBUTE:
            self.uses[attribute] += 1
            if attribute in self.aliases:
                self.print_string(self.aliases[attribute])
                return
        super().print_attribute(attribute)

    def print_aliased_module(self, module: ModuleOp) -> None:
        """Print the aliases, then the module."""
        counter = AliasPrinter(
            stream=StringIO(),
            print_generic_format=self.print_generic_format,
            print_debuginfo=self.print_debuginfo,
        )
        counter.print_op(module)
        texts = [(attribute, str(attribute)) for attribute, n in counter.uses.items() if n > 1]
        long = (each for each in texts if len(each[1]) >= SHORTEST_ALIASED_TEXT)
        for number, (attribute, text) in enumerate(long):
            self.aliases[attribute] = f"#m{number}"
            self.print_string(f"#m{number} = {text}\n")
        self.print_op(module)


def module_text(module: ModuleOp, *, generic: bool = False, locations: bool = False) -> str:
    """Return the text of a module, with aliases."""
    stream = StringIO()
    printer = AliasPrinter(stream=stream, print_generic_format=generic, print_debuginfo=locations)
    printer.print_aliased_module(module)
    return stream.getvalue() + "\n"
