"""From forms back to ops of `arith`: each form once, parts of the outer loops first."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from hidet.analysis.algebra import FormAlgebra
from hidet.analysis.form_rules import IdVariable
from hidet.analysis.forms import Atom, LinearForm, Quotient, Remainder, Variable
from hidet.dialects.cuda import BlockIdOp
from hidet.dialects.cuda.arithmetic import FloorModOp

_INDEX = IndexType()
_NO_OVERFLOW_FLAGS: Mapping[str, Attribute] = {"overflowFlags": arith.IntegerOverflowAttr("none")}

_BinaryOp: TypeAlias = (
    type[arith.AddiOp]
    | type[arith.SubiOp]
    | type[arith.MuliOp]
    | type[arith.DivSIOp]
    | type[arith.FloorDivSIOp]
    | type[arith.RemSIOp]
    | type[FloorModOp]
)
_PROPERTIES: dict[type[Operation], Mapping[str, Attribute]] = {
    arith.AddiOp: _NO_OVERFLOW_FLAGS,
    arith.SubiOp: _NO_OVERFLOW_FLAGS,
    arith.MuliOp: _NO_OVERFLOW_FLAGS,
}

Step: TypeAlias = tuple[_BinaryOp, LinearForm, LinearForm]
"""The last op of the computation of a form, and the forms of its operands."""


class Materializer:
    """Computes forms by ops, each form once in the scope in which its value is visible.

    Args:
        atom_values: the values to take for variables and, in place of themselves, for values.
    """

    def __init__(self, atom_values: Mapping[Atom, SSAValue] | None = None) -> None:
        self._values: dict[LinearForm, SSAValue] = {}
        self._opened: list[list[LinearForm]] = [[]]
        self._steps: dict[LinearForm, Step] = {}
        self._ranks: dict[Atom, tuple[int, int]] = {}
        self._depths: dict[Block, int] = {}
        for atom, value in (atom_values or {}).items():
            self._values[LinearForm.of(atom)] = value

    # Scopes.

    @contextmanager
    def scope(self, *, isolated: bool = False) -> Generator[None]:
        """Forget at the end what was computed inside; if isolated, do not see what was before."""
        outer = self._values
        if isolated:
            self._values = {}
        self._opened.append([])
        yield
        if isolated:
            self._opened.pop()
            self._values = outer
        else:
            for form in self._opened.pop():
                del self._values[form]

    def lookup(self, form: LinearForm) -> SSAValue | None:
        """Return the value of a form if there is one."""
        value = self._values.get(form)
        if value is None:
            atom = form.atom
            return atom if isinstance(atom, SSAValue) else None
        return value

    def remember(self, form: LinearForm, value: SSAValue) -> None:
        """Take a value for a form until the end of the scope, unless there is one already."""
        if form not in self._values:
            self._values[form] = value
            self._opened[-1].append(form)

    # Computation.

    def value(
        self, form: LinearForm, insert: Callable[[Operation], object], algebra: FormAlgebra
    ) -> SSAValue:
        """Return the value of a form, computed by ops that are handed to `insert` in order.

        The algebra is that of the place where the ops go; it says which divisions are unsigned.

        Raises:
            KeyError: a variable has no value.
        """
        known = self.lookup(form)
        if known is not None:
            return known
        op = self._leaf_op(form)
        if op is None:
            op_type, lhs, rhs = self.last_step(form, algebra)
            op = op_type.create(
                operands=[self.value(lhs, insert, algebra), self.value(rhs, insert, algebra)],
                result_types=[_INDEX],
                properties=dict(_PROPERTIES.get(op_type, {})),
            )
        insert(op)
        result = op.results[0]
        self.remember(form, result)
        return result

    @staticmethod
    def _leaf_op(form: LinearForm) -> Operation | None:
        """Return the op that gives a form without operands: a number or an id."""
        if form.is_number:
            return arith.ConstantOp.create(
                result_types=[_INDEX], properties={"value": IntegerAttr(form.constant, _INDEX)}
            )
        atom = form.atom
        if isinstance(atom, IdVariable):
            return atom.op_type(atom.dimension)
        if isinstance(atom, Variable):
            raise KeyError(f"the variable {atom.name} has no value")
        return None

    def last_step(self, form: LinearForm, algebra: FormAlgebra) -> Step:
        """Return how a form is computed from shorter ones: the terms of inner loops come last."""
        atom = form.atom
        if isinstance(atom, Quotient | Remainder):
            return _step_of_division(atom, algebra)
        known = self._steps.get(form)
        if known is None:
            known = self._steps[form] = self._step_of_sum(form)
        return known

    def _step_of_sum(self, form: LinearForm) -> Step:
        terms = form.terms
        if form.constant:
            constant = LinearForm.number(abs(form.constant))
            if all(coefficient < 0 for coefficient in terms.values()):
                return arith.SubiOp, LinearForm.number(form.constant), -form.without_constant
            op_type = arith.AddiOp if form.constant > 0 else arith.SubiOp
            return op_type, form.without_constant, constant
        if len(terms) == 1:
            (atom, coefficient) = next(iter(terms.items()))
            return arith.MuliOp, LinearForm.of(atom), LinearForm.number(coefficient)
        last = max(terms, key=lambda atom: self._place(atom, terms[atom]))
        coefficient = terms[last]
        others = LinearForm({atom: factor for atom, factor in terms.items() if atom is not last})
        if coefficient < 0:
            return arith.SubiOp, others, LinearForm.of(last, -coefficient)
        return arith.AddiOp, others, LinearForm.of(last, coefficient)

    # The order of terms.

    def _place(self, atom: Atom, coefficient: int) -> tuple[bool, int, int, int]:
        """Return where a term stands in a sum.

        What is subtracted comes last; before that, blocks, threads, then outer loops; among terms
        of one depth large steps, then what was met first.
        """
        depth, number = self._rank(atom)
        return coefficient < 0, depth, -abs(coefficient), number

    def _rank(self, atom: Atom) -> tuple[int, int]:
        known = self._ranks.get(atom)
        if known is None:
            depth = self._depth_of_atom(atom)
            known = self._ranks[atom] = depth, len(self._ranks)
        return known

    def _depth_of_atom(self, atom: Atom) -> int:
        match atom:
            case Quotient(form) | Remainder(form):
                return max((self._rank(inner)[0] for inner in form.terms), default=0)
            case IdVariable(op_type=op_type):
                return 0 if op_type is BlockIdOp else 1
            case Variable():
                return 1
            case _:
                owner = atom.owner
                return 2 + self._depth_of_block(owner if isinstance(owner, Block) else owner.parent)

    def _depth_of_block(self, block: Block | None) -> int:
        """Return the number of loops around a block; every op with a region that is no branch."""
        if block is None:
            return 0
        known = self._depths.get(block)
        if known is None:
            op = block.parent_op()
            outer = 0 if op is None else self._depth_of_block(op.parent)
            known = self._depths[block] = outer + (not isinstance(op, scf.IfOp))
        return known


def _step_of_division(atom: Quotient | Remainder, algebra: FormAlgebra) -> Step:
    """Return how a quotient or remainder is computed; C has the ops for unsigned numbers."""
    form, divisor = atom.form, LinearForm.number(atom.divisor)
    unsigned = algebra.is_nonnegative(form)
    if isinstance(atom, Quotient):
        return arith.DivSIOp if unsigned else arith.FloorDivSIOp, form, divisor
    return arith.RemSIOp if unsigned else FloorModOp, form, divisor
