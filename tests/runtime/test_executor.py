"""Both executors on the same plans: the CPU's with real kernels, the CUDA one on a fake driver."""

import ctypes
import gc
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import torch

from hidet.errors import DeviceMismatchError, HidetError, UnsupportedDtypeError
from hidet.runtime import keepalive
from hidet.runtime.cpu import CpuExecutor
from hidet.runtime.cuda_graph import CudaGraphExecutor
from hidet.runtime.kernels import load_library
from hidet.runtime.tensors import Layouts


def _gpu(name):
    return pytest.param(name, marks=pytest.mark.gpu)


FAKE = ["fake graph", "fake launches"]
GPU = ["gpu graph", "gpu launches"]


@pytest.fixture(params=["cpu", *FAKE, *map(_gpu, GPU)])
def load(request):
    """Give a function that loads a plan; new tensors are on its device."""

    def load_plan(plan):
        if request.param == "cpu":
            library = request.getfixturevalue("cpu_library")
            return CpuExecutor(plan, {"library": library})
        use_graph = request.param.endswith("graph")
        if request.param in FAKE:
            services = request.getfixturevalue("services")
            cubins = {"library": b"cubin"}
            return CudaGraphExecutor(plan, cubins, device, services, use_graph=use_graph)
        cubins = {"library": request.getfixturevalue("gpu_cubin")}
        return CudaGraphExecutor(plan, cubins, device, use_graph=use_graph)

    device = torch.device("cuda", 0) if request.param in GPU else torch.device("cpu")
    with device:
        yield load_plan


def _vector(plans):
    return torch.randn(plans.size)


def _double(*tensors):
    return [tensor.detach().double() for tensor in tensors]


def _check(actual, expected):
    torch.testing.assert_close(actual.double(), expected, rtol=1e-5, atol=1e-5)


def _check_simple(executor, x, w):
    y, z = executor.run([x], [w])
    x64, w64 = _double(x, w)
    _check(z, 2 * (x64 + w64))
    _check(y, 2 * (x64 + w64) + x64)
    return y, z


def _check_prepared(executor, x, p0, p1):
    (y,) = executor.run([x], [p0, p1])
    x64, p0_64, p1_64 = _double(x, p0, p1)
    _check(y, x64 + 4 * p1_64 + p0_64)
    return y


def test_outputs_are_fresh_and_right(load, plans):
    executor = load(plans.simple())
    w = _vector(plans)
    kept = [(x := _vector(plans), _check_simple(executor, x, w)) for _ in range(5)]
    for x, (y, z) in kept:  # later calls wrote elsewhere
        torch.testing.assert_close(y, 2 * (x + w) + x)
        torch.testing.assert_close(z, 2 * (x + w))
    storages = {t.untyped_storage().data_ptr() for _, outputs in kept for t in outputs}
    assert len(storages) == 10


def test_weights_are_read_live(load, plans):
    executor = load(plans.simple())
    x, w = _vector(plans), torch.nn.Parameter(_vector(plans))
    _check_simple(executor, x, w)
    w.data.mul_(3)  # no version counter sees this, and none has to
    _check_simple(executor, x, w)
    w.data = _vector(plans)
    _check_simple(executor, x, w)


def test_prepare_runs_once_for_a_set_of_weights(load, plans, monkeypatch):
    executor = load(plans.prepared())
    calls = _count_prepare(executor, monkeypatch)
    weights = [torch.nn.Parameter(_vector(plans)) for _ in range(2)]
    for _ in range(3):
        _check_prepared(executor, _vector(plans), *weights)
    assert len(calls) == 1


def test_prepare_follows_changes_of_its_weights_only(load, plans, monkeypatch):
    executor = load(plans.prepared())
    calls = _count_prepare(executor, monkeypatch)
    p0, p1 = _vector(plans), _vector(plans)
    x = _vector(plans)
    _check_prepared(executor, x, p0, p1)
    p0.mul_(2)
    _check_prepared(executor, x, p0, p1)
    assert len(calls) == 1
    p1.add_(1)
    _check_prepared(executor, x, p0, p1)
    assert len(calls) == 2
    p1.data = _vector(plans)
    _check_prepared(executor, x, p0, p1)
    assert len(calls) == 3


