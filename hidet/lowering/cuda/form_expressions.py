"""The pass `form-expressions`: decides which values fold into expressions, and names the others."""

from dataclasses import dataclass

from xdsl.dialects.builtin import UnitAttr

from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.cuda.marks import FORMED
from hidet.lowering.cuda.declarations import clear_marks, declare_variables, gather_ids, name_values
from hidet.lowering.cuda.demote_scf_values import demote_values
from hidet.lowering.cuda.folding import Folding
from hidet.lowering.cuda.rematerialize import Rematerializer
from hidet.lowering.cuda.single_stores import forward_single_stores
from hidet.rewriting.dead_code import drop_dead_code
from hidet.rewriting.kernel_pass import KernelPass

MAX_OPERATORS = 14
"""The most operators of a statement, subscripts included."""


@dataclass(frozen=True)
class FormExpressionsPass(KernelPass):
    """Decide which values of a kernel fold into expressions, and name the others.

    A folded value has no name hint; every other value gets a unique, valid C++ name. Constants
    always fold. Another value with one use folds if

    - the statement stays small,
    - and, if it reads memory, nothing between the read and the statement that the value is
      part of can write that memory.

    The statement counts, not the user: in `l = load a; p = l * 2; store a; q = p + 1`, `p` may fold
    into `q` only if `l` does not fold into `p`. The pass therefore walks backwards: when a value is
    visited, the statement of its user is known. A shuffle, which is collective, never moves into a
    branch or across another synchronization.

    Cheap values, `i * 4` and unmodified variables, are rematerialized at each use. A condition is
    folded or named as a whole, and a division stays outside of the loop that uses it. A variable
    that is stored once becomes a value.

    Expects: kernels at the `cuda` level, ready for printing. Leaves: the names; thread and block
    ids at the top; `cuda.update` on stores that print as `x[i] += v`; `cuda.declares` and
    `cuda.deferred` where the first store declares a variable; no dead values; the mark
    `cuda.formed` on the kernel. Any later pass would invalidate this.
    """

    name = "form-expressions"

    max_operators: int = MAX_OPERATORS

    def run(self, kernel: KernelOp) -> None:
        """Fold and name the values of one kernel."""
        # Merging equal ops may have turned a conditional expression into a statement.
        demote_values(kernel)
        forward_single_stores(kernel)
        drop_dead_code(kernel)
        clear_marks(kernel)
        gather_ids(kernel)
        copies = Rematerializer(kernel)
        folding = Folding(self.max_operators, copies.original)
        folding.run(kernel)
        copies.unite(folding.folded)
        declare_variables(kernel)
        name_values(kernel, folding.folded)
        kernel.attributes[FORMED] = UnitAttr()
