"""Runs the tuner on the program of fusions, before `schedule`, and builds its candidates."""

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from hidet.backend.build import build_kernels
from hidet.backend.cache import artifact_key
from hidet.driver.parallel import LOWER_SECONDS, WORKER
from hidet.driver.programs import source_fingerprint
from hidet.driver.target import Target
from hidet.errors import CompilationError
from hidet.runtime.plan import Plan
from hidet.tuning.tuner import Built, Conditions, Tuner
from hidet.tuning.winners import Winners
from hidet.tuning.workers import WorkerError, WorkerPool

MOST_IN_A_RUN = 8
"""The maximal number of candidates per run of the compiler, whose start-up they share."""


class CandidateBuilder(ExitStack):
    """Lowers candidates in worker processes and compiles them, on all cores; a context manager."""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self._target = target
        self._workers = target.options.num_workers
        self._pool = self.enter_context(WorkerPool(WORKER, self._workers, LOWER_SECONDS))
        self._threads = ThreadPoolExecutor(self._workers)
        self.callback(self._threads.shutdown, cancel_futures=True)
        self._running: list[Future[list[Built]]] = []

    def submit(
        self, candidates: Sequence[tuple[str, str]], advance: Callable[[], object]
    ) -> list[Callable[[], Built]]:
        """Start to build programs of one fusion each; see `Builder`."""
        self._running = [each for each in self._running if not each.done()]
        free = max(1, self._workers - len(self._running))
        size = min(MOST_IN_A_RUN, -(-len(candidates) // free)) or 1
        found: list[Callable[[], Built]] = []
        for start in range(0, len(candidates), size):
            batch = candidates[start : start + size]
            built = self._threads.submit(self._build, batch, advance)
            self._running.append(built)
            found += [partial(_item, built, number) for number in range(len(batch))]
        return found

    def _build(
        self, batch: Sequence[tuple[str, str]], advance: Callable[[], object]
    ) -> list[Built]:
        """Lower candidates one after the other, and compile them in one run."""
        found: dict[int, Built] = {}
        lowered: dict[int, tuple[Plan, str]] = {}
        for number, (text, config) in enumerate(batch):
            arch = str(self._target.arch)
            request = {"program": text, "config": config, "arch": arch, "number": number}
            reply = self._pool.ask(request)
            if isinstance(reply, WorkerError):
                found[number] = reply
            else:
                lowered[number] = Plan.from_json(reply["plan"]), str(reply["source"])
        found |= self._compile(lowered) if lowered else {}
        for _ in batch:
            advance()
        return [found[number] for number in range(len(batch))]

    def _compile(self, batch: dict[int, tuple[Plan, str]]) -> dict[int, Built]:
        """Compile plans and sources in one run; if it fails, separately, to find out which fail."""
        source = "\n".join(each for _, each in batch.values())
        try:
            binary = build_kernels(
                {"candidates": source},
                self._target.toolchain,
                self._target.store.kernels,
                progress=False,
                workers=1,
                time_limit=self._target.options.compile_time_limit,
            )["candidates"]
        except CompilationError as error:
            if len(batch) == 1:
                return dict.fromkeys(batch, WorkerError(error.what))
            alone = [self._compile({number: each}) for number, each in batch.items()]
            return dict(chain.from_iterable(each.items() for each in alone))
        key = artifact_key(source, self._target.toolchain.fingerprint())
        built: dict[int, Built] = {}
        for number, (lowered, _) in batch.items():
            kernels = tuple(replace(kernel, artifact_key=key) for kernel in lowered.kernels)
            plan = replace(lowered, kernels=kernels)
            built[number] = {"plan": plan.to_json(), "artifacts": {key: b64encode(binary).decode()}}
        return built


def _item(built: Future[list[Built]], number: int) -> Built:
    return built.result()[number]


class Tune(ModulePass):
    """Sets the configs of fusions by a tuner; it is not part of any pipeline.

    The tuner memorizes its results, so a second run measures nothing.
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


def make_tuner(target: Target, *, again: bool = False, cold: bool = False) -> Tuner:
    """Return the tuner of a compilation.

    In strict mode, whose times are meaningless, winners are only looked up. `again` searches again
    for problems that have a winner, and replaces it; `cold` measures with weights that are not in
    the cache, however small they are.
    """
    options = target.options
    conditions = Conditions(
        target.arch,
        f"{source_fingerprint()} {target.toolchain.fingerprint()}",
        cold,
        0 if options.strict else options.search_space,
        target.device,
        options.progress,
        again,
    )
    return Tuner(conditions, Winners(target.store), partial(CandidateBuilder, target))
