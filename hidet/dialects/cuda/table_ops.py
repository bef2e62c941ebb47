"""What the operations have in common that stand for an entry of the instruction table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    I64,
    DenseArrayBase,
    FixedBitwidthType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation, prop_def, traits_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from hidet.arch.instructions import Access, Instruction, Operand
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.shaped import memref_type

_SEGMENTS = AttrSizedOperandSegments.attribute_name


class Element(NamedTuple):
    """The first of the elements that an instruction accesses."""

    memref: SSAValue
    indices: Sequence[SSAValue]


class InstructionOp(IRDLOperation):
    """An operation that is an instruction of the table, and prints as a call of its function."""

    @property
    @abstractmethod
    def instruction(self) -> Instruction:
        """The entry of the table; raises VerifyException where there is none."""

    @property
    def function(self) -> str:
        """What is called in the device header, with template arguments."""
        return self.instruction.function

    @property
    def elements(self) -> tuple[Element, ...]:
        """Where the operands of the instruction begin, in the order of the table."""
        return ()

    @property
    def scalars(self) -> Sequence[SSAValue]:
        """The arguments of the function that follow the addresses."""
        return ()

    def bytes_of(self, operand: Operand) -> int | None:
        """Return how many bytes one thread accesses from the first on; None where nobody says."""
        if operand.fragment is None:
            return operand.bytes
        (element,) = (e for o, e in self._accesses() if o is operand)
        return operand.fragment.tasks_per_worker * element_bits(element.memref) // 8

    @property
    def reads(self) -> tuple[SSAValue, ...]:
        """The memrefs that are read."""
        return tuple(e.memref for o, e in self._accesses() if o.access is not Access.WRITE)

    @property
    def writes(self) -> tuple[SSAValue, ...]:
        """The memrefs that are written."""
        return tuple(e.memref for o, e in self._accesses() if o.access is not Access.READ)

    @property
    def alignments(self) -> tuple[tuple[SSAValue, int], ...]:
        """The shared memrefs, each with the bytes whose multiple its first address has to be."""
        return tuple(
            (element.memref, operand.alignment or self.bytes_of(operand) or 1)
            for operand, element in self._accesses()
            if operand.space == "shared"
        )

    def _accesses(self) -> Iterator[tuple[Operand, Element]]:
        yield from zip(self.instruction.operands, self.elements, strict=True)

    def move(self, memref: SSAValue, target: Element) -> None:
        """Let the operand in a memref be another element.

        Each memref has a segment of the operands, and its indices the next one.
        """
        segments = cast("DenseArrayBase[IntegerType]", self.properties[_SEGMENTS])
        sizes = list(segments.get_values())
        operands, first = list(self.operands), 0
        for number, size in enumerate(sizes):
            if size == 1 and operands[first] is memref:
                operands[first : first + 1 + sizes[number + 1]] = [target.memref, *target.indices]
                sizes[number + 1] = len(target.indices)
            first += sizes[number]
        self.operands = operands
        self.properties[_SEGMENTS] = DenseArrayBase.from_list(i32, sizes)

    def verify_(self) -> None:
        """Check the operands against the table."""
        for operand, element in self._accesses():
            self._verify_operand(operand, element)

    def _verify_operand(self, operand: Operand, element: Element) -> None:
        """Check the rank, the space, the element type and the size of an operand."""
        kind = memref_type(element.memref)
        if len(element.indices) != kind.get_num_dims():
            raise VerifyException(f"{len(element.indices)} indices for {kind}")
        where = f"operand '{operand.name}' of {self.instruction.ptx}"
        # A tile in registers is an array of each thread once `lower-task` has run.
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
                f"{where} is {count} neighbouring elements, which {kind} does not have from "
                f"{known_index(element.indices[-1]) or 0 if element.indices else 0}"
            )


class PlainOp(InstructionOp):
    """An instruction of the table that has no operands."""

    assembly_format = "attr-dict"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self) -> None:
        super().__init__()


class GroupWaitOp(InstructionOp):
    """A wait for groups of copies or products, but for some of the latest ones."""

    pending = prop_def(IntegerAttr[I64])

    assembly_format = "$pending attr-dict"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, pending: int) -> None:
        super().__init__(properties={"pending": IntegerAttr(pending, i64)})

    @property
    def function(self) -> str:
        """The function, with the number of groups."""
        return f"{self.instruction.function}<{self.pending.value.data}>"

    def verify_(self) -> None:
        """Check the number of groups."""
        if self.pending.value.data < 0:
            raise VerifyException(f"{self.pending.value.data} groups cannot be under way")


def element_bits(memref: SSAValue) -> int:
    """Return the bits of an element, of whole bytes."""
    element = memref_type(memref).element_type
    bits = element.bitwidth if isinstance(element, FixedBitwidthType) else 0
    if bits not in (8, 16, 32, 64):
        raise VerifyException(f"no instruction accesses elements of {element}")
    return bits


def known_index(index: SSAValue) -> int | None:
    """Return an index that is constant, None for others."""
    op = index.owner
    if isinstance(op, ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def room_from(kind: MemRefType[Attribute], indices: Sequence[SSAValue]) -> int | None:
    """Return how many neighbouring elements a memref has from one on, None if that is unknown.

    They lie along the last dimension; from the start of a row on, the rows below follow. An index
    that is not constant counts as 0 along the last dimension, and as the last row in the others.
    """
    room = inside = 1
    for number, extent in enumerate(reversed(kind.get_shape())):
        if extent < 0:
            return None
        index = known_index(indices[-1 - number])
        if index is None and number > 0:
            break
        room = (extent - (index or 0)) * inside
        inside *= extent
        if index != 0:
            break
    return room
