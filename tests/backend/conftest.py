"""Devices that run the kernels in the folder `kernels`: the CPU, and a GPU where there is one."""

import ctypes
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from hidet.backend.build import build_kernels
from hidet.backend.cache import Store
from hidet.backend.toolchains import Gxx, Nvcc
from hidet.runtime.kernels import load_library

KERNELS = Path(__file__).parent / "kernels"
SOURCES = {path.stem: path.read_text() for path in sorted(KERNELS.glob("*.cu"))}


# The kernels that a macro makes have blocks of so many threads.
_THREADS_OF_MACROS = {
    "CONVERT": 128, "COPY": 64, "ATOMIC": 96, "SHUFFLE": 64,
    "MMA": 64, "LDMATRIX": 64, "CP_ASYNC": 64, "RING": 64,
}  # fmt: skip


@dataclass(frozen=True)
class NvccToPtx(Nvcc):
    """nvcc that stops at PTX, which can be read; on request it does not optimize that."""

    optimize: bool = True

    @property
    def options(self):
        """The options, with another kind of output."""
        options = ["-ptx" if option == "-cubin" else option for option in super().options]
        return options if self.optimize else [*options, "-Xcicc", "-O0"]


@pytest.fixture
def nvcc_to_ptx():
    """Give the compiler that stops at PTX."""
    return NvccToPtx


class Device:
    """What tests need of either device."""

    is_cpu = False

    @staticmethod
    def poisoned(shape, dtype):
        """Make an array in which an element that is not written shows."""
        array = np.empty(shape, dtype)
        array.view(np.uint8)[...] = 0xB5
        return array

    @staticmethod
    def blocks(n, threads=128):
        """Give the grid for n elements."""
        return (-(-n // threads), 1, 1)


class CpuDevice(Device):
    """Runs kernels from libraries of g++ on numpy arrays."""

    is_cpu = True

    def __init__(self, libraries):
        self._libraries = list(map(load_library, libraries))

    def try_launch(self, name, grid, *arguments, shared=0):
        """Launch a kernel; give the error code and the message.

        Arguments are arrays, passed as pointers, or ctypes scalars.
        """
        (library,) = (lib for lib in self._libraries if hasattr(lib, f"{name}_launch"))
        cells = [
            ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else a for a in arguments
        ]
        table = (ctypes.c_void_p * len(cells))(*map(ctypes.addressof, cells))
        code = getattr(library, f"{name}_launch")(table, *grid, shared)
        library.hidet_last_error.restype = ctypes.c_char_p
        return code, library.hidet_last_error().decode()

    def launch(self, name, grid, *arguments, shared=0):
        """Launch a kernel that does not fail."""
        code, message = self.try_launch(name, grid, *arguments, shared=shared)
        assert code == 0, message


class CudaDevice(Device):
    """Runs kernels from cubins; arrays travel to the GPU and back."""

    def __init__(self, cubins, sources=SOURCES):
        from cuda.bindings import driver

        self._driver = driver
        torch.zeros(1, device="cuda")  # makes a context
        self._modules = [self._call(driver.cuModuleLoadData, cubin) for cubin in cubins]
        text = "\n".join(sources.values())
        self._blocks = {
            name: (int(x), int(y), int(z))
            for name, x, y, z in re.findall(r"HIDET_KERNEL\((\w+), (\d+), (\d+), (\d+)", text)
        }
        for macro, threads in _THREADS_OF_MACROS.items():
            names = re.findall(rf"^{macro}\((\w+),", text, re.MULTILINE)
            self._blocks.update(dict.fromkeys(names, (threads, 1, 1)))

    def _call(self, function, *arguments):
        error, *results = function(*arguments)
        assert error == self._driver.CUresult.CUDA_SUCCESS, (function, error)
        return results[0] if results else None

    def launch(self, name, grid, *arguments, shared=0):
        """Launch a kernel as `CpuDevice.launch` does."""
        get = self._driver.cuModuleGetFunction
        found = [get(module, name.encode()) for module in self._modules]
        (function,) = (f for e, f in found if e == self._driver.CUresult.CUDA_SUCCESS)
        buffers = {
            i: torch.from_numpy(a.view(np.uint8).reshape(-1)).cuda()
            for i, a in enumerate(arguments)
            if isinstance(a, np.ndarray)
        }
        cells = [
            ctypes.c_void_p(buffers[i].data_ptr()) if i in buffers else a
            for i, a in enumerate(arguments)
        ]
        table = (ctypes.c_void_p * len(cells))(*map(ctypes.addressof, cells))
        address = ctypes.addressof(table)
        self._call(
            self._driver.cuLaunchKernel,
            function, *grid, *self._blocks[name], shared, 0, address, 0,
        )  # fmt: skip
        torch.cuda.synchronize()
        for i, buffer in buffers.items():
            arguments[i].view(np.uint8).reshape(-1)[:] = buffer.cpu().numpy()


@pytest.fixture(autouse=True)
def _temporary_files(tmp_path_factory, monkeypatch):
    """Keep what is left on purpose, as sources that do not compile, where pytest removes it."""
    folder = str(tmp_path_factory.mktemp("temporary"))
    monkeypatch.setenv("TMPDIR", folder)
    monkeypatch.setattr(tempfile, "tempdir", folder)


@pytest.fixture(scope="session")
def kernel_sources():
    """The text of the files of kernels, by name."""
    return SOURCES


@pytest.fixture(scope="session")
def build_cpu(tmp_path_factory):
    """Build kernels with a g++, by the names of their files; all without names."""
    cache = Store(tmp_path_factory.mktemp("cache") / "hidet").kernels

    def build(toolchain, *names):
        sources = {name: SOURCES[name] for name in names or SOURCES}
        return CpuDevice(build_kernels(sources, toolchain, cache).values())

    return build


@pytest.fixture(scope="session")
def cpu(build_cpu):
    """The CPU."""
    return build_cpu(Gxx())


@pytest.fixture(scope="session")
def cuda(tmp_path_factory):
    """The GPU."""
    cache = Store(tmp_path_factory.mktemp("cache") / "hidet").kernels
    major, minor = torch.cuda.get_device_capability()
    return CudaDevice(build_kernels(SOURCES, Nvcc(f"sm_{major}{minor}"), cache).values())


@pytest.fixture(scope="session")
def cpu_device():
    """Make a device of libraries of g++."""
    return CpuDevice


@pytest.fixture(scope="session")
def cuda_device():
    """Make a device of cubins and the sources of their kernels."""
    return CudaDevice


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """Each device in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def rng():
    """Fresh random numbers."""
    return np.random.default_rng(int.from_bytes(os.urandom(4), "little"))