def test_several_modules_share_a_graph(load, plans, monkeypatch):
    executor = load(plans.prepared())
    calls = _count_prepare(executor, monkeypatch)
    modules = [(_vector(plans), _vector(plans)) for _ in range(4)]
    for _ in range(3):
        for p0, p1 in modules:
            _check_prepared(executor, _vector(plans), p0, p1)
    assert len(calls) == 4


def _count_prepare(executor, monkeypatch):
    """Collect the runs of `prepare` from now on."""
    calls = []
    original = executor._launch_in_order

    def counting(launches, table):
        if launches is executor.plan.prepare:
            calls.append(table)
        original(launches, table)

    monkeypatch.setattr(executor, "_launch_in_order", counting)
    return calls


def test_misaligned_tensors_are_copied_in_every_call(load, plans):
    executor = load(plans.prepared())
    memory = torch.randn(3, plans.size + 1)
    x, p0, p1 = (memory.view(-1)[n * plans.size + 1 :][: plans.size] for n in range(3))
    assert all(tensor.data_ptr() % 16 for tensor in (x, p0, p1))
    for _ in range(3):
        _check_prepared(executor, x, p0, p1)
        x.add_(1)
        p0.add_(1)
        p1.add_(1)
    _check_prepared(executor, _vector(plans), _vector(plans), _vector(plans))


def test_weights_that_require_gradients(load, plans):
    executor = load(plans.prepared())
    memory = torch.nn.Parameter(torch.randn(2 * plans.size + 1))
    p0 = torch.nn.Parameter(_vector(plans))
    y = _check_prepared(executor, _vector(plans), p0, memory[1 : plans.size + 1])
    assert not y.requires_grad


def test_outputs_that_no_kernel_writes(load, plans):
    executor = load(plans.copying())
    x, p0, p1 = (_vector(plans) for _ in range(3))
    y, *copies = executor.run([x], [p0, p1])
    for copy, expected in zip(copies, (x, p0, 4 * p1, y), strict=True):
        torch.testing.assert_close(copy, expected)
        assert copy.data_ptr() not in {t.data_ptr() for t in (x, p0, p1, y)}


def test_graph_without_launches(load, plans):
    plan = plans.simple(kernels=(), forward=(), outputs=(), constants={}, arena_bytes=0)
    assert load(plan).run([_vector(plans)], []) == []


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: torch.randn(64).double(), UnsupportedDtypeError, "has data type torch.float64"),
        (lambda: torch.randn(63), HidetError, "has shape (63,)"),
        (lambda: torch.randn(8, 8), HidetError, "has shape (8, 8)"),
        (lambda: torch.randn(1).expand(64), HidetError, "has strides (0,)"),
        (lambda: torch.randn(128)[::2], HidetError, "has strides (2,)"),
        (lambda: torch.randn(64, device="meta"), DeviceMismatchError, "is on meta"),
    ],
)
def test_wrong_inputs_are_refused(load, plans, wrong, error, message):
    executor = load(plans.simple())
    x, w = _vector(plans), _vector(plans)
    _check_simple(executor, x, w)
    with pytest.raises(error) as raised:
        executor.run([wrong()], [w])
    assert f"input 0 {message}" in str(raised.value)
    _check_simple(executor, x, w)


