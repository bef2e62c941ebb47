"""Each conversion, predicate, function and literal by itself, printed and run."""

import numpy as np
import pytest
from scalar_semantics import numpy_type
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import MemRefType, f16, f32, f64, i1, i8, i16, i32, i64

from hidet.dialects.cuda.instructions import BlockIdOp

CONVERSIONS = [
    *((arith.ExtFOp, *pair) for pair in ((f16, f32), (f32, f64), (f16, f64))),
    *((arith.TruncFOp, *pair) for pair in ((f32, f16), (f64, f32), (f64, f16))),
    *((arith.SIToFPOp, *pair) for pair in ((i1, f32), (i8, f32), (i64, f64), (i16, f16))),
    *((arith.UIToFPOp, *pair) for pair in ((i1, f32), (i8, f16), (i32, f32), (i64, f64))),
    *((arith.FPToSIOp, *pair) for pair in ((f32, i32), (f64, i64), (f16, i8))),
    *((arith.ExtSIOp, *pair) for pair in ((i8, i32), (i32, i64), (i1, i32))),
    *((arith.ExtUIOp, *pair) for pair in ((i8, i32), (i32, i64), (i1, i8))),
    *((arith.TruncIOp, *pair) for pair in ((i64, i32), (i32, i8), (i32, i1))),
    *((arith.BitcastOp, *pair) for pair in ((f32, i32), (i64, f64))),
]


def test_conversions(printed):
    numbers = np.array([0, 1, -1, 2, 3, -5, 100, -100], np.float64)
    kernels, arguments = [], []
    for number, (op, source, target) in enumerate(CONVERSIONS):

        def body(b, x, out, op=op, target=target):
            i = b.insert(BlockIdOp()).result
            b.store(b.insert(op(b.load(x, [i]), target)).result, out, [i])

        types = [MemRefType(kind, [len(numbers)]) for kind in (source, target)]
        kernels.append(printed.build(f"convert{number}", types, body, blocks=len(numbers)))
        x = (numbers + 0.5 if source in (f16, f32, f64) else numbers).astype(numpy_type(source))
        arguments.append([x, printed.poisoned(target, len(numbers))])
    printed.check(kernels, arguments)


def test_functions(printed):
    """Functions of `math`, in float64, of numbers for which they are defined."""
    numbers = np.random.default_rng().uniform(0.05, 0.95, 32)
    kernels, arguments = [], []
    for number, op in enumerate(printed.functions):
        if op in (math.AbsIOp, math.IPowIOp):
            continue

        def body(b, x, out, op=op):
            i = b.insert(BlockIdOp()).result
            value = b.load(x, [i])
            arity = {math.FmaOp: 3, math.Atan2Op: 2, math.CopySignOp: 2, math.PowFOp: 2}.get(op, 1)
            b.store(b.insert(op(*[value] * arity)).results[0], out, [i])

        types = [MemRefType(f64, [32])] * 2
        kernels.append(printed.build(f"function{number}", types, body, blocks=32))
        defined = 1 / numbers if op is math.AcoshOp else numbers.copy()
        arguments.append([defined, printed.poisoned(f64, 32)])
    printed.check(kernels, arguments, tolerance=1e-14)


@pytest.mark.parametrize("kind", [i1, i8, i64, f32], ids=str)
def test_predicates(kind, printed):
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan] if kind == f32 else [0, 1, -1, 100]
    pairs = np.array([(a, b) for a in special for b in special], np.float64)
    x, y = (column.astype(numpy_type(kind)) for column in pairs.T)
    kernels = []
    for predicate in range(16 if kind == f32 else 10):

        def body(b, x, y, out, predicate=predicate):
            i = b.insert(BlockIdOp()).result
            compare = arith.CmpfOp if kind == f32 else arith.CmpiOp
            value = b.insert(compare(b.load(x, [i]), b.load(y, [i]), predicate)).result
            b.store(value, out, [i])

        types = [MemRefType(element, [len(x)]) for element in (kind, kind, i1)]
        kernels.append(printed.build(f"predicate{predicate}", types, body, blocks=len(x)))
    printed.check(kernels, [[x.copy(), y.copy(), np.zeros(len(x), bool)] for _ in kernels])


def test_literals(printed):
    """Every literal reads back as the constant that it stands for."""
    rng = np.random.default_rng()
    floats = [*rng.standard_normal(20), *(10.0 ** rng.uniform(-38, 38, 20)), 1e-45, 3.4028235e38]
    integers = [0, -1, 2**31 - 1, -(2**31), *(int(n) for n in rng.integers(-(2**31), 2**31, 20))]
    wide = [2**63 - 1, -(2**63), *(int(n) for n in rng.integers(-(2**63), 2**63, 20))]
    constants = [(f32, floats), (f64, floats), (i32, integers), (i64, [*integers, *wide])]
    constants.append((i8, range(-128, 128)))
    kernels, arguments = [], []
    for kind, numbers in constants:

        def body(b, out, numbers=numbers, kind=kind):
            for place, number in enumerate(numbers):
                b.store(b.scalar(number, kind), out, [place])

        kernels.append(
            printed.build(f"literals_of_{kind}", [MemRefType(kind, [len(numbers)])], body)
        )
        arguments.append([printed.poisoned(kind, len(numbers))])
    printed.check(kernels, arguments)
