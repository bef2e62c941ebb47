"""Searches: what they measure, what they reject, what wins."""

import random

import pytest

from hidet.lowering.templates.legality import Rejected
from hidet.tuning.search import Search, Timed

F16 = """
func.func @forward(%x: tensor<512x512xf16>, %w: tensor<512x512xf16>) -> tensor<512x512xf16> {
  %y = graph.matmul %x, %w
    : (tensor<512x512xf16>, tensor<512x512xf16>) -> tensor<512x512xf16>
  func.return %y : tensor<512x512xf16>
}
"""


def run(search, time, results=lambda config: 0):
    """Run a search to its end; give how many candidates each round had."""
    rounds = []
    while wanted := search.next_round():
        rounds.append(len(wanted))
        assert len(set(wanted)) == len(wanted)
        for config in wanted:
            search.add(Timed(config, time(config), results(config)))
    return rounds


@pytest.mark.parametrize(("space", "first"), [(1, 8), (2, 10)])
def test_rounds(problem, space, first):
    the_problem = problem(F16, arch="sm_80")
    order = random.sample(range(1000), len(the_problem.configs))
    times = dict(zip(the_problem.configs, order, strict=True))
    search = Search.of(the_problem, space)
    rounds = run(search, times.__getitem__)
    assert rounds[0] == first
    assert (len(rounds) > 1) == (space == 2)
    assert search.measured == sum(rounds)
    best = search.best.config
    if space == 2:  # a minimum: no direct neighbour is better
        near = search._space.neighbors(best)
        assert near
        assert all(times[each] > times[best] for each in near)


@pytest.mark.parametrize(("space", "count"), [(1, 2), (2, 4)])
def test_rounds_on_a_cpu(problem, space, count):
    assert run(Search.of(problem(), space), lambda config: 1.0) == [count]


def test_descent_finds_the_minimum_of_a_bowl(problem):
    the_problem = problem(F16, arch="sm_80")
    goal = the_problem.configs[-1]
    search = Search.of(the_problem, 2)
    run(search, lambda config: 1.0 + search._space._distance(config, goal))
    assert search.best.config == goal


def test_the_first_is_the_cost_models(problem):
    the_problem = problem()
    assert Search.of(the_problem, 1).next_round()[0] == the_problem.configs[0]


def test_the_most_are_right(problem):
    """A fast candidate with other results than the most does not win, and says why."""
    search = Search.of(problem(F16, arch="sm_80"), 1)
    odd = search.next_round()[2]
    run(
        search,
        lambda config: 1.0 if config == odd else 2.0,
        lambda config: 1 if config == odd else 0,
    )
    assert search.best.config != odd
    assert all(each.config != odd for each in search.ranking)
    (rejected,) = search.rejected()
    assert rejected == Rejected(odd, "its results differ from those of 7 other candidates")


def test_a_wrong_first_candidate_is_outvoted(problem):
    search = Search.of(problem(F16, arch="sm_80"), 1)
    first = search.next_round()[0]
    run(search, lambda config: 1.0, lambda config: 0 if config == first else 1)
    assert [each.config for each in search.rejected()] == [first]


def test_of_two_opinions_the_cost_models_counts(problem):
    search = Search.of(problem(F16, arch="sm_80"), 1)
    first, second, *_ = search.next_round()
    search.add(Timed(first, 2.0, 0))
    search.add(Timed(second, 1.0, 1))
    assert search.best.config == first


def test_all_rejected(problem):
    search = Search.of(problem(), 2)
    for config in search.next_round():
        search.add(Rejected(config, "no"))
    assert search.next_round() == []
    assert search.best is None
    assert search.finalists() == []
    assert len(search.rejected()) == 4


def test_finalists(problem):
    search = Search.of(problem(F16, arch="sm_80"), 1)
    configs = search.next_round()
    for number, config in enumerate(configs):
        search.add(Timed(config, 10.0 + number, 0))
    assert [each.config for each in search.finalists()] == configs[:3]
    search.add(Timed(configs[2], 1.0, 0))  # a new time counts in the place of the old one
    assert search.best.config == configs[2]
    assert search.measured == len(configs)


def test_all_candidates_at_once(problem):
    """A search may also be told where to begin, and to stop there."""
    the_problem = problem(F16, arch="sm_80")
    search = Search(the_problem, the_problem.configs, descends=False)
    assert run(search, lambda config: 1.0) == [len(the_problem.configs)]
    assert search.outcome(the_problem.configs[3]) == Timed(the_problem.configs[3], 1.0, 0)
    assert Search.of(the_problem, 1).outcome(the_problem.configs[3]) is None
