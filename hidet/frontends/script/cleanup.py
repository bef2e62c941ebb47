"""Makes a kernel shorter that has just been traced, once all of it is known."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i32, i64
from xdsl.rewriter import Rewriter

from hidet.analysis.index_forms import IndexForms
from hidet.dialects.cuda import KernelOp
from hidet.rewriting.dead_code import drop_dead_code


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
