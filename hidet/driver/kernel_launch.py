"""One compiled kernel, loaded on a device and ready to be launched."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from hidet.errors import HidetError
from hidet.runtime.cuda_services import CudaServices


@dataclass(frozen=True)
class KernelShape:
    """The name of a kernel and the extents of its launches."""

    symbol: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]


class CpuKernel:
    """A kernel that g++ has compiled.

    Args:
        path: the shared library.
        shape: the name and the extents.
        device: the CPU.

    Raises:
        HidetError: the library cannot be loaded.
    """

    def __init__(self, path: Path, shape: KernelShape, device: torch.device) -> None:
        self._shape = shape
        try:
            library = ctypes.CDLL(str(path))
        except OSError as error:
            raise HidetError(f"cannot load the kernel of {path}: {error}") from error
        # int <symbol>_launch(void** arguments, grid x, y, z, shared bytes); 0 where all went well.
        self._launch: Callable[..., int] = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 4
        )((f"{shape.symbol}_launch", library))
        self._last_error: Callable[[], bytes] = ctypes.CFUNCTYPE(ctypes.c_char_p)(
            ("hidet_last_error", library)
        )
        # What a kernel prints waits in the buffer of C's standard output.
        self._flush: Callable[[object], int] = ctypes.CDLL(None).fflush

    def launch(self, arguments: int) -> None:
        """Run the kernel over its grid; `arguments` is the address of a `void**`.

        Raises:
            HidetError: it failed.
        """
        status = self._launch(arguments, *self._shape.grid, 0)
        self._flush(None)
        if status != 0:
            reason = self._last_error().decode(errors="replace")
            raise HidetError(f"kernel '{self._shape.symbol}' failed on the CPU: {reason}")


class CudaKernel:
    """A kernel that nvcc has compiled, in the context of a GPU.

    Args:
        path: the compiled code.
        shape: the name and the extents.
        device: the GPU, with its index.

    Raises:
        CudaError: it cannot be loaded.
    """

    def __init__(self, path: Path, shape: KernelShape, device: torch.device) -> None:
        self._shape = shape
        self._services = CudaServices(device)
        with self._services.attach():
            self._module = self._services.call("cuModuleLoadData", path.read_bytes())
            symbol = shape.symbol.encode()
            self._function = self._services.call("cuModuleGetFunction", self._module, symbol)

    def launch(self, arguments: int) -> None:
        """Put the kernel on torch's current stream; `arguments` is the address of a `void**`.

        Raises:
            CudaError: the launch failed.
        """
        services, shape = self._services, self._shape
        with services.attach():
            stream = services.driver.CUstream(services.current_stream())
            services.call(
                "cuLaunchKernel", self._function, *shape.grid, *shape.block, 0, stream, arguments, 0
            )
