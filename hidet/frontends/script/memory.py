"""Memory of a kernel: tensors in registers, in shared memory, and behind pointers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import cast

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import SSAValue

from hidet.dialects.cuda.attributes import Space, SpaceAttr, space_of
from hidet.dialects.cuda.views import DynamicSharedOp
from hidet.dialects.shaped import memref_type
from hidet.errors import ScriptError
from hidet.frontends.script.attributes import check_shared_bytes
from hidet.frontends.script.emitter import Emitter
from hidet.frontends.script.loads_and_stores import access_bytes, align
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import (
    ScalarType,
    TensorType,
    VectorType,
    check_shape,
    element_name,
    element_type,
)
from hidet.frontends.script.values import Index, Pointer, Scalar, Tensor, VoidPointer, describe
from hidet.frontends.script.variables import marked
from hidet.mapping import SwizzledLayout, TaskMap, repeat


def register_tensor(dtype: object, shape: object = None, layout: object = None) -> Tensor:
    """Make a tensor in registers.

    A layout with `local_layout` spreads it over the threads: each holds the elements that the
    layout, which is a task mapping, gives to it. Without, every thread has a tensor of its own.

    Args:
        dtype: the type of the elements.
        shape: the extents; left out where a layout has them.
        layout: the layout, row-major if left out.

    Raises:
        ScriptError: there is neither shape nor layout, or they do not fit.
    """
    emitter = current("register_tensor")
    (element, lanes), (layout, swizzle) = element_type(dtype), _layout(shape, layout)
    if layout.spatial_digits or layout.replicate_digits:
        tasks = layout if lanes == 1 else layout.lift(0, 1) * _lanes_of(layout, lanes)
        memory = marked(emitter.register_tile(element.ir, tasks), element)
        return Tensor(memory, element, layout.shape, lanes=lanes)
    extents = _memory_shape(layout)
    memory = marked(emitter.local_array(element.ir, _with_lanes(extents, lanes)), element)
    return _tensor_in(memory, element, lanes, layout, extents, swizzle)


def shared_tensor(dtype: object, shape: object = None, layout: object = None) -> Tensor:
    """Make a tensor in the shared memory of the block.

    Where a kernel has more than 48 KiB of them, they get a place behind its `dynamic_smem_bytes`,
    and the launch asks for all of it.

    Args:
        dtype: the type of the elements.
        shape: the extents; left out where a layout has them.
        layout: the layout, row-major if left out.

    Raises:
        ScriptError: there is neither shape nor layout, they do not fit, or the block has not so
            much shared memory.
    """
    emitter = current("shared_tensor")
    (element, lanes), (layout, swizzle) = element_type(dtype), _layout(shape, layout)
    if layout.spatial_digits or layout.replicate_digits:
        raise ScriptError(
            f"the layout {layout} spreads elements over threads, but shared memory belongs to all",
            hint="use row_major and column_major alone",
        )
    emitter.shared_bytes += prod(layout.shape) * lanes * element.nbytes
    check_shared_bytes(emitter)
    extents = _memory_shape(layout)
    memory = marked(emitter.shared_tile(element.ir, _with_lanes(extents, lanes)), element)
    if lanes > 1:
        align(memory, access_bytes(element.nbytes * lanes))
    return _tensor_in(memory, element, lanes, layout, extents, swizzle)


def _tensor_in(
    memory: SSAValue,
    element: ScalarType,
    lanes: int,
    layout: TaskMap,
    extents: tuple[int, ...],
    swizzle: SwizzledLayout | None,
) -> Tensor:
    """Return the tensor in an array of these extents, and lanes."""
    digits = _digits(layout, extents)
    return Tensor(memory, element, layout.shape, digits, swizzle=swizzle, lanes=lanes)


def _with_lanes(extents: tuple[int, ...], lanes: int) -> tuple[int, ...]:
    return extents if lanes == 1 else (*extents, lanes)


def _lanes_of(layout: TaskMap, lanes: int) -> TaskMap:
    """Return the map by which the holder of a vector holds all of its elements."""
    return repeat(*[1] * layout.rank, lanes)


def dynamic_shared_memory(byte_offset: object, dtype: object) -> Pointer:
    """Return a pointer into the shared memory whose size is `attrs.cuda.dynamic_smem_bytes`.

    The memory starts at a multiple of 1024 bytes. `as_tensor_pointer` makes tensors of it, which
    may overlap: a barrier stands between the uses of two that do.

    Args:
        byte_offset: where it points to, in bytes; a multiple of the size of an element.
        dtype: the type of the elements.

    Raises:
        ScriptError: there is no such place.
    """
    emitter = current("dynamic_shared_memory")
    (element, lanes), total = element_type(dtype), emitter.shape.dynamic_bytes
    if isinstance(byte_offset, bool) or not isinstance(byte_offset, int):
        raise ScriptError(
            f"the offset in shared memory is {describe(byte_offset)}",
            hint="an integer that is known when the script is defined; add others to the pointer",
        )
    size = element.nbytes * lanes
    if byte_offset % size or not 0 <= byte_offset <= total - size:
        raise ScriptError(
            f"{element_name(element, lanes)} cannot lie at byte {byte_offset} of {total} bytes of "
            "shared memory",
            hint=f"a multiple of {size} below attrs.cuda.dynamic_smem_bytes, which is set before",
        )
    count = (total - byte_offset) // size * lanes
    kind = MemRefType(element.ir, [count], NoneAttr(), SpaceAttr(Space.SHARED))
    memory = marked(emitter.insert(DynamicSharedOp(byte_offset, kind)).result, element)
    return Pointer(memory, element, (0,), lanes)


def tensor(
    dtype: object, shape: object = None, layout: object = None, scope: object = "register"
) -> Tensor:
    """Make a tensor in the memory that a scope names.

    Args:
        dtype: the type of the elements.
        shape: the extents; left out where a layout has them.
        layout: the layout, row-major if left out.
        scope: "register" or "shared"; "default" is "register".

    Raises:
        ScriptError: there is no such scope; or as `register_tensor` and `shared_tensor` say.
    """
    makers = {
        DeclareScope.Default: register_tensor,
        DeclareScope.Register: register_tensor,
        DeclareScope.Shared: shared_tensor,
    }
    try:
        make = makers[DeclareScope(scope)]
    except (ValueError, KeyError) as error:
        raise ScriptError(
            f"a tensor cannot be made in the scope {describe(scope)}",
            hint="in 'register' or in 'shared'; global memory comes as a parameter",
        ) from error
    return make(dtype, shape, layout)


def tensor_of(memory: SSAValue, kind: TensorType) -> Tensor:
    """Return the tensor of a type in some memory."""
    if kind.layout is None:
        return Tensor(memory, kind.element, kind.shape, lanes=kind.lanes)
    layout, swizzle = _layout(kind.shape, kind.layout)
    return Tensor(memory, kind.element, kind.shape, layout, 0, swizzle, lanes=kind.lanes)


def part_of(pointer: Pointer, kind: TensorType) -> Tensor | None:
    """Return the tensor of a type that begins at an address; None where none does.

    Behind a pointer, and in shared memory whose size the launch states, any does; in a tensor it
    consists of whole rows of that.
    """
    memory = memref_type(pointer.memory)
    if pointer.dtype != element_of_tensor(kind) or space_of(memory) is Space.REGISTER:
        return None
    layout, swizzle = _layout(kind.shape, kind.layout)
    if memory.get_num_dims() == 1 and _holds(pointer, kind):
        (start,) = pointer.indices
        return Tensor(
            pointer.memory, kind.element, kind.shape, layout, start, swizzle, lanes=kind.lanes
        )
    if kind.lanes > 1:
        return None
    extents = _memory_shape(layout)
    own = memory.get_shape()[-len(extents) :]
    if len(own) != len(extents) or own[1:] != extents[1:] or own[0] < extents[0]:
        return None
    digits = _digits(layout, extents)
    return Tensor(
        pointer.memory, kind.element, kind.shape, digits, swizzle=swizzle, base=pointer.indices
    )


def _holds(pointer: Pointer, kind: TensorType) -> bool:
    """Return whether a row of memory may hold a tensor of a type from an address on."""
    (extent,) = memref_type(pointer.memory).get_shape()
    (start,) = pointer.indices
    size = prod(kind.scalar_shape)
    return extent < 0 or (size + (start if isinstance(start, int) else 0) <= extent)


def element_of_tensor(kind: TensorType) -> ScalarType | VectorType:
    """Return the type of the elements of a tensor, which may be vectors."""
    return kind.element if kind.lanes == 1 else VectorType(kind.element, kind.lanes)


class DeclareScope(Enum):
    """The scopes of `tensor`, for `tensor(..., scope=DeclareScope.Shared)`."""

    Default = "default"
    Global = "global"
    Register = "register"
    Shared = "shared"


@dataclass(frozen=True)
class TensorPointer:
    """A tensor that waits for its pointer: `t = tensor_pointer('float32', [n])`, then `t = p`.

    Attributes:
        dtype: the type of the elements.
        shape: the extents.
        layout: the layout.
    """

    dtype: object
    shape: object
    layout: object

    def __getitem__(self, key: object) -> object:
        raise ScriptError(
            "this tensor pointer points nowhere yet",
            hint="assign a pointer to it, or give it one by 'init'",
        )

    def at(self, pointer: object) -> Tensor:
        """Return the tensor behind a pointer.

        Raises:
            ScriptError: as `as_tensor_pointer` says.
        """
        return as_tensor_pointer(pointer, self.dtype, self.shape, self.layout)


def tensor_pointer(
    dtype: object, shape: object = None, layout: object = None, init: object = None
) -> Tensor | TensorPointer:
    """Make a tensor of what a pointer points to; `as_tensor_pointer` in another order.

    Without `init` the pointer follows, by an assignment to the same name.
    """
    waiting = TensorPointer(dtype, shape, layout)
    return waiting if init is None else waiting.at(init)


def as_tensor_pointer(
    pointer: object, dtype: object, shape: object = None, layout: object = None
) -> Tensor:
    """Make a tensor of what a pointer points to.

    Args:
        pointer: the pointer, to elements of the same type.
        dtype: the type of the elements.
        shape: the extents, which may be known only when the kernel runs.
        layout: the layout, row-major if left out.

    Raises:
        ScriptError: it is no pointer to such elements, or shape and layout do not fit.
    """
    emitter = current("as_tensor_pointer")
    if isinstance(pointer, Tensor):
        pointer = pointer.pointer or pointer
    if isinstance(pointer, VoidPointer):
        pointer = pointer.of(*element_type(dtype))
    if not isinstance(pointer, Pointer) or len(pointer.indices) != 1:
        raise ScriptError(
            f"{describe(pointer)} is no pointer", hint="declare the parameter as ~f32"
        )
    element, lanes = element_type(dtype)
    if (element, lanes) != (pointer.element, pointer.lanes):
        name = element_name(element, lanes)
        raise ScriptError(
            f"{describe(pointer)} made a tensor of {name}",
            hint=f"a tensor of {pointer.dtype}, or cast the pointer before: cast(p, ~{name})",
        )
    (start,) = pointer.indices
    if layout is not None:
        known, swizzle = _layout(shape, layout)
        if known.spatial_digits or known.replicate_digits:
            raise ScriptError(f"the layout {known} spreads elements over threads")
        return Tensor(pointer.memory, element, known.shape, known, start, swizzle, lanes=lanes)
    return Tensor(pointer.memory, element, _extents(emitter, shape), None, start, lanes=lanes)


def _extents(emitter: Emitter, shape: object) -> tuple[Index, ...]:
    """Return extents, those that the kernel computes as scalars."""
    given = cast("tuple[object, ...]", shape if isinstance(shape, list | tuple) else (shape,))
    extents: list[Index] = []
    for value in given:
        if isinstance(value, Scalar) and value.type.is_integer:
            extents.append(value)
        else:
            extents.extend(check_shape((value,)))
    return tuple(extents)


def _layout(shape: object, layout: object) -> tuple[TaskMap, SwizzledLayout | None]:
    """Return the layout of a tensor, row-major unless one is given, and as what it is swizzled."""
    if layout is None:
        if shape is None:
            raise ScriptError("a tensor without a shape and without a layout")
        values = cast("tuple[object, ...]", shape if isinstance(shape, tuple | list) else (shape,))
        extents = check_shape(tuple(values))
        if 0 in extents:
            raise ScriptError(f"a tensor of shape {extents} has no elements")
        return (repeat(*extents) if extents else repeat(1)), None
    if not isinstance(layout, TaskMap | SwizzledLayout):
        raise ScriptError(
            f"{describe(layout)} is no layout",
            hint="a product of row_major(..), column_major(..) and local_layout(..)",
        )
    if shape is not None and tuple(cast("list[object]", shape)) != layout.shape:
        raise ScriptError(f"the shape is {shape}, but the layout is for {list(layout.shape)}")
    return (layout, None) if isinstance(layout, TaskMap) else (layout.base, layout)


def _memory_shape(layout: TaskMap) -> tuple[int, ...]:
    """Return the extents of the memory for a layout: the tensor's own where it is row-major."""
    if layout == repeat(*layout.shape):
        return layout.shape
    return tuple(digit.extent for digit in layout.repeat_digits)


def _digits(layout: TaskMap, extents: tuple[int, ...]) -> TaskMap | None:
    """Return the layout where indices have to be translated, None where they need not."""
    return None if extents == layout.shape and layout == repeat(*extents) else layout
