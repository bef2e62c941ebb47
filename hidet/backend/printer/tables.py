"""The printers of all dialects, by the names of the operations."""

from hidet.backend.printer import arith, cuda, math, memref, scf
from hidet.backend.printer.operators import ExpressionPrinter
from hidet.backend.printer.writer import StatementPrinter

EXPRESSIONS: dict[str, ExpressionPrinter] = math.EXPRESSIONS | {
    op.name: entry
    for dialect in (arith, memref, scf, cuda)
    for op, entry in dialect.EXPRESSIONS.items()
}

STATEMENTS: dict[str, StatementPrinter] = {
    op.name: entry for dialect in (memref, scf, cuda) for op, entry in dialect.STATEMENTS.items()
}
