"""Runs passes on a program, with times, dumps, and reproducers of failures."""

from collections.abc import Callable, Iterable
from time import perf_counter

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from hidet.collector_pause import collector_paused
from hidet.context import make_context
from hidet.dialects.alias_printer import module_text
from hidet.driver.dump import Dump
from hidet.errors import HidetError
from hidet.lowering.blame import blame
from hidet.runtime.times import CompileTimes


class Lowering:
    """Lowers a program in place, by passes in order.

    If a pass fails, the program before the pass is written to a file; the error's hint names it,
    and the command that reproduces the failure.

    Args:
        module: the program.
        dump: receives the program after every pass.
        report: receives the time of every pass.
        again: returns a new copy of the program before all passes.
        verify: whether the program is verified after every pass.
    """

    def __init__(
        self,
        module: ModuleOp,
        dump: Dump,
        report: CompileTimes,
        *,
        again: Callable[[], ModuleOp],
        verify: bool,
    ) -> None:
        self._module = module
        self._dump = dump
        self._report = report
        self._again = again
        self._verify = verify
        self._context = make_context()
        self._done: list[ModulePass] = []
        dump.first(module)

    def run(self, passes: Iterable[ModulePass]) -> None:
        """Run passes, after those of earlier calls.

        Raises:
            PassError: a pass failed; it names the pass and the source line of the operation.
            LegalityError: a check between two stages failed.
        """
        with collector_paused():
            for each in passes:
                start = perf_counter()
                try:
                    with blame(each):
                        each.apply(self._context, self._module)
                        if self._verify:
                            self._module.verify()
                except HidetError as error:
                    self._add_reproducer(error, each)
                    raise
                self._report.passes.append((each.name, perf_counter() - start))
                self._done.append(each)
                self._dump.program(each.name, self._module)

    def have_run(self, passes: Iterable[ModulePass]) -> None:
        """Record passes that have run elsewhere, for reproducers of later failures."""
        self._done += passes

    def _add_reproducer(self, error: HidetError, failed: ModulePass) -> None:
        """Write the program before a failed pass, and add the command to the hint."""
        # The pass may have left the program partially rewritten, so the passes before it run again.
        replayed = self._again()
        for earlier in self._done:
            earlier.apply(self._context, replayed)
        path = self._dump.failure(failed.name, module_text(replayed))
        command = f"hidet-opt {path} -p '{failed.pipeline_pass_spec()}'"
        error.hint = "\n        ".join(filter(None, (error.hint, f"to repeat it: {command}")))
