"""Launches: each names a kernel that is there, with arguments that fit."""

from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, TensorType
from xdsl.ir import Attribute

from hidet.analysis.kernels import kernels_of, waits_for_launches
from hidet.dialects.cuda import LaunchOp, TensorMapType
from hidet.legality.report import illegal


def check_launches(module: ModuleOp) -> None:
    """Check that launches give kernels as many arguments as they take, of their elements and sizes.

    Shapes may differ: `flatten-memrefs` changes those of the kernel alone. A tensor may be passed
    for a map of it, until `pass-tensor-maps` makes the map; a map is of the very type. Only kernels
    that wait themselves are launched programmatically.
    """
    kernels = {kernel.sym_name.data: kernel for kernel in kernels_of(module)}
    for op in module.walk():
        if not isinstance(op, LaunchOp):
            continue
        name = op.kernel.string_value()
        if name not in kernels:
            raise illegal(op, f"there is no kernel @{name}")
        given = [value.type for value in (*op.passed, *op.results_)]
        taken = [argument.type for argument in kernels[name].arguments]
        dynamic = kernels[name].dynamic_extents
        if len(op.extents) != dynamic:
            raise illegal(op, f"{len(op.extents)} extents for @{name}, which leaves {dynamic} open")
        if len(given) != len(taken):
            raise illegal(op, f"{len(given)} arguments for @{name}, which takes {len(taken)}")
        for number, kinds in enumerate(zip(given, taken, strict=True)):
            mine, its = _contents(*kinds)
            if mine != its and its != _of_any_size(mine):
                raise illegal(op, f"argument {number} is {mine}, @{name} takes {its}")
        if op.programmatic is not None and not waits_for_launches(kernels[name]):
            raise illegal(op, f"a programmatic launch of @{name}, which waits for no other one")


def _contents(given: Attribute, taken: Attribute) -> tuple[str, str]:
    """Return what is compared of a value and the argument that it is passed for."""
    if isinstance(given, TensorMapType):
        return str(given), str(taken)
    return _content(given), _content(taken)


def _content(kind: Attribute) -> str:
    """Return what a tensor or buffer holds, apart from its shape; '?' are any number."""
    if isinstance(kind, TensorMapType):
        kind = kind.tensor
    if isinstance(kind, TensorType | MemRefType):
        shape = kind.get_shape()
        size = "?" if DYNAMIC_INDEX in shape else prod(shape)
        return f"{size} x {kind.get_element_type()}"
    return str(kind)


def _of_any_size(content: str) -> str:
    """Return a content as that of a kernel's pointer, which does not say how much it points to."""
    return f"? x {content.partition(' x ')[2]}"
