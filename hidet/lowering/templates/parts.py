"""What scripts of templates have besides `hidet.lang`: parts of a fusion, and reductions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import SSAValue

from hidet.dialects.compute import ReduceKind
from hidet.dialects.shaped import element_of, shape_of
from hidet.dialects.task import ForeachOp
from hidet.frontends.script.ids import blockDim, blockIdx, threadIdx
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import INDEX, ScalarType, scalar_type, type_of_ir
from hidet.frontends.script.values import Index, Scalar, Tensor
from hidet.mapping import TaskMap


def tensor(value: SSAValue) -> Tensor:
    """Return a view, a buffer or a tile as scripts know it."""
    return Tensor(value, type_of_ir(element_of(value)), shape_of(value))


def scalar(value: SSAValue) -> Scalar:
    """Return a value of the kernel as scripts know it."""
    return Scalar(current("a value"), value, type_of_ir(value.type))


def known(shape: Sequence[Index]) -> tuple[int, ...]:
    """Return a shape that is known when the kernel is written, as all of fusions are."""
    return cast("tuple[int, ...]", tuple(shape))


def place(number: Index | SSAValue, shape: Sequence[int]) -> tuple[Scalar, ...]:
    """Return the indices of the element with a row-major number."""
    emitter = current("place")
    indices = emitter.delinearize(emitter.index_of(number), shape)
    return tuple(Scalar(emitter, index, INDEX) for index in indices)


def unmapped_tile(dtype: object, *shape: int) -> Tensor:
    """Return a tile in registers whose map `map-tensor-cores` chooses, by the products it is in."""
    element = scalar_type(dtype)
    memory = current("unmapped_tile").register_tile(element.ir, shape)
    return Tensor(memory, element, shape)


def register_tile(element: ScalarType, layout: TaskMap) -> Tensor:
    """Return a tile in registers that a map spreads over workers."""
    memory = current("register_tile").register_tile(element.ir, layout)
    return Tensor(memory, element, layout.shape)


def fill(tile: Tensor, value: float, worker: Scalar) -> None:
    """Give all elements of a register tile a value."""
    emitter = current("fill")
    foreach = emitter.insert(ForeachOp(tile.memory, worker.ssa))
    with emitter.inside(foreach.body.block):
        emitter.store(emitter.scalar(value, tile.element.ir), tile.memory, foreach.indices)


def worker_of_grid() -> Scalar:
    """Return the number of the thread among those of all blocks."""
    worker = blockIdx.x * blockDim.x + threadIdx.x
    worker.ssa.name_hint = "worker"
    return worker


def in_type_of(tile: Tensor, value: Any) -> Scalar:
    """Return a number in the type of the elements of a tile."""
    return current("in_type_of").cast(value, tile.element)


def combined(kind: ReduceKind, one: Scalar, other: Scalar) -> Scalar:
    """Return two values combined as a reduction of this kind combines them."""
    emitter = current("combined")
    return Scalar(emitter, emitter.combine(kind, one.ssa, other.ssa), one.type)


def neutral(kind: ReduceKind, tile: Tensor) -> Scalar:
    """Return the value that a reduction of this kind into a tile starts from."""
    element = tile.element
    emitter = current("neutral")
    return Scalar(emitter, emitter.neutral(kind, element.ir), element)
