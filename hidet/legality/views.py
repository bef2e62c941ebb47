"""Checks of views: memory that a view reads is not written before its loads."""

from xdsl.ir import Operation, SSAValue

from hidet.dialects.compute import GridOp
from hidet.dialects.cuda import KernelOp, Space, space_of
from hidet.dialects.effects import reads_of, writes_of
from hidet.legality.report import illegal


def check_views(kernel: KernelOp) -> None:
    """Check that nothing that a view reads is written while the view may be loaded.

    Global memory must not be written by the kernel at all, since blocks run in any order. A tile
    may be written before the view, but not after it.
    """
    writers: dict[SSAValue, Operation] = {}
    read_by: dict[SSAValue, GridOp] = {}
    for op in kernel.body.walk():
        for buffer in writes_of(op):
            writers.setdefault(buffer, op)
            view = read_by.get(buffer)
            if view is not None:
                raise _hazard(op, view, buffer)
        if isinstance(op, GridOp):
            for buffer in {source for each in op.body.walk() for source in reads_of(each)}:
                if space_of(buffer.type) is Space.GLOBAL and buffer in writers:
                    raise _hazard(writers[buffer], op, buffer)
                read_by.setdefault(buffer, op)


def _hazard(writer: Operation, view: GridOp, buffer: SSAValue) -> Exception:
    what = f"%{buffer.name_hint}" if buffer.name_hint else "a buffer"
    by = f"the view %{view.result.name_hint}" if view.result.name_hint else "a view"
    return illegal(
        writer,
        f"{what} is written, but {by} reads it where the view is loaded",
        "keep what the view reads in a buffer of its own",
    )
