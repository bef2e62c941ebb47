"""Checks of a kernel that has been traced, with errors that point into the user's source."""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc

from hidet.analysis.index_forms import IndexForms
from hidet.dialects.cuda import KernelOp
from hidet.dialects.task import ForeachOp
from hidet.errors import ScriptError
from hidet.frontends.script.source import Source


def check_workers(kernel: KernelOp, source: Source) -> None:
    """Check that each task mapping has as many workers as run its tasks.

    Nothing is said where the number of workers cannot be told.

    Raises:
        ScriptError: there are more workers than the mapping has, or fewer.
    """
    loops = [op for op in kernel.body.walk() if isinstance(op, ForeachOp)]
    if not loops:
        return
    forms = IndexForms(kernel)
    for op in loops:
        limits = forms.range(op.worker, op.parent)
        if limits is None or limits.lo != 0 or limits.hi + 1 == op.tasks.workers:
            continue
        location = op.location
        assert isinstance(location, FileLineColLoc)
        line, column = location.line.data, location.column.data
        file = location.filename.data
        inside = file == source.file and 0 <= line - source.first_line < len(source.lines)
        raise ScriptError(
            f"the task mapping {op.tasks} is for {op.tasks.workers} workers, not {limits.hi + 1}",
            where=f"{file}:{line}",
            source=source.excerpt(line, column) if inside else None,
            hint=f"the block has {kernel.threads} threads; the worker here is 0 to {limits.hi}",
        )
