"""The pass `verify-level`: checks the invariants of a compilation level."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from hidet.analysis.kernels import kernels_of
from hidet.dialects.cuda import KernelOp
from hidet.errors import OptionError
from hidet.legality.dominance import check_dominance
from hidet.legality.expressions import check_expressions
from hidet.legality.launches import check_launches
from hidet.legality.leftovers import check_leftovers
from hidet.legality.tiles import check_ranks, check_shared_memory, check_tiles
from hidet.legality.uniformity import check_uniformity
from hidet.legality.views import check_views
from hidet.legality.workers import check_workers
from hidet.lowering.pipelines import PIPELINES

Level = Literal["graph", "compute", "task", "cuda"]

FIRST_PASS: dict[Level, str | None] = {
    "graph": None,
    "compute": "lower-graph-to-compute",
    "task": "schedule",
    "cuda": "lower-task",
}
"""The pass that lowers a program to a level."""

KERNEL_CHECKS: dict[Level, tuple[Callable[[KernelOp], None], ...]] = {
    "graph": (),
    "compute": (),
    "task": (check_tiles, check_workers, check_views, check_uniformity, check_shared_memory),
    "cuda": (check_tiles, check_uniformity, check_shared_memory, check_expressions),
}
"""The checks of each kernel at a level."""


@dataclass(frozen=True)
class VerifyLevelPass(ModulePass):
    """Check that a program is legal at a level; changes nothing.

    After the verifiers of all ops, it checks dominance of definitions over uses, that no op is left
    that a pass should have lowered, and, for kernels, that maps fit tiles and workers, that no view
    reads overwritten memory, that collective ops are under uniform control flow, the size of shared
    memory, and the folding of expressions. A `LegalityError` names the op and the pass at fault.

    Args:
        level: the level of the program: `graph`, `compute`, `task` or `cuda`.
        after: the last pass that has run; by default the first pass of the level.
    """

    name = "verify-level"

    level: Level
    after: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check a module."""
        check_ranks(op)
        op.verify()
        check_dominance(op)
        check_leftovers(op, self._has_run())
        check_launches(op)
        for kernel in kernels_of(op):
            for check in KERNEL_CHECKS[self.level]:
                check(kernel)

    def _has_run(self) -> Callable[[str], bool]:
        """Return a predicate that tells whether a pass has run, by pipeline order."""
        order = PIPELINES["hidet-pipeline"]
        last = self.after if self.after is not None else FIRST_PASS[self.level]
        if last is None:
            return lambda name: False
        if last not in order:
            raise OptionError(
                f"verify-level cannot follow the unknown pass {last!r}",
                where="option 'after' of verify-level",
                hint=f"the passes are {', '.join(dict.fromkeys(order))}",
            )
        done = frozenset(order[: order.index(last) + 1])
        return done.__contains__
