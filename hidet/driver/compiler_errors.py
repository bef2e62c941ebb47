"""What goes wrong in the text of a kernel, as the line of the script that it comes from."""

import re
from collections.abc import Sequence

from hidet.backend.printer.kernel import origins_of
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.locations import lines_of
from hidet.errors import CompilationError


def name_line(error: CompilationError, kernels: Sequence[KernelOp]) -> None:
    """Add the user's line to the error of a compiler, where the compiler names one of the file.

    Args:
        error: the error; it names the kernel and the file.
        kernels: those that were compiled, each in a file of its own.
    """
    path = error.source_path
    number = re.search(rf"{re.escape(path)}[:(](\d+)", error.log) if path else None
    for kernel in kernels:
        if number is None or not error.what.startswith(f"kernel '{kernel.sym_name.data}'"):
            continue
        line = int(number[1])
        origins = origins_of(kernel)[:line]
        known = [*lines_of(kernel.location)[:1], *filter(None, origins)]
        if known:
            error.where = f"{known[-1]}, which became {path}:{line}"


def in_script(message: str, kernel: KernelOp) -> str:
    """Return what a kernel says of "line 8" of its source, with the lines of the script."""
    if "the assertion does not hold" in message:  # in words of the script's author
        return message
    origins = origins_of(kernel)

    def line_of(found: re.Match[str]) -> str:
        known = [*filter(None, origins[: int(found[1])])]
        return f" in {known[-1]}" if known else found[0]

    return re.sub(r" in line (\d+)\b", line_of, message)
