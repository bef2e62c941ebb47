"""What scripts of templates have besides `hidet.lang`: parts of a fusion, and reductions."""

from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import SSAValue

from hidet.dialects.compute import ReduceKind
from hidet.dialects.shaped import element_of, shape_of
from hidet.dialects.task import ForeachOp
from hidet.frontends.script.ids import blockDim, blockIdx, threadIdx
from hidet.frontends.script.scalars import Index, Scalar, convert, index_of
from hidet.frontends.script.tensors import Tensor
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import INDEX, ScalarType, scalar_type, type_of_ir
from hidet.mapping import TaskMap


def tensor(value: SSAValue) -> Tensor:
    """Return a view, a buffer or a tile as scripts know it."""
    return Tensor(value, type_of_ir(element_of(value)), shape_of(value))


def scalar(value: SSAValue) -> Scalar:
    """Return a value of the kernel as scripts know it."""
    return Scalar(value, type_of_ir(value.type))


def known(shape: Sequence[Index]) -> tuple[int, ...]:
    """Return a shape that is known when the kernel is written, as all of fusions are."""
    return cast("tuple[int, ...]", tuple(shape))


def place(number: Index | SSAValue, shape: Sequence[int]) -> tuple[Scalar, ...]:
    """Return the indices of the element with a row-major number."""
    indices = current().delinearize(index_of(number), shape)
    return tuple(Scalar(index, INDEX) for index in indices)


def unmapped_tile(dtype: object, *shape: int) -> Tensor:
    """Return a tile in registers whose map `map-tensor-cores` chooses, by the products it is in."""
    element = scalar_type(dtype)
    memory = current().register_tile(element.ir, shape)
    return Tensor(memory, element, shape)


def register_tile(element: ScalarType, layout: TaskMap) -> Tensor:
    """Return a tile in registers that a map spreads over workers."""
    memory = current().register_tile(element.ir, layout)
    return Tensor(memory, element, layout.shape)


def fill(tile: Tensor, value: float, worker: Scalar) -> None:
    """Give all elements of a register tile a value."""
    emitter = current()
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
    return convert(value, tile.element)


def combined(kind: ReduceKind, one: Scalar, other: Scalar) -> Scalar:
    """Return two values combined as a reduction of this kind combines them."""
    return Scalar(current().combine(kind, one.ssa, other.ssa), one.type)


def neutral(kind: ReduceKind, tile: Tensor) -> Scalar:
    """Return the value that a reduction of this kind into a tile starts from."""
    element = tile.element
    return Scalar(current().neutral(kind, element.ir), element)
