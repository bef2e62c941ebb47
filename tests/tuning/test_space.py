"""Where searches begin, and what stands next to a config."""

import functools
from dataclasses import dataclass, fields
from itertools import product

import pytest

from hidet.arch.chips import Arch
from hidet.lowering.templates.config import Config
from hidet.lowering.templates.problem import Problem
from hidet.lowering.templates.tilings import candidates
from hidet.tuning.search import Space, seeds


@dataclass(frozen=True)
class Choice(Config):
    """The choices of a made-up template."""

    size: int
    depth: int
    stages: int


GRID = [Choice(*each) for each in product((16, 32, 64), (1, 2), (2, 3, 4))]


def differing(one, other):
    return [e.name for e in fields(one) if getattr(one, e.name) != getattr(other, e.name)]


def test_seeds_begin_with_the_best_and_differ():
    chosen = seeds(GRID, 4)
    assert chosen[0] == GRID[0]
    pairs = [(a, b) for a in chosen for b in chosen if a != b]
    assert len(pairs) == 12
    assert all(len(differing(a, b)) >= 2 for a, b in pairs)


@pytest.mark.parametrize("count", [1, 7, 18, 40])
def test_seeds_are_as_many_as_are_wanted_or_there(count):
    chosen = seeds(GRID, count)
    assert len(set(chosen)) == len(chosen) == min(count, len(GRID))


def test_seeds_are_filled_up_in_order():
    """Where all that are left are much like one before, estimates alone count."""
    row = [Choice(16, 1, stages) for stages in (3, 5, 2, 4)]
    assert seeds(row, 3) == row[:3]


def test_neighbours_are_single_steps():
    near = Space(GRID).neighbors(Choice(32, 1, 3))
    assert set(near) == {
        *(Choice(16, 1, 3), Choice(64, 1, 3), Choice(32, 2, 3)),
        *(Choice(32, 1, 2), Choice(32, 1, 4)),
    }
    assert set(Space(GRID).neighbors(Choice(16, 2, 4))) == {
        *(Choice(32, 2, 4), Choice(16, 1, 4), Choice(16, 2, 3)),
    }


def test_the_nearest_stands_for_what_is_missing():
    """Choices that go together change together."""
    space = [Choice(16, 1, 2), Choice(32, 2, 2), Choice(32, 2, 4), Choice(64, 2, 2)]
    assert Space(space).neighbors(Choice(16, 1, 2)) == [Choice(32, 2, 2), Choice(32, 2, 4)]


@pytest.mark.slow
def test_all_blockings_can_be_reached():
    """A descent can come from any blocking to any other."""
    problem = Problem(1, 512, 512, 512, "f16", "f32", 2)
    space = candidates(problem, Arch.parse("sm_90a"))
    neighbors = functools.cache(Space(space).neighbors)
    assert len(space) > 50
    reached, edge = {space[0]}, [space[0]]
    while edge:
        edge = [each for one in edge for each in neighbors(one) if each not in reached]
        reached.update(edge)
    assert reached == set(space)
    assert all(one not in neighbors(one) for one in space)
