"""Runs passes on a program: with times, with dumps, and with errors that can be replayed."""

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

    Where a pass fails, the program as it was ahead of the pass is written to a file, which the
    error's hint names together with the command that repeats the failure.

    Args:
        module: the program.
        passes: the passes, in order.
        dump: gets the program after every pass.
        report: gets the time of every pass.
        again: makes the program anew, as it is ahead of all passes.
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
                # By running the passes before it once more nothing has to be kept for this case;
                # the pass itself may have left the program half rewritten.
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
