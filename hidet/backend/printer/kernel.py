"""Prints kernels as functions of CUDA C++, and files of them; the target `cuda` of `hidet-opt`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import IO

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.utils.target import Target

from hidet.backend.printer.cuda import source_table
from hidet.backend.printer.tables import EXPRESSIONS, STATEMENTS
from hidet.backend.printer.types import element_type, value_type
from hidet.backend.printer.writer import Writer
from hidet.dialects import cuda
from hidet.dialects.cuda import marks
from hidet.dialects.cuda.names import symbol_of
from hidet.dialects.locations import located_near, source_lines
from hidet.dialects.shaped import size_of
from hidet.dialects.walking import ops_in
from hidet.errors import LegalityError
from hidet.escape import c_string, comment, from_ascii

INCLUDE = '#include "hidet.h"'
"""The first line of a file of kernels."""

WGMMA = re.compile(r"hidet::wgmma(?:_rs)?_m64n\d+k\d+_(\w+)_f32<")
"""A call of wgmma, whose functions have one header per type of operands."""

MAX_LINE = 100
"""A longer signature has one parameter per line."""

MAX_LOCATIONS = 4
"""The maximal number of source lines in the comment above a kernel."""


def print_kernels(*kernels: cuda.KernelOp) -> str:
    """Return a file of CUDA C++ with kernels, after `form-expressions`.

    Raises:
        UnsupportedOperatorError: an operation has no entry in the tables of the printer.
        UnsupportedDtypeError: a type, or an operation on it, does not exist in CUDA C++.
        LegalityError: a required pass did not run, or another ran after `form-expressions`.
    """
    lines, origins = _file_lines(kernels)
    is_checked = any(marks.INSTRUMENTED in each.attributes for each in kernels)
    table = [source_table(origins)] if is_checked else []
    return "\n".join([*lines, *table]) + "\n"


def origins_of(kernel: cuda.KernelOp) -> list[str]:
    """Return the user's line, or "", for each line of the file of a kernel."""
    return _file_lines([kernel])[1]


def _file_lines(kernels: Sequence[cuda.KernelOp]) -> tuple[list[str], list[str]]:
    """Return the lines of a file, and the user's line, or "", for each of them."""
    lines: list[str] = []
    origins: list[str] = []
    for kernel in kernels:
        text, known = _kernel_lines(kernel)
        lines += ["", *text]
        origins += ["", *known]
    wgmma = sorted({kind for line in lines for kind in WGMMA.findall(line)})
    includes = [INCLUDE, *(f'#include "hidet_wgmma_{kind}.h"' for kind in wgmma)]
    return [*includes, *lines], [*[""] * len(includes), *origins]


def _kernel_lines(kernel: cuda.KernelOp) -> tuple[list[str], list[str]]:
    """Return the lines of a kernel, and the user's line, or "", for each of them."""
    name = kernel.sym_name.data
    if kernel.binary is not None:
        raise LegalityError(f"kernel @{name} has been printed before: it has no body")
    if marks.FORMED not in kernel.attributes:
        raise LegalityError(
            f"kernel @{name} has not been prepared for printing", hint="run form-expressions last"
        )
    writer = Writer(EXPRESSIONS, STATEMENTS)
    parameters = [_parameter(kernel, number, writer) for number in range(len(kernel.arguments))]
    head = _head(kernel, parameters)
    writer.block(kernel.body.block)
    label = kernel.attributes.get(marks.LABEL)
    title = f"{name}: {from_ascii(label.data)}" if isinstance(label, StringAttr) else name
    origins = (f"  from {line}" for line in source_lines(kernel, MAX_LOCATIONS))
    comments = [f"// {comment(line)}" for line in (title, *origins)]
    # Dynamic extents are 0 here.
    x, y, z = (0 if extent == cuda.DYNAMIC else extent for extent in kernel.block_dims)
    mode = "HIDET_SERIAL" if marks.SERIAL in kernel.attributes else "HIDET_INDEPENDENT"
    if _is_collective(kernel):
        mode = "HIDET_COLLECTIVE"
    symbol = symbol_of(name)
    register = f"HIDET_KERNEL({symbol}, {x}, {y}, {z}, {mode})"
    cluster = ", ".join(map(str, kernel.cluster))
    if kernel.cluster != (1, 1, 1):
        register = f"HIDET_CLUSTER_KERNEL({symbol}, {x}, {y}, {z}, {cluster})"
    if marks.ON_CPU in kernel.attributes:
        register = f"HIDET_CPU_FUNCTION({symbol})"
    end = ["}", *_checks_ahead(kernel), register]
    above = [*comments, *head]
    origins = ("" if op is None else located_near(op) or "" for op in writer.origins)
    return [*above, *writer.lines, *end], [*[""] * len(above), *origins, *[""] * len(end)]


