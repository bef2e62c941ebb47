"""The target `mlir` of `hidet-opt`: text with aliases."""

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.targets.mlir import MLIRTarget

from hidet.dialects.alias_printer import AliasPrinter


@dataclass(frozen=True)
class AliasedMLIRTarget(MLIRTarget):
    """xDSL's target `mlir`, but with aliases; highlighted text stays without."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the module as text that `hidet-opt` and `xdsl-opt` read back."""
        if self.syntax_highlight:
            super().emit(ctx, module, output)
            return
        printer = AliasPrinter(
            stream=output,
            print_generic_format=self.print_generic_format,
            print_properties_as_attributes=self.print_properties_as_attributes,
            print_debuginfo=self.print_debuginfo,
        )
        printer.print_aliased_module(module)
        printer.print_metadata(ctx.loaded_dialects)
        output.write("\n")
