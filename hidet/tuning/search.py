"""The search for the best config of one problem."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields

from hidet.lowering.templates.config import Config
from hidet.lowering.templates.legality import Rejected
from hidet.tuning.problem import Problem


def seeds(configs: Sequence[Config], count: int) -> list[Config]:
    """Return initial candidates with good estimates that differ from each other.

    The first is the cost model's choice. The next ones differ from all earlier ones in at least two
    fields, while there are such; the best of the others follow.
    """
    chosen: list[Config] = []
    for apart in (2, 1):
        for each in configs:
            if len(chosen) < count and all(_differences(each, one) >= apart for one in chosen):
                chosen.append(each)
    return chosen


def _differences(one: Config, other: Config) -> int:
    """Count the fields in which two configs of one template differ."""
    return sum(getattr(one, each.name) != getattr(other, each.name) for each in fields(one))


class Space:
    """The configs of one problem, all of one template."""

    def __init__(self, configs: Sequence[Config]) -> None:
        self._configs = configs
        self._values = {
            each.name: sorted({getattr(config, each.name) for config in configs})
            for each in fields(configs[0])
        }

    def neighbors(self, config: Config) -> list[Config]:
        """Return the configs that differ by one step.

        A step changes one field to its next smaller or larger value. If the space lacks that config
        (a larger tile needs other warps), the nearest one with this value replaces it.
        """
        found: dict[Config, None] = {}
        for name, values in self._values.items():
            at = values.index(getattr(config, name))
            for value in (*values[max(at - 1, 0) : at], *values[at + 1 : at + 2]):
                beside = [each for each in self._configs if getattr(each, name) == value]
                found[min(beside, key=lambda each: self._distance(each, config))] = None
        return list(found)

    def _distance(self, one: Config, other: Config) -> int:
        """Count the steps between two configs."""
        return sum(
            abs(values.index(getattr(one, name)) - values.index(getattr(other, name)))
            for name, values in self._values.items()
        )


SEEDS = {1: 8, 2: 10}
"""The number of initial candidates of each search space: of 116 matmuls and convolutions on an
H200, the best of 8 was 0.991 as fast as that of 15 (geometric mean), the best of 10 0.994."""

SEEDS_ON_CPU = {1: 2, 2: 4}
"""The number of candidates on a CPU, whose kernels differ less and take g++ seconds each. Searches
do not descend there."""

DESCENDS = frozenset({2})
"""The search spaces with a local search: it measures the neighbors of the best, until none is
better."""

FINALISTS = 3
"""The number of the best candidates that are measured again."""


@dataclass(frozen=True)
class Timed:
    """A candidate that was measured, with the median time of a launch.

    `results` is the number of the class of candidates with equal results, `apart` their distance to
    the nearest of earlier candidates, relative to the tolerance.
    """

    config: Config
    microseconds: float
    results: int
    apart: float = 0.0


class Search:
    """The search for one problem."""

    def __init__(self, problem: Problem, first: Sequence[Config], *, descends: bool) -> None:
        self.problem = problem
        self._space = Space(problem.configs)
        self._descends = descends
        self._first = list(first)
        self._known: dict[Config, Timed | Rejected] = {}

    @staticmethod
    def of(problem: Problem, space: int) -> Search:
        """Return the search of search space 1 or 2."""
        on_cpu = problem.setting.arch.is_cpu
        first = seeds(problem.configs, (SEEDS_ON_CPU if on_cpu else SEEDS)[space])
        return Search(problem, first, descends=space in DESCENDS and not on_cpu)

    def next_round(self) -> list[Config]:
        """Return the candidates to measure next; none if the search has ended."""
        if not self._known:
            return self._first
        best = self.best
        if best is None or not self._descends:
            return []
        return [each for each in self._space.neighbors(best.config) if each not in self._known]

    def add(self, outcome: Timed | Rejected) -> None:
        """Record the outcome of a candidate, or a new time of it."""
        self._known[outcome.config] = outcome

    def outcome(self, config: Config) -> Timed | Rejected | None:
        """Return the outcome of a config; None if it has not been a candidate."""
        return self._known.get(config)

    @property
    def ranking(self) -> list[Timed]:
        """The candidates with the most frequent results, the fastest first."""
        timed = [each for each in self._known.values() if isinstance(each, Timed)]
        # Among equally frequent results, the earliest: usually those of the cost model's choice.
        results, _ = next(iter(Counter(each.results for each in timed).most_common(1)), (0, 0))
        agreed = [each for each in timed if each.results == results]
        return sorted(agreed, key=lambda each: each.microseconds)

    @property
    def best(self) -> Timed | None:
        """The first of the ranking, if there is one."""
        return next(iter(self.ranking), None)

    @property
    def measured(self) -> int:
        """The number of candidates with an outcome."""
        return len(self._known)

    def rejected(self) -> list[Rejected]:
        """Return the candidates that failed, and those with deviating results."""
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
        """Return the best candidates, if there are several."""
        best = self.ranking[:FINALISTS]
        return best if len(best) > 1 else []


def report(search: Search) -> str:
    """Return the candidates with their times, the reasons of rejections, and a line to paste."""
    problem, best = search.problem, search.best
    arch, floor = problem.setting.arch, problem.work.floor(problem.setting.arch)
    limit = "" if floor is None else f", roofline {floor:.1f} us"
    lines = [f"{problem.title} on {arch}{limit}", f"{'us':>10}  {'share':>5}  config"]
    lines += [
        f"{each.microseconds:>10.1f}  {problem.work.share(each.microseconds, arch):>5}  "
        f"{_choices(each.config)}"
        for each in search.ranking
    ]
    reasons: defaultdict[str, list[Config]] = defaultdict(list)
    for each in (*search.rejected(), *problem.rejected):
        reasons[each.reason].append(each.config)
    for reason, configs in reasons.items():
        what = _choices(configs[0])
        if len(configs) > 1:
            what = f"{len(configs)} configs, as {what}"
        lines.append(f"{'rejected':>17}  {what}: {reason}")
    if best is not None:
        lines.append(f"config {problem.attribute(best.config)}")
    return "\n".join(lines)


def _choices(config: Config) -> str:
    """Return the fields of a config that differ from their defaults."""
    choices = ((each, getattr(config, each.name)) for each in fields(config))
    return " ".join(f"{each.name}={value}" for each, value in choices if value != each.default)
