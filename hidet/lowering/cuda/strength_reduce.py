"""The pass `strength-reduce`: carries divisions and remainders from iteration to iteration."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import gcd

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, UnitAttr, i1, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.forms import LinearForm
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.memory import accesses_of
from hidet.dialects.constants import known_index
from hidet.dialects.cuda import KernelOp, leaves_loop
from hidet.dialects.cuda.marks import LONG, UNROLL
from hidet.dialects.walking import blocks_in, ops_in, ops_of_block, values_in
from hidet.rewriting.builder import Index, KernelBuilder
from hidet.rewriting.dead_code import drop_dead_code
from hidet.rewriting.kernel_pass import KernelPass


class StrengthReducePass(KernelPass):
    """Replace divisions and remainders of induction variables by values that loops carry.

    A division by a constant is a multiplication and several ops that depend on it, which nvcc
    computes in every iteration. Between two waits of a pipelined loop, nothing hides them:

        scf.for %k = 0 to 960 step 64 {
          %stage = (%k / 64) % 11   %parity = (%k / 704) % 2
          cuda.mbarrier_wait %full[%stage] parity %parity
        }
        // becomes
        scf.for %k = 0 to 960 step 64 iter_args(%stage = 0, %parity = 0) {
          cuda.mbarrier_wait %full[%stage] parity %parity
          %next = %stage + 1   %wraps = %next == 11
          scf.yield %wraps ? 0 : %next, %wraps ? 1 - %parity : %parity
        }

    So only loops that wait or synchronize are rewritten, and no divisions by powers of two, which
    are shifts (Allen, Cocke, Kennedy: Reduction of Operator Strength, 1981).

    Expects: kernels at the `cuda` level with all their index arithmetic and its widths. Leaves:
    iteration arguments, which `form-expressions` makes variables.
    """

    name = "strength-reduce"

    def run(self, kernel: KernelOp) -> None:
        """Rewrite the loops of one kernel."""
        forms = IndexForms()
        for op in ops_in(kernel.body, inner_first=True):
            if type(op) is scf.ForOp and _may_carry(op):
                _Reduction(op, forms).run()
        drop_dead_code(kernel)


def _may_carry(loop: scf.ForOp) -> bool:
    """Return whether a loop waits in each iteration, and has nothing that complicates it."""
    is_plain = not loop.iter_args and type(loop.lb.type) is IndexType
    is_plain &= LONG not in loop.attributes and UnitAttr() != loop.attributes.get(UNROLL)
    waits = any(not op.regions and accesses_of(op) is None for op in _ops_of(loop.body.block))
    return is_plain and waits and not leaves_loop(loop)


def _ops_of(body: Block) -> list[Operation]:
    """Return the ops of a loop body, with those of branches but not those of inner loops."""
    found: list[Operation] = []
    for op in ops_of_block(body):
        found.append(op)
        for block in blocks_in(op) if type(op) is scf.IfOp else ():
            found += _ops_of(block)
    return found


@dataclass(frozen=True)
class _Advance:
    """What is added to a value in each iteration, or whenever a counter wraps."""

    by: int
    event: _Carried | None = None

    def is_shifted(self, number: int) -> bool:
        """Return whether shifts compute a quotient or a remainder of the value."""
        is_shift = number & (number - 1) == 0
        return is_shift and (self.event is None or self.event.is_shift)


@dataclass(frozen=True)
class _Carried:
    """A value that a loop carries from iteration to iteration; a counter if it has a modulus.

    Attributes:
        form: the value, before it is reduced modulo `modulus`.
        advance: how that advances.
        modulus: the number at which it wraps, or 0 if it does not.
        source: the value in the loop that is divided by `divisor`, and then reduced.
        is_shift: whether shifts compute it as well.
    """

    form: LinearForm
    advance: _Advance
    modulus: int
    source: SSAValue = field(compare=False)
    divisor: int = field(default=1, compare=False)
    is_shift: bool = field(default=False, compare=False)


_LINEAR = frozenset({arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.DivSIOp})
"""The ops whose results may advance."""


class _Reduction:
    """The reduction of the divisions of one loop."""

    def __init__(self, loop: scf.ForOp, forms: IndexForms) -> None:
        self._loop, self._forms = loop, forms
        self._body = loop.body.block
        self._before = KernelBuilder.like(loop)
        self._inside = set(values_in(loop))
        self._advances: dict[SSAValue, _Advance | None] = {}
        self._starts: list[SSAValue] = []
        self._casts: dict[_Carried, arith.IndexCastOp] = {}

    def run(self) -> None:
        for op in reversed(_ops_of(self._body)):
            if type(op) in _LINEAR and op.results[0].first_use is None:
                Rewriter.erase_op(op)  # it would keep what it divides
            elif type(op) in (arith.DivSIOp, arith.RemSIOp):
                self._replace(op)
        if self._starts:
            self._end_iteration()

    # What advances.

    def _advance(self, value: SSAValue) -> _Advance | None:
        """Return how a value advances; None if that is unknown."""
        if value is self._body.args[0]:
            step = known_index(self._loop.step)
            return None if step is None else _Advance(step)
        if value not in self._inside:
            return _Advance(0)
        if value not in self._advances:
            self._advances[value] = self._advance_of(value.owner)
        return self._advances[value]

    def _advance_of(self, op: Operation | Block) -> _Advance | None:
        if isinstance(op, Block) or type(op) not in _LINEAR or LONG in op.attributes:
            return None
        lhs, rhs = map(self._advance, op.operands)
        if lhs is None or rhs is None:
            return None
        if type(op) in (arith.AddiOp, arith.SubiOp):
            by = lhs.by + (rhs.by if type(op) is arith.AddiOp else -rhs.by)
            events = {each.event for each in (lhs, rhs) if each.by}
            return _Advance(by, *events) if len(events) <= 1 else None
        number = known_index(op.operands[1])
        if number is None or number < 1:
            return None
        if type(op) is arith.MuliOp:
            return _Advance(lhs.by * number, lhs.event)
        if not self._forms.is_nonnegative(op.operands[0], self._body):
            return None  # it rounds up at first
        if lhs.by % number == 0:
            return _Advance(lhs.by // number, lhs.event)
        counter = self._counter(op, number, lhs)
        return None if counter is None else _Advance(1, counter)

    def _counter(self, op: Operation, number: int, advance: _Advance) -> _Carried | None:
        """Return what wraps when a quotient advances: the remainder, without common factors."""
        value = op.operands[0]
        if not 0 < advance.by < number:
            return None
        common = gcd(advance.by, number)
        form = self._forms.algebra(op.parent).floordiv(self._forms.form(value), common)
        reduced = replace(advance, by=advance.by // common)
        return _Carried(form, reduced, number // common, value, common, advance.is_shifted(number))

    # What is carried.

    def _replace(self, op: Operation) -> None:
        """Replace a division that shifts do not compute, if what it divides advances."""
        (value, by), result = op.operands, op.results[0]
        advance, number = self._advance(value), known_index(by)
        if advance is None or number is None or LONG in op.attributes:
            return
        if advance.is_shifted(number) or not self._forms.is_nonnegative(value, self._body):
            return
        if type(op) is arith.DivSIOp:
            quotient = self._advance(result)
            if quotient is None or not quotient.by:
                return
            kept, factor = _Carried(self._forms.form(result), quotient, 0, result), 1
        elif (counter := self._counter(op, number, advance)) is not None:
            kept, factor = counter, counter.divisor
            if self._forms.divisibility(value) % factor:
                kept, factor = _Carried(self._forms.form(value), advance, number, value), 1
        else:
            return
        index = self._carry(kept, result.name_hint if factor == 1 else None)
        builder = KernelBuilder.like(op)
        result.replace_all_uses_with(builder.index(builder.mul(index, factor)))
        Rewriter.erase_op(op)

    def _carry(self, carried: _Carried, hint: str | None = None) -> SSAValue:
        """Return what is carried, as an index."""
        if carried not in self._casts:
            if carried.advance.event is not None:
                self._carry(carried.advance.event)
            builder = self._before
            start = builder.div(self._at_start(carried.source), carried.divisor)
            start = builder.mod(start, carried.modulus) if carried.modulus else start
            self._starts.append(builder.insert(arith.IndexCastOp(builder.index(start), i32)).result)
            argument = self._body.insert_arg(i32, len(self._body.args))
            top = KernelBuilder.like(self._loop, InsertPoint.at_start(self._body))
            self._casts[carried] = top.insert(arith.IndexCastOp(argument, IndexType()))
        cast = self._casts[carried]
        if hint is not None:
            cast.result.name_hint, cast.input.name_hint = hint, f"next_{hint}"
        return cast.result

    def _at_start(self, value: SSAValue) -> Index:
        """Return a value in the first iteration, computed ahead of the loop."""
        if value is self._body.args[0]:
            return self._loop.lb
        op = value.owner
        if value not in self._inside or not isinstance(op, Operation):
            return value
        lhs, rhs = map(self._at_start, op.operands)
        match op:
            case arith.AddiOp():
                return self._before.add(lhs, rhs)
            case arith.SubiOp():
                return self._before.subtract(lhs, rhs)
            case arith.MuliOp():
                return self._before.mul(lhs, rhs)
            case _:
                number = known_index(op.operands[1])
                assert isinstance(op, arith.DivSIOp)
                assert number is not None
                return self._before.div(lhs, number)

    def _end_iteration(self) -> None:
        """Advance what is carried at the end of the body, and carry it."""
        loop, end = self._loop, self._body.last_op
        assert end is not None
        builder = KernelBuilder.like(end)
        wraps: dict[_Carried, SSAValue] = {}
        following: list[SSAValue] = []
        for carried, cast in self._casts.items():
            event = carried.advance.event
            after, wraps[carried] = _advanced(builder, carried, cast.result)
            if event is not None:
                after = builder.insert(arith.SelectOp(wraps[event], after, cast.result)).result
                wraps[carried] = builder.all_of([wraps[event], wraps[carried]])
            following.append(builder.insert(arith.IndexCastOp(after, i32)).result)
        end.operands = following
        body = loop.detach_region(loop.body)
        carrying = scf.ForOp(loop.lb, loop.ub, loop.step, self._starts, body)
        carrying.attributes = loop.attributes
        self._before.insert(carrying)
        Rewriter.erase_op(loop)


def _advanced(
    builder: KernelBuilder, carried: _Carried, value: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """Return a carried value after it has advanced, and whether it wraps."""
    by, modulus = carried.advance.by, carried.modulus
    after = builder.index(builder.add(value, by))
    if modulus == 0:
        return after, builder.scalar(0, i1)
    if by == 1:
        wraps, wrapped = builder.equal(after, modulus), builder.index(0)
    else:
        wraps = builder.less(modulus - 1, after)
        wrapped = builder.index(builder.subtract(after, modulus))
    if modulus == 2:
        return builder.index(builder.subtract(1, value)), wraps
    return builder.insert(arith.SelectOp(wraps, wrapped, after)).result, wraps