def test_elements_in_another_order(load, plans):
    """Tensors in a layout are taken in the order of memory; inputs in other layouts are copied."""
    executor = load(plans.simple())
    x, w = torch.randn(4, 4, 4, 1).transpose(0, 2), torch.randn(8, 8).t()
    layouts = [(each.shape, each.stride()) for each in (x, w)]
    executor.lay_out(Layouts(inputs={0: layouts[0]}, constants={0: layouts[1]}))
    outputs = executor.run([x], [w])
    total = x.permute(2, 1, 0, 3).flatten() + w.t().flatten()
    torch.testing.assert_close(outputs[1], 2 * total)
    for _ in range(2):
        torch.testing.assert_close(executor.run([x.contiguous()], [w])[1], 2 * total)
    torch.testing.assert_close(executor.run([x], [w])[1], 2 * total)
    with pytest.raises(HidetError, match=r"constant 'p0' has strides \(8, 1\), but the graph was"):
        executor.run([x], [w.contiguous()])
    executor.run([x.as_strided(x.shape, (1, 4, 16, 99))], [w])  # of one element, any stride


def test_wrong_weights_are_refused(load, plans):
    executor = load(plans.simple())
    x, w = _vector(plans), _vector(plans)
    with pytest.raises(HidetError, match="constant 'p0' has shape"):
        executor.run([x], [w[:3]])
    with pytest.raises(HidetError, match="2 constants were passed to a graph that takes 1"):
        executor.run([x], [w, w])
    with pytest.raises(HidetError, match="0 inputs were passed to a graph that takes 1"):
        executor.run([], [w])


def test_threads_take_turns(load, plans):
    executor = load(plans.prepared())
    failures = []

    def work(seed):
        place = {"device": executor.device}
        generator = torch.Generator(**place).manual_seed(seed)
        p0, p1 = (torch.randn(plans.size, generator=generator, **place) for _ in range(2))
        for _ in range(50):
            x = torch.randn(plans.size, generator=generator, **place)
            (y,) = executor.run([x], [p0, p1])
            if not torch.allclose(y, x + 4 * p1 + p0, atol=1e-5):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("calls_before", [0, 1, 5])
@pytest.mark.sample(3)
def test_memory_of_a_call_is_held(load, plans, monkeypatch, calls_before):
    """Another thread may give the tensors of a call other memory; nothing is kept for longer."""
    executor = load(plans.prepared())
    x, p0, p1 = tensors = [_vector(plans) for _ in range(3)]
    with ThreadPoolExecutor(1) as thread:
        thread.submit(gc.collect).result()  # a thread that has been there before the calls
        for _ in range(calls_before):
            executor.run([x], [p0, p1])
    expected = x + 4 * p1 + p0
    storages = [weakref.ref(tensor.untyped_storage()) for tensor in tensors]
    launch = executor._launch

    def replace():
        for tensor in tensors:
            tensor.data = torch.full_like(tensor, torch.nan)
        gc.collect()

    def replace_and_launch():
        thread.submit(replace).result()
        assert all(storage() is not None for storage in storages)
        launch()

    monkeypatch.setattr(executor, "_launch", replace_and_launch)
    with ThreadPoolExecutor(1) as thread:
        thread.submit(gc.collect).result()  # a thread that has been there before the call
        (y,) = executor.run([x], [p0, p1])
    torch.testing.assert_close(y, expected)
    gc.collect()
    assert all(storage() is None for storage in storages)


def test_no_thread_comes_between_memory_and_address(plans, cpu_library, monkeypatch):
    """A thread that gives an input other memory all the time; Python changes threads often."""
    executor = CpuExecutor(plans.simple(), {"library": cpu_library})
    x, w = _vector(plans), _vector(plans)
    storages = weakref.WeakValueDictionary({x.data_ptr(): x.untyped_storage()})
    freed, replaced, done = [], [0], threading.Event()

    def replace():
        while not done.is_set():
            other = _vector(plans)
            storages[other.data_ptr()] = other.untyped_storage()
            x.data = other
            replaced[0] += 1

    def wait_and_look():
        before = replaced[0]
        while replaced[0] < before + 2:
            time.sleep(0)
        freed.append(executor._inputs.known[0] not in storages)

    monkeypatch.setattr(executor, "_launch", wait_and_look)
    thread = threading.Thread(target=replace)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        for _ in range(6000):
            executor.run([x], [w])
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert sum(freed) == 0


