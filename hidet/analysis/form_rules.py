"""The rules that compute the linear form of a result from those of the operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Operation

from hidet.analysis.algebra import FormAlgebra
from hidet.analysis.conditions import known_condition
from hidet.analysis.forms import ZERO, LinearForm, Range, Variable
from hidet.arch.limits import MAX_GRID, MAX_THREADS_PER_BLOCK
from hidet.dialects.cuda import BlockDimOp, BlockIdOp, GridDimOp, KernelOp, ThreadIdOp
from hidet.dialects.cuda.arithmetic import FloorModOp
from hidet.dialects.cuda.attributes import Dimension
from hidet.dialects.cuda.checks import CheckedIndexOp
from hidet.dialects.cuda.instructions import IdOp
from hidet.dialects.cuda.kernel import DYNAMIC
from hidet.dialects.walking import parent_of_type

if TYPE_CHECKING:
    from hidet.analysis.index_forms import IndexForms


@dataclass(frozen=True, eq=False)
class IdVariable(Variable):
    """A block or thread id, or a dimension of the grid or block; all ops that read it are equal."""

    op_type: type[IdOp]
    dimension: Dimension


FormRule: TypeAlias = Callable[["IndexForms", Any, FormAlgebra], LinearForm | None]
"""Returns the form of an op's result, of type index; None if it has no linear form."""


def _operands(forms: IndexForms, op: Operation) -> tuple[LinearForm, LinearForm]:
    lhs, rhs = op._operands  # pyright: ignore[reportPrivateUsage]  # without a view of them
    return forms.form(lhs), forms.form(rhs)


def _constant(forms: IndexForms, op: arith.ConstantOp, algebra: FormAlgebra) -> LinearForm | None:
    number = op.properties["value"]
    return LinearForm.number(number.value.data) if isinstance(number, IntegerAttr) else None


def _multiply(forms: IndexForms, op: Operation, algebra: FormAlgebra) -> LinearForm | None:
    lhs, rhs = _operands(forms, op)
    if lhs.is_number:
        lhs, rhs = rhs, lhs
    return algebra.merge(lhs * rhs.constant) if rhs.is_number else None


def _shift_left(forms: IndexForms, op: Operation, algebra: FormAlgebra) -> LinearForm | None:
    lhs, rhs = _operands(forms, op)
    return lhs * (1 << rhs.constant) if rhs.is_number and 0 <= rhs.constant < 63 else None


def _by_number(
    divide: Callable[[FormAlgebra, LinearForm, int], LinearForm],
    *,
    nonnegative: bool = False,
    shifts: bool = False,
) -> FormRule:
    """Return the rule of a division by a positive constant, or by the power of two of a shift.

    With `nonnegative`, it is restricted to a nonnegative dividend, where all roundings agree.
    """

    def rule(forms: IndexForms, op: Operation, algebra: FormAlgebra) -> LinearForm | None:
        lhs, rhs = _operands(forms, op)
        divisor = rhs.constant
        if shifts:
            divisor = 1 << divisor if 0 <= divisor < 63 else 0
        if not rhs.is_number or divisor < 1:
            return None
        if nonnegative and not algebra.is_nonnegative(lhs):
            return None
        return algebra.merge(divide(algebra, lhs, divisor))

    return rule


def _ceil_divide(algebra: FormAlgebra, dividend: LinearForm, divisor: int) -> LinearForm:
    return algebra.floordiv(dividend + (divisor - 1), divisor)


_divide = _by_number(FormAlgebra.floordiv, nonnegative=True)
_remainder = _by_number(FormAlgebra.mod, nonnegative=True)


def _bitwise_and(forms: IndexForms, op: Operation, algebra: FormAlgebra) -> LinearForm | None:
    """Return a remainder, if the mask covers the lowest bits."""
    lhs, rhs = _operands(forms, op)
    if lhs.is_number:
        lhs, rhs = rhs, lhs
    size = rhs.constant + 1
    if not rhs.is_number or size < 1 or size & (size - 1):
        return None
    return algebra.merge(algebra.mod(lhs, size))


def _extremum(sign: int) -> FormRule:
    """Return the rule of a minimum (1) or maximum (-1): the operand that ranges select, if any."""

    def rule(forms: IndexForms, op: Operation, algebra: FormAlgebra) -> LinearForm | None:
        lhs, rhs = _operands(forms, op)
        if isinstance(op, arith.MinUIOp | arith.MaxUIOp) and not (
            algebra.is_nonnegative(lhs) and algebra.is_nonnegative(rhs)
        ):
            return None
        lo, hi = algebra.range(algebra.add(lhs, rhs, -1) * sign)
        return lhs if hi <= 0 else rhs if lo >= 0 else None

    return rule


