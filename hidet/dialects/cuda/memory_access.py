"""Memory accesses with a vector width, a cache hint or a memory order, and atomic ones."""

from typing import ClassVar

from xdsl.dialects.builtin import BFloat16Type, FixedBitwidthType, Float16Type, MemRefType
from xdsl.irdl import (
    BaseAttr,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.arch.instructions import Access, Instruction, Operand
from hidet.arch.limits import ACCESS_BYTES
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.table_ops import InstructionOp, element_bits
from hidet.dialects.effects import ANY_MEMORY, AccessingOp, Effects, FieldAccessOp, read, write
from hidet.dialects.fields import INT64, SCALAR, SEGMENTED, FieldsOp, element_def, enum_attribute
from hidet.dialects.shaped import element_of, memref_type


def _hinted(name: str, ptx: str, target: str, source: str, hints: str) -> dict[str, Instruction]:
    operands = Operand("dst", target, Access.WRITE), Operand("src", source, Access.READ)
    return {
        hint: Instruction(f"{name}_{hint}", operands, f"{ptx}.global.{hint}", 50)
        for hint in hints.split()
    }


LOADS = _hinted("load", "ld", "local", "global", "ca cg cs lu cv nc")
"""Loads by cache operator (PTX ISA, Cache Operators), and `nc` of read-only memory."""

STORES = _hinted("store", "st", "global", "local", "wb cg cs wt")
"""Stores by cache operator (PTX ISA, Cache Operators)."""

SCOPES = ("cta", "gpu", "sys")
"""The scopes of ordered accesses: block, GPU, system."""


def _ordered(kind: str, access: Access, *orders: str) -> dict[tuple[str, str], Instruction]:
    name = "load" if access is Access.READ else "store"
    return {
        (order, scope): Instruction(
            f"{name}_{order}_{scope}",
            (Operand("p", "global", access),),
            ptx=f"{kind}.{order}.{scope}",
            arch=70,
            orders=True,
        )
        for order in orders
        for scope in SCOPES
    }


ORDERED_LOADS = _ordered("ld", Access.READ, "acquire", "relaxed")
"""Loads by order and scope."""

ORDERED_STORES = _ordered("st", Access.WRITE, "release", "relaxed")
"""Stores by order and scope."""

VECTOR_BYTES = tuple(1 << power for power in range(ACCESS_BYTES.bit_length()))
"""The sizes of an access of one thread."""

CacheHint = StrEnum("CacheHint", "CA CG CS LU CV NC WB WT")
"""The cache operator of a load (`LOADS`) or a store (`STORES`)."""


class MemoryCopyOp(FieldsOp):
    """A copy of contiguous elements between memrefs."""

    source, source_indices = element_def()
    target, target_indices = element_def()

    irdl_options = SEGMENTED

    def verify_(self) -> None:
        """Check the ranks and the element types."""
        super().verify_()
        source, target = memref_type(self.source), memref_type(self.target)
        if source.element_type != target.element_type:
            raise VerifyException(f"cannot copy elements of {source} to {target}")


class VectorCopyOp(InstructionOp, MemoryCopyOp):
    """A vector access that copies contiguous elements between memrefs."""

    TEMPLATE: ClassVar = ("width",)
    ADDRESSES: ClassVar = ("target", "source")

    width = prop_def(INT64)

    @property
    def size(self) -> int:
        """The bytes of the access."""
        return self.width.value.data * element_bits(self.source) // 8

    def bytes_of(self, operand: Operand) -> int:
        """Return the bytes of the access."""
        return self.size


@irdl_op_definition
class HintedCopyOp(VectorCopyOp):
    """`cuda.hinted_copy cs %x[%i] to %v[%j] width 4`: a vector access with a cache operator.

    One side is global memory, the other one local, which makes it a load or a store. Both addresses
    are aligned to the size, of 1, 2, 4, 8 or 16 bytes.
    """

    name = "cuda.hinted_copy"

    hint = prop_def(enum_attribute("cuda.cache_hint", CacheHint))

    assembly_format = (
        "$hint $source `[` $source_indices `]` `to` $target `[` $target_indices `]` "
        "`width` $width attr-dict `:` type($source) `to` type($target)"
    )

    @property
    def instruction(self) -> Instruction:
        """The table entry."""
        is_load = space_of(self.source.type) is Space.GLOBAL
        table, hint = LOADS if is_load else STORES, str(self.hint.data.value)
        if hint not in table:
            raise VerifyException(
                f"a {'load' if is_load else 'store'} has no hint '{hint}', only {', '.join(table)}"
            )
        return table[hint]

    def verify_(self) -> None:
        """Check the size too."""
        super().verify_()
        if self.size not in VECTOR_BYTES:
            raise VerifyException(f"one access has 1, 2, 4, 8 or 16 bytes, not {self.size}")


AccessOrder = StrEnum("AccessOrder", "ACQUIRE RELEASE RELAXED")
"""The memory order of an access (PTX ISA, Memory Consistency Model)."""

AccessScope = StrEnum("AccessScope", "CTA GPU SYS")

AccessScopeAttr = enum_attribute("cuda.access_scope", AccessScope)


class _OrderedOp(InstructionOp):
    """An ordered access to one element."""

    T: ClassVar = VarConstraint("T", SCALAR)

    order = prop_def(enum_attribute("cuda.access_order", AccessOrder))
    scope = prop_def(AccessScopeAttr)

    irdl_options = SEGMENTED

    @property
    def instruction(self) -> Instruction:
        """The table entry; raises VerifyException if there is none."""
        table, what = (ORDERED_LOADS, "load") if self.results else (ORDERED_STORES, "store")
        key = str(self.order.data.value), str(self.scope.data.value)
        if key not in table:
            raise VerifyException(f"there is no {key[0]} {what}")
        return table[key]

    def verify_(self) -> None:
        """Check the operand and its size."""
        super().verify_()
        (element,) = self.elements
        if element_bits(element.memref) not in (32, 64):
            raise VerifyException(
                f"an ordered access has 4 or 8 bytes, not {element_of(element.memref)}"
            )


@irdl_op_definition
class OrderedLoadOp(_OrderedOp):
    """`cuda.ordered_load acquire gpu %x[%i]`: a load with a memory order."""

    name = "cuda.ordered_load"

    source, indices = element_def(MemRefType.constr(_OrderedOp.T))
    result = result_def(_OrderedOp.T)

    assembly_format = "$order $scope $source `[` $indices `]` attr-dict `:` type($source)"


@irdl_op_definition
class OrderedStoreOp(_OrderedOp):
    """`cuda.ordered_store release gpu %v, %x[%i]`: a store with a memory order."""

    name = "cuda.ordered_store"

    value = operand_def(_OrderedOp.T)
    target, indices = element_def(MemRefType.constr(_OrderedOp.T))

    assembly_format = (
        "$order $scope $value `,` $target `[` $indices `]` attr-dict `:` type($target)"
    )


@irdl_op_definition
class CopyVectorOp(FieldAccessOp, MemoryCopyOp):
    """`cuda.copy_vector %x[%i] to %v[%j] width 4`: a vector access of `width` contiguous elements.

    Both addresses are aligned to the vector, of 2, 4, 8 or 16 bytes; elements are contiguous along
    the last dimension of both memrefs.
    """

    name = "cuda.copy_vector"
    READS: ClassVar = ("source",)
    WRITES: ClassVar = ("target",)

    width = prop_def(INT64)

    assembly_format = (
        "$source `[` $source_indices `]` `to` $target `[` $target_indices `]` `width` $width "
        "attr-dict `:` type($source) `to` type($target)"
    )

    def verify_(self) -> None:
        """Check the ranks, the element types and the size of the access."""
        super().verify_()
        element = element_of(self.source)
        element_bytes = element.size if isinstance(element, FixedBitwidthType) else 0
        bits = 8 * element_bytes * self.width.value.data
        if bits not in (16, 32, 64, 128):
            raise VerifyException(
                f"{self.width.value.data} elements of {element} are {bits} bits; "
                "a vector access has 16, 32, 64 or 128"
            )


ATOMIC_PAIRS: dict[str, Instruction] = {
    space: Instruction(
        "atomic_add_pair",
        (Operand("a", space, Access.UPDATE, bytes=4),),
        ptx=f"red.{space}.add.noftz.f16x2, .bf16x2",
        arch=70,
    )
    for space in ("shared", "global")
}
"""Packed additions to two 16-bit elements, by memory space."""

AtomicKind = StrEnum("AtomicKind", "ADD MAX MIN UMAX UMIN AND OR XOR EXCHANGE CAS")
"""The update of an atomic; integers are signed, except for `umax` and `umin`."""


@irdl_op_definition
class AtomicOp(AccessingOp):
    """`cuda.atomic add %v, %x[%i]`: an atomic update of an element; returns its old value.

    `cuda.atomic cas %v if %old, %x[%i]` stores `%v` if the element is `%old`. It is atomic for the
    threads of the GPU, or of another `scope`, and relaxed: it orders no other accesses (PTX ISA,
    `atom.relaxed`).
    """

    name = "cuda.atomic"

    T: ClassVar = VarConstraint("T", SCALAR)

    kind = prop_def(enum_attribute("cuda.atomic_kind", AtomicKind))
    value = operand_def(T)
    expected = opt_operand_def(T)
    memref, indices = element_def(MemRefType.constr(T))
    scope = opt_prop_def(AccessScopeAttr)
    result = result_def(T)

    irdl_options = SEGMENTED
    assembly_format = (
        "$kind $value (`if` $expected^)? `,` $memref `[` $indices `]` (`scope` $scope^)? "
        "attr-dict `:` type($memref)"
    )

    @property
    def effects(self) -> Effects:
        """The element is read and written; as synchronization, so is any memory."""
        return (*ANY_MEMORY, read(self.memref), write(self.memref))

    def verify_(self) -> None:
        """Check the rank, and that only `cas` compares."""
        super().verify_()
        if (self.kind.data is AtomicKind.CAS) != (self.expected is not None):
            raise VerifyException("'cas' has a value to compare with, after 'if', and no other has")


@irdl_op_definition
class AtomicPairOp(InstructionOp):
    """`cuda.atomic_pair %a, %b, %x[%i]`: adds to two adjacent f16 or bf16 elements.

    Each of them is updated atomically; their address is aligned to 4 bytes.
    """

    name = "cuda.atomic_pair"

    T: ClassVar = VarConstraint("T", BaseAttr(Float16Type) | BaseAttr(BFloat16Type))

    first = operand_def(T)
    second = operand_def(T)
    memref, indices = element_def(MemRefType.constr(T))
    scope = opt_prop_def(AccessScopeAttr)

    irdl_options = SEGMENTED
    assembly_format = (
        "$first `,` $second `,` $memref `[` $indices `]` (`scope` $scope^)? attr-dict "
        "`:` type($memref)"
    )

    @property
    def instruction(self) -> Instruction:
        """The table entry."""
        return ATOMIC_PAIRS["shared" if space_of(self.memref.type) is Space.SHARED else "global"]

    @property
    def function(self) -> str:
        """The function, with the scope."""
        return f"{self.instruction.function}{scope_argument(self)}"


def scope_argument(op: AtomicOp | AtomicPairOp) -> str:
    """Return the template argument of the function, if the scope is not the GPU."""
    return "" if op.scope is None else f"<hidet::Scope::{op.scope.data.value}>"
