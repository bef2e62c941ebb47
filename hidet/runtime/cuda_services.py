"""What an executor needs of the CUDA driver and of torch on one GPU."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import torch

from hidet.errors import CudaError
from hidet.forks import FAMILY


class CudaServices:
    """The CUDA driver and torch's streams and memory, for one GPU.

    An executor gets everything of CUDA through this class, so a test can put another one in.

    Attributes:
        driver: the module `cuda.bindings.driver`; its functions return a tuple with a status first.
    """

    def __init__(self, device: torch.device) -> None:
        self.driver: Any = import_module("cuda.bindings.driver")
        self.device = device
        self._index = device.index
        self._thread = _Thread()
        FAMILY.add(self)
        with torch.cuda.device(device):
            torch.empty(1, device=device)  # makes the primary context, and makes it current
            self._context = self.call("cuCtxGetCurrent")
        # Torch's own generated code calls these; the public ways cost 2 us more in every call.
        torch_bindings: Any = import_module("torch._C")
        self._stream_of: Callable[[int], int] = torch_bindings._cuda_getCurrentRawStream
        self._current_index: Callable[[], int] = torch_bindings._cuda_getDevice

    def call(self, name: str, *arguments: object) -> Any:
        """Call a function of the driver; give what it returns beside the status.

        Raises:
            CudaError: the status is an error.
        """
        values = self.check(name, getattr(self.driver, name)(*arguments))
        return values[0] if len(values) == 1 else values

    def check(self, name: str, result: tuple[Any, ...]) -> tuple[Any, ...]:
        """Raise `CudaError` unless a function of the driver succeeded; give its other results."""
        status = result[0]
        if status != self.driver.CUresult.CUDA_SUCCESS:
            _, description = self.driver.cuGetErrorString(status)
            text = f"{status.name}: {description.decode()}" if description else status.name
            raise CudaError(name, int(status), text, where=str(self.device))
        return result[1:]

    def current_stream(self) -> int:
        """Give the handle of the caller's current stream on the GPU."""
        return self._stream_of(self._index)

    def is_attached(self) -> bool:
        """Tell whether driver calls of this thread go to the GPU."""
        return self._thread.attached and self._current_index() == self._index

    @contextmanager
    def attach(self) -> Generator[None]:
        """Make driver calls of this thread go to the GPU inside a `with` block.

        torch makes a thread's context current at some calls of its own only, so a new thread may
        have none yet.
        """
        torch.cuda.init()  # in the child of a fork, torch's own error says why this cannot work
        with torch.cuda.device(self.device):
            if not self._thread.attached:
                self.call("cuCtxSetCurrent", self._context)
                self._thread.attached = True
            yield

    def after_fork(self) -> None:
        """Forget that this thread was attached: the child of a fork has no context."""
        self._thread.attached = False

    def allocate(self, size: int) -> torch.Tensor:
        """Give a tensor of bytes out of torch's allocator, which aligns to 512 bytes."""
        return torch.empty(size, dtype=torch.uint8, device=self.device)

    def keep_until_done(self, memory: torch.Tensor) -> None:
        """Let the allocator reuse `memory` only after the work now on the current stream.

        This is needed where that stream is not the one that `memory` was allocated on, and does
        nothing otherwise.
        """
        memory.record_stream(torch.cuda.current_stream(self.device))


class _Thread(threading.local):
    """Whether the GPU's context has been made current in this thread once."""

    attached = False
