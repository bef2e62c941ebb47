"""Checks of a kernel that has been traced, with errors that point into the user's source."""

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
from hidet.dialects.cuda import AssertOp, KernelOp, LaunchOp, PrintfOp, ViewOp
from hidet.dialects.cuda.attributes import Space, is_variable, space_of
from hidet.dialects.cuda.instructions import BlockBarrier
from hidet.dialects.cuda.marks import PARALLEL
from hidet.dialects.locations import file_of
from hidet.dialects.shaped import memref_type
from hidet.dialects.task import CombineOp, CopyOp, ForeachOp, GroupOp, MatmulOp
from hidet.dialects.task.group import group_around
from hidet.errors import LegalityError, ScriptError
from hidet.escape import one_line
from hidet.frontends.script.source import Source
from hidet.legality.workers import are_served, check_task_op
from hidet.rewriting.dead_code import drop_dead_code


class Misuse(Exception):
    """An operation of a kernel that is wrong, before the source is known that it comes from."""

    def __init__(self, op: Operation, what: str, hint: str | None) -> None:
        super().__init__(what)
        self.op, self.what, self.hint = op, what, hint

    def located(self, source: Source) -> ScriptError:
        """Return the error, with the line that the operation comes from."""
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


def check_verbs(kernel: KernelOp) -> None:
    """Check that block-level verbs have the workers that they want, and that all of these come by.

    Raises:
        Misuse: they do not.
    """
    verbs = [
        op for op in kernel.body.walk() if isinstance(op, CopyOp | MatmulOp | CombineOp | GroupOp)
    ]
    if not verbs:
        return
    forms, divergence = IndexForms(kernel), analyse_divergence(kernel)
    for op in verbs:
        name = op.name.removeprefix("task.")
        if isinstance(op, GroupOp):
            _check_group(op)
        cause = divergent_op_around(op, divergence)
        if cause is not None or isinstance(op.parent_op(), ForeachOp):
            raise Misuse(
                op,
                f"{name} is the work of many threads, but not all of them come by here together",
                "take it out of branches and loops that depend on the thread, and of the tasks of "
                "a mapping",
            )
        if isinstance(op, GroupOp):
            continue
        try:
            check_task_op(op, kernel, forms)
        except LegalityError as error:
            raise Misuse(op, f"{name}: {error.what}", error.hint) from error


def _check_group(group: GroupOp) -> None:
    """Check that a group stands in no other one, and that nothing in it waits for the block.

    Raises:
        Misuse: it does.
    """
    if group_around(group) is not None:
        raise Misuse(group, "a group inside of another one", "let them follow each other")
    for op in group.body.walk():
        if op.has_trait(BlockBarrier):
            raise Misuse(
                op,
                "a barrier of the block in a group: other threads do not come by",
                "verbs of a group wait by themselves; barrier_sync(1, count) is for some threads",
            )


def check_workers(kernel: KernelOp) -> None:
    """Check that each task mapping has as many workers as run its tasks.

    It may have more than a branch leaves threads: each of these has its task, and the branch says
    that others have none. Nothing is said where the number of workers cannot be told.

    Raises:
        Misuse: there are more workers than the mapping has, or fewer in the whole block.
    """
    loops = [op for op in kernel.body.walk() if isinstance(op, ForeachOp)]
    if not loops:
        return
    forms = IndexForms(kernel)
    for op in loops:
        limits = forms.range(op.worker, op.parent)
        if limits is None or are_served(op, forms) is not False:
            continue
        count = op.tasks.workers
        workers = f"{limits.hi + 1}" if limits.lo == 0 else f"those from {limits.lo} to {limits.hi}"
        raise Misuse(
            op,
            f"the task mapping {op.tasks} is for {count} workers, not {workers}",
            f"the block has {kernel.threads} threads; the worker here is {limits.lo} to "
            f"{limits.hi}",
        )


def check_accesses(kernel: KernelOp) -> None:
    """Check that loops with constant bounds do not pass the end of a tensor, where they surely run.

    What stands in a branch, or behind an assertion or a loop that may not end, is left alone.

    Raises:
        Misuse: an access lies outside.
    """
    _check_block(kernel.body.block, IndexForms(kernel), {})


