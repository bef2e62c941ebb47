"""Checks of a traced kernel, whose errors point into the user's source."""

from collections.abc import Mapping

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FileLineColLoc, IndexType, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter

from hidet.analysis.divergence import analyse_divergence, divergent_op_around
from hidet.analysis.forms import Range
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.memory import is_arithmetic
from hidet.dialects.cuda import AssertOp, KernelOp, LaunchOp, LeaveOp, PrintfOp, ViewOp
from hidet.dialects.cuda.attributes import Space, is_variable, space_of
from hidet.dialects.cuda.instructions import BlockBarrier
from hidet.dialects.cuda.marks import PARALLEL
from hidet.dialects.locations import file_of
from hidet.dialects.shaped import memref_type
from hidet.dialects.task import CombineOp, CopyOp, ForeachOp, GroupOp, MatmulOp
from hidet.dialects.task.group import group_around
from hidet.errors import LegalityError, ScriptError
from hidet.escape import one_line
from hidet.frontends.script.messages import Source
from hidet.legality.workers import are_served, check_task_op
from hidet.rewriting.dead_code import drop_dead_code


class OpError(Exception):
    """An error about an operation, before its source is attached."""

    def __init__(self, op: Operation, what: str, hint: str | None) -> None:
        super().__init__(what)
        self.op, self.what, self.hint = op, what, hint

    def located(self, source: Source) -> ScriptError:
        """Return the error with the source line of the operation."""
        location = self.op.location
        assert isinstance(location, FileLineColLoc)
        line, column = location.line.data, location.column.data
        file = file_of(location)
        inside = file == source.file and 0 <= line - source.first_line < len(source.lines)
        return ScriptError(
            self.what,
            where=f"{one_line(file)}:{line}",
            source=source.excerpt(line, column) if inside else None,
            hint=self.hint,
        )


def check_cuda_kernel(kernel: KernelOp) -> None:
    """Clean up and check a kernel of CUDA."""
    _clean_up(kernel)
    _check_workers(kernel)
    _check_verbs(kernel)
    _check_accesses(kernel.body.block, IndexForms(), {})


def _check_verbs(kernel: KernelOp) -> None:
    """Check that all workers of each block-level verb reach it."""
    verbs = [
        op for op in kernel.body.walk() if isinstance(op, CopyOp | MatmulOp | CombineOp | GroupOp)
    ]
    if not verbs:
        return
    forms, divergence = IndexForms(), analyse_divergence(kernel)
    for op in verbs:
        name = op.name.removeprefix("task.")
        if isinstance(op, GroupOp) and group_around(op) is not None:
            raise OpError(op, "a group inside of another one", "put one after the other")
        for inner in op.body.walk() if isinstance(op, GroupOp) else ():
            if inner.has_trait(BlockBarrier):
                raise OpError(
                    inner,
                    "a barrier of the block in a group, which other threads do not reach",
                    "verbs of a group synchronize it; barrier_sync(1, count) is for some threads",
                )
        cause = divergent_op_around(op, divergence)
        if cause is not None or isinstance(op.parent_op(), ForeachOp):
            raise OpError(
                op,
                f"{name} is collective, but not all threads reach it together",
                "move it out of branches and loops that depend on the thread, and of loops over "
                "tasks",
            )
        if not isinstance(op, GroupOp):
            try:
                check_task_op(op, kernel, forms)
            except LegalityError as error:
                raise OpError(op, f"{name}: {error.what}", error.hint) from error


def _check_workers(kernel: KernelOp) -> None:
    """Check that the workers of each task mapping are as many as run its tasks.

    Extra threads must be masked by a branch, so that each one that remains has its task. Mappings
    whose number of workers is unknown are not checked.
    """
    forms = IndexForms()
    for op in (each for each in kernel.body.walk() if isinstance(each, ForeachOp)):
        limits = forms.range(op.worker, op.parent)
        if limits is None or are_served(op, forms) is not False:
            continue
        count = op.tasks.workers
        workers = f"{limits.hi + 1}" if limits.lo == 0 else f"those from {limits.lo} to {limits.hi}"
        raise OpError(
            op,
            f"the task mapping {op.tasks} is for {count} workers, not {workers}",
            f"the block has {kernel.threads} threads; the worker here is {limits.lo} to "
            f"{limits.hi}",
        )


