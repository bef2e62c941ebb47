"""Kernels that are loaded on a device, of compiled graphs and of scripts."""

import ctypes
import tempfile
import weakref
from _ctypes import dlclose
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from math import prod
from typing import Any, TypeAlias

from hidet import option
from hidet.arch.limits import PORTABLE_CLUSTER, STATIC_SHARED_BYTES
from hidet.errors import DivisionByZeroError, HidetError, IndexOutOfRangeError
from hidet.forks import FORK_HANDLERS
from hidet.runtime.cuda_services import CudaServices

_CLOSE_ON_EXEC = 1  # MFD_CLOEXEC; not every build of Python has it, nor os.memfd_create

_numbers = count(1)


def load_library(binary: bytes) -> ctypes.CDLL:
    """Return a shared library, which is mapped from a copy that no other process can change.

    If it were mapped from a file of the cache, a process that truncates the file would kill this
    one (SIGBUS).

    Raises:
        HidetError: it cannot be loaded.
        OSError: there are no resources for the copy.
    """
    libc: Any = ctypes.CDLL(None)
    descriptor = libc.memfd_create(b"hidet", _CLOSE_ON_EXEC)
    # Some systems forbid executable memory files (sysctl vm.memfd_noexec).
    with open(descriptor, "wb") if descriptor >= 0 else tempfile.TemporaryFile() as file:
        file.write(binary)
        file.flush()
        # dlopen returns a loaded library if it has the same name, or the same inode, which stays in
        # use while it is mapped. Descriptors are reused, so each path is spelled in its own way,
        # with "/" and "/." as the digits of a number.
        digits = f"{next(_numbers):b}".replace("0", "/").replace("1", "/.")
        try:
            return ctypes.CDLL(f"/proc/self/fd{digits}/{file.fileno()}")
        except OSError as error:
            raise HidetError(f"cannot load the kernels: {error}") from error


class _Memory(ctypes.Structure):
    """Memory that a kernel may access, as hidet_cpu_thread.h reads it."""

    _fields_ = (("start", ctypes.c_uint64), ("bytes", ctypes.c_ulonglong))


_accessible: ContextVar[ctypes.Array[_Memory]] = ContextVar("hidet.accessible")


@contextmanager
def accessible(memory: Iterable[tuple[object, int]]) -> Generator[None]:
    """Declare the memory behind the pointer arguments of strict kernels in a `with` block.

    `memory` has the address and the size in bytes of each argument, and may have other values.
    Accesses through other pointers are not checked.
    """
    known = [_Memory(start, size) for start, size in memory if size and isinstance(start, int)]
    token = _accessible.set((_Memory * len(known))(*known))
    try:
        yield
    finally:
        _accessible.reset(token)


class Library:
    """A shared library; it is unloaded when this object dies, so its kernels keep a reference.

    In a forked child process, the forking thread runs kernels on one core: its OpenMP workers do
    not exist there, and it would wait for them. New threads of the child get new workers.

    `native` also resolves the functions of OpenMP.

    Raises:
        HidetError: it cannot be loaded.
    """

    def __init__(self, binary: bytes) -> None:
        self.native = load_library(binary)
        unload = weakref.finalize(self, dlclose, self.native._handle)
        unload.atexit = False  # threads may still be at work in it
        FORK_HANDLERS.add(self)

    def after_fork(self) -> None:
        """Run on one core, without OpenMP workers."""
        self.native.omp_set_num_threads(1)


Extents: TypeAlias = tuple[int, ...]
"""The extents of a grid or a block along x, y and z."""

_FAULTS: dict[int, type[HidetError]] = {13: IndexOutOfRangeError, 14: DivisionByZeroError}
"""Errors about the arguments of a program, by the status of a launch (hidet_cpu_thread.h, Error).
The message has two lines: what is wrong, and where."""


