"""How operations of `scf` print: loops, branches, conditional expressions."""

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from hidet.backend.printer.operators import ExpressionPrinter, TextOf, choice
from hidet.backend.printer.text import Precedence, Text, cast
from hidet.backend.printer.types import value_type
from hidet.backend.printer.writer import StatementPrinter, Writer
from hidet.dialects.cuda.marks import PARALLEL, UNROLL
from hidet.errors import LegalityError


def _yielded(block: Block) -> SSAValue:
    """Return the only value that a block yields."""
    last = block.last_op
    if not isinstance(last, scf.YieldOp) or len(last.arguments) != 1:
        raise LegalityError("C++ has no branch with several values", hint="run demote-scf-values")
    return last.arguments[0]


def _conditional(op: scf.IfOp, text_of: TextOf) -> Text:
    """Print a branch with a value as `c ? a : b`."""
    values = (_yielded(region.block) for region in (op.true_region, op.false_region))
    return choice(text_of(op.cond), *map(text_of, values))


def _if(op: Operation, writer: Writer) -> None:
    """Print `if (c) { ... } else { ... }`; an `if` alone after `else` follows it in the line."""
    keyword = "if"
    while True:
        assert isinstance(op, scf.IfOp)
        writer.line(f"{keyword} ({writer.text_of(op.cond).text}) {{")
        writer.block(op.true_region.block)
        if not op.false_region.blocks or not writer.statements_of(op.false_region.block):
            break
        statements = writer.statements_of(op.false_region.block)
        if len(statements) > 1 or not isinstance(statements[0], scf.IfOp) or statements[0].results:
            writer.line("} else {")
            writer.block(op.false_region.block)
            break
        op, keyword = statements[0], "} else if"
    writer.line("}")


def _for(op: scf.ForOp, writer: Writer) -> None:
    """Print `for (int i = 0; i < 4; ++i) { ... }`, with its pragma."""
    if op.results:
        raise LegalityError("C++ has no loop with values", hint="run demote-scf-values")
    if UNROLL in op.attributes:
        times = op.attributes[UNROLL]
        number = f" {times.value.data}" if isinstance(times, IntegerAttr) else ""
        writer.line(f"#pragma unroll{number}")
    if PARALLEL in op.attributes:
        threads = op.attributes[PARALLEL]
        some = f" num_threads({threads.value.data})" if isinstance(threads, IntegerAttr) else ""
        writer.line(f"#pragma omp parallel for{some}")
    variable = op.body.block.args[0]
    kind = value_type(variable)
    start, stop, step = (writer.text_of(bound) for bound in (op.lb, op.ub, op.step))
    with writer.scopes.scope():
        name = writer.declare(variable)
        advance = f"++{name}" if step.text in ("1", "1LL") else f"{name} += {step.text}"
        head = f"{kind} {name} = {cast(start, kind).text}"
        writer.line(f"for ({head}; {name} < {stop.at(Precedence.ADDITIVE)}; {advance}) {{")
        writer.block(op.body.block)
    writer.line("}")


def _while(op: scf.WhileOp, writer: Writer) -> None:
    """Print `while (c) { ... }`; what the condition needs in statements comes under `true`."""
    if op.arguments or op.res:
        raise LegalityError("C++ has no loop with values", hint="keep them in variables")
    before = op.before_region.block
    condition = before.last_op
    assert isinstance(condition, scf.ConditionOp)
    if writer.statements_of(before) == [condition]:
        writer.line(f"while ({writer.text_of(condition.condition).text}) {{")
        writer.block(op.after_region.block)
    else:
        writer.line("while (true) {")
        writer.block(before)
    writer.line("}")


def _condition(op: scf.ConditionOp, writer: Writer) -> None:
    """Print the rest of a loop whose condition is computed by statements."""
    loop = op.parent_op()
    assert isinstance(loop, scf.WhileOp)
    writer.line(f"if ({writer.text_of(op.condition).text}) {{")
    writer.block(loop.after_region.block)
    writer.line("} else {")
    writer.line("  break;")
    writer.line("}")


def _yield(op: Operation, writer: Writer) -> None:
    """Print nothing: the end of a body is a brace."""
    if op.operands:
        raise LegalityError("C++ has no yield of values", hint="run demote-scf-values")


EXPRESSIONS: dict[type[Operation], ExpressionPrinter] = {scf.IfOp: _conditional}

STATEMENTS: dict[type[Operation], StatementPrinter] = {
    scf.ConditionOp: _condition,
    scf.ForOp: _for,
    scf.IfOp: _if,
    scf.WhileOp: _while,
    scf.YieldOp: _yield,
}
