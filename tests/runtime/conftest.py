"""Small plans, real CPU kernels, and a CUDA driver made of Python, for the tests of the runtime."""

import ctypes
import random
import subprocess
from contextlib import nullcontext
from dataclasses import dataclass, field
from enum import IntEnum
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from cuda.bindings import driver as bindings

from hidet.backend.toolchains import Nvcc
from hidet.driver.options import CompileOptions
from hidet.driver.target import find_target
from hidet.runtime.cuda_services import CudaServices
from hidet.runtime.plan import Argument, Copy, Kernel, Launch, Plan
from hidet.runtime.specs import TensorSpec

SIZE = 64
VECTOR = TensorSpec((SIZE,), "f32")

CPU_SOURCE = """
static const char* error = "";
static float* pointer(void** args, int i) { return *static_cast<float**>(args[i]); }

extern "C" const char* hidet_last_error() { return error; }

// out = a + b, over blocks of 32 elements
extern "C" int add_launch(void** args, unsigned x, unsigned y, unsigned z, unsigned shared) {
  for (unsigned i = 0; i < 32 * x; ++i)
    pointer(args, 2)[i] = pointer(args, 0)[i] + pointer(args, 1)[i];
  return 0;
}
// out = 2 * a
extern "C" int twice_launch(void** args, unsigned x, unsigned y, unsigned z, unsigned shared) {
  for (unsigned i = 0; i < 32 * x; ++i) pointer(args, 1)[i] = 2 * pointer(args, 0)[i];
  return 0;
}
extern "C" int fail_launch(void** args, unsigned x, unsigned y, unsigned z, unsigned shared) {
  error = "block 3 read out of bounds";
  return 1;
}
"""


GPU_SOURCE = """
extern "C" __global__ void add(const float* a, const float* b, float* out) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  out[i] = a[i] + b[i];
}
extern "C" __global__ void twice(const float* a, float* out) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  out[i] = 2 * a[i];
}
"""


def _floats(address):
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_float)), (SIZE,))


def _add(a, b, out):
    _floats(out)[:] = _floats(a) + _floats(b)


def _twice(a, out):
    _floats(out)[:] = 2 * _floats(a)


PYTHON_KERNELS = {"add": (3, _add), "twice": (2, _twice)}


