"""Helpers of template scripts beyond `hidet.lang`."""

from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import SSAValue

from hidet.dialects.compute import ReduceKind
from hidet.dialects.shaped import element_of, shape_of
from hidet.dialects.task import ForeachOp
from hidet.frontends.script.scalars import Index, Scalar, convert, index_of
from hidet.frontends.script.tensors import Tensor
from hidet.frontends.script.threads import blockDim, blockIdx, threadIdx
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import INDEX, ScalarType, scalar_type, type_of_ir
from hidet.mapping import TaskMap


def tensor(value: SSAValue) -> Tensor:
    """Return a view, a buffer or a tile as a script tensor."""
    return Tensor(value, type_of_ir(element_of(value)), shape_of(value))


def scalar(value: SSAValue) -> Scalar:
    """Return an SSA value as a script scalar."""
    return Scalar(value, type_of_ir(value.type))


def known(shape: Sequence[Index]) -> tuple[int, ...]:
    """Return a static shape, as all of fusions are."""
    return cast("tuple[int, ...]", tuple(shape))


def place(number: Index | SSAValue, shape: Sequence[int]) -> tuple[Scalar, ...]:
    """Return the indices of the element with a row-major linear index."""
    indices = current().delinearize(index_of(number), shape)
    return tuple(Scalar(index, INDEX) for index in indices)


def unmapped_tile(dtype: object, *shape: int) -> Tensor:
    """Return a register tile whose map is left to `map-tensor-cores`."""
    element = scalar_type(dtype)
    memory = current().register_tile(element.ir, shape)
    return Tensor(memory, element, shape)


def register_tile(element: ScalarType, layout: TaskMap) -> Tensor:
    """Return a register tile with a map."""
    memory = current().register_tile(element.ir, layout)
    return Tensor(memory, element, layout.shape)


def fill(tile: Tensor, value: float, worker: Scalar) -> None:
    """Fill a register tile with a constant."""
    emitter = current()
    foreach = emitter.insert(ForeachOp(tile.memory, worker.ssa))
    with emitter.inside(foreach.body.block):
        emitter.store(emitter.scalar(value, tile.element.ir), tile.memory, foreach.indices)


def worker_of_grid() -> Scalar:
    """Return the linear index of the thread in the grid."""
    worker = blockIdx.x * blockDim.x + threadIdx.x
    worker.ssa.name_hint = "worker"
    return worker


def in_type_of(tile: Tensor, value: Any) -> Scalar:
    """Return a value converted to the element type of a tile."""
    return convert(value, tile.element)


def combined(kind: ReduceKind, one: Scalar, other: Scalar) -> Scalar:
    """Return two values combined by a reduction kind."""
    return Scalar(current().combine(kind, one.ssa, other.ssa), one.type)


def neutral(kind: ReduceKind, tile: Tensor) -> Scalar:
    """Return the neutral element of a reduction into a tile."""
    element = tile.element
    return Scalar(current().neutral(kind, element.ir), element)