def _select(forms: IndexForms, op: arith.SelectOp, algebra: FormAlgebra) -> LinearForm | None:
    known = known_condition(forms, op.cond)
    if known is None:
        lhs, rhs = forms.form(op.lhs), forms.form(op.rhs)
        return lhs if lhs == rhs else None
    return forms.form(op.lhs if known else op.rhs)


def _cast(forms: IndexForms, op: Operation, algebra: FormAlgebra) -> LinearForm | None:
    """Look through casts from index to sufficiently wide integers and back."""
    source, kinds = op.operands[0], [op.operands[0].type]
    if isinstance(source.owner, arith.ConstantOp):
        return _constant(forms, source.owner, algebra)
    while isinstance(source.owner, arith.TruncIOp | arith.IndexCastOp):
        source = source.owner.operands[0]
        if isinstance(source.type, IndexType):
            form = forms.form(source)
            widths = [kind.bitwidth for kind in kinds if isinstance(kind, IntegerType)]
            fits = Range.signed(min(widths, default=0)).includes(algebra.range(form))
            return form if fits else None
        kinds.append(source.type)
    return None


def is_proven(forms: IndexForms, op: CheckedIndexOp) -> bool:
    """Return whether ranges prove that a checked index is in bounds."""
    lo, hi = forms.algebra(op.parent).range(forms.form(op.index))
    return lo >= 0 and hi < op.size.value.data


def _id(forms: IndexForms, op: IdOp, algebra: FormAlgebra) -> LinearForm:
    dimension = Dimension(op.dimension.data)
    number = list(Dimension).index(dimension)
    of_block = type(op) in (ThreadIdOp, BlockDimOp)
    kernel = parent_of_type(op, KernelOp)  # ids outside of kernels are legal in program fragments
    if kernel is None:
        largest = MAX_THREADS_PER_BLOCK if of_block else MAX_GRID[0]
    else:
        largest = kernel.max_shape[of_block][number]
    is_extent = type(op) in (BlockDimOp, GridDimOp)
    if is_extent and kernel is not None:
        extent = (kernel.block_dims if of_block else kernel.grid_dims)[number]
        if extent != DYNAMIC:
            return LinearForm.number(extent)
    if largest == 1 and not is_extent:
        return ZERO
    return LinearForm.of(
        IdVariable(f"{op.name} {dimension}", largest + is_extent, type(op), dimension)
    )


FORM_RULES: dict[type[Operation], FormRule] = {
    arith.ConstantOp: _constant,
    arith.AddiOp: lambda forms, op, algebra: algebra.add(*_operands(forms, op)),
    arith.SubiOp: lambda forms, op, algebra: algebra.add(*_operands(forms, op), -1),
    arith.MuliOp: _multiply,
    arith.ShLIOp: _shift_left,
    arith.ShRSIOp: _by_number(FormAlgebra.floordiv, shifts=True),
    arith.ShRUIOp: _by_number(FormAlgebra.floordiv, shifts=True, nonnegative=True),
    arith.FloorDivSIOp: _by_number(FormAlgebra.floordiv),
    arith.DivSIOp: _divide,
    arith.DivUIOp: _divide,
    arith.CeilDivSIOp: _by_number(_ceil_divide),
    arith.CeilDivUIOp: _by_number(_ceil_divide, nonnegative=True),
    arith.RemSIOp: _remainder,
    FloorModOp: _by_number(FormAlgebra.mod),
    arith.RemUIOp: _remainder,
    arith.AndIOp: _bitwise_and,
    arith.MinSIOp: _extremum(1),
    arith.MaxSIOp: _extremum(-1),
    arith.MinUIOp: _extremum(1),
    arith.MaxUIOp: _extremum(-1),
    arith.SelectOp: _select,
    CheckedIndexOp: lambda forms, op, _: forms.form(op.index) if is_proven(forms, op) else None,
    arith.IndexCastOp: _cast,
    BlockDimOp: _id,
    BlockIdOp: _id,
    GridDimOp: _id,
    ThreadIdOp: _id,
}
"""The rule for a result of type index, by the class of the op."""
