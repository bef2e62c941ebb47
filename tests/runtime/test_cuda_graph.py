"""The CUDA Graph: what reaches the driver, on a fake one; and the real thing, marked gpu."""

import gc
import os
import threading
from dataclasses import replace

import pytest
import torch

from hidet.errors import CudaError
from hidet.runtime.compiled_graph import CompiledGraph
from hidet.runtime.cuda_graph import CudaGraphExecutor
from hidet.runtime.plan import Argument, TensorMap
from hidet.runtime.specs import Scalar, TensorMapSpec
from hidet.runtime.tensor_maps import encode_for_gpu

CPU = torch.device("cpu")

NUMBER = 5 << 61
"""The bits of a number that a kernel gets."""


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


def test_programmatic_edges(services, plans):
    first, second, third = plans.simple().forward
    forward = (first, replace(second, edges="programmatic"), third)
    executor = _load(plans.simple(forward=forward), services)
    full, programmatic = (0, 0, 0), (1, 1, 0)  # type, port of the first kernel, of the second
    assert [node.before for node in services.driver.graph] == [[], [0], [1]]
    assert [node.edges for node in services.driver.graph] == [[], [programmatic], [full]]
    x, w = torch.randn(plans.size), torch.randn(plans.size)
    _, z = executor.run([x], [w])
    torch.testing.assert_close(z, 2 * (x + w))


@pytest.fixture
def with_maps(make_services, plans):
    """Give z = 2 * (x + w), y = z + x on a fake GPU, where y's kernel gets maps of x and z, too.

    Beside it there is a list, which gets the arguments of each launch of that kernel.
    """
    got = []
    known = make_services().driver.kernels

    def add(*arguments):
        known["add"][1](*arguments[:3])
        got.append(arguments)

    services = make_services({**known, "mapped": (6, add)})
    first, second, third = plans.simple().forward
    spec = TensorMapSpec("f32", (2, 4), (64,), (1, 4), 32)
    x = TensorMap(Argument("input", 0), 16, replace(spec, dtype="bf16", swizzle=0))
    z = TensorMap(Argument("output", 1), 0, spec)
    arguments = (*third.arguments, x, Scalar("f64", NUMBER), z)
    third = replace(third, kernel=2, arguments=arguments, writes=(2,))
    kernels = (*plans.simple().kernels, plans.kernel("mapped"))
    return _load(plans.simple(forward=(first, second, third), kernels=kernels), services), got


def test_maps_are_encoded_where_tensors_are(plans, with_maps):
    """A map is encoded once; when its tensor moves, its address is replaced."""
    executor, got = with_maps
    driver = executor._services.driver
    assert driver.encoded == []
    y, z = (torch.empty(plans.size) for _ in range(2))
    executor._new_outputs = [lambda: y, lambda: z]
    w = torch.randn(plans.size)
    inputs = [torch.randn(plans.size) for _ in range(2)]
    for x in (inputs[0], inputs[0], inputs[1], inputs[0]):
        executor.run([x], [w])
        torch.testing.assert_close(z, 2 * (x + w))
        torch.testing.assert_close(y, z + x)
        pointers = (z.data_ptr(), x.data_ptr(), y.data_ptr())
        assert got[-1] == (*pointers, x.data_ptr() + 16, NUMBER, z.data_ptr())
    rest = [[4, 2], [64], [4, 1], [1, 1], driver.CUtensorMapInterleave(0)]
    swizzle = driver.CUtensorMapSwizzle
    encoded = [entry[:9] for entry in driver.encoded]
    name = "CU_TENSOR_MAP_DATA_TYPE_"
    assert len(encoded) == driver.log.count("cuTensorMapReplaceAddress") == 2
    assert (f"{name}FLOAT32", 2, z.data_ptr(), *rest, swizzle(1)) in encoded
    assert (f"{name}BFLOAT16", 2, inputs[0].data_ptr() + 16, *rest, swizzle(0)) in encoded


