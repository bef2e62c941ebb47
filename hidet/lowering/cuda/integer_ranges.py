"""The pass `integer-ranges`: strengthens integer ops by value range analysis."""

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType, UnitAttr
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.index_forms import IndexForms
from hidet.analysis.value_ranges import IntegerRanges, range_of_type
from hidet.dialects.cuda import FloorModOp, KernelOp
from hidet.dialects.cuda.marks import SAFE
from hidet.dialects.walking import ops_of_class
from hidet.rewriting.builder import integer_type
from hidet.rewriting.kernel_pass import KernelPass

_SUMS = (arith.AddiOp, arith.SubiOp, arith.MuliOp)
_UNSIGNED = (arith.DivUIOp, arith.RemUIOp)
_FLOOR_DIVISIONS = (arith.FloorDivSIOp, FloorModOp)
_DIVISIONS = (arith.DivSIOp, arith.RemSIOp, *_UNSIGNED)
_SHIFTS = (arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp)


class IntegerRangesPass(KernelPass):
    """Use value ranges to replace or annotate divisions, shifts and sums.

    Floor division becomes truncating division for non-negative operands, and a shift or a mask for
    powers of two. Divisions with a valid divisor and shifts by less than the width get `cuda.safe`;
    sums and products without overflow get `overflow<nsw>`. Unmarked ops are printed as function
    calls or as unsigned arithmetic, which C++ defines for all operands.

    Expects: kernels at the `cuda` level with all their arithmetic. Leaves: the marks, and no
    `arith.floordivsi` or `cuda.floormodsi` that could be cheaper.
    """

    name = "integer-ranges"

    def run(self, kernel: KernelOp) -> None:
        """Annotate the integer ops of one kernel."""
        ranges = IntegerRanges(IndexForms())
        kinds = (*_FLOOR_DIVISIONS, *_DIVISIONS, *_SHIFTS, *_SUMS)
        for op in ops_of_class(kernel.body, *kinds):
            if isinstance(op, _FLOOR_DIVISIONS):
                _cheaper_division(op, ranges)
            elif type(op) in _DIVISIONS:
                _mark(op, _divides(op, ranges))
            elif type(op) in _SHIFTS:
                _mark(op, _is_inside(op, ranges))
            elif isinstance(op.result.type, IntegerType):
                found, whole = ranges.exact(op), range_of_type(op.result.type)
                fits = found is not None and whole.includes(found)
                flag = arith.IntegerOverflowFlag.NSW
                flags = arith.IntegerOverflowAttr([flag] if fits else "none")
                op.properties["overflowFlags"] = flags


def _mark(op: Operation, is_safe: bool) -> None:
    """Set or remove the mark of an op that is safe in C++; constant operands need no mark."""
    op.attributes.pop(SAFE, None)
    if is_safe and not isinstance(op.operands[1].owner, arith.ConstantOp):
        op.attributes[SAFE] = UnitAttr()


def _cheaper_division(op: arith.FloorDivSIOp | FloorModOp, ranges: IntegerRanges) -> None:
    """Replace a floor division by a cheaper op if equivalent."""
    is_quotient = isinstance(op, arith.FloorDivSIOp)
    divisor = ranges.range(op.rhs)
    if ranges.range(op.lhs).lo >= 0 and divisor.lo > 0:
        new = (arith.DivSIOp if is_quotient else arith.RemSIOp)(op.lhs, op.rhs)
        _mark(new, True)
    elif divisor.lo == divisor.hi > 0 and divisor.lo & (divisor.lo - 1) == 0:
        number = divisor.lo.bit_length() - 1 if is_quotient else divisor.lo - 1
        constant = arith.ConstantOp(IntegerAttr(number, integer_type(op.result.type)))
        Rewriter.insert_op(constant, InsertPoint.before(op))
        new = (arith.ShRSIOp if is_quotient else arith.AndIOp)(op.lhs, constant.result)
    else:
        return
    new.location = op.location
    new.result.name_hint = op.result.name_hint
    Rewriter.replace_op(op, new)


def _divides(op: Operation, ranges: IntegerRanges) -> bool:
    """Return whether a divisor is never 0, and never -1 where that overflows."""
    lhs, rhs = (ranges.range(operand) for operand in op.operands)
    if rhs.lo <= 0 <= rhs.hi:
        return False
    if isinstance(op, _UNSIGNED) or not rhs.lo <= -1 <= rhs.hi:
        return True
    return lhs.lo > range_of_type(op.results[0].type).lo


def _is_inside(op: Operation, ranges: IntegerRanges) -> bool:
    """Return whether a shift is by less than the width."""
    kind = op.results[0].type
    width = kind.bitwidth if isinstance(kind, IntegerType) else 64
    count = ranges.range(op.operands[1])
    return count.lo >= 0 and count.hi < width
