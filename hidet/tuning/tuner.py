"""The tuner: sets the config of each fusion of a program to the fastest known one."""

from __future__ import annotations

import logging
import random
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.parser import Parser

from hidet.backend.build import PROGRESS, ProgressBar
from hidet.context import make_context
from hidet.dialects.compute import FusionOp
from hidet.lowering.templates.config import Config
from hidet.lowering.templates.legality import Rejected
from hidet.tuning.problem import Problem, Setting, open_fusions, weight_bytes
from hidet.tuning.search import Search, Timed
from hidet.tuning.winners import Winner, Winners
from hidet.tuning.workers import Message, Worker, WorkerError

LOG = logging.getLogger(__name__)

MEASURING = "hidet.tuning.measuring"

MEASURE_SECONDS = 60.0
"""The time limit of a candidate, which includes the start of the process."""


class TuningWarning(UserWarning):
    """No candidate could be measured, so the cost model decides."""


Built: TypeAlias = Message | WorkerError
"""A candidate as `hidet.tuning.measuring` takes it, or an error."""


class Builder(Protocol):
    """Lowers and builds candidates."""

    def submit(
        self, candidates: Sequence[tuple[str, str]], advance: Callable[[], object]
    ) -> list[Callable[[], Built]]:
        """Start to build programs of one fusion each, with the text of their config.

        `advance` is called for each when it is built; each result waits for its candidate.
        """
        ...


@dataclass(frozen=True)
class Conditions(Setting):
    """The settings of a tuner: those of all problems, options, and the device to measure on.

    With `again`, problems that have a winner are searched again, and it is replaced; with `cold`,
    weights are not in the L2 cache, however small they are.
    """

    space: int
    device: str
    progress: str
    again: bool = False


class Tuner:
    """Finds configs for the fusions of programs; new winners are added to the known ones."""

    def __init__(
        self,
        conditions: Conditions,
        winners: Winners,
        make_builder: Callable[[], AbstractContextManager[Builder]],
    ) -> None:
        self._conditions = conditions
        self._winners = winners
        self._make_builder = make_builder
        # By the key of the problem; None if a search has found nothing.
        self._found: dict[str, str | None] = {}
        self.searches: list[Search] = []
        """The finished searches."""

    @property
    def has_work(self) -> bool:
        """Whether there is anything to measure or to look up."""
        return self._conditions.space > 0 or bool(self._winners.state())

    def tune(self, module: ModuleOp) -> None:
        """Set the configs of the fusions of a program, in place.

        A fusion with a single candidate, or without a winner, gets none.
        """
        conditions = self._conditions
        cold = conditions.cold or weight_bytes(module) > conditions.arch.l2_bytes
        setting = replace(conditions, cold=cold)
        problems: dict[str, Problem] = {}
        fusions: list[tuple[FusionOp, str]] = []
        for fusion, template in open_fusions(module, conditions.arch):
            if len(template.configs(fusion, conditions.arch)) > 1:
                problem = Problem(fusion, template, setting)
                problems.setdefault(problem.key, problem)
                fusions.append((fusion, problem.key))
        for key in () if conditions.again else problems.keys() - self._found.keys():
            if (winner := self._winners.find(key, conditions.space)) is not None:
                self._found[key] = winner.config
        missing = [problem for key, problem in problems.items() if key not in self._found]
        if missing and conditions.space > 0:
            self.search([Search.of(problem, conditions.space) for problem in missing])
        for fusion, key in fusions:
            if (config := self._found.get(key)) is not None:
                attribute = Parser(make_context(), config).parse_attribute()
                assert isinstance(attribute, DictionaryAttr)
                fusion.config = attribute

    def search(self, searches: Sequence[Search]) -> None:
        """Run searches concurrently, and store each winner when its search ends.

        Candidates are measured while later ones are built, and each search starts its next round
        when its last one is measured. On a CPU everything is built first, as compilers would slow
        down what is measured.
        """
        mode = self._conditions.progress
        with (
            Progress(mode) as progress,
            self._make_builder() as builder,
            closing(_Bench(self._conditions)) as bench,
        ):
            queue = deque(_submit(searches, builder, progress))
            if self._conditions.arch.is_cpu:
                for _, _, built in queue:
                    built()
            while queue:
                search, config, built = queue.popleft()
                search.add(bench.measure(search, config, built()))
                progress.measured(_best(search))
                if queue and queue[0][0] is search:
                    continue
                if further := _submit([search], builder, progress):
                    queue.extend(further)
                else:
                    bench.time_again(search)
                    self._keep(search)
        self.searches.extend(searches)

    def _keep(self, search: Search) -> None:
        """Store the winner of a finished search."""
        problem, best = search.problem, search.best
        for each in search.rejected():
            LOG.info("%s: rejected %s: %s", problem.title, each.config, each.reason)
        if best is None:
            warnings.warn(
                f"{problem.title}: no candidate could be measured, so the cost model decides: "
                f"{search.rejected()[0].reason}",
                TuningWarning,
                stacklevel=2,
            )
            self._found[problem.key] = None
            return
        config = str(problem.attribute(best.config))
        winner = Winner(config, best.microseconds, search.measured, problem.title)
        if self._conditions.again:
            self._winners.forget(problem.key, self._conditions.space)
        self._winners.save(problem.key, self._conditions.space, winner)
        self._found[problem.key] = config


