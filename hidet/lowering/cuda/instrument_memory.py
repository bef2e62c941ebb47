"""The pass `instrument-memory`: accesses to memory are checked when the kernel runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.builtin import NoneAttr, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from hidet.analysis.form_rules import IdVariable
from hidet.analysis.forms import LinearForm
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.kernels import kernel_of
from hidet.arch.instructions import Access
from hidet.dialects import compute, cuda
from hidet.dialects.constants import known_index
from hidet.dialects.cuda.marks import INSTRUMENTED, ON_CPU
from hidet.dialects.effects import element_accesses
from hidet.dialects.shaped import memref_type
from hidet.dialects.task import CombineOp, CopyOp, ForeachOp, MatmulOp
from hidet.dialects.task.layout import known_map_of
from hidet.rewriting.builder import Index, KernelBuilder
from hidet.rewriting.kernel_pass import KernelPass


@dataclass(frozen=True)
class InstrumentMemoryPass(KernelPass):
    """Insert checks of every memory access, for the strict mode of the CPU.

        %v = memref.load %sa[%i, %j]
        // becomes
        cuda.check_bounds "sa"[%i, %j] in [16, 64] width 1
        cuda.check_access read %sa[%i, %j] width 1
        %v = memref.load %sa[%i, %j]

    Bounds are checked of all memory; of a pointer without extents it is those of what the caller
    passes. Shared and local arrays are tracked as well: reads of what was never written, accesses
    to what a copy still brings, and races between threads are errors of the call. What instructions
    do with shared memory, their bodies say themselves; here they get checks of their bounds.

    Expects: kernels at the `cuda` level, ahead of `flatten-memrefs`, which leaves one extent only,
    and after `vectorize`, which checks would stop. Leaves: `cuda.instrumented` on the kernels.

    Args:
        owners: check instead that threads access those elements of register tiles that the layouts
            give to them. This is for kernels of the `task` level, ahead of `lower-task`.
    """

    name = "instrument-memory"

    owners: bool = False

    def run(self, kernel: cuda.KernelOp) -> None:
        """Instrument one kernel."""
        if ON_CPU in kernel.attributes:
            return  # a plain function: it has one thread, which no fiber runs
        if self.owners and not _workers_are_threads(kernel):
            return
        for inner in list(kernel.body.walk()):
            if self.owners:
                _check_owner(inner)
            else:
                _instrument(inner)
        if not self.owners:
            kernel.attributes[INSTRUMENTED] = UnitAttr()


@dataclass(frozen=True)
class _Access:
    """Neighbouring elements that an operation accesses.

    Attributes:
        array: the memref.
        indices: the first element.
        width: the number of elements; `valid` of them at most, where that is not None.
        kind: what is done with them; None where the operation itself says it when it runs.
    """

    array: SSAValue
    indices: Sequence[SSAValue]
    width: int = 1
    kind: cuda.AccessKind | None = None
    valid: SSAValue | None = None


def _instrument(op: Operation) -> None:
    """Insert the checks of one operation."""
    if isinstance(op, memref.AllocaOp | cuda.DynamicSharedOp):
        array = op.results[0]
        kind = memref_type(array)
        if cuda.space_of(kind) in (cuda.Space.SHARED, cuda.Space.LOCAL) and kind.get_num_dims():
            KernelBuilder.like(op, InsertPoint.after(op)).insert(cuda.TrackOp(array, _label(array)))
        return
    if isinstance(op, cuda.CheckOwnerOp) and known_index(op.is_owner) in (1, -1):
        op.detach()  # `simplify-index` has found that it is always true
        op.erase()
        return
    builder = KernelBuilder.like(op, InsertPoint.before(op))
    for access in _accesses_of(op):
        _insert_checks(builder, access)


def _accesses_of(op: Operation) -> Iterator[_Access]:
    """Give what an operation accesses; variables of a thread are left out."""
    if isinstance(op, cuda.InstructionOp):
        yield from _accesses_of_instruction(op)
        return
    width = op.width.value.data if isinstance(op, cuda.CopyVectorOp) else 1
    for (array, indices), reads, writes in element_accesses(op):
        only = cuda.AccessKind.READ if reads else cuda.AccessKind.WRITE
        kind = cuda.AccessKind.ATOMIC if reads and writes else only
        yield _Access(array, indices, width, kind)


def _accesses_of_instruction(op: cuda.InstructionOp) -> Iterator[_Access]:
    """Give the operands of an instruction."""
    for operand, element in zip(op.instruction.operands, op.elements, strict=True):
        if (
            isinstance(op, cuda.LdmatrixOp)
            and operand.access is Access.READ
            and op.count.value.data < 4
        ):
            continue  # lanes without a row of their own may give any address
        size = op.bytes_of(operand)
        width = 1 if size is None else size * 8 // cuda.element_bits(element.memref)
        valid = (
            op.valid if isinstance(op, cuda.CpAsyncOp) and operand.access is Access.READ else None
        )
        access = _Access(element.memref, element.indices, width, valid=valid)
        if isinstance(op, cuda.AtomicPairOp):
            yield replace(access, kind=cuda.AccessKind.ATOMIC)
            continue
        if isinstance(op, _SELF_REPORTING) or operand.space != "local":
            yield access
            continue
        if operand.access is not Access.WRITE:
            yield replace(access, kind=cuda.AccessKind.READ)
        if operand.access is not Access.READ:
            yield replace(access, kind=cuda.AccessKind.WRITE)


_SELF_REPORTING = (
    cuda.LdmatrixOp | cuda.MmaSyncOp | cuda.WgmmaOp | cuda.WgmmaRsOp | cuda.WgmmaFenceOperandOp
)
"""Instructions whose bodies for the CPU say themselves which registers they read and write when."""


def _insert_checks(builder: KernelBuilder, access: _Access) -> None:
    """Insert the checks of one access."""
    kind = memref_type(access.array)
    extents = [max(extent, -1) for extent in kind.get_shape()]
    is_known = -1 not in extents
    is_own = cuda.space_of(kind) in (cuda.Space.SHARED, cuda.Space.LOCAL)
    while not is_own and access.width > 1 and len(extents) > 1 and extents[-1] == 1:
        extents.pop()  # neighbours lie along the last dimension of several elements
        access = replace(access, indices=list(access.indices)[:-1])
    if not extents:
        return
    if is_own and len(extents) > 1 and access.width > 1:
        # Neighbours in memory, whatever the dimensions of an array of the kernel's own.
        place = builder.index(builder.linearize(list(access.indices), extents))
        _insert_bounds(builder, replace(access, width=1), extents)
        _insert_bounds(builder, replace(access, indices=[place]), [prod(extents)])
    elif is_known or len(extents) == 1:
        is_plain = isinstance(kind.layout, NoneAttr)
        _insert_bounds(builder, access if is_plain else replace(access, width=1), extents)
    if access.kind is not None and is_own:
        builder.insert(cuda.CheckAccessOp(access.kind, access.array, access.indices, access.width))


def _insert_bounds(builder: KernelBuilder, access: _Access, extents: Sequence[int]) -> None:
    """Insert the check of the bounds of an access, unless it is known to be within them."""
    if _is_inside(access.indices, extents, access.width):
        return
    memory = access.array if -1 in extents else None
    label = _label(access.array)
    builder.insert(
        cuda.CheckBoundsOp(label, access.indices, extents, access.width, access.valid, memory)
    )


def _is_inside(indices: Sequence[SSAValue], extents: Sequence[int], width: int) -> bool:
    """Return whether indices are numbers that are inside of the extents."""
    numbers = [known_index(index) for index in indices]
    firsts = [number for number in numbers if number is not None]
    if len(firsts) != len(extents):
        return False
    lasts = [*firsts[:-1], firsts[-1] + width - 1]
    return min(firsts) >= 0 and all(
        last < extent for last, extent in zip(lasts, extents, strict=True)
    )


def _workers_are_threads(kernel: cuda.KernelOp) -> bool:
    """Return whether threads have their own numbers wherever all of the block are workers.

    A kernel may number them in another way, `127 - threadIdx.x`; then nobody knows who owns what.
    """
    if cuda.DYNAMIC in kernel.block_dims:
        return False
    forms = IndexForms(kernel)
    x, y, _ = kernel.block_dims
    weights = {cuda.Dimension.X: 1, cuda.Dimension.Y: x, cuda.Dimension.Z: x * y}
    for op in kernel.body.walk():
        if not isinstance(op, ForeachOp | CopyOp | MatmulOp | CombineOp):
            continue
        limits = forms.range(op.worker, op.parent)
        rest = forms.form(op.worker)
        for atom in list(rest.terms):
            if isinstance(atom, IdVariable) and atom.op_type is cuda.ThreadIdOp:
                rest = rest.plus(LinearForm.of(atom), -weights[atom.dimension])
        if rest != LinearForm({}) and (limits is None or limits.hi + 1 >= kernel.threads > 1):
            return False
    return True


def _check_owner(op: Operation) -> None:
    """Insert the checks of the accesses of one operation to register tiles."""
    match op:
        case memref.LoadOp() | memref.StoreOp() | compute.LoadOp() | compute.StoreOp():
            for element, _, _ in element_accesses(op):
                _insert_owner_check(op, *element)
        case cuda.WgmmaFenceOperandOp():
            return  # It names the registers of the thread by the first element of the tile.
        case cuda.InstructionOp():
            for operand, element in zip(op.instruction.operands, op.elements, strict=True):
                # A fragment belongs to a warp; its indices are those of its first element.
                group = 1 if operand.fragment is None else operand.fragment.workers
                _insert_owner_check(op, element.memref, element.indices, group)
        case _:
            return


def _insert_owner_check(
    op: Operation, tile: SSAValue, indices: Sequence[SSAValue], group: int = 1
) -> None:
    """Insert the check that a thread holds an element of a tile, or that its group does.

    This is for tiles that are spread over the whole block: of others it is not known who is which
    worker.
    """
    tasks = known_map_of(tile)
    kernel = kernel_of(op)
    if tasks is None or cuda.DYNAMIC in kernel.block_dims or tasks.workers != kernel.threads:
        return
    digits = [digit for digit in tasks.spatial_digits if digit.weight % group == 0]
    if not digits:
        return
    builder = KernelBuilder.like(op, InsertPoint.before(op))
    thread = _thread_number(builder, kernel)
    conditions = [
        builder.equal(
            builder.mod(builder.div(thread, digit.weight), digit.extent),
            builder.mod(builder.div(indices[digit.dim], digit.stride), digit.extent),
        )
        for digit in digits
    ]
    builder.insert(cuda.CheckOwnerOp(_label(tile), builder.all_of(conditions)))


def _thread_number(builder: KernelBuilder, kernel: cuda.KernelOp) -> Index:
    """Return the number of the thread in its block, x fastest."""
    number: Index = 0
    for place, dimension in enumerate((cuda.Dimension.X, cuda.Dimension.Y, cuda.Dimension.Z)):
        if kernel.block_dims[place] > 1:
            of_dimension = builder.insert(cuda.ThreadIdOp(dimension)).result
            step = prod(kernel.block_dims[:place])
            number = builder.add(number, builder.mul(of_dimension, step))
    return number


def _label(array: SSAValue) -> str:
    """Return the name of a memref in messages."""
    if array.name_hint is not None:
        return array.name_hint
    space = cuda.space_of(array.type)
    return "memory" if space is cuda.Space.GLOBAL else f"{space.value} memory"
