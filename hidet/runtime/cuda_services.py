"""The interface of executors to the CUDA driver and to torch on one GPU."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import torch

from hidet.errors import CudaError
from hidet.forks import FORK_HANDLERS

CUDA_VERSION = 12000
"""The version of the driver's functions that are called by address."""


class CudaServices:
    """The CUDA driver and torch's streams and memory, for one GPU; tests use a fake one."""

    def __init__(self, device: torch.device) -> None:
        self.driver: Any = import_module("cuda.bindings.driver")
        self.device = device
        self._index = device.index
        self._thread = _Thread()
        FORK_HANDLERS.add(self)
        with torch.cuda.device(device):
            torch.empty(1, device=device)  # creates the primary context
            self._context = self.context()
        # The handle of the caller's current stream, and the current GPU. inductor's generated code
        # calls these; the public functions take 2 us longer per call.
        torch_bindings: Any = import_module("torch._C")
        self.current_stream: Callable[[], int] = partial(
            torch_bindings._cuda_getCurrentRawStream, device.index
        )
        self._current_index: Callable[[], int] = torch_bindings._cuda_getDevice

    def call(self, name: str, *arguments: object) -> Any:
        """Call a driver function; return its results without the status.

        Raises:
            CudaError: the status is an error.
        """
        values = self.check(name, getattr(self.driver, name)(*arguments))
        return values[0] if len(values) == 1 else values

    def check(self, name: str, result: tuple[Any, ...]) -> tuple[Any, ...]:
        """Raise `CudaError` unless the status is success; return the other results."""
        status = result[0]
        if status != self.driver.CUresult.CUDA_SUCCESS:
            _, description = self.driver.cuGetErrorString(status)
            text = f"{status.name}: {description.decode()}" if description else status.name
            raise CudaError(name, int(status), text, where=str(self.device))
        return result[1:]

    def context(self) -> Any:
        """Return the GPU's primary context, which exists.

        It is that of this thread, unless the thread has none: memory from torch's cache is no call
        that makes one current.
        """
        current = self.call("cuCtxGetCurrent")
        if int(current):
            return current
        return self.call("cuDevicePrimaryCtxRetain", self.call("cuDeviceGet", self.device.index))

    def function(self, name: str) -> int:
        """Return the address of a driver function, whose stream 0 is the legacy default stream."""
        legacy = self.driver.CUdriverProcAddress_flags.CU_GET_PROC_ADDRESS_LEGACY_STREAM
        address, _ = self.call("cuGetProcAddress", name.encode(), CUDA_VERSION, legacy)
        return int(address)

    def is_attached(self) -> bool:
        """Return whether the GPU's context is current in this thread."""
        return self._thread.attached and self._current_index() == self._index

    @contextmanager
    def attach(self) -> Generator[None]:
        """Make the GPU's context current in this thread inside a `with` block.

        torch does so lazily, so a new thread may have no current context.
        """
        torch.cuda.init()  # raises torch's own error in a forked child process
        with torch.cuda.device(self.device):
            if not self._thread.attached:
                self.call("cuCtxSetCurrent", self._context)
                self._thread.attached = True
            yield

    def after_fork(self) -> None:
        """Forget that this thread was attached: a forked child process has no context."""
        self._thread.attached = False

    def allocate(self, size: int) -> torch.Tensor:
        """Allocate bytes from torch's allocator, which aligns to 512 bytes."""
        return torch.empty(size, dtype=torch.uint8, device=self.device)

    def keep_until_done(self, memory: torch.Tensor) -> None:
        """Record a use of `memory` on the current stream, so that the allocator does not reuse it.

        This does nothing if `memory` was allocated on that stream.
        """
        memory.record_stream(torch.cuda.current_stream(self.device))


class _Thread(threading.local):
    """Whether this thread has attached to the GPU before."""

    attached = False