def _submit(
    searches: Sequence[Search], builder: Builder, progress: Progress
) -> list[tuple[Search, Config, Callable[[], Built]]]:
    """Start to build the next candidates of each search."""
    wanted = [(search, config) for search in searches for config in search.next_round()]
    progress.expect(len(wanted))
    texts = [(s.problem.text, str(s.problem.attribute(config))) for s, config in wanted]
    built = builder.submit(texts, progress.built)
    return [(*which, each) for which, each in zip(wanted, built, strict=True)]


def _best(search: Search) -> str:
    """Return the status of a search: the best time, and its share of the roofline."""
    best, problem = search.best, search.problem
    if best is None:
        return ""
    share = problem.work.share(best.microseconds, problem.setting.arch)
    return f"best {best.microseconds:.1f} us{share and f', {share} of the roofline'}"


class _Bench:
    """The measuring process, and the candidates to compare results with."""

    def __init__(self, conditions: Conditions) -> None:
        self._device = conditions.device
        self._worker = Worker(MEASURING, MEASURE_SECONDS)
        self._worker.start()  # it imports torch while candidates are built
        self._seed = random.getrandbits(32)
        self._built: dict[tuple[Search, Config], Message] = {}
        self._different: dict[Search, list[Message]] = {}

    def measure(self, search: Search, config: Config, built: Built) -> Timed | Rejected:
        if isinstance(built, WorkerError):
            return Rejected(config, str(built))
        others = self._different.setdefault(search, [])
        try:
            reply = self._worker.ask(self._request(search, [built]) | {"against": others})
        except WorkerError as error:
            return Rejected(config, str(error))
        if reply["results"] == len(others):
            others.append(built)
        self._built[search, config] = built
        return Timed(config, reply["microseconds"][0], reply["results"], reply["apart"])

    def time_again(self, search: Search) -> None:
        """Measure the best candidates of a search again, interleaved."""
        finalists = search.finalists()
        built = [self._built[search, each.config] for each in finalists]
        try:
            times = self._worker.ask(self._request(search, built))["microseconds"] if built else ()
        except WorkerError as error:
            LOG.info("%s: the best are not timed again: %s", search.problem.title, error)
            return
        for each, microseconds in zip(finalists, times, strict=True):
            search.add(replace(each, microseconds=microseconds))

    def close(self) -> None:
        self._worker.close()

    def _request(self, search: Search, candidates: Sequence[Message]) -> dict[str, Any]:
        problem, setting = search.problem, search.problem.setting
        return {
            "device": self._device,
            "seed": self._seed,
            "l2_bytes": setting.arch.l2_bytes if setting.cold else 0,
            "length": problem.length,
            "candidates": list(candidates),
        }


class Progress(ExitStack):
    """The bars of one tuning, as a context manager; `mode` is the option `progress`."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self._bars: list[Any] = [
            # Updates are rare.
            ProgressBar(text, PROGRESS[mode], position=position, mininterval=0)
            for position, text in enumerate(("Building", "Measuring"))
        ]
        for bar in self._bars:
            self.callback(bar.close)

    def expect(self, count: int) -> None:
        """Add candidates to the totals."""
        for bar in self._bars:
            bar.total += count
            bar.refresh()

    def built(self) -> None:
        """Advance the first bar by a candidate, built or failed."""
        self._bars[0].update()

    def measured(self, best: str) -> None:
        """Advance the second bar by a candidate, measured or failed; show the best one."""
        self._bars[1].set_postfix_str(best, refresh=False)
        self._bars[1].update()
