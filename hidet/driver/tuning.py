"""Runs the tuner on the program of fusions, before `schedule`."""

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


class Tune(ModulePass):
    """Sets the configs of fusions by a tuner; it is not part of any pipeline.

    Args:
        tuner: the tuner. It memorizes its results, so a second run measures nothing.
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
    """Insert the tuner before the pass that reads configs, if it has anything to do."""
    for each in passes:
        if each.name == "schedule" and tuner.has_work:
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

    In strict mode, whose times are meaningless, winners are only looked up.

    Args:
        toolchain: the compiler of the kernels.
        arch: the target architecture.
        store: the cache.
        options: the options.
        device: the device that candidates are measured on.
        again: search again for problems that have a winner, and replace it.
        cold: measure with weights that are not in the cache, however small they are.
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
