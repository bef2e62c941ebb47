"""Memory of a kernel: tensors in registers, in shared memory, and behind pointers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Attribute, SSAValue

from hidet.dialects.cuda.attributes import Space, SpaceAttr, space_of
from hidet.dialects.cuda.table_ops import known_index
from hidet.dialects.cuda.views import DynamicSharedOp, MapSharedRankOp
from hidet.dialects.shaped import memref_type
from hidet.errors import ScriptError
from hidet.frontends.script.messages import describe
from hidet.frontends.script.pointers import VoidPointer
from hidet.frontends.script.scalars import Index, Scalar, convert, is_integer
from hidet.frontends.script.tensors import Pointer, Tensor, access_bytes, first_address
from hidet.frontends.script.tracing import current, insert
from hidet.frontends.script.types import I32, TensorType, as_tuple, check_shape, element_type
from hidet.frontends.script.variables import mark_sign
from hidet.mapping import SwizzledLayout, TaskMap, repeat
from hidet.rewriting.builder import align


def register_tensor(dtype: object, shape: object = None, layout: object = None) -> Tensor:
    """Allocate a tensor in registers.

    Its type is `tensor_type(dtype, shape, layout)`, which raises if they do not match. A layout
    with `local_layout` distributes it over threads: a thread holds the elements that the layout, a
    task mapping, assigns to it. Otherwise each thread has a tensor of its own.
    """
    kind = TensorType(dtype, shape, layout)
    tasks, _ = _layout(kind)
    if not kind.is_spread:
        return _tensor_in(current().local_array, kind)
    shape = tasks.shape
    if kind.lanes > 1:  # a thread holds all elements of a vector
        tasks = tasks.lift(0, 1) * repeat(*[1] * tasks.rank, kind.lanes)
    memory = mark_sign(current().register_tile(kind.element.ir, tasks), kind.element)
    return Tensor(memory, kind.dtype, shape)


def shared_tensor(dtype: object, shape: object = None, layout: object = None) -> Tensor:
    """Allocate a tensor in the shared memory of the block.

    Its type is `tensor_type(dtype, shape, layout)`. Beyond 48 KiB per kernel it follows
    `dynamic_smem_bytes`, and the launch requests the total.

    Raises:
        ScriptError: shape and layout do not match, or shared memory is exhausted.
    """
    kind = TensorType(dtype, shape, layout)
    tasks, _ = _layout(kind)
    if kind.is_spread:
        raise ScriptError(
            f"the layout {tasks} distributes elements over threads, but shared memory is not",
            hint="use row_major and column_major alone",
        )
    current().shared_bytes += prod(tasks.shape) * kind.dtype.nbytes
    current().check_shared_bytes()
    made = _tensor_in(current().shared_tile, kind)
    if kind.lanes > 1:
        align(made.memory, access_bytes(kind.dtype.nbytes))
    return made


def map_shared_rank(tensor: object, rank: object) -> Tensor:
    """Return a tensor of shared memory in another block of the cluster, as CUDA's cluster groups.

    `cluster_sync()` orders accesses to it, and keeps the blocks until others have read from them.
    The rank of a block is its linear index in the cluster, see `block_rank_in_cluster`.

    Raises:
        ScriptError: it is no whole tensor in shared memory.
    """
    if (
        not isinstance(tensor, Tensor)
        or tensor.part is not None
        or tensor.base
        or space_of(tensor.memory.type) is not Space.SHARED
    ):
        raise ScriptError(
            f"map_shared_rank takes a tensor in shared memory, not {describe(tensor)}",
            hint="pass what shared_tensor() has returned",
        )
    mapped = insert(MapSharedRankOp(tensor.memory, convert(rank, I32).ssa))
    return replace(tensor, memory=mapped.result)


def _tensor_in(
    allocate: Callable[[Attribute, Sequence[int]], SSAValue], kind: TensorType
) -> Tensor:
    layout, swizzle = _layout(kind)
    extents, digits = _memory_of(layout)
    shape = extents if kind.lanes == 1 else (*extents, kind.lanes)
    memory = mark_sign(allocate(kind.element.ir, shape), kind.element)
    return Tensor(memory, kind.dtype, layout.shape, digits, swizzle=swizzle)


def dynamic_shared_memory(byte_offset: object, dtype: object) -> Pointer:
    """Return a pointer into dynamic shared memory of `attrs.cuda.dynamic_smem_bytes` bytes.

    The memory is aligned to 1024 bytes, the offset to the size of an element. `as_tensor_pointer`
    makes tensors of it. They may overlap, with a barrier between their uses.

    Raises:
        ScriptError: the offset is out of bounds or misaligned.
    """
    kind, total = element_type(dtype), current().shape.dynamic_smem_bytes
    if isinstance(byte_offset, bool) or not isinstance(byte_offset, int):
        raise ScriptError(
            f"the offset in shared memory is {describe(byte_offset)}",
            hint="a compile-time integer; add a run-time offset to the pointer",
        )
    size, element = kind.nbytes, kind.element
    if byte_offset % size or not 0 <= byte_offset <= total - size:
        raise ScriptError(
            f"{kind} does not fit at byte {byte_offset} of {total} bytes of shared memory",
            hint=f"a multiple of {size} below attrs.cuda.dynamic_smem_bytes, which is set before",
        )
    count = (total - byte_offset) // size * kind.lanes
    memory = MemRefType(element.ir, [count], NoneAttr(), SpaceAttr(Space.SHARED))
    op = insert(DynamicSharedOp(byte_offset, memory))
    return Pointer(mark_sign(op.result, element), kind, (0,))


def tensor(
    dtype: object, shape: object = None, layout: object = None, scope: object = "register"
) -> Tensor:
    """Allocate a tensor in a memory scope.

    The scope is "register", which is the "default", or "shared".

    Raises:
        ScriptError: there is no such scope; or as `register_tensor` and `shared_tensor` say.
    """
    name = scope.value if isinstance(scope, DeclareScope) else scope
    if name in ("default", "register"):
        return register_tensor(dtype, shape, layout)
    if name != "shared":
        raise ScriptError(
            f"a tensor cannot be made in the scope {describe(scope)}",
            hint="in 'register' or in 'shared'; global memory comes as a parameter",
        )
    return shared_tensor(dtype, shape, layout)


def tensor_of(memory: SSAValue, kind: TensorType) -> Tensor:
    """Return the tensor of a type in some memory."""
    if kind.layout is None:
        return Tensor(memory, kind.dtype, kind.shape)
    layout, swizzle = _layout(kind)
    return Tensor(memory, kind.dtype, kind.shape, layout, 0, swizzle)


def part_of(pointer: Pointer, kind: TensorType) -> Tensor | None:
    """Return the tensor of a type that starts at an address, None if there is none.

    Memory of rank 1 may hold any type; a part of a tensor consists of whole rows.
    """
    memory = memref_type(pointer.memory)
    if pointer.dtype != kind.dtype or space_of(memory) is Space.REGISTER:
        return None
    layout, swizzle = _layout(kind)
    if memory.get_num_dims() == 1:
        (extent,), (start,) = memory.get_shape(), pointer.indices
        end = prod(kind.scalar_shape) + (start if isinstance(start, int) else 0)
        if extent < 0 or end <= extent:
            return Tensor(pointer.memory, kind.dtype, kind.shape, layout, start, swizzle)
    if kind.lanes > 1:
        return None
    extents, digits = _memory_of(layout)
    own = memory.get_shape()[-len(extents) :]
    if len(own) != len(extents) or own[1:] != extents[1:] or own[0] < extents[0]:
        return None
    return Tensor(
        pointer.memory, kind.dtype, kind.shape, digits, swizzle=swizzle, base=pointer.indices
    )


class DeclareScope(Enum):
    """The scopes of `tensor(..., scope=DeclareScope.Shared)`."""

    Default = "default"
    Global = "global"
    Register = "register"
    Shared = "shared"


@dataclass(frozen=True)
class TensorPointer:
    """A tensor without a pointer yet: `t = tensor_pointer('float32', [n])`, then `t = p`."""

    dtype: object
    shape: object
    layout: object

    def __getitem__(self, key: object) -> object:
        raise ScriptError(
            "this tensor pointer has no address yet",
            hint="assign a pointer to it, or pass one as 'init'",
        )

    def at(self, pointer: object) -> Tensor:
        """Return the tensor behind a pointer."""
        return as_tensor_pointer(pointer, self.dtype, self.shape, self.layout)


def tensor_pointer(
    dtype: object, shape: object = None, layout: object = None, init: object = None
) -> Tensor | TensorPointer:
    """Make a tensor of a pointer, which may be assigned later; see `as_tensor_pointer`."""
    waiting = TensorPointer(dtype, shape, layout)
    return waiting if init is None else waiting.at(init)


def as_tensor_pointer(
    expr: object, dtype: object, shape: object = None, layout: object = None
) -> Tensor:
    """Make a tensor of the memory behind a pointer.

    The pointer is to elements of the same type. Shape and layout are those of `tensor_type`, but
    extents may be run-time values.

    Raises:
        ScriptError: it is no pointer to such elements, or shape and layout do not match.
    """
    pointer = expr.pointer or expr if isinstance(expr, Tensor) else expr
    if isinstance(pointer, VoidPointer):
        pointer = pointer.of(element_type(dtype))
    if not isinstance(pointer, Pointer) or len(pointer.indices) != 1:
        raise ScriptError(
            f"{describe(pointer)} is no pointer", hint="declare the parameter as ~f32"
        )
    kind = element_type(dtype)
    if kind != pointer.dtype:
        raise ScriptError(
            f"{describe(pointer)} cannot be a tensor of {kind}",
            hint=f"a tensor of {pointer.dtype}, or cast the pointer before: cast(p, ~{kind})",
        )
    (start,) = pointer.indices
    if layout is not None:
        whole = TensorType(dtype, shape, layout)
        known, swizzle = _layout(whole)
        if whole.is_spread:
            raise ScriptError(f"the layout {known} distributes elements over threads")
        return Tensor(pointer.memory, kind, known.shape, known, start, swizzle)
    extents: list[Index] = []
    for value in as_tuple(shape):
        is_known = not (isinstance(value, Scalar) and is_integer(value))
        extents.extend(check_shape(value) if is_known else [value])
    return Tensor(pointer.memory, kind, tuple(extents), None, start)


def _layout(kind: TensorType) -> tuple[TaskMap, SwizzledLayout | None]:
    if isinstance(kind.layout, SwizzledLayout):
        return kind.layout.base, kind.layout
    if kind.layout is None and 0 in kind.shape:
        raise ScriptError(f"a tensor of shape {kind.shape} has no elements")
    return kind.layout or repeat(*kind.shape or (1,)), None


def _memory_of(layout: TaskMap) -> tuple[tuple[int, ...], TaskMap | None]:
    """Return the shape of the memory for a layout, and how indices are translated; None if not."""
    if layout == repeat(*layout.shape):
        return layout.shape, None
    return tuple(digit.extent for digit in layout.repeat_digits), layout


@dataclass(frozen=True)
class Registers:
    """Consecutive registers of a thread, each of which holds several elements."""

    pointer: Pointer
    type: TensorType
    first: int = 0

    def __getitem__(self, number: int) -> "Registers":
        if not 0 <= number < prod(self.type.shape):
            raise ScriptError(
                f"{self} has no register {number!r}", hint="registers are numbered from 0 on"
            )
        return replace(self, type=TensorType(self.type.element, (1,)), first=self.first + number)

    def __repr__(self) -> str:
        return f"{describe(self.pointer)} seen as {self.type}"


def view(ptr: object, tp: object) -> Tensor | Registers:
    """Return a tensor, or memory at an address, viewed as another tensor type.

    A view of the element type is a part of a tensor. Another type views registers, which `ldmatrix`
    takes: `r = view(regs, u32[4])`, `ldmatrix([r[0], r[1], r[2], r[3]], row)`.
    """
    pointer = first_address(ptr)
    if isinstance(pointer, Pointer) and isinstance(tp, TensorType):
        part = part_of(pointer, tp)
        if part is not None:
            return part
        is_wider = tp.element.bits % pointer.element.bits == 0
        if is_wider and space_of(pointer.memory.type) is Space.LOCAL:
            return Registers(pointer, tp)
    raise ScriptError(
        f"{describe(ptr)} cannot be viewed as {tp}",
        hint="whole rows of a tensor, or registers as wider elements: u32[4]",
    )


def consecutive_registers(values: Sequence[object]) -> tuple[Pointer, int] | None:
    """Return the first element and the length of consecutive registers; else None.

    The registers are those of a `view`, or named elements of a tensor of 32-bit elements.
    """
    elements: list[tuple[Pointer, int]] = []
    for value in values:
        if isinstance(value, Registers):
            step = value.type.element.bits // value.pointer.element.bits
            elements.append((value.pointer, value.first * step))
        elif isinstance(value, Scalar) and isinstance(load := value.ssa.owner, memref.LoadOp):
            numbers = [known_index(index) for index in load.indices]
            known = [number for number in numbers if number is not None]
            if not known or len(known) < len(numbers):
                return None
            first = Pointer(load.memref, value.type, (*known[:-1], 0))
            elements.append((first, known[-1]))
        else:
            return None
    if not elements:
        return None
    pointer, start = elements[0]
    step = 32 // pointer.element.bits
    for number, (other, index) in enumerate(elements):
        if other.memory is not pointer.memory or other.indices != pointer.indices:
            return None
        if index != start + number * step:
            return None
    *outer, last = pointer.indices
    return replace(pointer, indices=(*outer, last + start)), len(elements) * step
