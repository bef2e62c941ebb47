"""The CUDA Graph: what reaches the driver, on a fake one; and the real thing, marked gpu."""

import gc

import pytest
import torch

from hidet.errors import CudaError
from hidet.runtime.cuda_graph import CudaGraphExecutor

CPU = torch.device("cpu")


def _load(plan, services):
    return CudaGraphExecutor(plan, {"library": b"cubin"}, CPU, services)


def _calls(services, executor, inputs, constants):
    """Run and give the names of the driver's functions that were called."""
    services.driver.log.clear()
    outputs = executor.run(inputs, constants)
    return outputs, list(services.driver.log)


def test_graph_has_the_edges_of_the_plan(services, plans):
    _load(plans.simple(), services)
    assert [node.before for node in services.driver.graph] == [[], [0], [1]]
    assert services.driver.log.count("cuModuleLoadData") == 1
    assert services.driver.log.count("cuGraphInstantiate") == 1


def test_nothing_but_the_launch_where_nothing_moved(services, plans):
    executor = _load(plans.simple(), services)
    x, w = torch.randn(plans.size), torch.randn(plans.size)
    _, log = _calls(services, executor, [x], [w])
    assert log == ["cuGraphExecKernelNodeSetParams"] * 3 + ["cuGraphLaunch"]
    pinned = [torch.empty(plans.size) for _ in range(2)]
    executor._new_outputs = [lambda: pinned[0], lambda: pinned[1]]
    executor.run([x], [w])
    _, log = _calls(services, executor, [x], [w])
    assert log == ["cuGraphLaunch"]
    other = torch.randn(plans.size)
    _, log = _calls(services, executor, [x], [other])
    assert log == ["cuGraphExecKernelNodeSetParams", "cuGraphLaunch"]


def test_large_shared_memory_is_asked_for(make_services, plans):
    services = make_services()
    limit = 48 * 1024
    kernels = (
        plans.kernel("add", shared_bytes=limit),
        plans.kernel("twice", shared_bytes=limit + 16),
    )
    _load(plans.simple(kernels=kernels), services)
    assert services.driver.shared_bytes == {"twice": limit + 16}


def test_independent_launches_run_in_any_order(make_services, plans):
    """Both orders of the two branches occur, and both give the same."""
    orders = set()
    for seed in range(8):
        order = []
        kernels = {
            "left": (2, lambda a, b, order=order: order.append("left")),
            "right": (2, lambda a, b, order=order: order.append("right")),
        }
        plan = plans.simple(
            kernels=(plans.kernel("left"), plans.kernel("right")),
            forward=(
                plans.launch(0, ("input", 0), ("output", 0)),
                plans.launch(1, ("input", 0), ("output", 1)),
            ),
            constants={},
        )
        _load(plan, make_services(kernels, seed)).run([torch.randn(plans.size)], [])
        orders.add(tuple(order))
    assert orders == {("left", "right"), ("right", "left")}


def test_streams_share_the_arena_and_keep_it_alive(services, plans):
    executor = _load(plans.prepared(), services)
    x, p0, p1 = (torch.randn(plans.size) for _ in range(3))
    executor.run([x], [p0, p1])
    services.stream = 7
    executor.run([x], [p0, p1])
    arena, prepared = executor._arena, executor._weights.prepared
    assert services.driver.streams == [0, 0, 0, 7]  # two prepare launches, then the graph twice
    assert {(arena.data_ptr(), 7), (prepared.data_ptr(), 7)} <= set(services.kept)
    count = len(services.kept)
    executor.run([x], [p0, p1])
    assert len(services.kept) == count


def test_changed_weights_get_new_prepared_memory(services, plans):
    """A launch on another stream may still read the old one."""
    executor = _load(plans.prepared(), services)
    x, p0, p1 = (torch.randn(plans.size) for _ in range(3))
    executor.run([x], [p0, p1])
    old = executor._weights.prepared
    before = old.clone()
    p1.add_(1)
    executor.run([x], [p0, p1])
    assert executor._weights.prepared.data_ptr() != old.data_ptr()
    assert torch.equal(old, before)


def test_failed_update_is_made_up_for(services, plans):
    executor = _load(plans.simple(), services)
    x, w = torch.randn(plans.size), torch.randn(plans.size)
    services.driver.failing = "cuGraphExecKernelNodeSetParams"
    with pytest.raises(CudaError, match=r"cuGraphExecKernelNodeSetParams failed: .*invalid"):
        executor.run([x], [w])
    services.driver.failing = None
    _, z = executor.run([x], [w])
    torch.testing.assert_close(z, 2 * (x + w))


@pytest.mark.parametrize("name", ["cuGraphLaunch", "cuLaunchKernel"])
def test_failed_launch_is_reported(services, plans, name):
    executor = _load(plans.prepared(), services)
    services.driver.failing = name
    with pytest.raises(CudaError, match=f"{name} failed: CUDA_ERROR_INVALID_VALUE"):
        executor.run([torch.randn(plans.size)], [torch.randn(plans.size)] * 2)


def test_everything_is_released(services, plans):
    executor = _load(plans.simple(), services)
    executor.run([torch.randn(plans.size)], [torch.randn(plans.size)])
    services.driver.log.clear()
    del executor
    gc.collect()
    assert services.driver.log == [
        "cuCtxSynchronize",
        "cuGraphExecDestroy",
        "cuGraphDestroy",
        "cuModuleUnload",
    ]


def test_constant_outputs_without_launches_are_ready_for_other_streams(services, plans):
    prepared = plans.prepared()
    copy = plans.copying().copies[2]
    plan = plans.simple(
        **(
            vars(prepared)
            | {"forward": (), "outputs": (plans.vector,), "copies": (type(copy)(copy.source, 0),)}
        )
    )
    executor = _load(plan, services)
    p0, p1 = torch.randn(plans.size), torch.randn(plans.size)
    (y,), log = _calls(services, executor, [torch.randn(plans.size)], [p0, p1])
    torch.testing.assert_close(y, 4 * p1)
    assert log[-1] == "cuStreamSynchronize"
