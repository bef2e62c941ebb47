"""Slices of tensors, `a[z, m:, k:]` and `a[i]`, and bounds-checked accesses."""

from collections.abc import Sequence
from functools import partial, reduce
from typing import cast

from hidet.errors import ScriptError
from hidet.frontends.script.calls import python_attribute
from hidet.frontends.script.functional import logical_and
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Index, Scalar, branch_of, constant, is_integer
from hidet.frontends.script.tensors import (
    LANES,
    Lanes,
    Part,
    Pointer,
    Tensor,
    address_of,
    check_rank,
    load_at,
    store_at,
)
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import as_tuple


def part_of(tensor: Tensor, indices: Sequence[object]) -> Tensor:
    """Return a slice of a tensor; missing indices select the whole dimension."""
    given = [*indices, *[slice(None)] * (len(tensor.shape) - len(indices))]
    check_rank(tensor, [0 if isinstance(index, slice) else index for index in given])
    starts: list[Index] = []
    kept: list[int] = []
    shape: list[Index] = []
    for dim, (index, extent) in enumerate(zip(given, tensor.shape, strict=True)):
        if not isinstance(index, slice):
            starts.append(cast("Index", index))
            continue
        first, last, step = cast("tuple[object, ...]", (index.start, index.stop, index.step))
        start, stop = _bound(first, 0), _bound(last, extent)
        if step is not None:
            raise ScriptError(
                f"a slice of {describe(tensor)} has a step",
                hint="strided slices are not supported",
            )
        starts.append(start)
        kept.append(dim)
        shape.append(stop if isinstance(start, int) and start == 0 else stop - start)
    part = Part(tensor, tuple(starts), tuple(kept))
    return type(tensor)(tensor.memory, tensor.dtype, tuple(shape), part=part)


def offset_by(pointer: Pointer, indices: Sequence[object]) -> Pointer:
    """Return the address `~p[i]`."""
    if len(indices) != 1:
        raise ScriptError(
            f"{len(indices)} indices for {describe(pointer)}, which takes one",
            hint="make a tensor of it: as_tensor_pointer(pointer, 'float32', [m, n])",
        )
    (index,) = indices
    if not isinstance(index, Scalar | int):
        raise ScriptError(
            f"an index is an integer, not {describe(index)}",
            hint="an integer is threadIdx.x, or int(x) of a float",
        )
    return pointer + index


def _bound(value: object, default: Index) -> Index:
    if value is None:
        return default
    if not is_integer(value) or (isinstance(value, int) and value < 0):
        raise ScriptError(
            f"a bound of a slice is {describe(value)}", hint="an integer that is not negative"
        )
    return value  # pyright: ignore[reportReturnType]


def read(tensor: Tensor, index: object, protected: bool = True) -> Scalar:
    """Execute `tensor.read(indices, protected=True)`: load an element, or 0 out of bounds."""
    indices = as_tuple(index)
    condition = inside(tensor, indices) if protected else True
    if not isinstance(condition, Scalar):
        return load_at(address_of(tensor, indices))
    with current().arm() as then:
        value = load_at(address_of(tensor, indices))
    with current().arm() as otherwise:
        zero = constant(0, tensor.element)
    return branch_of(condition, (then, value), (otherwise, zero))


def write(tensor: Tensor, index: object, value: object, protected: bool = True) -> None:
    """Execute `tensor.write(indices, value, protected=True)`: store unless out of bounds."""
    indices = as_tuple(index)
    condition = inside(tensor, indices) if protected else True
    if not isinstance(condition, Scalar):
        store_at(value, address_of(tensor, indices))
        return
    with current().when(condition.ssa):
        store_at(value, address_of(tensor, indices))


def inside(tensor: Tensor, indices: Sequence[object]) -> object:
    """Return whether indices are in bounds; of a slice, in those of its tensor."""
    check_rank(tensor, indices)
    if tensor.part is not None:
        return inside(tensor.part.tensor, tensor.part.indices(indices))
    at = cast("Sequence[Index]", indices)
    fits = [index < extent for index, extent in zip(at, tensor.shape, strict=True)]
    return reduce(logical_and, fits, True)


def lane_at(lanes: Lanes, name: str) -> Pointer:
    """Return the address of a named element of a vector."""
    return address_of(lanes, [LANES.index(name)])


def attribute_of(base: object, name: str) -> object:
    """Return an attribute of a Python value, a tensor, or a vector in memory."""
    match base:
        case Lanes() if name in LANES:
            return load_at(lane_at(base, name))
        case Tensor() if name in ("shape", "on"):
            return getattr(base, name)
        case Tensor() if name in ACCESSES:
            return partial(ACCESSES[name], base)
        case Tensor() | Pointer() | Scalar() if name == "dtype":
            return base.type if isinstance(base, Scalar) else base.dtype
        case Tensor() | Pointer() | Scalar():
            raise ScriptError(
                f"{describe(base)} has no attribute '{name}'",
                hint="a tensor has 'shape', 'dtype', 'on', 'read' and 'write'"
                if isinstance(base, Tensor)
                else "it has 'dtype'",
            )
        case _:
            return python_attribute(base, name)


ACCESSES = {"read": read, "write": write}
"""The methods of tensors that accept several indices."""
