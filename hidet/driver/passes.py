"""Runs the pipeline on a program: with times, with dumps, and with errors that can be replayed."""

from collections.abc import Callable
from time import perf_counter

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass

from hidet.context import make_context
from hidet.dialects.alias_printer import module_text
from hidet.driver.dump import Dump
from hidet.errors import HidetError
from hidet.lowering.blame import blame
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.runtime.times import CompileTimes


def lower(
    module: ModuleOp, text: str, options: PassOptions, dump: Dump, report: CompileTimes
) -> None:
    """Lower a program in place to kernels and planned host functions.

    Where a pass fails, the program as it was ahead of the pass is written to a file, which the
    error's hint names together with the command that repeats the failure.

    Args:
        module: the program, of the graph dialect.
        text: the same program as text.
        options: what the passes are told.
        dump: gets the program after every pass.
        report: gets the time of every pass.

    Raises:
        PassError: a pass failed; it names the pass and the source line of the operation.
        LegalityError: a check between two stages failed.
    """
    number = 0

    def on_pass(each: ModulePass, current: ModuleOp, run: Callable[[], None]) -> None:
        nonlocal number
        start = perf_counter()
        try:
            run()
            if options.verify:
                with blame(each):
                    current.verify()
        except HidetError as error:
            path = dump.failure(each.name, _replay(text, options, number))
            command = f"hidet-opt {path} -p '{each.pipeline_pass_spec()}'"
            error.hint = "\n        ".join(filter(None, (error.hint, f"to repeat it: {command}")))
            raise
        report.passes.append((each.name, perf_counter() - start))
        number += 1
        dump.program(each.name, current)

    dump.program("graph", module)
    run_pipeline(module, make_context(), options, on_pass=on_pass)


class _Enough(Exception):
    """Ends a replay."""


def _replay(text: str, options: PassOptions, count: int) -> str:
    """Give the program after the first `count` passes, by running them once more.

    This way nothing has to be kept for the case that a pass fails, which may also leave the
    program half rewritten.
    """
    context = make_context()
    module = Parser(context, text).parse_module()
    passes = 0

    def on_pass(each: ModulePass, current: ModuleOp, run: Callable[[], None]) -> None:
        nonlocal passes
        if passes == count:
            raise _Enough
        run()
        passes += 1

    try:
        run_pipeline(module, context, options, on_pass=on_pass)
    except _Enough:
        return module_text(module)
    raise AssertionError("a replay ends ahead of the pass that failed")
