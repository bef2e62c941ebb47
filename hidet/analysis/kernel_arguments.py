"""How a kernel accesses its arguments, for `fuse-into-kernels`."""

from math import prod

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.ir import Block, SSAValue

from hidet.analysis.forms import LinearForm
from hidet.analysis.index_forms import IndexForms
from hidet.dialects.compute import LoadOp
from hidet.dialects.cuda import KernelOp
from hidet.dialects.cuda.kernel import DYNAMIC
from hidet.dialects.shaped import element_of, memref_type, shape_of, size_of


def is_only_loaded(argument: SSAValue) -> bool:
    """Return whether a kernel only loads elements of an argument."""
    return all(isinstance(use.operation, memref.LoadOp | LoadOp) for use in argument.uses)


def is_only_stored(argument: SSAValue) -> bool:
    """Return whether a kernel only stores elements to an argument."""
    return all(isinstance(use.operation, memref.StoreOp) for use in argument.uses)


def shape_as(argument: SSAValue, tensor: SSAValue) -> tuple[int, ...] | None:
    """Return the shape in which a kernel accesses a tensor that is passed as an argument.

    A pointer argument has the flat shape. None is returned if the element types or layouts differ.
    """
    if not isinstance(argument.type, MemRefType):
        return None
    kind, size = memref_type(argument), size_of(tensor)
    if not isinstance(kind.layout, NoneAttr) or element_of(kind) != element_of(tensor):
        return None
    shape = (size,) if shape_of(kind) == (DYNAMIC_INDEX,) else shape_of(kind)
    return shape if DYNAMIC_INDEX not in shape and prod(shape) == size else None


def loads_once(kernel: KernelOp, argument: SSAValue, size: int) -> bool:
    """Return whether a kernel loads each element of an argument about once.

    The total number of loads is at most that of elements, rounded up to whole blocks.
    """
    if DYNAMIC in (*kernel.grid_dims, *kernel.block_dims):
        return False
    forms = IndexForms(kernel)
    addresses: set[tuple[Block | None, tuple[LinearForm, ...]]] = set()
    loads = 0
    for use in argument.uses:
        load = use.operation
        if not isinstance(load, memref.LoadOp):
            return False
        address = (load.parent, tuple(map(forms.form, load.indices)))
        if address in addresses:
            continue  # eliminated as a common subexpression
        addresses.add(address)
        count = _execution_count(forms, kernel, load)
        if count is None:
            return False
        loads += count
    return loads * prod(kernel.grid_dims) * kernel.threads < size + kernel.threads


def _execution_count(forms: IndexForms, kernel: KernelOp, load: memref.LoadOp) -> int | None:
    """Return the maximum number of times that a thread executes a load; None if unknown."""
    count = 1
    parent = load.parent_op()
    while parent is not kernel:
        match parent:
            case scf.ForOp():
                trips = forms.trip_count(parent)
                if trips is None:
                    return None
                count *= trips
            case scf.IfOp():
                pass
            case _:
                return None
        parent = parent.parent_op()
    return count
