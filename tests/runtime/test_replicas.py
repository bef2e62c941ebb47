"""Graphs that several modules share have an executor for each of their sets of weights."""

import pytest
import torch

from hidet.runtime.compiled_graph import CompiledGraph
from hidet.runtime.cpu import CpuExecutor
from hidet.runtime.cuda_graph import CudaGraphExecutor
from hidet.runtime.replicas import Replicas

ROUNDS = 4


@pytest.fixture(params=["cpu", "fake GPU", pytest.param("gpu", marks=pytest.mark.gpu)])
def replicas(request, plans):
    """Give the executors of y = x + 4 * p1 + p0; new tensors are on its device."""
    device, plan = torch.device("cuda" if request.param == "gpu" else "cpu", 0), plans.prepared()
    if request.param == "cpu":
        executor = CpuExecutor(plan, {"library": request.getfixturevalue("cpu_library")})
    elif request.param == "gpu":
        cubins = {"library": request.getfixturevalue("gpu_cubin")}
        executor = CudaGraphExecutor(plan, cubins, device)
    else:
        services = request.getfixturevalue("services")
        executor = CudaGraphExecutor(plan, {"library": b"cubin"}, torch.device("cpu"), services)
    with device if request.param == "gpu" else torch.device("cpu"):
        yield Replicas(executor)


@pytest.fixture
def bound(monkeypatch):
    """Give the list of the executors that bind constants, in that order."""
    found = []
    original = CpuExecutor._bind_constants, CudaGraphExecutor._bind_constants
    for kind, bind in zip((CpuExecutor, CudaGraphExecutor), original, strict=True):

        def counting(self, *arguments, bind=bind):
            found.append(self)
            bind(self, *arguments)

        monkeypatch.setattr(kind, "_bind_constants", counting)
    return found


def _weights(plans):
    return [torch.randn(plans.size), torch.randn(plans.size)]


def _check(replicas, plans, weights):
    x, (p0, p1) = torch.randn(plans.size), weights
    (y,) = replicas.run([x], weights)
    torch.testing.assert_close(y, x + 4 * p1 + p0)


def test_sets_that_come_back_stay_bound(replicas, plans, bound):
    """After three rounds nothing is bound; results are right in any order of the modules."""
    modules = [_weights(plans) for _ in range(5)]
    for _ in range(ROUNDS):
        for weights in modules:
            _check(replicas, plans, weights)
    assert len(replicas.executors) == 5
    count = len(bound)
    assert count < 3 * 5
    for number in torch.randperm(5).tolist() * 3:
        _check(replicas, plans, modules[number])
    assert len(bound) == count
    arenas = {executor._arena.data_ptr() for executor in replicas.executors}
    prepared = {executor._weights.prepared.data_ptr() for executor in replicas.executors}
    assert (len(arenas), len(prepared)) == (2, 5)
    assert len(replicas.executors[0]._weight_sets) == 5


def test_updated_weights_keep_their_executor(replicas, plans, bound):
    """An optimizer updates weights in place in each step."""
    one, other = _weights(plans), _weights(plans)
    for _ in range(ROUNDS):
        for weights in (one, other):
            _check(replicas, plans, weights)
            weights[1].add_(1)
    assert len(replicas.executors) == 2
    assert len(bound) == 2 * ROUNDS


def test_new_weights_make_no_executors(replicas, plans):
    kept = [_weights(plans) for _ in range(9)]
    for weights in kept:
        _check(replicas, plans, weights)
    assert len(replicas.executors) == 1


def test_weights_that_have_moved(replicas, plans, bound, monkeypatch):
    """After one further call, theirs are not compared twice."""
    for weights in (_weights(plans), moved := _weights(plans)):
        _check(replicas, plans, weights)
    _check(replicas, plans, moved)
    compared = []
    original = replicas.executors[0].is_bound
    monkeypatch.setattr(
        replicas.executors[0], "is_bound", lambda weights: compared.append(1) or original(weights)
    )
    _check(replicas, plans, moved)
    assert len(compared) == 1
    assert (len(bound), len(replicas.executors)) == (2, 1)


def test_capacity(replicas, plans, monkeypatch):
    """Sets beyond it share the first executor."""
    monkeypatch.setattr("hidet.runtime.replicas.CAPACITY", 3)
    modules = [_weights(plans) for _ in range(6)]
    for _ in range(ROUNDS):
        for weights in modules:
            _check(replicas, plans, weights)
    assert len(replicas.executors) == 3


def test_compiled_graphs_have_replicas(plans, cpu_library):
    """This is what frontends call."""
    graph = CompiledGraph(plans.prepared(), {"library": cpu_library}, torch.device("cpu"))
    modules = [_weights(plans) for _ in range(3)]
    for _ in range(ROUNDS):
        for weights in modules:
            _check(graph, plans, weights)
    (replicas,) = graph._replicas.values()
    assert len(replicas.executors) == 3


def test_streams_of_replicas(services, plans):
    """Replicas share the arena of a stream, and wait for what was prepared on another one."""
    cubins = {"library": b"cubin"}
    executor = CudaGraphExecutor(plans.prepared(), cubins, torch.device("cpu"), services)
    replicas, modules = Replicas(executor), [_weights(plans) for _ in range(3)]
    for _ in range(2):
        for weights in modules:
            _check(replicas, plans, weights)
    assert "cuCtxSynchronize" not in services.driver.log
    services.stream = 7
    for weights in modules:
        _check(replicas, plans, weights)
    assert services.driver.log.count("cuCtxSynchronize") == 3
    first, *others = (each._arena.data_ptr() for each in replicas.executors)
    assert others[0] == others[1] != first
    services.driver.log.clear()
    for weights in modules:
        _check(replicas, plans, weights)
    assert services.driver.log.count("cuGraphLaunch") == 3
    assert "cuCtxSynchronize" not in services.driver.log
    assert len(replicas._arenas) == 2


def test_launches_kernel_by_kernel(services, plans):
    """These write all arguments in every call anyway."""
    cubins, cpu = {"library": b"cubin"}, torch.device("cpu")
    executor = CudaGraphExecutor(plans.prepared(), cubins, cpu, services, use_graph=False)
    replicas, modules = Replicas(executor), [_weights(plans) for _ in range(3)]
    for _ in range(ROUNDS):
        for weights in modules:
            _check(replicas, plans, weights)
    assert len(replicas.executors) == 1
