"""The pass `vectorize`: turns loops over adjacent elements into vector accesses."""

from functools import cached_property

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.forms import LinearForm
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.materialize import Materializer
from hidet.analysis.memory import is_arithmetic
from hidet.analysis.value_ranges import terminators_of
from hidet.arch.instructions import CP_ASYNC
from hidet.dialects.constants import is_zero
from hidet.dialects.cuda import CopyCache, CopyVectorOp, CpAsyncOp, KernelOp, Space, space_of
from hidet.dialects.cuda.kernel import mark_unsigned
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.fields import Element
from hidet.dialects.shaped import bytes_of, element_of
from hidet.dialects.task.marks import ASYNC
from hidet.dialects.walking import blocks_in, ops_in, ops_of_block, ops_of_class
from hidet.lowering.cuda.unswitch import ConditionHoister, unswitch
from hidet.lowering.cuda.vector_accesses import Address, VectorAccess, VectorLoop
from hidet.rewriting.builder import KernelBuilder, align
from hidet.rewriting.inlining import inline_region
from hidet.rewriting.kernel_pass import KernelPass

MAX_UNSWITCHED = 2
"""The most branches that are unswitched per loop; each may double the code."""


class VectorizePass(KernelPass):
    """Turn innermost loops over 2, 4, 8 or 16 adjacent elements into vector accesses.

        scf.for %v = 0 to 4 { %a = memref.load %x[4 * %i + %v] ... }
        // becomes
        cuda.copy_vector %x[4 * %i] to %xs[0] width 4
        scf.for %v = 0 to 4 { %a = memref.load %xs[%v] ... }

    A load becomes a vector copy to a local array before the loop, a store one from a local array
    after it. A loop that only copies becomes vector copies from memory to memory. The first address
    must be aligned to the vector (the runtime aligns kernel arguments to 16 bytes, shared arrays
    are aligned here), and nothing else in the loop may alias what is written. Branches with a
    uniform condition are unswitched first, behind the loads that they do not guard; an asynchronous
    copy, also of single elements, takes the condition along and writes zeros if it does not hold.

    Shared arrays are aligned as the instructions that access them require.

    Expects: kernels of one thread. Leaves dead index arithmetic for `simplify-index`.
    """

    name = "vectorize"

    def run(self, kernel: KernelOp) -> None:
        """Vectorize the loops of one kernel."""
        forms = IndexForms()
        pending = [(loop, MAX_UNSWITCHED) for loop in _innermost_loops(kernel.body.block)]
        while pending:
            loop, budget = pending.pop()
            vectors = VectorLoop(loop, forms)
            if copy_elements(vectors):
                forms = IndexForms()
                continue
            if not vectors.is_candidate:
                continue
            valid = zero_filled(vectors)
            if valid is not None:
                forms = IndexForms()
                vectors = VectorLoop(loop, forms)
            elif budget and not loop.results and vectors.has_guarded_vectors:
                _Rewrite(vectors).run(is_split=True)
                forms = IndexForms()
                sides = unswitch(loop, vectors.count, forms)
                forms = IndexForms()
                pending += [(side, budget - 1) for side in sides] if sides else [(loop, 0)]
                continue
            _Rewrite(vectors, valid).run()
        for op in ops_of_class(kernel.body, InstructionOp):
            for array, size in op.alignments:
                align(array, size)


def _innermost_loops(block: Block) -> list[scf.ForOp]:
    found: list[scf.ForOp] = []
    for op in ops_of_block(block):
        inner = [loop for block in blocks_in(op) for loop in _innermost_loops(block)]
        found += inner or ([op] if type(op) is scf.ForOp else [])
    return found


class _Rewrite:
    """Vectorizes the accesses of one loop.

    Copies read their source if `valid` holds, and write zeros otherwise.
    """

    def __init__(self, vectors: VectorLoop, valid: SSAValue | None = None) -> None:
        self._valid = valid
        self._vectors = vectors
        self._loop = vectors.loop
        self._before = KernelBuilder.like(vectors.loop)
        self._loaded: dict[Address, SSAValue] = {}

    def run(self, *, is_split: bool = False) -> None:
        """Rewrite the loop; of one to be split, only what both sides load, so ahead of the branch.

        The sides store themselves, which may be copies from memory to memory.
        """
        accesses = [
            access
            for access in self._vectors.vector_accesses()
            if not is_split or isinstance(access.op, memref.LoadOp)
        ]
        for access in accesses:
            align(access.first.array, access.size)
        pair = self._vectors.copied_through(accesses)
        if pair is not None:
            source, target = pair
            width = min(source.width, target.width)
            self._before.insert(self._copies(width, source.first, target.first))
            Rewriter.erase_op(self._loop)
            return
        for access in accesses:
            if isinstance(access.op, memref.LoadOp):
                self._load_before(access, access.op)
            else:
                self._store_after(access, access.op)

    @cached_property
    def _materializer(self) -> Materializer:
        return Materializer.before(self._loop, self._vectors.forms)

    def _load_before(self, access: VectorAccess, op: memref.LoadOp) -> None:
        """Copy the vector of a load to a local array, and load from that."""
        local = self._loaded.get(access.first)
        if local is None:
            local = self._loaded[access.first] = self._local_array(access)
            self._before.insert(self._copies(access.width, access.first, _start_of(local)))
        op.operands = [local, self._loop.body.block.args[0]]

    def _store_after(self, access: VectorAccess, op: memref.StoreOp) -> None:
        """Store to a local array, and copy that to memory after the loop."""
        local = self._local_array(access)
        op.operands = [op.value, local, self._loop.body.block.args[0]]
        copies = self._copies(access.width, _start_of(local), access.first)
        KernelBuilder.like(self._loop, InsertPoint.after(self._loop)).insert(copies)

    def _local_array(self, access: VectorAccess) -> SSAValue:
        """Allocate a local array of one element per iteration before the loop."""
        array = access.first.array
        name = array.name_hint and f"{array.name_hint}_vector"
        local = self._before.local_array(element_of(array), [self._vectors.count], name)
        align(local, access.size)
        mark_unsigned(local, like=array)
        return local

    def _copies(self, width: int, source: Address, target: Address) -> list[Operation]:
        steps = range(0, self._vectors.count, width)
        return [self._copy(width, source.after(step), target.after(step)) for step in steps]

    def _copy(self, width: int, source: Address, target: Address) -> Operation:
        """Return one vector copy; cp.async if the loop is asynchronous and the size fits."""
        sides = [Element(each.array, self._values(each)) for each in (source, target)]
        size = width * bytes_of(element_of(source.array))
        spaces = space_of(source.array.type), space_of(target.array.type)
        if ASYNC in self._loop.attributes and spaces == (Space.GLOBAL, Space.SHARED):
            for cache in (CopyCache.CG, CopyCache.CA):  # prefer to bypass L1: there is no reuse
                if size in CP_ASYNC[str(cache.value)].sizes:
                    valid = self._valid and valid_elements(self._before, self._valid, width)
                    return CpAsyncOp(*sides, width, cache, valid)
        return CopyVectorOp(*sides, width)

    def _values(self, place: Address) -> list[SSAValue]:
        algebra, insert = self._vectors.forms.algebra(self._loop.parent), self._before.insert
        return [self._materializer.value(form, insert, algebra) for form in place.indices]