class CpuKernel:
    """A kernel compiled by g++, in which the extents of blocks and clusters are constants.

    `symbol` is its name in the library, `shared_bytes` the dynamic shared memory of a block. The
    seed of strict launches is the option `strict_seed`, read at every launch.
    """

    def __init__(self, library: Library, symbol: str, shared_bytes: int) -> None:
        self._symbol = symbol
        self._shared_bytes = shared_bytes
        self._library = library
        native = library.native
        # int <symbol>_launch(void** arguments, grid x, y, z, shared bytes) returns 0 on success.
        self._launch: Callable[..., int] = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 4
        )((f"{symbol}_launch", native))
        # void hidet_set_strict(seed, memory, count), of strict libraries, is for the next launch of
        # the thread.
        make = ctypes.CFUNCTYPE(None, ctypes.c_ulonglong, ctypes.c_void_p, ctypes.c_uint)
        is_strict = hasattr(native, "hidet_set_strict")
        self._set_strict = make(("hidet_set_strict", native)) if is_strict else None
        self._last_error: Callable[[], bytes] = ctypes.CFUNCTYPE(ctypes.c_char_p)(
            ("hidet_last_error", native)
        )
        # Kernels print to C's stdout, which is buffered.
        self._flush: Callable[[object], int] = ctypes.CDLL(None).fflush

    def launch(self, arguments: int, grid: Extents, block: Extents) -> None:
        """Run the kernel over a grid; `arguments` is the address of a `void**`.

        Raises:
            HidetError: it failed.
        """
        if self._set_strict is not None:
            memory = _accessible.get(None)
            known = (None, 0) if memory is None else (ctypes.addressof(memory), len(memory))
            self._set_strict(option.get_option("strict_seed"), *known)
        status = self._launch(arguments, *grid, self._shared_bytes)
        self._flush(None)
        if status != 0:
            reason = self._last_error().decode(errors="replace")
            if status in _FAULTS:
                what, _, where = reason.partition("\n")
                raise _FAULTS[status](what, where=where)
            raise HidetError(f"kernel '{self._symbol}' failed on the CPU: {reason}")


class CudaKernel:
    """A kernel compiled by nvcc, in the context of a GPU, which the caller is attached to.

    `symbol` is its name in the module, `shared_bytes` the dynamic shared memory of a block;
    the extents of a cluster are constants of the kernel. `function` is the driver's handle.

    Raises:
        CudaError: it is not in the module.
        HidetError: it needs more shared memory than the GPU has.
    """

    def __init__(
        self,
        services: CudaServices,
        module: Any,
        symbol: str,
        shared_bytes: int,
        cluster: Extents,
    ) -> None:
        self._services = services
        self._symbol = symbol
        self._shared_bytes = shared_bytes
        self.function: Any = services.call("cuModuleGetFunction", module, symbol.encode())
        if shared_bytes > STATIC_SHARED_BYTES:
            self._check_shared_memory()
            self._allow("MAX_DYNAMIC_SHARED_SIZE_BYTES", shared_bytes)
        if prod(cluster) > PORTABLE_CLUSTER:
            self._allow("NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)

    def _allow(self, what: str, value: int) -> None:
        """Raise a limit of launches above its default."""
        kinds = self._services.driver.CUfunction_attribute
        attribute = getattr(kinds, f"CU_FUNC_ATTRIBUTE_{what}")
        self._services.call("cuFuncSetAttribute", self.function, attribute, value)

    def _check_shared_memory(self) -> None:
        """Check that the GPU has enough shared memory for a block."""
        services, kinds = self._services, self._services.driver.CUdevice_attribute
        most = services.call(
            "cuDeviceGetAttribute",
            kinds.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            services.call("cuCtxGetDevice"),
        )
        if self._shared_bytes > most:
            raise HidetError(
                f"kernel '{self._symbol}' takes {self._shared_bytes} bytes of shared memory; a "
                f"block on {services.device} has {most}",
                hint="use smaller tiles",
            )

    def launch(self, arguments: int, grid: Extents, block: Extents) -> None:
        """Launch the kernel on torch's current stream; `arguments` is the address of a `void**`.

        Raises:
            CudaError: the launch failed.
        """
        services = self._services
        stream = services.driver.CUstream(services.current_stream())
        if services.is_attached():
            self.launch_on(stream, arguments, grid, block)
        else:
            with services.attach():
                self.launch_on(stream, arguments, grid, block)

    def launch_on(self, stream: Any, arguments: int, grid: Extents, block: Extents) -> None:
        """Launch the kernel on a stream, in an attached thread; see `launch`."""
        shared = self._shared_bytes
        call = self._services.call
        call("cuLaunchKernel", self.function, *grid, *block, shared, stream, arguments, 0)
