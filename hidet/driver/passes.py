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


def lower(
    module: ModuleOp,
    passes: Iterable[ModulePass],
    dump: Dump,
    report: CompileTimes,
    *,
    again: Callable[[], ModuleOp],
    verify: bool,
) -> None:
    """Lower a program in place.

    If a pass fails, the program before the pass is written to a file; the error's hint names it,
    and the command that reproduces the failure.

    Args:
        module: the program.
        passes: the passes, in order.
        dump: receives the program after every pass.
        report: receives the time of every pass.
        again: returns a new copy of the program before all passes.
        verify: whether the program is verified after every pass.

    Raises:
        PassError: a pass failed; it names the pass and the source line of the operation.
        LegalityError: a check between two stages failed.
    """
    context = make_context()
    done: list[ModulePass] = []
    dump.first(module)
    with collector_paused():
        for each in passes:
            start = perf_counter()
            try:
                with blame(each):
                    each.apply(context, module)
                    if verify:
                        module.verify()
            except HidetError as error:
                # The pass may have left the program partially rewritten, so the passes before it
                # run again.
                replayed = again()
                for earlier in done:
                    earlier.apply(context, replayed)
                path = dump.failure(each.name, module_text(replayed))
                command = f"hidet-opt {path} -p '{each.pipeline_pass_spec()}'"
                error.hint = "\n        ".join(
                    filter(None, (error.hint, f"to repeat it: {command}"))
                )
                raise
            report.passes.append((each.name, perf_counter() - start))
            done.append(each)
            dump.program(each.name, module)