def _check_block(block: Block, forms: IndexForms, limits: Mapping[object, Range]) -> bool:
    """Check the accesses of a block that surely runs; return whether what follows it does, too.

    Args:
        block: the block.
        forms: the forms of its indices.
        limits: the first and the last number of each loop around it.
    """
    for op in block.ops:
        if isinstance(op, memref.LoadOp | memref.StoreOp):
            _check_access(op, forms, limits)
        elif isinstance(op, scf.ForOp) and (inner := _limits_of(op, forms)) is not None:
            body = op.body.block
            if not _check_block(body, forms, {**limits, body.args[0]: inner}):
                return False
        elif any(isinstance(each, AssertOp | scf.WhileOp) for each in op.walk()):
            return False
    return True


def _limits_of(loop: scf.ForOp, forms: IndexForms) -> Range | None:
    """Return the first and the last number of a loop, None where it may not run at all."""
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
    """Check the indices of an access that depend on numbers of loops alone."""
    for index, extent in zip(op.indices, memref_type(op.memref).get_shape(), strict=True):
        form = forms.form(index)
        if not form.terms or extent < 0 or any(atom not in limits for atom in form.terms):
            continue
        ends = [
            sorted((factor * limits[atom].lo, factor * limits[atom].hi))
            for atom, factor in form.terms.items()
        ]
        low = form.constant + sum(lo for lo, _ in ends)
        high = form.constant + sum(hi for _, hi in ends)
        if low < 0 or high >= extent:
            name = op.memref.name_hint
            raise Misuse(
                op,
                f"the loop takes an index of '{name}' from {low} to {high}, and its extent there "
                f"is {extent}",
                f"the last index is {extent - 1}; leave the others out by 'if'",
            )


def check_public(function: FuncOp) -> None:
    """Check that a public function does only what the host can, wherever the tensors are.

    Raises:
        Misuse: it reads or writes elements, or does what threads do.
    """
    for op in function.body.walk():
        match op:
            case memref.LoadOp() | memref.StoreOp() if is_variable(op.memref):
                pass
            case memref.AllocaOp() if is_variable(op.memref):
                pass
            case memref.LoadOp() | memref.StoreOp() | memref.AllocaOp():
                raise Misuse(
                    op,
                    "a public function has no elements of tensors: they may be on a GPU",
                    "read and write them in a kernel, which it calls",
                )
            case LaunchOp() | ViewOp() | PrintfOp() | AssertOp() | ReturnOp():
                pass
            case _ if not is_arithmetic(op) and op.dialect_name() != "scf":
                raise Misuse(
                    op,
                    f"a public function runs on the host, where there is no {op.name}",
                    "do it in a kernel, which it calls",
                )
            case _:
                pass


def check_cpu_kernel(kernel: KernelOp) -> None:
    """Check that a kernel of the CPU does nothing that threads of CUDA do, and races for nothing.

    Raises:
        Misuse: it does.
    """
    for op in kernel.body.walk():
        if PARALLEL in op.attributes:
            _check_parallel(op)
        is_shared = isinstance(op, memref.AllocaOp) and space_of(op.memref.type) is Space.SHARED
        is_cuda = op.dialect_name() == "cuda" and not isinstance(op, PrintfOp | AssertOp)
        if is_shared or is_cuda:
            raise Misuse(
                op,
                f"a cpu_kernel is one thread of the CPU, where there is no "
                f"{'shared memory' if is_shared else op.name}",
                "leave it out, or make the function a cuda_kernel",
            )


def _check_parallel(loop: Operation) -> None:
    """Check that the iterations of a parallel loop write no variable that they share.

    Raises:
        Misuse: they do.
    """
    inside = set(loop.walk())
    for op in inside:
        if isinstance(op, memref.StoreOp) and op.memref.owner not in inside:
            if not is_variable(op.memref):
                continue
            raise Misuse(
                op,
                f"the iterations of a parallel loop share the variable '{op.memref.name_hint}'",
                "give it its first value inside of the loop, or write to a tensor",
            )


def clean_up(kernel: KernelOp) -> None:
    """Drop what nobody uses, and convert indices to floats in 32 bits where these hold them."""
    drop_dead_code(kernel)
    forms: IndexForms | None = None
    for op in list(kernel.body.walk()):
        if not isinstance(op, arith.IndexCastOp) or op.result.type != i64:
            continue
        if not isinstance(op.input.type, IndexType) or not all(
            isinstance(use.operation, arith.SIToFPOp) for use in op.result.uses
        ):
            continue
        forms = forms or IndexForms(kernel)
        limits = forms.range(op.input, op.parent)
        if limits is not None and limits.lo >= -(1 << 31) and limits.hi < 1 << 31:
            narrow = arith.IndexCastOp(op.input, i32)
            narrow.location = op.location
            Rewriter.replace_op(op, narrow)