def kernel(symbol, **changes):
    """Give a kernel of the plans here."""
    fields = {
        "symbol": symbol,
        "artifact_key": "library",
        "grid": (SIZE // 32, 1, 1),
        "block": (32, 1, 1),
        "cluster": (1, 1, 1),
        "shared_bytes": 0,
    }
    return Kernel(**(fields | changes))


def launch(number, *arguments, waits_for=(), writes=None):
    """Give a launch that writes its last argument."""
    arguments = tuple(Argument(*argument) for argument in arguments)
    last = len(arguments) - 1
    return Launch(number, arguments, (last,) if writes is None else writes, tuple(waits_for))


def make_plan(**changes):
    """Give a plan for y = 2 * (x + w) + x and z = 2 * (x + w) with the arena in use."""
    fields = {
        "target": "cpu",
        "inputs": (VECTOR,),
        "outputs": (VECTOR, VECTOR),
        "constants": {"p0": VECTOR},
        "kernels": (kernel("add"), kernel("twice")),
        "prepare": (),
        "forward": (
            launch(0, ("input", 0), ("constant", "p0"), ("arena", 256)),
            launch(1, ("arena", 256), ("output", 1), waits_for=(0,)),
            launch(0, ("output", 1), ("input", 0), ("output", 0), waits_for=(1,)),
        ),
        "copies": (),
        "arena_bytes": 512,
        "prepared_bytes": 0,
    }
    return Plan(**(fields | changes))


def make_prepared_plan():
    """Give a plan for y = x + 2 * (p1 + p1), where p0 is not read by the prepare launches."""
    return make_plan(
        outputs=(VECTOR,),
        constants={"p0": VECTOR, "p1": VECTOR},
        prepare=(
            launch(0, ("constant", "p1"), ("constant", "p1"), ("arena", 0)),
            launch(1, ("arena", 0), ("prepared", 256), waits_for=(0,)),
        ),
        forward=(
            launch(0, ("input", 0), ("prepared", 256), ("arena", 0)),
            launch(0, ("arena", 0), ("constant", "p0"), ("output", 0), waits_for=(0,)),
        ),
        prepared_bytes=512,
    )


def make_copying_plan():
    """Give a plan with outputs that no launch writes."""
    plan = make_prepared_plan()
    sources = [("input", 0), ("constant", "p0"), ("prepared", 256), ("output", 0)]
    return Plan(
        **(
            vars(plan)
            | {
                "outputs": (VECTOR,) * 5,
                "copies": tuple(
                    Copy(Argument(*s), Argument("output", n), VECTOR.nbytes)
                    for n, s in enumerate(sources, start=1)
                ),
            }
        )
    )


@pytest.fixture(scope="session")
def plans():
    """Give the functions that make plans."""
    return SimpleNamespace(
        simple=make_plan,
        prepared=make_prepared_plan,
        copying=make_copying_plan,
        kernel=kernel,
        launch=launch,
        vector=VECTOR,
        size=SIZE,
    )


@pytest.fixture(scope="session")
def cpu_library(tmp_path_factory):
    """Return a shared library with the kernels of the plans."""
    folder = tmp_path_factory.mktemp("kernels")
    source, library = folder / "kernels.cpp", folder / "kernels.so"
    source.write_text(CPU_SOURCE)
    subprocess.run(["g++", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    return library.read_bytes()


@pytest.fixture(scope="session")
def gpu_cubin(tmp_path_factory):
    """Return a cubin with the kernels of the plans, for the GPU that is there."""
    target = find_target(torch.device("cuda", 0), CompileOptions.current())
    path = tmp_path_factory.mktemp("kernels") / "kernels.cubin"
    Nvcc(target).compile(GPU_SOURCE, path)
    return path.read_bytes()


@dataclass
class _Node:
    function: str
    arguments: list
    before: list = field(default_factory=list)
    edges: list = field(default_factory=list)


class FakeDriver:
    """A CUDA driver whose "device memory" is that of the process and whose kernels are Python.

    Nodes of a graph run in a random order that respects the edges, so a missing edge shows. `log`
    holds the names of the calls.
    """

    class CUresult(IntEnum):
        """Statuses."""

        CUDA_SUCCESS = 0
        CUDA_ERROR_INVALID_VALUE = 1

    class CUfunction_attribute(IntEnum):
        """Attributes of functions."""

        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14

    CUDA_KERNEL_NODE_PARAMS = SimpleNamespace
    CUstream = int
    CUdevice_attribute = bindings.CUdevice_attribute
    CUgraphDependencyType = bindings.CUgraphDependencyType
    CUgraphEdgeData = bindings.CUgraphEdgeData
    CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC = bindings.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC
    CUtensorMapDataType = bindings.CUtensorMapDataType
    CUtensorMapFloatOOBfill = bindings.CUtensorMapFloatOOBfill
    CUtensorMapInterleave = bindings.CUtensorMapInterleave
    CUtensorMapL2promotion = bindings.CUtensorMapL2promotion
    CUtensorMapSwizzle = bindings.CUtensorMapSwizzle
    cuuint32_t = cuuint64_t = int

    def __init__(self, kernels, seed=0):
        self.kernels = kernels
        self.random = random.Random(seed)
        self.log = []
        self.graph = []
        self.executable = []
        self.attributes = {}
        self.encoded = []
        self.streams = []
        self.failing = None

    def __getattribute__(self, name):
        value = super().__getattribute__(name)
        if not name.startswith("cu") or name in ("cuGetErrorString", "cuuint32_t", "cuuint64_t"):
            return value

        def call(*arguments):
            self.log.append(name)
            if name == self.failing:
                return (self.CUresult.CUDA_ERROR_INVALID_VALUE,)
            return self.CUresult.CUDA_SUCCESS, *value(*arguments)

        return call

    def cuGetErrorString(self, status):
        return status, b"invalid argument"

    def cuModuleLoadData(self, image):
        assert isinstance(image, bytes)
        return ("module",)

    def cuModuleGetFunction(self, module, name):
        return (name.decode(),)

    def cuFuncSetAttribute(self, function, attribute, value):
        self.attributes[function, attribute.name] = value
        return ()

    def cuCtxGetDevice(self):
        return (0,)

    def cuDeviceGetAttribute(self, attribute, device):
        return (227 * 1024,)

    def cuTensorMapEncodeTiled(self, kind, rank, address, *rest):
        """Note what is encoded; the map begins with the address."""
        self.encoded.append((kind.name, rank, address, *rest))
        words = (ctypes.c_uint64 * 16)(address)
        return (SimpleNamespace(getPtr=lambda: ctypes.addressof(words)),)

    cuTensorMapEncodeIm2col = cuTensorMapEncodeTiled

    @staticmethod
    def CUtensorMap(_ptr):
        """Give the map at an address, itself: the number of its place."""
        return _ptr

    def cuTensorMapReplaceAddress(self, place, address):
        ctypes.c_uint64.from_address(place).value = address
        return ()

    def cuGraphCreate(self, flags):
        self.graph = []
        return (self.graph,)

    def cuGraphAddKernelNode(self, graph, before, count, parameters):
        assert len(before) == count
        graph.append(_Node(parameters.func, self._read(parameters), before))
        return (len(graph) - 1,)

    def cuGraphAddDependencies(self, graph, sources, targets, edges, count):
        assert len(sources) == len(targets) == len(edges) == count
        for source, target, edge in zip(sources, targets, edges, strict=True):
            graph[target].before.append(source)
            graph[target].edges.append((int(edge.type), edge.from_port, edge.to_port))
        return ()

    def cuGraphInstantiate(self, graph, flags):
        self.executable = [_Node(n.function, n.arguments, n.before) for n in graph]
        return (self.executable,)

    def cuGraphExecKernelNodeSetParams(self, executable, node, parameters):
        executable[node].arguments = self._read(parameters)
        return ()

    def cuGraphLaunch(self, executable, stream):
        self.streams.append(stream)
        waiting = set(range(len(executable)))
        while waiting:
            ready = [n for n in sorted(waiting) if not waiting & set(executable[n].before)]
            number = self.random.choice(ready)
            node = executable[number]
            self.kernels[node.function][1](*node.arguments)
            waiting.discard(number)
        return ()

    def cuLaunchKernel(self, function, *rest):
        *_, stream, address, _extra = rest
        self.streams.append(stream)
        self.kernels[function][1](*self._pointers(function, address))
        return ()

    def cuStreamSynchronize(self, stream):
        return ()

    cuCtxSynchronize = cuGraphExecDestroy = cuGraphDestroy = cuModuleUnload = lambda *_: ()

    def _read(self, parameters):
        return self._pointers(parameters.func, parameters.kernelParams)

    def _pointers(self, function, address):
        count = self.kernels[function][0]
        entries = (ctypes.c_uint64 * count).from_address(address)
        return [ctypes.c_uint64.from_address(entry).value for entry in entries]


class FakeServices(CudaServices):
    """One "GPU" whose tensors are on the CPU."""

    def __init__(self, kernels=None, seed=0):
        self.driver = FakeDriver(kernels or PYTHON_KERNELS, seed)
        self.device = torch.device("cpu")
        self.stream = 0
        self.attached = True
        self.kept = []

    def current_stream(self):
        return self.stream

    def is_attached(self):
        return self.attached

    def attach(self):
        return nullcontext()

    def allocate(self, size):
        memory = torch.full((size + 256,), 255, dtype=torch.uint8)  # NaN as floats
        start = -memory.data_ptr() % 256
        return memory[start : start + size]

    def keep_until_done(self, memory):
        self.kept.append((memory.data_ptr(), self.stream))


@pytest.fixture
def services():
    """Give a fake GPU."""
    return FakeServices()


@pytest.fixture(scope="session")
def make_services():
    """Give the class of fake GPUs: `make_services(kernels, seed)`."""
    return FakeServices
