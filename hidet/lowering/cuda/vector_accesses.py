"""Analysis of loads and stores to adjacent elements that can become vector accesses."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import FixedBitwidthType, NoneAttr
from xdsl.ir import Operation, SSAValue

from hidet.analysis.forms import ZERO, LinearForm
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.memory import accesses_of, may_alias, root_of
from hidet.arch.instructions import CP_ASYNC
from hidet.arch.limits import ACCESS_BYTES
from hidet.dialects.cuda import MapSharedRankOp, Space, space_of
from hidet.dialects.shaped import element_of, memref_type
from hidet.dialects.walking import ops_in, ops_of_class

COUNTS = (2, 4, 8, 16)
"""The trip counts of loops that can be vectorized."""


@dataclass(frozen=True)
class Address:
    """An element of a memref: the array, and the linear forms of its indices."""

    array: SSAValue
    indices: tuple[LinearForm, ...]

    def after(self, steps: int) -> Address:
        """Return the address some elements further."""
        dim = running_dim(self.array)
        return Address(
            self.array, (*self.indices[:dim], self.indices[dim] + steps, *self.indices[dim + 1 :])
        )


def running_dim(array: SSAValue) -> int:
    """Return the contiguous dimension: the last one of extent > 1.

    For filters [O, C, 1, 1] that is C.
    """
    shape = memref_type(array).get_shape()
    return max((dim for dim, extent in enumerate(shape) if extent != 1), default=len(shape) - 1)


@dataclass(frozen=True)
class VectorAccess:
    """A load or store of adjacent elements in consecutive iterations of a loop."""

    op: memref.LoadOp | memref.StoreOp
    first: Address
    width: int
    size: int


class VectorLoop:
    """The vectorization analysis of a loop."""

    def __init__(self, loop: scf.ForOp, forms: IndexForms) -> None:
        self.loop = loop
        self.forms = forms
        self.count = forms.trip_count(loop) or 0

    @property
    def is_candidate(self) -> bool:
        """Whether the loop counts from 0 by 1 to a vector length."""
        return (
            self.count in COUNTS
            and self.forms.form(self.loop.lb) == ZERO
            and self.forms.form(self.loop.step) == LinearForm.number(1)
        )

    @property
    def has_guarded_vectors(self) -> bool:
        """Whether a branch of the loop has a vector access."""
        return any(
            self._access(op) is not None
            for branch in self.loop.body.block.ops
            if isinstance(branch, scf.IfOp)
            for op in ops_in(branch)
        )

    @property
    def is_async_copy(self) -> bool:
        """Whether the loop copies a vector to shared memory of a size that `cp.async` supports.

        Its only load may be guarded.
        """
        ops = ops_of_class(self.loop.body, memref.LoadOp, memref.StoreOp)
        accesses = [access for op in ops if (access := self._access(op)) is not None]
        if len(ops) != 2 or len(accesses) != 2:
            return False
        load, store = accesses
        spaces = [space_of(access.first.array.type) for access in accesses]
        size = min(load.size, store.size)
        return spaces == [Space.GLOBAL, Space.SHARED] and size in CP_ASYNC["ca"].sizes

    def vector_accesses(self) -> list[VectorAccess]:
        """Return the accesses that can move before the loop (loads) or after it (stores).

        They are unconditional, and nothing else in the loop may alias them in a conflicting way,
        except vectors of the same array at a constant distance, and loads of what is stored later.
        """
        accesses = {op: self._access(op) for op in self.loop.body.block.ops}
        found = [access for access in accesses.values() if access is not None]
        if not found:
            return []
        touched = {op: accesses_of(op) for op in ops_in(self.loop.body)}
        if None in touched.values():
            return []
        return [
            access
            for access in found
            if not any(
                may_alias(access.first.array, memory)
                for op, memories in touched.items()
                if op is not access.op
                and memories is not None
                and not self._may_move(access, accesses.get(op))
                for memory in (
                    memories.writes
                    if isinstance(access.op, memref.LoadOp)
                    else (*memories.writes, *memories.reads)
                )
            )
        ]

    def _may_move(self, one: VectorAccess, other: VectorAccess | None) -> bool:
        """Return whether an access may move across another one of its array in any iteration.

        Their elements are known to differ, or each iteration loads the element that it stores
        later.
        """
        if other is None or one.first.array is not other.first.array:
            return False
        distance = _linear(one.first) - _linear(other.first)
        if distance == ZERO:
            kinds = isinstance(one.op, memref.LoadOp), isinstance(other.op, memref.LoadOp)
            load, store = (one.op, other.op) if kinds[0] else (other.op, one.op)
            return kinds[0] != kinds[1] and load.is_before_in_block(store)
        return not distance.terms and abs(distance.constant) >= self.count

    def copied_through(
        self, accesses: list[VectorAccess]
    ) -> tuple[VectorAccess, VectorAccess] | None:
        """Return the load and the store of a loop that does nothing but copy."""
        if len(accesses) != 2 or self.loop.results:
            return None
        load, store = accesses
        if not isinstance(load.op, memref.LoadOp) or not isinstance(store.op, memref.StoreOp):
            return None
        rest = [accesses_of(op) for op in ops_in(self.loop.body) if op not in (load.op, store.op)]
        only_copies = all(touched is not None and not any(touched) for touched in rest)
        return (load, store) if only_copies and store.op.value is load.op.res else None

    def _access(self, op: Operation) -> VectorAccess | None:
        """Return a load or store as a vector access, None if it is not possible."""
        if not isinstance(op, memref.LoadOp | memref.StoreOp) or not _may_be_vector(op.memref):
            return None
        variable = self.loop.body.block.args[0]
        indices, dim = [self.forms.form(index) for index in op.indices], running_dim(op.memref)
        if indices[dim].coefficient_of(variable) != 1:
            return None
        indices[dim] = indices[dim] - LinearForm.of(variable)
        first = tuple(indices)
        leaves = [leaf for form in first for leaf in form.leaves() if isinstance(leaf, SSAValue)]
        if any(self.loop.is_ancestor(leaf.owner) for leaf in leaves):
            return None
        address, bits = Address(op.memref, first), _bits(op.memref)
        width = self._width(address, bits)
        return VectorAccess(op, address, width, width * bits // 8) if width > 1 else None

    def _width(self, address: Address, bits: int) -> int:
        """Return the largest vector width to which an address is aligned."""
        step = self.forms.divisibility(_linear(address))
        width = self.count
        while step % width or width * bits > 8 * ACCESS_BYTES:
            width //= 2
        return width if width * bits >= 16 else 1


def _linear(address: Address) -> LinearForm:
    """Return the number of an element in its array."""
    shape, number = memref_type(address.array).get_shape(), ZERO
    for dim, form in enumerate(address.indices):
        number = number.plus(form, prod(shape[dim + 1 :]))
    return number


def _bits(array: SSAValue) -> int:
    """Return the bits of an element, 0 for types that vectors do not support."""
    element = element_of(array)
    bits = 8 * element.size if isinstance(element, FixedBitwidthType) else 0
    return bits if bits in (8, 16, 32, 64) else 0


def _may_be_vector(array: SSAValue) -> bool:
    """Return whether a memref is an aligned row-major array in global or shared memory."""
    kind = memref_type(array)
    return (
        (root_of(array) is array or isinstance(array.owner, MapSharedRankOp))
        and space_of(kind) in (Space.GLOBAL, Space.SHARED)
        and isinstance(kind.layout, NoneAttr)
        and kind.get_num_dims() > 0
        and min(kind.get_shape()[1:], default=1) > 0
        and _bits(array) > 0
    )
