"""How all operations print: the tables of the dialects as one."""

from __future__ import annotations

from xdsl.ir import Operation

from hidet.backend.printer import arith, checks, cuda, instructions, math, memref, scf
from hidet.backend.printer.operators import ExpressionPrinter
from hidet.backend.printer.writer import StatementPrinter

EXPRESSIONS: dict[type[Operation], ExpressionPrinter] = (
    arith.EXPRESSIONS
    | math.EXPRESSIONS
    | memref.EXPRESSIONS
    | scf.EXPRESSIONS
    | cuda.EXPRESSIONS
    | instructions.EXPRESSIONS
)
"""How each operation that has a result prints."""

STATEMENTS: dict[type[Operation], StatementPrinter] = (
    memref.STATEMENTS
    | scf.STATEMENTS
    | cuda.STATEMENTS
    | instructions.STATEMENTS
    | checks.STATEMENTS
)
"""How each operation that has no result, or allocates memory, prints."""
