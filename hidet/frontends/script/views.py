"""Parts of tensors, and registers seen as wider ones: `view(regs, u32[4])`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import memref

from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.table_ops import known_index
from hidet.errors import ScriptError
from hidet.frontends.script.emitter import Emitter
from hidet.frontends.script.memory import part_of
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import TensorType
from hidet.frontends.script.values import Pointer, Scalar, Tensor, describe


@dataclass(frozen=True)
class Registers:
    """Neighbouring registers of a thread, each of which holds several elements.

    Attributes:
        pointer: the first element.
        type: what they are seen as.
        first: the number of the first register.
    """

    pointer: Pointer
    type: TensorType
    first: int = 0

    def __getitem__(self, number: int) -> Registers:
        if not 0 <= number < prod(self.type.shape):
            raise ScriptError(
                f"{self} has no register {number!r}", hint="registers are numbered from 0 on"
            )
        return replace(self, type=TensorType(self.type.element, (1,)), first=self.first + number)

    def __str__(self) -> str:
        return f"{describe(self.pointer)} seen as {self.type}"

    __repr__ = __str__


def view(value: object, kind: object) -> Tensor | Registers:
    """Return a tensor, or what an address points to, as a tensor of another type.

    Of the same type it is a part of a tensor; of another one the registers that hold its elements,
    as `ldmatrix` takes them: `r = view(regs, u32[4])`, `ldmatrix([r[0], r[1], r[2], r[3]], row)`.

    Args:
        value: the tensor or the address.
        kind: the type, `f32[4, 8]`.

    Raises:
        ScriptError: it cannot be seen so.
    """
    emitter = current("view")
    pointer = value
    if isinstance(value, Tensor):
        pointer = emitter.address(value, [0] * len(value.shape))
    if isinstance(pointer, Pointer) and isinstance(kind, TensorType):
        part = part_of(pointer, kind)
        if part is not None:
            return part
        is_wider = kind.element.bits % pointer.element.bits == 0
        if is_wider and space_of(pointer.memory.type) is Space.LOCAL:
            return Registers(pointer, kind)
    raise ScriptError(
        f"{describe(value)} seen as {kind}",
        hint="a part of a tensor that consists of whole rows, or registers as wider ones: u32[4]",
    )


def run_of(emitter: Emitter, values: Sequence[object]) -> tuple[Pointer, int] | None:
    """Return the first element of neighbouring registers, and the number of elements; else None.

    Registers are those of a `view`, or elements of a tensor of 32 bits that have been named.
    """
    places: list[tuple[Pointer, int]] = []
    for value in values:
        if isinstance(value, Registers):
            step = value.type.element.bits // value.pointer.element.bits
            places.append((value.pointer, value.first * step))
        elif isinstance(value, Scalar) and isinstance(load := value.ssa.owner, memref.LoadOp):
            numbers = [known_index(index) for index in load.indices]
            known = [number for number in numbers if number is not None]
            if not known or len(known) < len(numbers):
                return None
            first = Pointer(load.memref, value.type, (*known[:-1], 0))
            places.append((first, known[-1]))
        else:
            return None
    if not places:
        return None
    pointer, start = places[0]
    step = 32 // pointer.element.bits
    for number, (other, place) in enumerate(places):
        if other.memory is not pointer.memory or other.indices != pointer.indices:
            return None
        if place != start + number * step:
            return None
    *outer, last = pointer.indices
    return replace(pointer, indices=(*outer, last + start)), len(places) * step
