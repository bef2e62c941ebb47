"""Checks of launches: the kernel exists, and the arguments match."""

from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, TensorType
from xdsl.ir import Attribute

from hidet.analysis.kernels import kernels_of
from hidet.dialects.cuda import LaunchOp, TensorMapType
from hidet.dialects.cuda.marks import LAUNCH_ARGUMENTS, OVERLAPS
from hidet.dialects.walking import ops_of_class
from hidet.legality.report import illegal


def check_launches(module: ModuleOp) -> None:
    """Check the number, element types and sizes of the arguments of launches.

    Shapes may differ: `flatten-memrefs` only changes the kernel. A tensor may be passed for a
    tensor map until `pass-tensor-maps`, which may be of a part of it if `hoist-tensor-maps` made
    the map an argument; a map must have the same type. Only kernels that wait are launched
    programmatically.
    """
    check_argument_counts(module)
    kernels = {kernel.sym_name.data: kernel for kernel in kernels_of(module)}
    for op in ops_of_class(module, LaunchOp):
        name = op.kernel.string_value()
        if name not in kernels:
            raise illegal(op, f"there is no kernel @{name}")
        given = [value.type for value in (*op.passed, *op.results_)]
        kernel = kernels[name]
        dynamic = kernel.dynamic_extents
        if len(op.extents) != dynamic:
            raise illegal(op, f"{len(op.extents)} extents for @{name}, which leaves {dynamic} open")
        is_hoisted = LAUNCH_ARGUMENTS in kernel.attributes
        for number, argument in zip(kernel.launch_arguments, kernel.arguments, strict=True):
            if is_hoisted and isinstance(argument.type, TensorMapType):
                continue
            content = str if isinstance(given[number], TensorMapType) else _content
            mine, its = content(given[number]), content(argument.type)
            if its not in (mine, f"? x {mine.partition(' x ')[2]}"):
                raise illegal(op, f"argument {number} is {mine}, @{name} takes {its}")
        if op.programmatic is not None and OVERLAPS not in kernel.attributes:
            raise illegal(op, f"a programmatic launch of @{name}, which waits for no other one")


def check_argument_counts(module: ModuleOp) -> None:
    """Check the numbers of the arguments of launches of kernels of this module.

    Those of kernels whose tensor maps are hoisted may differ.
    """
    kernels = {kernel.sym_name.data: kernel for kernel in kernels_of(module)}
    for op in ops_of_class(module, LaunchOp):
        kernel, count = kernels.get(op.kernel.string_value()), len([*op.passed, *op.results_])
        if kernel is None or LAUNCH_ARGUMENTS in kernel.attributes:
            continue
        if count != (taken := len(kernel.arguments)):
            name = kernel.sym_name.data
            raise illegal(op, f"{count} arguments for @{name}, which takes {taken}")


def _content(kind: Attribute) -> str:
    """Return the element count and type of a tensor or buffer; `?` is any count."""
    if isinstance(kind, TensorMapType):
        kind = kind.tensor
    if isinstance(kind, TensorType | MemRefType):
        shape = kind.get_shape()
        size = "?" if DYNAMIC_INDEX in shape else prod(shape)
        return f"{size} x {kind.get_element_type()}"
    return str(kind)
