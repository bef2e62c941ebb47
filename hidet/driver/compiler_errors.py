"""Maps lines of kernel sources in error messages to lines of the script."""

import re
from collections.abc import Sequence

from hidet.backend.printer.kernel import origins_of
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.locations import lines_of
from hidet.errors import CompilationError


def name_line(error: CompilationError, kernels: Sequence[KernelOp]) -> None:
    """Add the user's line to the error of a compiler, if it names a line of the source.

    Args:
        error: the error, which names the kernel and the file.
        kernels: the compiled kernels, each in its own file.
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
    """Return a message of a kernel with "line 8" of its source replaced by a script's line."""
    if "the assertion does not hold" in message:  # followed by the script author's own text
        return message
    origins = origins_of(kernel)

    def line_of(found: re.Match[str]) -> str:
        known = [*filter(None, origins[: int(found[1])])]
        return f" in {known[-1]}" if known else found[0]

    return re.sub(r" in line (\d+)\b", line_of, message)
