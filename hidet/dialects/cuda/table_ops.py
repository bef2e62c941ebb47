"""The base of operations that correspond to an entry of the instruction table."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import FixedBitwidthType, IntegerAttr, MemRefType, StringAttr, UnitAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import traits_def
from xdsl.traits import EffectInstance
from xdsl.utils.exceptions import VerifyException

from hidet.arch.instructions import Access, Instruction, Operand
from hidet.dialects.constants import known_index
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.instructions import Collective, WarpCollective
from hidet.dialects.effects import ANY_MEMORY, MACHINE, AccessingOp, Effects, has_trait, read, write
from hidet.dialects.fields import Element
from hidet.dialects.shaped import memref_type


class InstructionOp(AccessingOp):
    """An operation that is an instruction of the table, and prints as a call of its function.

    The function takes the addresses of the elements, then all other operands.

    Attributes:
        ENTRY: the table entry, or entries by the property `KEY`.
        TEMPLATE: the properties that are template arguments of the function.
        ADDRESSES: the memrefs in table order, if that differs from the order of operands.
    """

    ENTRY: ClassVar[Instruction | Mapping[str, Instruction]]
    KEY: ClassVar[str] = ""
    TEMPLATE: ClassVar[tuple[str, ...]] = ()
    ADDRESSES: ClassVar[tuple[str, ...]] = ()

    @property
    def instruction(self) -> Instruction:
        """The table entry; raises VerifyException if there is none."""
        entry = self.ENTRY
        if isinstance(entry, Instruction):
            return entry
        key = _text(self.properties[self.KEY])
        if key not in entry:
            raise VerifyException(f"there is no {self.name} '{key}', only {', '.join(entry)}")
        return entry[key]

    @property
    def function(self) -> str:
        """The function of the device header, with template arguments."""
        arguments = ", ".join(_text(self.properties.get(name)) for name in self.TEMPLATE)
        return self.instruction.function + (f"<{arguments}>" if arguments else "")

    @property
    def elements(self) -> tuple[Element, ...]:
        """The first elements of the memory operands, in table order."""
        return tuple(map(self.element, self.ADDRESSES or self.element_fields()))

    @property
    def scalars(self) -> Sequence[SSAValue]:
        """The function arguments after the addresses."""
        arrays = self.element_fields()
        return [
            value
            for name, values in self.operand_segments()
            if name not in arrays and name not in arrays.values()
            for value in values
        ]

    def bytes_of(self, operand: Operand) -> int | None:
        """Return the bytes that one thread accesses; None if unspecified."""
        if operand.fragment is None:
            return operand.bytes
        (element,) = (e for o, e in self._accesses() if o is operand)
        return operand.fragment.tasks_per_worker * element_bits(element.memref) // 8

    @property
    def effects(self) -> Effects:
        """The effects of the table, plus a side effect without a result or for collectives."""
        found: list[EffectInstance] = []
        entry, names = self.instruction, self.ADDRESSES or self.element_fields()
        for operand, name in zip(entry.operands, names, strict=True):
            memref = getattr(self, name)
            if operand.access is not Access.WRITE:
                found.append(read(memref))
            if operand.access is not Access.READ:
                found.append(write(memref))
        if entry.orders:
            found += ANY_MEMORY
        is_value = self.results and not has_trait(type(self), Collective)
        return tuple(found) if is_value else (*found, *MACHINE)

    @property
    def alignments(self) -> tuple[tuple[SSAValue, int], ...]:
        """The shared memrefs, with the required alignment in bytes."""
        return tuple(
            (element.memref, operand.alignment or self.bytes_of(operand) or 1)
            for operand, element in self._accesses()
            if operand.space == "shared"
        )

    def _accesses(self) -> Iterator[tuple[Operand, Element]]:
        yield from zip(self.instruction.operands, self.elements, strict=True)

    def verify_(self) -> None:
        """Check the operands against the table."""
        super().verify_()
        for operand, element in self._accesses():
            self._verify_operand(operand, element)

    def _verify_operand(self, operand: Operand, element: Element) -> None:
        kind = memref_type(element.memref)
        where = f"operand '{operand.name}' of {self.instruction.ptx}"
        # Register tiles become local arrays in `lower-task`.
        is_tile = space_of(kind) is Space.REGISTER
        if ("local" if is_tile else str(space_of(kind).value)) != operand.space:
            raise VerifyException(f"{where} is in {operand.space} memory, not {kind}")
        if operand.element is not None and str(kind.element_type) != operand.element:
            raise VerifyException(f"{where} has elements of {operand.element}, not {kind}")
        bits, size = element_bits(element.memref), self.bytes_of(operand)
        if size is None or is_tile:
            return
        count = size * 8 // bits
        room = room_from(kind, element.indices)
        if room is not None and room < count:
            raise VerifyException(
                f"{where} is {count} contiguous elements, which {kind} does not have from "
                f"{known_index(element.indices[-1]) or 0 if element.indices else 0}"
            )


class WarpInstructionOp(InstructionOp):
    """An instruction that all lanes of a warp execute together."""

    traits = traits_def(WarpCollective())


def _text(attribute: Attribute | None) -> str:
    """Return the key or template argument of a property."""
    match attribute:
        case StringAttr():
            return attribute.data
        case IntegerAttr():
            return str(attribute.value.data)
        case EnumAttribute():
            return str(attribute.data.value)
        case _:
            return str(int(isinstance(attribute, UnitAttr)))


def element_bits(memref: SSAValue) -> int:
    """Return the bits of an element, in whole bytes."""
    element = memref_type(memref).element_type
    bits = element.bitwidth if isinstance(element, FixedBitwidthType) else 0
    if bits not in (8, 16, 32, 64):
        raise VerifyException(f"instructions cannot access elements of {element}")
    return bits


def room_from(kind: MemRefType[Attribute], indices: Sequence[SSAValue]) -> int | None:
    """Return the contiguous elements of a memref from an index on, None if unknown.

    They are along the last dimension of extent > 1, or span rows if the index is at the start of
    one. Unknown indices are assumed to be 0 along that dimension, and the last row otherwise.
    """
    room = inside = 1
    for number, extent in enumerate(reversed(kind.get_shape())):
        if extent < 0:
            return None
        index = known_index(indices[-1 - number])
        if index is None and inside > 1:
            break
        room = (extent - (index or 0)) * inside
        inside *= extent
        if index != 0:
            break
    return room
