"""How a kernel accesses its arguments: the questions of `fuse-into-kernels`."""

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
    """Whether all that a kernel does with an argument is to load elements of it."""
    return all(isinstance(use.operation, memref.LoadOp | LoadOp) for use in argument.uses)


def is_only_stored(argument: SSAValue) -> bool:
    """Whether all that a kernel does with an argument is to store elements to it."""
    return all(isinstance(use.operation, memref.StoreOp) for use in argument.uses)


def shape_as(argument: SSAValue, tensor: SSAValue) -> tuple[int, ...] | None:
    """Return the shape that a kernel sees a tensor in, which is passed for an argument.

    Behind a pointer that is all elements in a row. None is returned where the elements are others,
    or in another order.
    """
    if not isinstance(argument.type, MemRefType):
        return None
    kind, size = memref_type(argument), size_of(tensor)
    if not isinstance(kind.layout, NoneAttr) or element_of(kind) != element_of(tensor):
        return None
    shape = (size,) if shape_of(kind) == (DYNAMIC_INDEX,) else shape_of(kind)
    return shape if DYNAMIC_INDEX not in shape and prod(shape) == size else None


def loads_once(kernel: KernelOp, argument: SSAValue, size: int) -> bool:
    """Whether a kernel loads each of the elements of an argument about once.

    That is, in all there are not more loads than elements, but for what fills up the last block.
    """
    if DYNAMIC in (*kernel.grid_dims, *kernel.block_dims):
        return False
    forms = IndexForms(kernel)
    places: set[tuple[Block | None, tuple[LinearForm, ...]]] = set()
    loads = 0
    for use in argument.uses:
        load = use.operation
        if not isinstance(load, memref.LoadOp):
            return False
        place = (load.parent, tuple(map(forms.form, load.indices)))
        if place in places:
            continue  # loads of one element become one
        places.add(place)
        times = _times_run(forms, kernel, load)
        if times is None:
            return False
        loads += times
    return loads * prod(kernel.grid_dims) * kernel.threads < size + kernel.threads


def _times_run(forms: IndexForms, kernel: KernelOp, load: memref.LoadOp) -> int | None:
    """Return how often a thread runs a load at most; None where that is not known."""
    times = 1
    around = load.parent_op()
    while around is not kernel:
        match around:
            case scf.ForOp():
                count = forms.trip_count(around)
                if count is None:
                    return None
                times *= count
            case scf.IfOp():
                pass
            case _:
                return None
        around = around.parent_op()
    return times
