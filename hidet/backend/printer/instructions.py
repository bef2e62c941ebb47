"""How the operations of the instruction table print: all of them as calls of their functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import Operation

from hidet.backend.printer.memref import address
from hidet.backend.printer.text import call
from hidet.dialects.cuda.async_copy import CpAsyncCommitOp, CpAsyncOp, CpAsyncWaitOp
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.cuda.tensor_core import LdmatrixOp, MmaSyncOp

if TYPE_CHECKING:
    from hidet.backend.printer.writer import StatementPrinter, Writer


def _call(op: Operation, writer: Writer) -> None:
    """Print `hidet::mma_m16n8k16(&c[i], &a[j], &b[k]);`: addresses first, then scalars."""
    assert isinstance(op, InstructionOp)
    arguments = [address(e.memref, e.indices, writer.text_of) for e in op.elements]
    arguments += map(writer.text_of, op.scalars)
    writer.line(f"{call(f'hidet::{op.function}', arguments, 'void').text};")


STATEMENTS: dict[type[Operation], StatementPrinter] = dict.fromkeys(
    (CpAsyncCommitOp, CpAsyncOp, CpAsyncWaitOp, LdmatrixOp, MmaSyncOp), _call
)
"""How operations of the instruction table print as statements."""
