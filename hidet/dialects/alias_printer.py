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

# Aliased attributes, with the first letter of the alias.
ALIASED_ATTRIBUTES = {"task.map": "m"}

# Shorter attributes are not aliased.
SHORTEST_ALIASED_TEXT = 25


@dataclass(eq=False, repr=False)
class _UseCounter(Printer):
    """Counts the uses of aliasable attributes, in printed order."""

    uses: Counter[Attribute] = field(default_factory=Counter[Attribute])

    def print_attribute(self, attribute: Attribute) -> None:
        if attribute.name in ALIASED_ATTRIBUTES:
            self.uses[attribute] += 1
        super().print_attribute(attribute)


@dataclass(eq=False, repr=False)
class AliasPrinter(Printer):
    """A printer that prints aliases of attributes."""

    aliases: dict[Attribute, str] = field(default_factory=dict[Attribute, str])

    def print_attribute(self, attribute: Attribute) -> None:
        """Print an attribute, or its alias."""
        if attribute.name in ALIASED_ATTRIBUTES and attribute in self.aliases:
            self.print_string(self.aliases[attribute])
        else:
            super().print_attribute(attribute)

    def print_aliased_module(self, module: ModuleOp) -> None:
        """Print the aliases, then the module."""
        counter = _UseCounter(
            stream=StringIO(),
            print_generic_format=self.print_generic_format,
            print_debuginfo=self.print_debuginfo,
        )
        counter.print_op(module)
        texts = {
            attribute: str(attribute) for attribute, count in counter.uses.items() if count > 1
        }
        numbers: Counter[str] = Counter()
        for attribute, text in texts.items():
            if len(text) < SHORTEST_ALIASED_TEXT:
                continue
            letter = ALIASED_ATTRIBUTES[attribute.name]
            alias = f"#{letter}{numbers[letter]}"
            numbers[letter] += 1
            self.aliases[attribute] = alias
            self.print_string(f"{alias} = {text}\n")
        self.print_op(module)


def module_text(module: ModuleOp, *, generic: bool = False, locations: bool = False) -> str:
    """Return the text of a module, with aliases."""
    stream = StringIO()
    printer = AliasPrinter(stream=stream, print_generic_format=generic, print_debuginfo=locations)
    printer.print_aliased_module(module)
    return stream.getvalue() + "\n"