def test_a_map_of_pixels(make_services):
    """Corners are distances from those of an image; the last dimension comes first."""
    driver = (services := make_services({})).driver
    places = ((-1, -2), (5, 8), (1, 2))
    spec = TensorMapSpec("f16", (3, 7, 9, 64), (8064, 1152, 128), (16, 32), 64, places)
    encode_for_gpu(services, spec, 4096)
    assert driver.log == ["cuTensorMapEncodeIm2col"]
    (encoded,) = driver.encoded
    assert encoded[:3] == ("CU_TENSOR_MAP_DATA_TYPE_FLOAT16", 4, 4096)
    assert encoded[3:5] == ([64, 9, 7, 3], [128, 1152, 8064])
    assert encoded[5:10] == ([-2, -1], [0, -1], 32, 16, [1, 2, 1, 1])


def test_a_refused_map_is_an_error_until_it_is_encoded(plans, with_maps):
    executor, _ = with_maps
    x, w = torch.randn(plans.size), torch.randn(plans.size)
    driver = executor._services.driver
    driver.failing = "cuTensorMapEncodeTiled"
    for _ in range(2):
        with pytest.raises(CudaError, match="cuTensorMapEncodeTiled failed"):
            executor.run([x], [w])
    driver.failing = None
    y, z = executor.run([x], [w])
    torch.testing.assert_close(y, z + x)


def test_large_clusters_are_asked_for(services, plans):
    kernels = (plans.kernel("add", cluster=(8, 1, 1)), plans.kernel("twice", cluster=(4, 4, 1)))
    _load(plans.simple(kernels=kernels), services)
    name = "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED"
    assert services.driver.attributes == {("twice", name): 1}


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
    name = "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"
    assert services.driver.attributes == {("twice", name): limit + 16}


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


def test_without_a_graph_each_stream_has_its_arena(services, plans):
    cubins = {"library": b"cubin"}
    executor = CudaGraphExecutor(plans.prepared(), cubins, CPU, services, use_graph=False)
    x, p0, p1 = (torch.randn(plans.size) for _ in range(3))
    _, log = _calls(services, executor, [x], [p0, p1])
    assert log == ["cuLaunchKernel"] * 2 + ["cuStreamSynchronize"] + ["cuLaunchKernel"] * 2
    first = executor._arena
    services.stream = 7
    (y,), log = _calls(services, executor, [x], [p0, p1])
    torch.testing.assert_close(y, x + 4 * p1 + p0)
    assert log == ["cuLaunchKernel"] * 2
    assert executor._arena.data_ptr() != first.data_ptr()


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
    copy = replace(plans.copying().copies[2], target=Argument("output", 0))
    plan = plans.simple(
        **(vars(prepared) | {"forward": (), "outputs": (plans.vector,), "copies": (copy,)})
    )
    executor = _load(plan, services)
    p0, p1 = torch.randn(plans.size), torch.randn(plans.size)
    (y,), log = _calls(services, executor, [torch.randn(plans.size)], [p0, p1])
    torch.testing.assert_close(y, 4 * p1)
    assert log[-1] == "cuStreamSynchronize"


@pytest.mark.parametrize(("current", "found"), [(0, 31), (5, 5)])
def test_context(services, monkeypatch, current, found):
    """A thread without a current context gets that of its GPU."""
    answers = {
        "cuCtxGetCurrent": lambda: (current,),
        "cuDeviceGet": lambda number: (number + 10,),
        "cuDevicePrimaryCtxRetain": lambda device: (device + 20,),
    }
    for name, answer in answers.items():
        monkeypatch.setattr(services.driver, name, answer, raising=False)
    services.device = torch.device("cuda", 1)
    assert services.context() == found


@pytest.fixture
def load_on_gpu(gpu_cubin):
    """Give a function that loads a plan on the GPU."""

    def load(plan):
        on_gpu = replace(plan, target="sm_90a")
        return CompiledGraph(on_gpu, {"library": gpu_cubin}, torch.device("cuda", 0))

    return load


