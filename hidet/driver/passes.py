"""Runs passes on a program: with times, with dumps, and with errors that can be replayed."""

from collections.abc import Callable
from time import perf_counter
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from hidet.dialects.alias_printer import module_text
from hidet.driver.dump import Dump
from hidet.errors import HidetError
from hidet.lowering.blame import blame
from hidet.runtime.times import CompileTimes

OnPass: TypeAlias = Callable[[ModulePass, ModuleOp, Callable[[], None]], None]
"""Is called for every pass, with the program and a function that runs the pass."""

Passes: TypeAlias = Callable[[ModuleOp, OnPass], None]
"""Runs the passes on a program, in place."""


def lower(
    make: Callable[[], ModuleOp],
    passes: Passes,
    dump: Dump,
    report: CompileTimes,
    *,
    verify: bool,
    module: ModuleOp | None = None,
) -> ModuleOp:
    """Lower a program; return what has become of it.

    Where a pass fails, the program as it was ahead of the pass is written to a file, which the
    error's hint names together with the command that repeats the failure.

    Args:
        make: makes the program anew.
        passes: the passes.
        dump: gets the program after every pass.
        report: gets the time of every pass.
        verify: whether the program is verified after every pass.
        module: the program, where it has been made already; it is lowered in place.

    Raises:
        PassError: a pass failed; it names the pass and the source line of the operation.
        LegalityError: a check between two stages failed.
    """
    number = 0
    module = make() if module is None else module

    def on_pass(each: ModulePass, current: ModuleOp, run: Callable[[], None]) -> None:
        nonlocal number
        start = perf_counter()
        try:
            run()
            if verify:
                with blame(each):
                    current.verify()
        except HidetError as error:
            path = dump.failure(each.name, _replay(make(), passes, number))
            command = f"hidet-opt {path} -p '{each.pipeline_pass_spec()}'"
            error.hint = "\n        ".join(filter(None, (error.hint, f"to repeat it: {command}")))
            raise
        report.passes.append((each.name, perf_counter() - start))
        number += 1
        dump.program(each.name, current)

    dump.first(module)
    passes(module, on_pass)
    return module


class _Enough(Exception):
    """Ends a replay."""


def _replay(module: ModuleOp, passes: Passes, count: int) -> str:
    """Give a program after the first `count` passes, by running them once more.

    This way nothing has to be kept for the case that a pass fails, which may also leave the
    program half rewritten.
    """
    done = 0

    def on_pass(each: ModulePass, current: ModuleOp, run: Callable[[], None]) -> None:
        nonlocal done
        if done == count:
            raise _Enough
        run()
        done += 1

    try:
        passes(module, on_pass)
    except _Enough:
        return module_text(module)
    raise AssertionError("a replay ends ahead of the pass that failed")
