"""The pass `form-expressions`: which values get a name, and which fold into their user."""

from dataclasses import dataclass

from xdsl.dialects.builtin import UnitAttr

from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.cuda.marks import FORMED
from hidet.lowering.cuda.copies import Copies
from hidet.lowering.cuda.declarations import clear_marks, declare_variables, gather_ids, name_values
from hidet.lowering.cuda.demote_scf_values import demote_values
from hidet.lowering.cuda.folding import Folding
from hidet.lowering.cuda.single_stores import forward_single_stores
from hidet.rewriting.dead_code import drop_dead_code
from hidet.rewriting.kernel_pass import KernelPass

MAX_OPERATORS = 14
"""Operators of a statement, subscripts included, that still fit in a line."""


@dataclass(frozen=True)
class FormExpressionsPass(KernelPass):
    """Decide which values of a kernel fold into the expression of their user, and name the others.

    A value that folds loses its name hint; every other one gets a name that is unique where it is
    visible and valid in C++. Constants always fold. What else has one use folds, if

    - the statement stays small,
    - and, for a value that is read from memory, nothing between the place where it is read and the
      statement in which its text ends can write that memory.

    It is the statement that counts, not the user: in `l = load a; p = l * 2; store a; q = p + 1`,
    `p` may fold into `q` only if `l` does not fold into `p`. So the pass goes backwards: when a
    value is looked at, the statement in which the text of its user ends is known. A shuffle, in
    which all lanes of a warp take part, never moves into a branch or over another meeting of
    threads.

    What is cheaper to read twice than to look up is written at each use: `i * 4`, and variables
    that nothing writes in between. A condition is written as a whole or named as a whole, and a
    division stays ahead of the loop that uses it. A variable that is stored once is a value.

    Expects: kernels at the `cuda` level, with nothing left to do but printing. Leaves: the names;
    thread and block ids at the top; `cuda.update` on stores that print as `x[i] += v`;
    `cuda.declares` and `cuda.deferred` where a variable is declared by its first store; no dead
    values; the mark `cuda.formed` on the kernel. A pass after it would invalidate all of this.

    Args:
        max_operators: how many operators fold into one statement at most, besides its own.
    """

    name = "form-expressions"

    max_operators: int = MAX_OPERATORS

    def run(self, kernel: KernelOp) -> None:
        """Fold and name the values of one kernel."""
        # A branch may have stopped being an expression since values were demoted: equal ops merged.
        demote_values(kernel)
        forward_single_stores(kernel)
        drop_dead_code(kernel)
        clear_marks(kernel)
        gather_ids(kernel)
        copies = Copies(kernel)
        folding = Folding(self.max_operators, copies.original)
        folding.run(kernel)
        copies.unite(folding.folded)
        declare_variables(kernel)
        name_values(kernel, folding.folded)
        kernel.attributes[FORMED] = UnitAttr()
