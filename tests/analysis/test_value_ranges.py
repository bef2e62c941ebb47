"""The range of a result includes all results; that of an argument, nothing else either."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scalar_semantics import SCALARS
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.parser import Parser
from xdsl.utils.test_value import create_ssa_value

from hidet.analysis.forms import Range
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.value_ranges import RESULT_RULES, IntegerRanges
from hidet.context import make_context
from hidet.dialects.cuda import KernelOp
from hidet.dialects.task import ForeachOp

BINARY = [kind for kind in RESULT_RULES if len(kind.get_irdl_definition().operands) == 2]


def parsed(body, arguments=""):
    """Return a kernel with a body."""
    text = f"cuda.kernel @f({arguments}) grid(1) block(32) {{\n{body}\n}}"
    module = Parser(make_context(), text).parse_module()
    (kernel,) = (op for op in module.walk() if isinstance(op, KernelOp))
    return kernel


def ranges_between(*ends):
    """Return all ranges with limits among some numbers."""
    return [Range(*limits) for limits in combinations_with_replacement(ends, 2)]


def check(found, values, operands):
    """Check that a range has all values."""
    assert found.lo <= values.min(), operands
    assert values.max() <= found.hi, operands


@pytest.mark.parametrize("kind", BINARY, ids=lambda kind: kind.name)
def test_results(kind):
    """Of operands in any two small ranges; unsigned division by 0 is not among them."""
    op = kind(*(create_ssa_value(IndexType()) for _ in range(2)))
    limits = range(-4, 5)
    for operands in product(ranges_between(*limits), repeat=2):
        lhs, rhs = np.meshgrid(*(np.arange(each.lo, each.hi + 1) for each in operands))
        if kind in (arith.DivUIOp, arith.RemUIOp):
            lhs, rhs = lhs[rhs != 0], rhs[rhs != 0]
        if rhs.size:
            check(RESULT_RULES[kind][0](op, operands), SCALARS[kind](op, lhs, rhs), operands)


@pytest.mark.parametrize(
    "text",
    [
        "arith.extsi %v : i8 to i32",
        "arith.extui %v : i8 to i32",
        "arith.trunci %v : i8 to i1",
        *(f"arith.{shift} %v, %c{n} : i8" for shift in ("shli", "shrsi", "shrui") for n in (1, 7)),
        *(f"arith.{sum} %v, %c{n} : i8" for sum in ("addi", "subi", "muli") for n in (1, 7)),
    ],
)
def test_results_of_bytes(text):
    """Of bytes between any two limits; what wraps around is included."""
    for limits in ranges_between(-128, -127, -3, -1, 0, 1, 126, 127):
        kernel = parsed(
            f"%c1 = arith.constant 1 : i8\n%c7 = arith.constant 7 : i8\n"
            f"%lo = arith.constant {limits.lo} : i8\n%hi = arith.constant {limits.hi} : i8\n"
            f"%m = arith.maxsi %n, %lo : i8\n%v = arith.minsi %m, %hi : i8\n%r = {text}",
            "%n : i8",
        )
        *_, op = kernel.body.walk()
        values = np.arange(limits.lo, limits.hi + 1).astype(np.int8)
        constants = [np.full_like(values, each.owner.value.value.data) for each in op.operands[1:]]
        given = SCALARS[type(op)](op, values, *constants).astype(np.int64)
        check(IntegerRanges(IndexForms()).range(op.results[0]), given, limits)


@pytest.mark.parametrize(
    "numbers", [range(7), range(3, 17, 4), range(3, 16, 4), range(5, 6)], ids=str
)
def test_induction_variables(numbers):
    """From the first to the last number of a loop."""
    kernel = parsed(
        f"%a = arith.constant {numbers.start} : index\n%b = arith.constant {numbers.stop} : index\n"
        f"%s = arith.constant {numbers.step} : index\nscf.for %k = %a to %b step %s {{\n}}"
    )
    (loop,) = (op for op in kernel.body.walk() if isinstance(op, scf.ForOp))
    assert IndexForms().range(loop.body.block.args[0]) == Range(numbers[0], numbers[-1])


def test_tasks():
    """From 0 to the last task inside the bound."""
    kernel = parsed(
        "%t = cuda.thread_id x\n"
        "task.foreach (%i, %j) in #task.map<spatial(4, 8) * repeat(3, 1)> on %t bound [12, 7] {\n}"
    )
    (foreach,) = (op for op in kernel.body.walk() if isinstance(op, ForeachOp))
    forms = IndexForms()
    assert [forms.range(index) for index in foreach.indices] == [Range(0, 11), Range(0, 6)]