def _start_of(local: SSAValue) -> Address:
    return Address(local, (LinearForm.number(0),))


def zero_filled(vectors: VectorLoop) -> SSAValue | None:
    """Remove the guards of an asynchronous copy; return the condition under which it reads.

        for v in 0..8: s[v] = x[i + v] if i < n else 0
        // becomes
        cp_async x[i] to s[0] valid (i < n ? 8 : 0)

    Return None and change nothing if the loop is no vector copy to shared memory or has no guards.
    Otherwise the copy must be made with `valid`: its source may be out of bounds.
    """
    loop = vectors.loop
    branches = _branches(loop) if ASYNC in loop.attributes else []
    if not branches or not vectors.is_async_copy:
        return None
    hoisted = ConditionHoister(loop, vectors.count, vectors.forms)
    conditions = [hoisted.condition(branch.cond) for branch in branches]
    if None in conditions:
        return None
    values = [condition() for condition in conditions if condition is not None]
    for branch in branches:
        inline_region(branch, branch.true_region)
    return KernelBuilder.like(loop).all_of(values)


def valid_elements(builder: KernelBuilder, valid: SSAValue, width: int) -> SSAValue:
    """Return the number of elements that a copy reads: all of them if `valid` holds, else none."""
    choice = arith.SelectOp(valid, builder.index(width), builder.index(0))
    return builder.insert(choice).result


def copy_elements(vectors: VectorLoop) -> bool:
    """Use `cp.async` in an asynchronous loop that copies single elements; return whether it is one.

    A loop that copies a vector is left alone.
    """
    loop = vectors.loop
    if ASYNC not in loop.attributes:
        return False
    match ops_of_class(loop.body, memref.LoadOp, memref.StoreOp):
        case [memref.LoadOp() as load, memref.StoreOp() as store]:
            pass
        case _:
            return False
    branches = _branches(loop)
    spaces = space_of(load.memref.type), space_of(store.memref.type)
    if (
        (vectors.is_candidate and vectors.is_async_copy)
        or spaces != (Space.GLOBAL, Space.SHARED)
        or bytes_of(load.res.type) not in CP_ASYNC["ca"].sizes
        or not (branches or store.value is load.res)
    ):
        return False
    conditions = [branch.cond for branch in branches]
    for branch in branches:
        inline_region(branch, branch.true_region)
    builder = KernelBuilder.like(store)
    valid = valid_elements(builder, builder.all_of(conditions), 1) if conditions else None
    source, target = (Element(op.memref, op.indices) for op in (load, store))
    builder.insert(CpAsyncOp(source, target, 1, CopyCache.CA, valid))
    for op in (store, load):
        Rewriter.erase_op(op)
    return True


def _branches(loop: scf.ForOp) -> list[scf.IfOp]:
    """Return the branches, outermost first, through which a loop stores a load or else zero."""
    stores = [op for op in loop.body.block.ops if isinstance(op, memref.StoreOp)]
    others = [op for op in ops_in(loop.body) if op not in stores and not is_arithmetic(op)]
    loads = [op for op in others if isinstance(op, memref.LoadOp)]
    if len(stores) != 1 or len(loads) != 1:
        return []
    found: list[scf.IfOp] = []
    value: SSAValue = stores[0].value
    while isinstance(branch := value.owner, scf.IfOp) and branch.false_region.blocks:
        number = branch.results.index(value)
        sides = terminators_of(branch)
        if not is_zero(sides[1].operands[number]):
            return []
        found.append(branch)
        value = sides[0].operands[number]
    known = (*found, *loads)
    rest = [op for op in others if op not in known and not isinstance(op, scf.YieldOp)]
    return found if value is loads[0].res and not rest else []