def _checks_ahead(kernel: cuda.KernelOp) -> list[str]:
    """Return the lines that check arguments before a launch on the CPU."""
    calls: list[str] = []
    for number, argument in enumerate(kernel.arguments):
        for check in kernel.checks_of(number):
            pointer = f"*static_cast<const {element_type(argument)}* const*>(args[{number}])"
            sizes = f"{size_of(argument)}, {check.size.value.data}"
            where = c_string(check.where.data)
            calls.append(f"  hidet::cpu::check_indices({pointer}, {sizes}, {where});")
    if not calls:
        return []
    return [f"HIDET_CHECKS_AHEAD({symbol_of(kernel.sym_name.data)},", *calls, ")"]


def _parameter(kernel: cuda.KernelOp, number: int, writer: Writer) -> str:
    """Return the declaration of a parameter, restrict if it does not alias others."""
    value = kernel.arguments[number]
    if not isinstance(value.type, MemRefType | cuda.TensorMapType):
        return writer.parameter(value)
    name = writer.declare(value)
    if isinstance(value.type, cuda.TensorMapType):
        # TMA reads it in parameter memory, so it must not be copied.
        return f"const __grid_constant__ {value_type(value)} {name}"
    const = "const " if kernel.is_readonly(number) else ""
    is_plain = marks.MAY_ALIAS in kernel.attributes or kernel.is_marked(marks.AWAITED, number)
    restrict = "" if is_plain else "__restrict__ "
    return f"{const}{element_type(value)}* {restrict}{name}"


def _head(kernel: cuda.KernelOp, parameters: Sequence[str]) -> list[str]:
    """Return the lines of the signature, from `extern "C"`, or `static`, to the opening brace."""
    bounds = str(kernel.threads)
    if isinstance(least := kernel.attributes.get(marks.MIN_BLOCKS), IntegerAttr):
        bounds += f", {least.value.data}"
    cluster = ", ".join(map(str, kernel.cluster))
    cluster = f"__cluster_dims__({cluster}) " if kernel.cluster != (1, 1, 1) else ""
    start = f'extern "C" __global__ void {cluster}__launch_bounds__({bounds})'
    if marks.ON_CPU in kernel.attributes:
        start = "static void"
    start += f" {symbol_of(kernel.sym_name.data)}("
    line = f"{start}{', '.join(parameters)}) {{"
    if len(line) <= MAX_LINE:
        return [line]
    *others, last = parameters
    return [start, *(f"    {parameter}," for parameter in others), f"    {last}) {{"]


def _is_collective(kernel: cuda.KernelOp) -> bool:
    """Return whether threads of a block depend on each other: by barriers, or shared memory.

    Or by an assertion or a check, which stops the whole block, or the mask of active lanes.
    """
    return marks.INSTRUMENTED in kernel.attributes or any(
        op.has_trait(cuda.Collective)
        or isinstance(op, cuda.ActiveMaskOp | cuda.AssertOp | cuda.DynamicSharedOp)
        or (isinstance(op, memref.AllocaOp) and cuda.space_of(op.memref.type) is cuda.Space.SHARED)
        for op in ops_in(kernel.body)
    )


@dataclass(frozen=True)
class CudaTarget(Target):
    """`-t cuda`: prints the kernels of a module as one file of CUDA C++."""

    name = "cuda"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the kernels; host functions are not printed.

        Raises:
            LegalityError: a kernel has not been lowered, or something is not yet in a kernel.
        """
        functions = (op for op in module.ops if isinstance(op, FuncOp))
        for op in chain.from_iterable(ops_in(function.body) for function in functions):
            if op.dialect_name() in ("graph", "compute") and op.name != "graph.constant":
                raise LegalityError(
                    f"{op.name} is not in a kernel", hint="run hidet-pipeline first"
                )
        output.write(print_kernels(*(op for op in module.ops if isinstance(op, cuda.KernelOp))))
