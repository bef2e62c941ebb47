"""Emits `arith` ops for forms: each form once, and terms of outer loops first."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import UNKNOWN_LOC, IndexType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove

from hidet.analysis.algebra import FormAlgebra, Memo
from hidet.analysis.form_rules import FORM_RULES, IdVariable
from hidet.analysis.forms import Atom, Division, LinearForm, Quotient, Remainder, Variable
from hidet.dialects.constants import integer
from hidet.dialects.cuda import BlockIdOp, FloorModOp
from hidet.dialects.effects import has_trait
from hidet.dialects.walking import parents_of

if TYPE_CHECKING:
    from hidet.analysis.index_forms import IndexForms

_INDEX = IndexType()
_WRAPPING = (arith.AddiOp, arith.SubiOp, arith.MuliOp)
_NO_FLAGS: Mapping[str, Attribute] = {"overflowFlags": arith.IntegerOverflowAttr("none")}

BinaryExpression: TypeAlias = tuple[type[Operation], LinearForm, LinearForm]
"""The op that computes a form, and the forms of its operands."""


def index_op(kind: type[Operation], lhs: SSAValue, rhs: SSAValue) -> Operation:
    """Return a binary op on indices; xDSL's constructors take three times as long."""
    flags: Mapping[str, Attribute] = _NO_FLAGS if kind in _WRAPPING else {}
    return kind.create(
        operands=[lhs, rhs], result_types=[_INDEX], properties=flags, location=UNKNOWN_LOC
    )


def index_constant(value: int) -> arith.ConstantOp:
    """Return the constant of an index."""
    number = integer(value, _INDEX)
    return arith.ConstantOp.create(
        result_types=[_INDEX], properties={"value": number}, location=UNKNOWN_LOC
    )


class Materializer:
    """Emits ops for forms, and reuses values that are in scope.

    Args:
        atom_values: the values that replace atoms: variables or SSA values.
    """

    def __init__(self, atom_values: Mapping[Atom, SSAValue] | None = None) -> None:
        self._values = {LinearForm.of(atom): value for atom, value in (atom_values or {}).items()}
        self._scopes: list[list[LinearForm]] = [[]]
        self._sums = Memo(self._sum_expression)
        self._ranks = Memo(self._rank)
        self._depths = Memo(self._depth_of_block)

    @staticmethod
    def before(op: Operation, forms: "IndexForms") -> "Materializer":
        """Return a materializer for code before an op, which reuses the indices in scope there.

        Those that the conditions of the branches around the op may simplify are not reused.
        """
        found, algebra = Materializer(), forms.algebra(op.parent)
        for at in (op, *parents_of(op)):
            if has_trait(type(at), IsolatedFromAbove):
                break
            is_same = forms.algebra(at.parent) is algebra
            earlier = at.prev_op
            while earlier is not None:
                if type(earlier) in FORM_RULES:
                    (result,) = earlier.results
                    if type(result.type) is IndexType:
                        form = forms.form(result)
                        if is_same or algebra.is_simple(form):
                            found.remember(form, result)
                earlier = earlier.prev_op
        return found

    # Scopes.

    @contextmanager
    def scope(self) -> Generator[None]:
        """Open a scope, which drops its values at the end."""
        self._scopes.append([])
        yield
        for form in self._scopes.pop():
            del self._values[form]

    def lookup(self, form: LinearForm) -> SSAValue | None:
        """Return the value of a form if one is in scope."""
        value = self._values.get(form)
        if value is None and not form.weight:
            atom = form.atom
            return None if isinstance(atom, Variable) else cast("SSAValue | None", atom)
        return value

    def remember(self, form: LinearForm, value: SSAValue) -> None:
        """Record the value of a form until the end of the scope, unless it has one."""
        if form not in self._values:
            self._values[form] = value
            self._scopes[-1].append(form)

    # Computation.

    def value(
        self, form: LinearForm, insert: Callable[[Operation], object], algebra: FormAlgebra
    ) -> SSAValue:
        """Return the value of a form; new ops are passed to `insert` in order.

        The algebra is that of the insertion point; it determines which divisions are unsigned.

        Raises:
            KeyError: a variable has no value.
        """
        known = self.lookup(form)
        if known is not None:
            return known
        op = self._leaf_op(form)
        if op is None:
            op_type, lhs, rhs = self.expression(form, algebra)
            operands = [self.value(each, insert, algebra) for each in (lhs, rhs)]
            op = index_op(op_type, *operands)
        insert(op)
        result = op.results[0]
        self.remember(form, result)
        return result

    @staticmethod
    def _leaf_op(form: LinearForm) -> Operation | None:
        """Return an op without operands for a form: a constant or an id."""
        if form.is_number:
            return index_constant(form.constant)
        atom = form.atom
        if isinstance(atom, IdVariable):
            return atom.op_type(atom.dimension)
        if isinstance(atom, Variable):
            raise KeyError(f"the variable {atom.name} has no value")
        return None

    def expression(self, form: LinearForm, algebra: FormAlgebra) -> BinaryExpression:
        """Return the op and operands that compute a form; terms of inner loops are added last."""
        atom = form.atom
        if not isinstance(atom, Division):
            return self._sums[form]
        # Nonnegative numbers are divided by the truncating ops of C.
        unsigned, divisor = algebra.is_nonnegative(atom.form), LinearForm.number(atom.divisor)
        if isinstance(atom, Quotient):
            return arith.DivSIOp if unsigned else arith.FloorDivSIOp, atom.form, divisor
        return arith.RemSIOp if unsigned else FloorModOp, atom.form, divisor

    def _sum_expression(self, form: LinearForm) -> BinaryExpression:
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

        # Block ids come first, then thread ids, then loops from the outside in; within one depth
        # larger strides, then terms seen earlier. Subtracted terms come last.
        def sort_key(atom: Atom) -> tuple[bool, int, int, int]:
            depth, number = self._ranks[atom]
            return terms[atom] < 0, depth, -abs(terms[atom]), number

        last = max(terms, key=sort_key)
        coefficient = terms[last]
        others = LinearForm({atom: factor for atom, factor in terms.items() if atom is not last})
        if coefficient < 0:
            return arith.SubiOp, others, LinearForm.of(last, -coefficient)
        return arith.AddiOp, others, LinearForm.of(last, coefficient)

    def _rank(self, atom: Atom) -> tuple[int, int]:
        return self._depth_of_atom(atom), len(self._ranks)

    def _depth_of_atom(self, atom: Atom) -> int:
        match atom:
            case Quotient(form) | Remainder(form):
                return max((self._ranks[inner][0] for inner in form.terms), default=0)
            case IdVariable(op_type=op_type):
                return 0 if op_type is BlockIdOp else 1
            case Variable():
                return 1
            case _:
                owner = atom.owner
                return 2 + self._depths[owner if isinstance(owner, Block) else owner.parent]

    def _depth_of_block(self, block: Block | None) -> int:
        """Return the nesting depth of a block; `scf.if` does not count."""
        if block is None:
            return 0
        op = block.parent_op()
        outer = 0 if op is None else self._depths[op.parent]
        return outer + (not isinstance(op, scf.IfOp))
