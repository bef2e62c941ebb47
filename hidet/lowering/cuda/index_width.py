"""The pass `index-width`: marks indices that need 64 bits."""

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FixedBitwidthType, IndexType, UnitAttr
from xdsl.ir import Operation

from hidet.analysis.forms import Range
from hidet.analysis.index_forms import IndexForms
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.cuda.marks import LONG
from hidet.dialects.walking import ops_in
from hidet.rewriting.kernel_pass import KernelPass

INT = Range.signed(32)
"""The range of `int` in C++ on all targets."""


class IndexWidthPass(KernelPass):
    """Mark index computations that may not fit in 32 bits with `cuda.long`.

    An index is printed as `int`, a marked one as `long long`. The mark is on the op, or on the loop
    for its induction variable, which also has to hold the exit value. Every op of an index
    expression is checked by itself, so that intermediate values do not overflow. Unbounded indices
    are marked; constants are not.

    Expects: kernels at the `cuda` level with all their index arithmetic. Leaves: the marks.
    """

    name = "index-width"

    def run(self, kernel: KernelOp) -> None:
        """Mark the index computations of one kernel that need 64 bits."""
        forms = IndexForms()
        for op in ops_in(kernel.body):
            op.attributes.pop(LONG, None)
            if _is_long(op, forms):
                op.attributes[LONG] = UnitAttr()


def _is_long(op: Operation, forms: IndexForms) -> bool:
    """Return whether an op computes an index that may not fit in 32 bits."""
    if type(op) is scf.ForOp:
        return type(op.lb.type) is IndexType and not _loop_fits(op, forms)
    indices = [result for result in op.results if type(result.type) is IndexType]
    if not indices or type(op) is arith.ConstantOp:
        return False
    kind = op.operands[0].type if type(op) is arith.IndexCastOp else None
    if isinstance(kind, FixedBitwidthType) and kind.bitwidth <= 32:
        return False
    return not all(_is_int(forms.range(result)) for result in indices)


def _is_int(limits: Range | None) -> bool:
    return limits is not None and INT.includes(limits)


def _loop_fits(op: scf.ForOp, forms: IndexForms) -> bool:
    """Return whether all values of a loop's induction variable fit in 32 bits.

    That includes the exit value, the first one that is not less than the upper bound.
    """
    start, stop, step = (forms.range(bound, op.parent) for bound in (op.lb, op.ub, op.step))
    if stop is None or step is None or not _is_int(start):
        return False
    exit_value = Range(stop.lo, stop.hi + step.hi - 1)
    return _is_int(forms.range(op.body.block.args[0])) and _is_int(exit_value)