def test_what_was_freed_meanwhile_is_held_again(load, plans):
    """A collection between calls costs no binding, and takes no hold away from later calls."""
    executor = load(plans.prepared())
    x, p0, p1 = (_vector(plans) for _ in range(3))
    _check_prepared(executor, x, p0, p1)
    gc.collect()
    assert executor._keepalive() is None
    _check_prepared(executor, x, p0, p1)
    assert executor._keepalive() is not None


@pytest.fixture
def storages_taken(monkeypatch):
    """Count the storages of inputs that calls take hold of; a second thread is there."""
    taken, storage_of = [], keepalive._storage
    monkeypatch.setattr(keepalive, "_storage", lambda tensor: taken.append(1) or storage_of(tensor))
    with ThreadPoolExecutor(1) as thread:
        thread.submit(gc.collect).result()
        yield taken


def test_inputs_that_stay_are_held_at_once(load, plans, storages_taken):
    """A call takes hold of each of its inputs only until they have stayed for some calls."""
    executor = load(plans.simple())
    x, w = _vector(plans), _vector(plans)
    for _ in range(2):
        for _ in range(2):
            _check_simple(executor, x, w)
        executor.run([x], [w])
        assert executor._inputs._keepalive() is not None
        before = len(storages_taken)
        _check_simple(executor, x, w)
        assert len(storages_taken) == before > 0
        x.data = _vector(plans)  # others from here on
        _check_simple(executor, x, w)
        assert len(storages_taken) > before


def test_inputs_are_held_no_longer_than_they_live(load, plans, storages_taken):
    """Large inputs go as soon as their caller lets them go, without any collection."""
    executor = load(plans.simple())
    w = _vector(plans)
    gc.disable()
    try:
        for patience in (1, 2, 4):
            x = _vector(plans)
            for _ in range(patience + 2):
                executor.run([x], [w])
            assert executor._inputs._keepalive() is not None
            storage = weakref.ref(x.untyped_storage())
            del x
            assert storage() is None
            assert executor._inputs._patience == 2 * patience
    finally:
        gc.enable()


# Prints whether others may replace tensors: alone; with tqdm's thread; with one more; without.
THREADS = """
import threading
from tqdm import tqdm
from hidet.runtime.keepalive import others_may_replace

def show():
    print(threading.active_count(), others_may_replace())

show()
tqdm(total=1, disable=True)
show()
for _ in range(2):
    end = threading.Event()
    other = threading.Thread(target=end.wait)
    other.start()
    show()
    end.set()
    other.join()
    show()
    if tqdm.monitor.is_alive(): tqdm.monitor.exit()
"""


def test_progress_bars_are_no_company():
    """The thread that torch.fx starts knows no tensors; any other may."""
    command = [sys.executable, "-c", THREADS]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output.splitlines() == ["1 False", "2 False", "3 True", "2 False", "2 True", "1 False"]


def test_failing_kernel_is_named(plans, cpu_library):
    plan = plans.simple(kernels=(plans.kernel("fail"), plans.kernel("twice")))
    executor = CpuExecutor(plan, {"library": cpu_library})
    with pytest.raises(HidetError, match="kernel 'fail' failed on the CPU: block 3 read out of"):
        executor.run([_vector(plans)], [_vector(plans)])


@pytest.mark.parametrize("is_allowed", [True, False])
def test_libraries_are_apart(cpu_library, monkeypatch, is_allowed):
    """Equal libraries are loaded separately, though descriptors are reused."""
    if not is_allowed:
        libc, load = SimpleNamespace(memfd_create=lambda *_: -1), ctypes.CDLL
        monkeypatch.setattr(ctypes, "CDLL", lambda path: load(path) if path else libc)
    loaded = [load_library(cpu_library) for _ in range(20)]
    addresses = {ctypes.cast(each.twice_launch, ctypes.c_void_p).value for each in loaded}
    assert len(addresses) == 20


def test_broken_library(plans):
    with pytest.raises(HidetError, match=r"cannot load the kernels: .*file too short"):
        CpuExecutor(plans.simple(), {"library": b"\x7fELF"})
