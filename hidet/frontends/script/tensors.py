"""Tensors and pointers of a kernel, and accesses to their elements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.ir import SSAValue

from hidet.dialects.compute import LoadOp, StoreOp
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.memory_access import VECTOR_BYTES, CopyVectorOp
from hidet.dialects.cuda.table_ops import Element
from hidet.dialects.task import TaskMapAttr
from hidet.errors import ScriptError
from hidet.frontends.script.messages import Value, describe
from hidet.frontends.script.scalars import Index, Scalar, as_index, convert, index_of, is_integer
from hidet.frontends.script.tracing import current, insert
from hidet.frontends.script.types import ElementType, OfElements, VectorType, as_tuple
from hidet.frontends.script.variables import mark_sign
from hidet.frontends.script.vectors import Vector
from hidet.mapping import SwizzledLayout, TaskMap, repeat
from hidet.rewriting.builder import align


@dataclass(frozen=True, repr=False)
class Tensor(Value, OfElements):
    """A tensor in some memory.

    Attributes:
        memory: the memref in the IR.
        dtype: the element type. The lanes of a vector are the last dimension of the memref, unless
            the tensor is accessed through a pointer.
        shape: the extents that the script sees, known at compile time or at run time.
        layout: maps indices to indices of the memref; None is the identity.
        start: the first element in the memref, of a tensor behind a pointer.
        swizzle: the permutation of elements that applies before the layout, or None.
        base: the offsets of a tensor that is a window of its memref.
        part: the slice that the tensor is, or None.
    """

    memory: SSAValue
    dtype: ElementType
    shape: tuple[Index, ...]
    layout: TaskMap | None = None
    start: Index | None = None
    swizzle: SwizzledLayout | None = None
    base: tuple[Index, ...] = ()
    part: Part | None = None

    @property
    def pointer(self) -> Pointer | None:
        """The address of the first element if the elements are consecutive, else None."""
        if self.part is not None:
            return None
        if self.start is not None:
            return Pointer(self.memory, self.dtype, (self.start,))
        if len(self.shape) != 1 or self.layout is not None:
            return None
        first = (0,) if self.lanes == 1 else (0, 0)
        return Pointer(self.memory, self.dtype, self.base or first)

    def __getitem__(self, indices: object) -> Scalar:
        """Load an element, in a Python function."""
        return load_at(address_of(self, as_tuple(indices)))

    def __setitem__(self, indices: object, value: object) -> None:
        """Store an element, in a Python function."""
        store_at(value, address_of(self, as_tuple(indices)))

    __iter__ = None

    def on(self, worker: object, *, bound: object = None) -> Iterable[tuple[Index, ...]]:
        """Return the elements of a register tile that a worker holds, for a loop of the kernel."""
        from hidet.frontends.script.iterables import tasks_of

        kind = self.memory.type
        if not isinstance(kind, MemRefType) or not isinstance(kind.layout, TaskMapAttr):
            raise ScriptError(
                f"{describe(self)} is not distributed over threads",
                hint="loop over the tasks of a mapping: mapping.on(threadIdx.x)",
            )
        # If a pass is still to choose the layout, only its shape is meaningful.
        layout = kind.layout.data or repeat(*kind.get_shape())
        tasks = tasks_of(layout, "on", worker, bound=bound, tile=self)
        return cast("Iterable[tuple[Index, ...]]", tasks)

    def __repr__(self) -> str:
        extents = (str(each) if isinstance(each, int) else "?" for each in self.shape)
        return f"a tensor {self.dtype}[{', '.join(extents)}]"


LANES = "xyzw"
"""The names of the first elements of a vector."""


@dataclass(frozen=True, repr=False)
class Lanes(Tensor):
    """The elements of a vector in memory: `t[i]` in `t[i].x = v`."""


@dataclass(frozen=True)
class Part:
    """A slice of a tensor: `a[z, m:, k:]`.

    Attributes:
        starts: the start of the slice, or the only index, along each of its dimensions.
        kept: the dimensions that the slice keeps.
    """

    tensor: Tensor
    starts: tuple[Index, ...]
    kept: tuple[int, ...]

    def indices(self, given: Sequence[object]) -> list[object]:
        """Return the indices into the tensor for indices into the slice."""
        found: list[object] = list(self.starts)
        for dim, index in zip(self.kept, given, strict=True):
            found[dim] = _sum(self.starts[dim], cast("Index", index))
        return found


@dataclass(frozen=True, repr=False)
class Pointer(Value, OfElements):
    """An address in some memory: a memref with the indices of an element."""

    memory: SSAValue
    dtype: ElementType
    indices: tuple[Index, ...]

    def offset_by(self, offset: Index, dim: int) -> Pointer:
        """Return the address at an offset along a dimension of the memref."""
        indices = list(self.indices)
        indices[dim] = _sum(indices[dim], offset)
        return replace(self, indices=tuple(indices))

    def lane(self, number: Index) -> Pointer:
        """Return the address of an element of the vector pointed to."""
        return replace(self.offset_by(number, -1), dtype=self.element)

    def __add__(self, offset: Index) -> Pointer:
        if len(self.indices) == 1:
            return self.offset_by(offset if self.lanes == 1 else offset * self.lanes, 0)
        if len(self.indices) == 2 and self.lanes > 1:
            return self.offset_by(offset, 0)
        raise ScriptError(
            "the address of an element of a tensor with several dimensions cannot be moved",
            hint=f"take the address of the element itself, ~x[i, j], or cast(p, ~{self.dtype})",
        )

    __radd__ = __add__

    def __sub__(self, offset: Index) -> Pointer:
        return self + -offset

    def __repr__(self) -> str:
        return f"a pointer ~{self.dtype}"


# Addresses.


def check_rank(tensor: Tensor, indices: Sequence[object]) -> None:
    """Check that there is one index per dimension, in bounds if constant."""
    if len(indices) != len(tensor.shape):
        raise ScriptError(
            f"{len(indices)} {'index' if len(indices) == 1 else 'indices'} for "
            f"{describe(tensor)}, which has {len(tensor.shape)} dimensions",
            hint="give one index for each dimension",
        )
    for index, extent in zip(indices, tensor.shape, strict=True):
        if not is_integer(index) and not isinstance(index, bool):
            raise ScriptError(
                f"an index is an integer, not {describe(index)}",
                hint="an integer is threadIdx.x, or int(x) of a float",
            )
        if isinstance(index, int) and isinstance(extent, int) and not 0 <= index < extent:
            raise ScriptError(
                f"the index {index} lies outside of {describe(tensor)}",
                hint=f"it goes from 0 to {extent - 1}; there are no negative indices",
            )


def address_of(tensor: Tensor, indices: Sequence[object]) -> Pointer:
    """Return the address of an element of a tensor."""
    check_rank(tensor, indices)
    if tensor.part is not None:
        return address_of(tensor.part.tensor, tensor.part.indices(indices))
    at = [as_index(index) for index in indices]
    if tensor.swizzle is not None:
        at = tensor.swizzle.moved(at)
    if tensor.start is not None:
        at = [_linear(tensor, tensor.start, at)]
    elif tensor.layout is not None:
        at = tensor.layout.repeat_values(at)
    if tensor.start is None and tensor.lanes > 1:
        at = [*at, 0]
    if tensor.base:
        outer = len(tensor.base) - len(at)
        at = [*tensor.base[:outer], *map(_sum, tensor.base[outer:], at)]
    return Pointer(tensor.memory, tensor.dtype, tuple(at))


def first_address(value: object) -> object:
    """Return the address of the first element of a tensor; other values unchanged."""
    return address_of(value, [0] * len(value.shape)) if isinstance(value, Tensor) else value


def element_at(pointer: Pointer) -> Element:
    """Return the element pointed to, as operations take it."""
    return Element(pointer.memory, list(map(index_of, pointer.indices)))


def _sum(start: Index, offset: Index) -> Index:
    return offset if isinstance(start, int) and start == 0 else start + offset


def _linear(tensor: Tensor, start: Index, indices: Sequence[Index]) -> Index:
    """Return the linear index of an element of a tensor behind a pointer."""
    terms: list[Index] = []
    if tensor.layout is not None:
        digits = tensor.layout.repeat_digits
        numbers = tensor.layout.repeat_values(indices)
        terms = [number * d.weight for number, d in zip(numbers, digits, strict=True)]
    elif indices:
        linear, *others = indices
        for index, extent in zip(others, tensor.shape[1:], strict=True):
            linear = as_index(linear * as_index(extent) + index)
        terms = [linear]
    for term in terms:
        start = _sum(start, term if tensor.lanes == 1 else term * tensor.lanes)
    return start


# Loads and stores.


def load_at(pointer: Pointer) -> Scalar:
    """Load from an address; a vector is returned as its `Vector`."""
    kind = pointer.dtype
    if isinstance(kind, VectorType):  # by the widest accesses, from registers element by element
        source = pointer
        if run := _access_lanes(pointer):
            source = registers_of(kind)
            for first in range(0, kind.lanes, run):
                _copy_lanes(source.lane(first), pointer.lane(first), run)
        return cast("Scalar", vector_in(source, kind))
    memory, indices = element_at(pointer)
    load = LoadOp if isinstance(memory.type, TensorType) else memref.LoadOp.get
    return Scalar(insert(load(memory, indices)).results[0], kind)


def store_at(value: object, pointer: Pointer) -> None:
    """Store a value, converted to the element type, or a vector as `load_at` loads it."""
    kind = pointer.dtype
    if isinstance(kind, VectorType):
        vector, run = kind(value), _access_lanes(pointer)
        target = registers_of(kind) if run else pointer
        for lane, each in enumerate(vector):
            store_at(each, target.lane(lane))
        for first in range(0, kind.lanes, run) if run else ():
            _copy_lanes(pointer.lane(first), target.lane(first), run)
        return
    scalar = convert(value, kind)
    memory, indices = element_at(pointer)
    store = StoreOp if isinstance(memory.type, TensorType) else memref.StoreOp.get
    insert(store(scalar.ssa, memory, indices))


def registers_of(kind: VectorType) -> Pointer:
    """Return a local array that can hold a vector."""
    memory = mark_sign(current().local_array(kind.element.ir, [kind.lanes]), kind.element)
    return Pointer(memory, kind if kind.lanes > 1 else kind.element, (0,))


def vector_in(registers: Pointer, kind: VectorType) -> Vector:
    """Return the vector that registers hold."""
    elements = (load_at(registers.lane(lane)) for lane in range(kind.lanes))
    return Vector(kind, tuple(elements))


def access_bytes(size: int) -> int:
    """Return the widest access that divides a size in bytes."""
    return max(width for width in VECTOR_BYTES if size % width == 0)


def _access_lanes(pointer: Pointer) -> int:
    """Return the number of elements per vectorized access; 0 for element by element."""
    if space_of(pointer.memory.type) in (Space.LOCAL, Space.REGISTER):
        return 0
    run = access_bytes(pointer.dtype.nbytes) // pointer.element.nbytes
    return run if run > 1 else 0


def _copy_lanes(target: Pointer, source: Pointer, count: int) -> None:
    for each in (target, source):
        align(each.memory, count * each.element.nbytes)
    insert(CopyVectorOp(element_at(source), element_at(target), count))
