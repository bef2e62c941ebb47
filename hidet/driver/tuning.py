"""The tuner as the driver runs it: on the program of fusions, ahead of `schedule`."""

from collections.abc import Iterable, Iterator
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from hidet.arch.chips import Arch
from hidet.backend.cache import Store
from hidet.backend.toolchains import Toolchain
from hidet.driver.candidates import CandidateBuilder
from hidet.driver.fingerprint import source_fingerprint
from hidet.driver.options import CompileOptions
from hidet.tuning.tuner import Conditions, Tuner
from hidet.tuning.winners import Winners

AHEAD_OF = "schedule"
"""The pass that reads the configs."""


class Tune(ModulePass):
    """Gives fusions the configs of a tuner; runs among the passes, but belongs to no pipeline.

    Args:
        tuner: the tuner. It remembers what it has found, so a second run measures nothing.
    """

    name = "tune"

    _tuner: Tuner

    def __init__(self, tuner: Tuner) -> None:
        super().__init__()
        object.__setattr__(self, "_tuner", tuner)  # passes are frozen

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Tune a program of fusions."""
        self._tuner.tune(op)


def with_tuner(passes: Iterable[ModulePass], tuner: Tuner) -> Iterator[ModulePass]:
    """Give passes with the tuner in its place, if it has anything to do."""
    for each in passes:
        if each.name == AHEAD_OF and tuner.has_work:
            yield Tune(tuner)
        yield each


def make_tuner(
    toolchain: Toolchain,
    arch: Arch,
    store: Store,
    options: CompileOptions,
    device: str,
    *,
    again: bool = False,
    cold: bool = False,
) -> Tuner:
    """Return the tuner of a compilation.

    Kernels of the strict mode are slow, so their times say nothing: winners are looked up only.

    Args:
        toolchain: the compiler of the kernels.
        arch: the machine that schedules are for.
        store: the cache.
        options: the options.
        device: where candidates are measured, as torch names it.
        again: search also for what has a winner, and replace that.
        cold: measure with weights from memory, however small they are.
    """
    return Tuner(
        Conditions(
            0 if options.strict else options.search_space,
            arch,
            f"{source_fingerprint()} {toolchain.fingerprint()}",
            device,
            options.progress,
            again,
            cold,
        ),
        Winners(store),
        partial(
            CandidateBuilder,
            arch,
            toolchain,
            store,
            options.num_workers,
            options.compile_time_limit,
        ),
    )
