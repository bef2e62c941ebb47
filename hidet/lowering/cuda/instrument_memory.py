"""The pass `instrument-memory`: inserts run-time checks of memory accesses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.builtin import NoneAttr, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from hidet.analysis.forms import LinearForm
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.kernels import kernel_of
from hidet.arch.instructions import Access
from hidet.dialects import compute, cuda
from hidet.dialects.constants import known_index
from hidet.dialects.cuda.marks import INSTRUMENTED, ON_CPU
from hidet.dialects.effects import element_accesses
from hidet.dialects.shaped import memref_type
from hidet.dialects.task import CombineOp, CopyOp, ForeachOp, MatmulOp, known_map_of
from hidet.dialects.walking import ops_in
from hidet.legality.workers import without_thread_index
from hidet.lowering.task.groups import thread_index
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.kernel_pass import KernelPass


@dataclass(frozen=True)
class InstrumentMemoryPass(KernelPass):
    """Insert run-time checks of every memory access, for the strict mode of the CPU target.

        %v = memref.load %sa[%i, %j]
        // becomes
        cuda.check_bounds "sa"[%i, %j] in [16, 64] width 1
        cuda.check_access read %sa[%i, %j] width 1
        %v = memref.load %sa[%i, %j]

    Bounds are checked for all memory; for pointers without extents, against what the caller passes.
    Accesses to shared and local arrays are tracked as well: uninitialized reads, accesses to
    targets of pending copies, and data races are errors. Instructions report their shared memory
    accesses themselves; only their bounds are checked here.

    Expects: kernels at the `cuda` level, before `flatten-memrefs`, which drops extents, and after
    `vectorize`, which the checks would prevent. Leaves: `cuda.instrumented` on the kernels.

    Args:
        owners: check instead that threads access the register tile elements that they own. This is
            for kernels at the `task` level, before `lower-task`.
    """

    name = "instrument-memory"

    owners: bool = False

    def run(self, kernel: cuda.KernelOp) -> None:
        """Instrument one kernel."""
        if ON_CPU in kernel.attributes:
            return  # a host function, not run by fibers
        if self.owners and not _workers_are_threads(kernel):
            return
        instrument = _check_owner if self.owners else _instrument
        for inner in ops_in(kernel.body):
            instrument(inner)
        if not self.owners:
            kernel.attributes[INSTRUMENTED] = UnitAttr()


@dataclass(frozen=True)
class _Access:
    """An access of an op to `width` adjacent elements, or only the `valid` first ones.

    `indices` are those of the first element; `kind` is None if the op itself reports the access at
    run time.
    """

    array: SSAValue
    indices: Sequence[SSAValue]
    width: int = 1
    kind: cuda.AccessKind | None = None
    valid: SSAValue | None = None


def _instrument(op: Operation) -> None:
    if isinstance(op, memref.AllocaOp | cuda.DynamicSharedOp):
        array = op.results[0]
        kind = memref_type(array)
        if cuda.space_of(kind) in (cuda.Space.SHARED, cuda.Space.LOCAL) and kind.get_num_dims():
            KernelBuilder.like(op, InsertPoint.after(op)).insert(cuda.TrackOp(array, _label(array)))
        return
    if isinstance(op, cuda.CheckOwnerOp) and known_index(op.is_owner) in (1, -1):
        op.detach()  # proven by `simplify-index`
        op.erase()
        return
    builder = KernelBuilder.like(op)
    for access in _accesses_of(op):
        _insert_checks(builder, access)


def _accesses_of(op: Operation) -> Iterator[_Access]:
    """Yield the accesses of an op, except those to variables."""
    if isinstance(op, cuda.InstructionOp):
        yield from _accesses_of_instruction(op)
        return
    width = op.width.value.data if isinstance(op, cuda.CopyVectorOp) else 1
    for (array, indices), reads, writes in element_accesses(op):
        only = cuda.AccessKind.READ if reads else cuda.AccessKind.WRITE
        kind = cuda.AccessKind.ATOMIC if reads and writes else only
        yield _Access(array, indices, width, kind)


def _accesses_of_instruction(op: cuda.InstructionOp) -> Iterator[_Access]:
    for operand, element in zip(op.instruction.operands, op.elements, strict=True):
        is_read, is_written = operand.access is not Access.WRITE, operand.access is not Access.READ
        if isinstance(op, cuda.LdmatrixOp) and not is_written and op.count.value.data < 4:
            continue  # lanes that provide no row may pass any address
        size = op.bytes_of(operand)
        width = 1 if size is None else size * 8 // cuda.element_bits(element.memref)
        valid = op.valid if isinstance(op, cuda.CpAsyncOp) and not is_written else None
        kinds: list[cuda.AccessKind | None] = [cuda.AccessKind.READ] * is_read
        kinds += [cuda.AccessKind.WRITE] * is_written
        if isinstance(op, cuda.AtomicPairOp):
            kinds = [cuda.AccessKind.ATOMIC]
        elif isinstance(op, _SELF_REPORTING) or operand.space != "local":
            kinds = [None]
        for kind in kinds:
            yield _Access(element.memref, element.indices, width, kind, valid)


_SELF_REPORTING = (
    cuda.LdmatrixOp | cuda.MmaSyncOp | cuda.WgmmaOp | cuda.WgmmaRsOp | cuda.WgmmaFenceOperandOp
)
"""Instructions whose CPU implementations report their register accesses themselves."""


def _insert_checks(builder: KernelBuilder, access: _Access) -> None:
    kind = memref_type(access.array)
    extents = [max(extent, -1) for extent in kind.get_shape()]
    is_known = -1 not in extents
    is_own = cuda.space_of(kind) in (cuda.Space.SHARED, cuda.Space.LOCAL)
    while not is_own and access.width > 1 and len(extents) > 1 and extents[-1] == 1:
        extents.pop()  # the last dimension of extent > 1 is the contiguous one
        access = replace(access, indices=list(access.indices)[:-1])
    if not extents:
        return
    if is_own and len(extents) > 1 and access.width > 1:
        # Own arrays are contiguous across dimensions.
        place = builder.index(builder.linearize(list(access.indices), extents))
        _insert_bounds(builder, replace(access, width=1), extents)
        _insert_bounds(builder, replace(access, indices=[place]), [prod(extents)])
    elif is_known or len(extents) == 1:
        is_plain = isinstance(kind.layout, NoneAttr)
        _insert_bounds(builder, access if is_plain else replace(access, width=1), extents)
    if access.kind is not None and is_own:
        builder.insert(cuda.CheckAccessOp(access.kind, access.array, access.indices, access.width))


def _insert_bounds(builder: KernelBuilder, access: _Access, extents: Sequence[int]) -> None:
    """Insert the bounds check of an access, unless it is known to be in bounds."""
    if _is_inside(access.indices, extents, access.width):
        return
    memory = access.array if -1 in extents else None
    label = _label(access.array)
    builder.insert(
        cuda.CheckBoundsOp(label, access.indices, extents, access.width, access.valid, memory)
    )


def _is_inside(indices: Sequence[SSAValue], extents: Sequence[int], width: int) -> bool:
    """Return whether indices are constants within the extents."""
    numbers = [known_index(index) for index in indices]
    firsts = [number for number in numbers if number is not None]
    if len(firsts) != len(extents):
        return False
    lasts = [*firsts[:-1], firsts[-1] + width - 1]
    return min(firsts) >= 0 and all(
        last < extent for last, extent in zip(lasts, extents, strict=True)
    )


def _workers_are_threads(kernel: cuda.KernelOp) -> bool:
    """Return whether workers are thread indices wherever the whole block is the group of workers.

    With another numbering, such as `127 - threadIdx.x`, ownership is unknown.
    """
    if cuda.DYNAMIC in kernel.block_dims:
        return False
    forms = IndexForms()
    for op in ops_in(kernel.body):
        if not isinstance(op, ForeachOp | CopyOp | MatmulOp | CombineOp):
            continue
        limits = forms.range(op.worker, op.parent)
        rest = without_thread_index(op.worker, kernel, forms)
        if rest != LinearForm({}) and (limits is None or limits.hi + 1 >= kernel.threads > 1):
            return False
    return True


def _check_owner(op: Operation) -> None:
    """Insert the ownership checks of the accesses of an op to register tiles."""
    match op:
        case memref.LoadOp() | memref.StoreOp() | compute.LoadOp() | compute.StoreOp():
            for element, _, _ in element_accesses(op):
                _insert_owner_check(op, *element)
        case cuda.WgmmaFenceOperandOp():
            return  # It refers to the registers of the thread by the first element of the tile.
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
    """Insert the check that a thread, or its group of `group` threads, owns an element of a tile.

    Only tiles distributed over the whole block are checked; for others the worker is unknown.
    """
    tasks = known_map_of(tile)
    kernel = kernel_of(op)
    if tasks is None or cuda.DYNAMIC in kernel.block_dims or tasks.workers != kernel.threads:
        return
    digits = [digit for digit in tasks.spatial_digits if digit.weight % group == 0]
    if not digits:
        return
    builder = KernelBuilder.like(op)
    thread = thread_index(builder, kernel)
    conditions = [
        builder.equal(
            builder.mod(builder.div(thread, digit.weight), digit.extent),
            builder.mod(builder.div(indices[digit.dim], digit.stride), digit.extent),
        )
        for digit in digits
    ]
    builder.insert(cuda.CheckOwnerOp(_label(tile), builder.all_of(conditions)))


def _label(array: SSAValue) -> str:
    if array.name_hint is not None:
        return array.name_hint
    space = cuda.space_of(array.type)
    return "memory" if space is cuda.Space.GLOBAL else f"{space.value} memory"