def _check_accesses(block: Block, forms: IndexForms, limits: Mapping[object, Range]) -> bool:
    """Check that loops with constant bounds, in a block that always runs, index in bounds.

    Accesses in branches, or after an assertion or a loop that may not terminate, are not checked.
    `limits` are the ranges of the variables of loops around it. Return whether what follows runs.
    """
    for op in block.ops:
        if isinstance(op, memref.LoadOp | memref.StoreOp):
            _check_access(op, forms, limits)
        elif isinstance(op, scf.ForOp) and (inner := _limits_of(op, forms)) is not None:
            body = op.body.block
            if not _check_accesses(body, forms, {**limits, body.args[0]: inner}):
                return False
        elif any(isinstance(each, AssertOp | scf.WhileOp) for each in op.walk()):
            return False
    return True


def _limits_of(loop: scf.ForOp, forms: IndexForms) -> Range | None:
    """Return the range of a loop variable, None if the loop may not run."""
    count = forms.trip_count(loop)
    if not count or not forms.form(loop.lb).is_number:
        return None
    first, step = forms.form(loop.lb).constant, forms.form(loop.step).constant
    return Range(first, first + (count - 1) * step)


def _check_access(
    op: memref.LoadOp | memref.StoreOp,
    forms: IndexForms,
    limits: Mapping[object, Range],
) -> None:
    """Check the indices that depend only on loop variables."""
    for index, extent in zip(op.indices, memref_type(op.memref).get_shape(), strict=True):
        form = forms.form(index)
        if not form.terms or extent < 0 or any(atom not in limits for atom in form.terms):
            continue
        ranges = [limits[atom].scaled(factor) for atom, factor in form.terms.items()]
        low = form.constant + sum(each.lo for each in ranges)
        high = form.constant + sum(each.hi for each in ranges)
        if low < 0 or high >= extent:
            name = op.memref.name_hint
            raise OpError(
                op,
                f"the loop indexes '{name}' from {low} to {high}, but its extent is {extent}",
                f"the last index is {extent - 1}; guard the others by 'if'",
            )


def check_public(function: FuncOp) -> None:
    """Check that a public function contains only what the host can run."""
    for op in function.body.walk():
        if isinstance(op, memref.LoadOp | memref.StoreOp | memref.AllocaOp):
            if not is_variable(op.memref):
                raise OpError(
                    op,
                    "a public function cannot access elements of tensors, which may be on a GPU",
                    "access them in a kernel that it calls",
                )
        elif not (isinstance(op, _OF_HOST) or is_arithmetic(op) or op.dialect_name() == "scf"):
            raise OpError(
                op,
                f"a public function runs on the host, which does not support {op.name}",
                "do it in a kernel that it calls",
            )


_OF_HOST = LaunchOp | ViewOp | PrintfOp | AssertOp | ReturnOp


def check_cpu_kernel(kernel: KernelOp) -> None:
    """Clean up a CPU kernel, and check that it has no CUDA operations and no data races."""
    for op in kernel.body.walk():
        inside = set(op.walk()) if PARALLEL in op.attributes else set[Operation]()
        for store in inside:  # by all iterations of a parallel loop
            if (
                isinstance(store, memref.StoreOp)
                and store.memref.owner not in inside
                and is_variable(store.memref)
            ):
                name = store.memref.name_hint
                raise OpError(
                    store,
                    f"the iterations of a parallel loop share the variable '{name}'",
                    "initialize it inside of the loop, or write to a tensor",
                )
        is_shared = isinstance(op, memref.AllocaOp) and space_of(op.memref.type) is Space.SHARED
        is_allowed = isinstance(op, PrintfOp | AssertOp | LeaveOp)
        is_cuda = op.dialect_name() == "cuda" and not is_allowed
        if is_shared or is_cuda:
            raise OpError(
                op,
                f"a cpu_kernel is one thread of the CPU, where there is no "
                f"{'shared memory' if is_shared else op.name}",
                "leave it out, or make the function a cuda_kernel",
            )
    _clean_up(kernel)
    _check_accesses(kernel.body.block, IndexForms(), {})


def _clean_up(kernel: KernelOp) -> None:
    """Remove dead code, and narrow conversions of indices to floats to 32 bits where possible."""
    drop_dead_code(kernel)
    forms = IndexForms()
    for op in list(kernel.body.walk()):
        if not isinstance(op, arith.IndexCastOp) or op.result.type != i64:
            continue
        if not isinstance(op.input.type, IndexType) or not all(
            isinstance(use.operation, arith.SIToFPOp) for use in op.result.uses
        ):
            continue
        limits = forms.range(op.input, op.parent)
        if limits is not None and limits.lo >= -(1 << 31) and limits.hi < 1 << 31:
            narrow = arith.IndexCastOp(op.input, i32)
            narrow.location = op.location
            Rewriter.replace_op(op, narrow)