@pytest.mark.gpu
def test_gpu_streams_take_turns(load_on_gpu, plans):
    """Two streams use one arena and one set of prepared memory, without waiting for each other."""
    executor = load_on_gpu(plans.simple())
    streams = [torch.cuda.Stream() for _ in range(2)]
    w = torch.randn(plans.size, device="cuda")
    inputs = [torch.randn(plans.size, device="cuda") for _ in range(200)]
    torch.cuda.synchronize()
    results = []
    for number, x in enumerate(inputs):
        with torch.cuda.stream(streams[number % 2]):
            results.append(executor.run([x], [w]))
    torch.cuda.synchronize()
    for x, (y, z) in zip(inputs, results, strict=True):
        torch.testing.assert_close(z, 2 * (x + w))
        torch.testing.assert_close(y, 2 * (x + w) + x)


@pytest.mark.gpu
def test_gpu_work_comes_after_that_of_its_stream(load_on_gpu, plans):
    executor = load_on_gpu(plans.prepared())
    p0, p1 = (torch.randn(plans.size, device="cuda") for _ in range(2))
    with torch.cuda.stream(torch.cuda.Stream()):
        x = torch.zeros(plans.size, device="cuda")
        p1.zero_()
        for number in range(50):
            torch.cuda._sleep(100_000)
            x.fill_(float(number))
            p1.fill_(float(-number))
            (y,) = executor.run([x], [p0, p1])
            y += 1
            torch.testing.assert_close(y, number - 4 * number + p0 + 1)


@pytest.mark.gpu
def test_gpu_new_thread(load_on_gpu, plans):
    """A thread that has not touched the GPU yet."""
    executor = load_on_gpu(plans.simple())
    x, w = (torch.randn(plans.size, device="cuda") for _ in range(2))
    executor.run([x], [w])
    results = []
    thread = threading.Thread(target=lambda: results.extend(executor.run([x], [w])))
    thread.start()
    thread.join()
    torch.testing.assert_close(results[1], 2 * (x + w))


@pytest.mark.gpu
def test_gpu_loaded_in_a_new_thread(load_on_gpu, plans):
    """A thread without a current context, whose memory comes from torch's cache."""
    x, w = (torch.randn(plans.size, device="cuda") for _ in range(2))
    torch.empty(1 << 20, device="cuda")  # goes to the cache
    results = []

    def load_and_run():
        results.extend(load_on_gpu(plans.simple()).run([x], [w]))

    thread = threading.Thread(target=load_and_run)
    thread.start()
    thread.join()
    torch.testing.assert_close(results[1], 2 * (x + w))


@pytest.mark.gpu
def test_gpu_child_of_a_fork(load_on_gpu, plans):
    """A child cannot use the GPU, and hears so from torch."""
    executor = load_on_gpu(plans.simple())
    x, w = (torch.randn(plans.size, device="cuda") for _ in range(2))
    executor.run([x], [w])
    child = os.fork()
    if child == 0:
        try:
            executor.run([x], [w])
        except RuntimeError as error:
            os._exit(0 if "forked subprocess" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.gpu
def test_gpu_dropped_while_at_work(load_on_gpu, plans):
    x, w = (torch.randn(plans.size, device="cuda") for _ in range(2))
    for _ in range(20):
        executor = load_on_gpu(plans.simple())
        torch.cuda._sleep(1_000_000)
        y, z = executor.run([x], [w])
        del executor
        gc.collect()
        poison = torch.full((4096,), torch.nan, device="cuda")
        torch.testing.assert_close(z, 2 * (x + w))
        torch.testing.assert_close(y, 2 * (x + w) + x)
        del poison


@pytest.mark.gpu
def test_gpu_second_device(load_on_gpu, plans):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    graph = load_on_gpu(plans.prepared())
    for device in ("cuda:0", "cuda:1", "cuda:0"):
        x, p0, p1 = (torch.randn(plans.size, device=device) for _ in range(3))
        (y,) = graph.run([x], [p0, p1])
        assert y.device == torch.device(device)
        torch.testing.assert_close(y, x + 4 * p1 + p0)


@pytest.mark.gpu
def test_gpu_wrong_architecture(plans):
    binaries = {"library": b"no cubin" * 100}
    graph = CompiledGraph(plans.simple(target="sm_90a"), binaries, torch.device("cuda"))
    with pytest.raises(CudaError, match="cuModuleLoadData failed"):
        graph.run([torch.randn(plans.size, device="cuda")] * 1, [torch.randn(plans.size)])
