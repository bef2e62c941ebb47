"""The store of winners: many writers, kills at any moment, damage."""

import random
import signal
import subprocess
import sys
import time

import pytest

from hidet.backend.cache import CacheWarning, Store, artifact_key
from hidet.tuning.winners import Winner, Winners

WINNER = Winner('{template = "matmul", size = 4 : i64}', 12.5, 16, "matmul 4 x 4 x 4 f16")

WRITER = """
import sys
from pathlib import Path
from hidet.backend.cache import Store
from hidet.tuning.winners import Winner, Winners

winners = Winners(Store(Path(sys.argv[1])))
print("ready", flush=True)
for number in range(int(sys.argv[2])):
    winner = Winner(f"config {number} " + "x" * number, float(number), 16, sys.argv[3])
    winners.save(str(number % 40), 1 + number % 2, winner)
    print(number, flush=True)
"""


@pytest.fixture
def winners(tmp_path):
    return Winners(Store(tmp_path / "cache"))


def test_found_again(winners, tmp_path):
    winners.save("problem", 1, WINNER)
    assert winners.find("problem", 1) == WINNER
    assert Winners(Store(tmp_path / "cache")).find("problem", 0) == WINNER
    assert winners.find("another", 0) is None


def test_larger_searches_count_more(winners):
    """What a larger search has found is taken; what a smaller one has found is not enough."""
    winners.save("problem", 1, WINNER)
    assert winners.find("problem", 2) is None
    better = Winner("{}", 11.0, 30, "the same")
    winners.save("problem", 2, better)
    assert [winners.find("problem", space) for space in (0, 1, 2)] == [better] * 3


def test_the_first_stays(winners):
    winners.save("problem", 2, WINNER)
    winners.save("problem", 2, Winner("{}", 1.0, 1, "later"))
    assert winners.find("problem", 2) == WINNER


def test_a_new_search_replaces(winners):
    """A winner that is forgotten makes room, and programs that looked it up are outdated."""
    winners.forget("problem", 2)  # there is none
    winners.save("problem", 2, WINNER)
    state = winners.state()
    winners.forget("problem", 2)
    assert winners.find("problem", 0) is None
    winners.save("problem", 2, Winner("{}", 1.0, 1, "later"))
    assert winners.find("problem", 0) == Winner("{}", 1.0, 1, "later")
    assert winners.state() != state


def test_state_changes_with_what_is_there(winners, tmp_path):
    assert winners.state() == ""
    states = {winners.state()}
    for number in range(3):
        winners.save(str(number), 1, WINNER)
        states.add(winners.state())
    assert len(states) == 4
    assert Winners(Store(tmp_path / "cache")).state() in states
    Store(tmp_path / "cache").clear()
    assert winners.state() == ""


def test_a_damaged_winner_is_none(winners, tmp_path):
    winners.save("problem", 1, WINNER)
    (entry,) = (tmp_path / "cache" / "winners").glob("??/*/entry.json")
    entry.write_bytes(entry.read_bytes()[:-20])
    with pytest.warns(CacheWarning, match="damaged"):
        assert winners.find("problem", 1) is None
    winners.save("problem", 1, WINNER)
    assert winners.find("problem", 1) == WINNER


def start(folder, count, name):
    command = [sys.executable, "-c", WRITER, str(folder), str(count), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def check_all(folder, names):
    """Whatever is there is whole, and was written by somebody."""
    winners = Winners(Store(folder))
    found = 0
    for number in range(40):
        for space in (1, 2):
            entry = winners._entries.entry(artifact_key(str(number), str(space)))
            if entry is not None:
                found += 1
                winner = Winner(**entry.meta)
                count = int(winner.microseconds)
                assert winner.config == f"config {count} " + "x" * count
                assert count % 40 == number
                assert winner.title in names
    return found


def test_many_writers(tmp_path):
    """Processes that write the same keys at once leave one whole winner for each."""
    names = [f"writer{n}" for n in range(5)]
    writers = [start(tmp_path / "cache", 200, name) for name in names]
    for writer in writers:
        writer.communicate(timeout=120)
        assert writer.returncode == 0
    assert check_all(tmp_path / "cache", names) == 40
    assert not list((tmp_path / "cache" / "temporary").iterdir())


def test_killed_at_any_moment(tmp_path):
    """What was reported as written is there, and all that is there is whole."""
    folder = tmp_path / "cache"
    names = [f"writer{n}" for n in range(6)]
    for name in names:
        writer = start(folder, 100_000, name)
        assert writer.stdout.readline() == "ready\n"
        time.sleep(random.uniform(0, 0.2))
        writer.send_signal(signal.SIGKILL)
        written = [int(line) for line in writer.communicate(timeout=60)[0].splitlines()]
        winners = Winners(Store(folder))
        assert all(winners.find(str(n % 40), 1 + n % 2) is not None for n in written[-100:])
        check_all(folder, names)
    winners = Winners(Store(folder))
    winners.save("after all", 1, WINNER)
    assert winners.find("after all", 1) == WINNER
