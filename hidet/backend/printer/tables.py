"""How all operations print: the tables of the dialects as one, by the names of the operations."""

from hidet.backend.printer import arith, checks, cuda, instructions, math, memref, scf
from hidet.backend.printer.operators import ExpressionPrinter
from hidet.backend.printer.writer import StatementPrinter

EXPRESSIONS: dict[str, ExpressionPrinter] = math.EXPRESSIONS | {
    op.name: entry
    for dialect in (arith, memref, scf, cuda, instructions)
    for op, entry in dialect.EXPRESSIONS.items()
}
"""How each operation that has a result prints."""

STATEMENTS: dict[str, StatementPrinter] = {
    op.name: entry
    for dialect in (memref, scf, cuda, instructions, checks)
    for op, entry in dialect.STATEMENTS.items()
}
"""How each operation that has no result, or allocates memory, prints."""
