"""Recognizes strided views of a buffer, which TMA can load in tiles."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from hidet.analysis.forms import LinearForm
from hidet.analysis.grids import is_view
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.memory import is_arithmetic, memory_space
from hidet.dialects.compute import FusionOp, GridOp, LoadOp, SinkOp, StoreOp, YieldOp
from hidet.dialects.cuda.attributes import Space
from hidet.dialects.graph.base import GraphOp
from hidet.dialects.shaped import is_memref, shape_of
from hidet.dialects.walking import ops_of_block


@dataclass(frozen=True)
class Window:
    """A strided view: element i of the view is element `offset + i * strides` of the buffer."""

    buffer: SSAValue
    offset: int
    strides: tuple[int, ...]


def window_of(view: SSAValue, forms: IndexForms | None = None) -> Window | None:
    """Return the window of a view; None if its elements are computed, or not strided.

    Inputs of a fusion count as buffers, and so do computed grids directly in a function, since
    these are stored.
    """
    grid = view.owner
    if is_memref(view.type) or isinstance(grid, Block | GraphOp | FusionOp):
        return _whole(view)
    if not isinstance(grid, GridOp):
        return None
    if isinstance(grid.parent_op(), FuncOp) and not is_view(grid):
        return _whole(view)
    ops = ops_of_block(grid.body.block)
    loads = [each for each in ops if isinstance(each, LoadOp)]
    if len(loads) != 1 or grid.yielded is not (load := loads[0]).result:
        return None
    others = (each for each in ops if type(each) not in (LoadOp, YieldOp))
    if not all(map(is_arithmetic, others)):
        return None
    return _accessed_window(forms or IndexForms(), load.source, load.indices, grid.indices)


def sink_windows(sink: SinkOp) -> list[tuple[StoreOp, Window]]:
    """Return the stores of a sink, with the windows that they store to; none if one has none.

    There are none if the body does anything else but load and compute either.
    """
    ops = [op for op in sink.body.block.ops if not isinstance(op, (LoadOp, memref.LoadOp))]
    stores = [op for op in ops if isinstance(op, StoreOp)]
    if not all(isinstance(op, StoreOp) or is_arithmetic(op) for op in ops):
        return []
    forms, found = IndexForms(), list[tuple[StoreOp, Window]]()
    for store in stores:
        window = _accessed_window(forms, store.target, store.indices, sink.indices)
        if window is None:
            return []
        found.append((store, window))
    return found


def windows_read(sink: SinkOp) -> Iterator[tuple[LoadOp, Window]]:
    """Yield the loads of a sink from global memory with an affine address, and their windows."""
    for op in sink.body.block.ops:
        if isinstance(op, LoadOp) and memory_space(op.source) is Space.GLOBAL:
            window = _accessed_window(IndexForms(), op.source, op.indices, sink.indices)
            if window is not None:
                yield op, window


def _accessed_window(
    forms: IndexForms, view: SSAValue, accessed: Sequence[SSAValue], indices: Sequence[SSAValue]
) -> Window | None:
    """Return the window of the elements of a view that are accessed, as a function of indices."""
    source = window_of(view, forms)
    if source is None:
        return None
    algebra = forms.algebra(None)
    address = LinearForm.number(source.offset)
    for index, stride in zip(accessed, source.strides, strict=True):
        address = algebra.add(address, forms.form(index), stride)
    if any(atom not in indices for atom in address.terms):
        return None
    strides = tuple(address.coefficient_of(index) for index in indices)
    return Window(source.buffer, address.constant, strides)


def _whole(buffer: SSAValue) -> Window:
    shape = shape_of(buffer)
    return Window(buffer, 0, tuple(prod(shape[dim + 1 :]) for dim in range(len(shape))))
