"""Views whose elements are elements of a buffer at fixed distances: what TMA can copy boxes of."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from hidet.analysis.forms import LinearForm
from hidet.analysis.grids import is_view
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.memory import is_arithmetic
from hidet.dialects.compute import FusionOp, GridOp, LoadOp, SinkOp, StoreOp, YieldOp
from hidet.dialects.graph.base import GraphOp
from hidet.dialects.shaped import is_memref, shape_of


@dataclass(frozen=True)
class Window:
    """A view of a buffer: element i of the view is element `offset + i * strides` of the buffer.

    Attributes:
        buffer: the buffer, an argument of the kernel.
        offset: the first element of the view, in elements of the buffer.
        strides: from one element to the next, along each dimension of the view.
    """

    buffer: SSAValue
    offset: int
    strides: tuple[int, ...]


def window_of(view: SSAValue) -> Window | None:
    """Return the window that a view is, None where its elements are computed or lie elsewhere.

    In a fusion tensors that come from outside are what buffers are in a kernel, and so are computed
    grids that stand in a function, as these are stored.
    """
    return _Windows().of(view)


def sink_window(sink: SinkOp) -> tuple[StoreOp, Window] | None:
    """Return the only store of a sink and the window that it stores to, None for other sinks."""
    stores = [op for op in sink.body.block.ops if isinstance(op, StoreOp)]
    loads = (LoadOp, memref.LoadOp)  # of tensors, and of tiles in registers
    others = [op for op in sink.body.block.ops if not isinstance(op, (StoreOp, *loads))]
    if len(stores) != 1 or not all(map(is_arithmetic, others)):
        return None
    (store,) = stores
    windows = _Windows()
    target = windows.of(store.target)
    window = None if target is None else windows.moved(target, store.indices, sink.indices)
    return None if window is None else (store, window)


def window_read(load: LoadOp, indices: Sequence[SSAValue]) -> Window | None:
    """Return the window that a load reads, by indices; None where its place is not affine."""
    windows = _Windows()
    source = windows.of(load.source)
    return None if source is None else windows.moved(source, load.indices, indices)


class _Windows:
    """Follows views down to buffers."""

    def __init__(self) -> None:
        self._forms = IndexForms()

    def of(self, view: SSAValue) -> Window | None:
        """Return the window that a view is."""
        if is_memref(view.type) or isinstance(view.owner, Block | GraphOp | FusionOp):
            return _whole(view)
        grid, load = view.owner, only_load(view.owner)
        if isinstance(grid, GridOp) and isinstance(grid.parent_op(), FuncOp) and not is_view(grid):
            return _whole(view)
        source = None if load is None else self.of(load.source)
        if not isinstance(grid, GridOp) or load is None or source is None:
            return None
        return self.moved(source, load.indices, grid.indices)

    def moved(
        self, source: Window, places: Sequence[SSAValue], indices: Sequence[SSAValue]
    ) -> Window | None:
        """Return the window of elements of a window at places that follow from indices."""
        algebra = self._forms.algebra(None)
        place = LinearForm.number(source.offset)
        for index, stride in zip(places, source.strides, strict=True):
            place = algebra.add(place, self._forms.form(index), stride)
        if any(atom not in indices for atom in place.terms):
            return None
        strides = tuple(place.terms.get(index, 0) for index in indices)
        return Window(source.buffer, place.constant, strides)


def _whole(buffer: SSAValue) -> Window:
    """Return all of a buffer as a window."""
    shape = shape_of(buffer)
    return Window(buffer, 0, tuple(prod(shape[dim + 1 :]) for dim in range(len(shape))))


def only_load(op: Operation | Block) -> LoadOp | None:
    """Return the load whose value a grid gives, if the op is a grid that does nothing else."""
    if not isinstance(op, GridOp):
        return None
    loads = [each for each in op.body.block.ops if isinstance(each, LoadOp)]
    others = [each for each in op.body.block.ops if not isinstance(each, LoadOp | YieldOp)]
    is_plain = len(loads) == 1 and op.yielded is loads[0].result
    return loads[0] if is_plain and all(map(is_arithmetic, others)) else None
