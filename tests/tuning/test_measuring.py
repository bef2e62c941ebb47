"""The process that measures: what it finds out about good and bad candidates."""

import pytest
import torch

from hidet.runtime.cpu import CpuExecutor
from hidet.runtime.plan import Launch, Plan
from hidet.tuning.measuring import Bench, Candidate, Data, chained
from hidet.tuning.workers import Worker, WorkerError

REQUEST = {"device": "cpu", "seed": 7, "l2_bytes": 0, "length": 2}


@pytest.fixture
def worker():
    worker = Worker("hidet.tuning.measuring", time_limit=60)
    yield worker
    worker.close()


def ask(bench, candidate, *against):
    return bench.answer(REQUEST | {"candidates": [candidate], "against": list(against)})


def test_results_are_those_of_the_kernel(candidate):
    bench = Bench()
    reply = ask(bench, candidate("good"))
    assert reply["results"] == 0
    assert reply["microseconds"][0] > 0
    (found,) = bench.results(Candidate(candidate("good")))
    x, w = bench._data.inputs[0], bench._data.weights[0]
    assert float(x.std()) > 0.5
    torch.testing.assert_close(found.double(), 2 * x.double() + w.double(), rtol=1e-6, atol=1e-6)


def test_agreement(candidate):
    bench = Bench()
    good, odd = candidate("good"), candidate("short_of_one")
    assert ask(bench, candidate("rounded"), good)["results"] == 0
    found = ask(bench, odd, good)  # the element that it leaves out is poisoned
    assert found["results"] == 1
    assert found["apart"] == float("inf")
    assert ask(bench, candidate("slow"), odd, good)["results"] == 1


def test_slow_candidates_take_longer(candidate):
    names = ("good", "slow", "good")
    request = REQUEST | {"candidates": [candidate(name) for name in names]}
    times = Bench().answer(request)["microseconds"]
    assert times[1] > 2000
    assert max(times[0], times[2]) < times[1]


def test_weights_take_turns(candidate):
    """Copies of a weight exceed the cache, are equal, and all are used."""
    plan = Plan.from_json(candidate("good")["plan"])
    nbytes = plan.constants["p1"].nbytes
    cold = Data(plan, REQUEST | {"l2_bytes": 3 * nbytes // 2}, torch.device("cpu"))
    assert cold.copies == len(cold.weights) == 3
    assert len({each.data_ptr() for each in cold.weights}) == 3
    assert all(torch.equal(each, cold.weights[0]) for each in cold.weights)
    long = chained(plan, 5, 3)
    assert [launch.arguments[1].at for launch in long.forward] == [
        *("p1.0", "p1.1", "p1.2", "p1.0", "p1.1")
    ]
    warm = Data(plan, REQUEST, torch.device("cpu"))
    assert warm.copies == 1


def test_chain_waits_for_all_before(candidate):
    """A run of several launches begins when all of the last run are over."""
    plan = Plan.from_json(candidate("good")["plan"])
    (one,) = plan.forward
    two = (*plan.forward, Launch(0, one.arguments, one.writes, (0,)))
    chain = chained(Plan(**{**plan.__dict__, "forward": two}), 3, 1)
    waits = [launch.dependencies for launch in chain.forward]
    assert waits == [(), (0,), (0, 1), (2,), (2, 3), (4,)]
    assert chain.outputs == ()
    assert chain.inputs == plan.inputs + plan.outputs


def test_chain_computes_the_same(candidate):
    message = candidate("good")
    chain = chained(Plan.from_json(message["plan"]), 4, 2)
    executor = CpuExecutor(chain, Candidate(message).artifacts)
    x, w = torch.randn(256), torch.randn(256)
    out = torch.full((256,), torch.nan)
    assert executor.run([x, out], [w, w.clone()]) == []
    torch.testing.assert_close(out.double(), 2 * x.double() + w.double(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("refused", "no such instruction"), ("crashing", "signal 11"), ("hanging", "3 seconds")],
)
@pytest.mark.sample(1)
def test_bad_candidates_leave_the_others_alone(worker, candidate, name, reason):
    """A kernel that fails, crashes or hangs is refused with the reason; the next is measured."""
    good = REQUEST | {"candidates": [candidate("good")], "against": []}
    assert worker.ask(good)["results"] == 0
    if name == "hanging":
        worker._time_limit = 3
    with pytest.raises(WorkerError, match=reason):
        worker.ask(REQUEST | {"candidates": [candidate(name)], "against": []})
    worker._time_limit = 60
    again = {"candidates": [candidate("rounded")], "against": [candidate("good")]}
    assert worker.ask(REQUEST | again)["results"] == 0
