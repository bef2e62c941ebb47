"""The search for one problem: which candidates are measured next, and what is known of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hidet.lowering.templates.config import Config
from hidet.lowering.templates.legality import Rejected
from hidet.tuning.problem import Problem
from hidet.tuning.space import Space, seeds

SEEDS = {1: 8, 2: 16}
"""With how many candidates the search of a space begins."""

SEEDS_ON_CPU = {1: 2, 2: 4}
"""As many on a CPU, whose kernels differ less, and where g++ takes seconds for each; there is no
more to a search there."""

DESCENDS = frozenset({2})
"""The spaces that go on to the direct neighbours of the best, until none is better."""

FINALISTS = 3
"""So many of the best candidates are timed again, in turns."""


@dataclass(frozen=True)
class Timed:
    """A candidate that was measured.

    Attributes:
        config: its config.
        microseconds: the median time of a launch.
        results: which candidates it agrees with: equal numbers stand for equal results.
        apart: how far its results are from the nearest of those before, if there are any, as a
            multiple of what is allowed.
    """

    config: Config
    microseconds: float
    results: int
    apart: float = 0.0


class Search:
    """The search for one problem.

    Args:
        problem: the problem.
        first: the candidates to begin with.
        descends: whether the direct neighbours of the best follow, until none is better.
    """

    def __init__(self, problem: Problem, first: Sequence[Config], *, descends: bool) -> None:
        self.problem = problem
        self._space = Space(problem.configs)
        self._descends = descends
        self._first = list(first)
        self._known: dict[Config, Timed | Rejected] = {}

    @staticmethod
    def of(problem: Problem, space: int) -> Search:
        """Return the search of a space, 1 or 2."""
        on_cpu = problem.setting.arch.is_cpu
        first = seeds(problem.configs, (SEEDS_ON_CPU if on_cpu else SEEDS)[space])
        return Search(problem, first, descends=space in DESCENDS and not on_cpu)

    def next_round(self) -> list[Config]:
        """Return the candidates to measure next; none where the search is over."""
        if not self._known:
            return self._first
        best = self.best
        if best is None or not self._descends:
            return []
        return [each for each in self._space.neighbours(best.config) if each not in self._known]

    def add(self, outcome: Timed | Rejected) -> None:
        """Take down what became of a candidate, or a new time of it."""
        self._known[outcome.config] = outcome

    def outcome(self, config: Config) -> Timed | Rejected | None:
        """Return what is known of a config; None where it is no candidate so far."""
        return self._known.get(config)

    @property
    def ranking(self) -> list[Timed]:
        """The candidates whose results the most agree on, the fastest first."""
        timed = [each for each in self._known.values() if isinstance(each, Timed)]
        # The first of equals is what was found first: the cost model's choice, as a rule.
        results, _ = next(iter(Counter(each.results for each in timed).most_common(1)), (0, 0))
        agreed = [each for each in timed if each.results == results]
        return sorted(agreed, key=lambda each: each.microseconds)

    @property
    def best(self) -> Timed | None:
        """The fastest of them, if there is one."""
        return next(iter(self.ranking), None)

    @property
    def measured(self) -> int:
        """How many candidates have been tried."""
        return len(self._known)

    def rejected(self) -> list[Rejected]:
        """Return the candidates that failed, and those whose results are not those of the most."""
        ranking = self.ranking
        found: list[Rejected] = []
        for each in self._known.values():
            if isinstance(each, Rejected):
                found.append(each)
            elif each not in ranking:
                odd = f"its results differ from those of {len(ranking)} other candidates"
                far = f", by {each.apart:.2g} times what is allowed" if each.apart > 1 else ""
                found.append(Rejected(each.config, odd + far))
        return found

    def finalists(self) -> list[Timed]:
        """Return the best candidates, if there is anything to decide between."""
        best = self.ranking[:FINALISTS]
        return best if len(best) > 1 else []
