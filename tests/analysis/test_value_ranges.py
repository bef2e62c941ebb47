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


@pytest.mark.parametrize("low", [-1.5, -1.0, 0.0, 2.5])
@pytest.mark.parametrize("high", [-0.5, 0.0, 3.0, 3.5, np.inf])
@pytest.mark.parametrize("at_least", ["oge", "ogt"])
def test_truncated_numbers(low, high, at_least):
    """Of numbers that a condition limits, or else another number."""
    limit = "0x7F800000" if high == np.inf else high
    kernel = parsed(
        f"%lo = arith.constant {low} : f32\n%hi = arith.constant {limit} : f32\n"
        f"%a = arith.cmpf {at_least}, %v, %lo : f32\n%b = arith.cmpf olt, %v, %hi : f32\n"
        "%c = arith.andi %a, %b : i1\n%o = arith.constant 1 : i64\n"
        "%n = arith.fptosi %v : f32 to i64\n%r = arith.select %c, %n, %o : i64",
        "%v : f32",
    )
    *_, op = kernel.body.walk()
    values = np.arange(-4, 6, 0.25)
    chosen = (values >= low if at_least == "oge" else values > low) & (values < high)
    given = np.where(chosen, np.trunc(values), 1).astype(np.int64)
    found = IntegerRanges(IndexForms()).range(op.results[0])
    check(found, given, (low, high))
    assert found.lo >= min(np.trunc(low), 1)
    assert high == np.inf or found.hi <= max(np.ceil(high) - 1, np.trunc(low), 1)


@pytest.mark.parametrize(("mark", "most"), [("", 63), (" {cuda.below = 5 : i64}", 4)])
def test_indices_made_of_integers(mark, most):
    """In the range of the integer, or in one that a look-up has checked."""
    kernel = parsed(
        "%lo = arith.constant 0 : i64\n%hi = arith.constant 63 : i64\n"
        "%m = arith.maxsi %n, %lo : i64\n%v = arith.minsi %m, %hi : i64\n"
        f"%r = arith.index_cast %v{mark} : i64 to index",
        "%n : i64",
    )
    *_, op = kernel.body.walk()
    assert IndexForms().range(op.results[0]) == Range(0, most)


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
