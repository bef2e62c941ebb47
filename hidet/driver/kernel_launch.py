"""One compiled kernel, loaded on a device and ready to be launched."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import torch
from xdsl.dialects.builtin import IntegerType, MemRefType
from xdsl.ir import Attribute

from hidet.arch.limits import MAX_THREADS_PER_BLOCK, STATIC_SHARED_BYTES
from hidet.dialects.cuda.kernel import DYNAMIC, PORTABLE_CLUSTER, KernelOp
from hidet.dialects.cuda.names import symbol_of
from hidet.dialects.cuda.tensor_copy import TensorMapType
from hidet.dialects.locations import lines_of
from hidet.driver.tensor_maps import MAP_BYTES
from hidet.errors import HidetError
from hidet.runtime.cuda_services import CudaServices
from hidet.runtime.library import Library
from hidet.runtime.strict import StrictLaunches
from hidet.runtime.tensors import POINTER_ALIGNMENT

Extents: TypeAlias = tuple[int, int, int]
"""How many blocks, or threads of a block, along x, y and z."""


class CpuKernel:
    """A kernel that g++ has compiled.

    Args:
        path: the shared library.
        symbol: the name of the kernel.
        device: the CPU.
        shared_bytes: the shared memory that each launch states.
        cluster: how many blocks are a cluster; the kernel knows it itself.

    Raises:
        HidetError: the library cannot be loaded.
    """

    def __init__(
        self,
        path: Path,
        symbol: str,
        device: torch.device,
        shared_bytes: int = 0,
        cluster: int = 1,
    ) -> None:
        self._symbol = symbol
        self._shared_bytes = shared_bytes
        self._library = Library(path)
        library = self._library.native
        # int <symbol>_launch(void** arguments, grid x, y, z, shared bytes); 0 where all went well.
        self._launch: Callable[..., int] = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 4
        )((f"{symbol_of(symbol)}_launch", library))
        self._strict = StrictLaunches(library)
        self._last_error: Callable[[], bytes] = ctypes.CFUNCTYPE(ctypes.c_char_p)(
            ("hidet_last_error", library)
        )
        # What a kernel prints waits in the buffer of C's standard output.
        self._flush: Callable[[object], int] = ctypes.CDLL(None).fflush

    def launch(self, arguments: int, grid: Extents, block: Extents) -> None:
        """Run the kernel over a grid; `arguments` is the address of a `void**`.

        Raises:
            HidetError: it failed.
        """
        self._strict.prepare()
        status = self._launch(arguments, *grid, self._shared_bytes)
        self._flush(None)
        if status != 0:
            reason = self._last_error().decode(errors="replace")
            raise HidetError(f"kernel '{self._symbol}' failed on the CPU: {reason}")


class CudaKernel:
    """A kernel that nvcc has compiled, in the context of a GPU.

    Args:
        path: the compiled code.
        symbol: the name of the kernel.
        device: the GPU, with its index.
        shared_bytes: the shared memory that each launch states.
        cluster: how many blocks are a cluster.

    Raises:
        CudaError: it cannot be loaded.
        HidetError: it wants more shared memory than there is.
    """

    def __init__(
        self,
        path: Path,
        symbol: str,
        device: torch.device,
        shared_bytes: int = 0,
        cluster: int = 1,
    ) -> None:
        self._symbol = symbol
        self._shared_bytes = shared_bytes
        self._services = CudaServices(device)
        with self._services.attach():
            self._module = self._services.call("cuModuleLoadData", path.read_bytes())
            self._function = self._services.call(
                "cuModuleGetFunction", self._module, symbol_of(symbol).encode()
            )
            if shared_bytes > STATIC_SHARED_BYTES:
                self._allow_shared_memory()
            if cluster > PORTABLE_CLUSTER:
                self._allow_large_clusters()

    def _allow_large_clusters(self) -> None:
        """Let clusters have more blocks than every GPU can have them; a launch fails on others."""
        kinds = self._services.driver.CUfunction_attribute
        attribute = kinds.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        self._services.call("cuFuncSetAttribute", self._function, attribute, 1)

    def _allow_shared_memory(self) -> None:
        """Let blocks have more shared memory than they have without asking.

        Raises:
            HidetError: the GPU has less.
        """
        services, driver = self._services, self._services.driver
        most = services.call(
            "cuDeviceGetAttribute",
            driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            services.call("cuCtxGetDevice"),
        )
        if self._shared_bytes > most:
            raise HidetError(
                f"kernel '{self._symbol}' takes {self._shared_bytes} bytes of shared memory; a "
                f"block on {services.device} has {most}",
                hint="use smaller tiles",
            )
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        services.call("cuFuncSetAttribute", self._function, attribute, self._shared_bytes)

    def launch(self, arguments: int, grid: Extents, block: Extents) -> None:
        """Put the kernel on torch's current stream; `arguments` is the address of a `void**`.

        Raises:
            CudaError: the launch failed.
        """
        if self._services.is_attached():
            self._launch(arguments, grid, block)
        else:
            with self._services.attach():
                self._launch(arguments, grid, block)

    def _launch(self, arguments: int, grid: Extents, block: Extents) -> None:
        services, shared = self._services, self._shared_bytes
        stream = services.driver.CUstream(services.current_stream())
        services.call("cuLaunchKernel", self._function, *grid, *block, shared, stream, arguments, 0)


class Launcher:
    """Launches a kernel with addresses and numbers: checks the extents, lays out the arguments.

    Args:
        op: the kernel, lowered.
        kernel: the same, loaded.
    """

    def __init__(self, op: KernelOp, kernel: CpuKernel | CudaKernel) -> None:
        self._op = op
        self._kernel = kernel
        self._name: str = op.sym_name.data
        self._where = next(iter(lines_of(op.location)), None)
        self._dynamic = op.dynamic_extents
        self._static = op.launch_shape() if not self._dynamic else None
        self._extents = (*op.grid_dims, *op.block_dims)
        self._largest = (*op.max_grid, *op.max_block)
        self._places = [n for n, extent in enumerate(self._extents) if extent == DYNAMIC]
        types = [argument.type for argument in op.arguments]
        self._convert = [_converter(kind) for kind in types]
        # Values in the order of the parameters, each at a multiple of its size, then the block.
        letters = [_letter(kind) for kind in types]
        self._offsets = [
            struct.calcsize(f"@{''.join(letters[:n])}0{letter.removeprefix('0')[0]}")
            for n, letter in enumerate(letters)
        ]
        self._layout = struct.Struct(f"@{''.join(letters)}")
        self._block_at = (self._layout.size + 3) // 4 * 4
        self._table_at = (self._block_at + 12 + 7) // 8 * 8
        self._table = struct.Struct(f"@{len(types) + 1}Q")

    def __call__(self, *values: Any) -> None:
        """Launch the kernel: the extents that it leaves open, then the arguments.

        Raises:
            HidetError: an extent or an address is not possible, or the launch failed.
        """
        extents, arguments = values[: self._dynamic], values[self._dynamic :]
        grid, block = self._static or self._shape(extents)
        if 0 in grid:
            return
        buffer = ctypes.create_string_buffer(self._table_at + self._table.size)
        start = ctypes.addressof(buffer)
        packed = [convert(v) for convert, v in zip(self._convert, arguments, strict=True)]
        self._layout.pack_into(buffer, 0, *packed)
        struct.pack_into("@3I", buffer, self._block_at, *block)
        addresses = [start + offset for offset in (*self._offsets, self._block_at)]
        self._table.pack_into(buffer, self._table_at, *addresses)
        try:
            self._kernel.launch(start + self._table_at, grid, block)
        except HidetError as error:
            error.where = error.where or self._where
            raise

    def _shape(self, extents: tuple[int | float, ...]) -> tuple[Extents, Extents]:
        """Return grid and block; what is not possible is refused."""
        shape = list(self._extents)
        for place, extent in zip(self._places, extents, strict=True):
            shape[place] = number = int(extent)
            if not 0 <= number <= self._largest[place]:
                raise self._refusal(extents)
        x, y, z, block_x, block_y, block_z = shape
        threads = block_x * block_y * block_z
        if not 1 <= threads <= MAX_THREADS_PER_BLOCK:
            raise HidetError(
                f"a block of kernel '{self._name}' would have {threads} threads",
                where=self._where,
                hint=f"a block has 1 to {MAX_THREADS_PER_BLOCK}",
            )
        return (x, y, z), (block_x, block_y, block_z)

    def _refusal(self, extents: tuple[int | float, ...]) -> HidetError:
        """Return the error about extents of which one is not possible."""
        grid, block = self._op.launch_shape([int(extent) for extent in extents])
        of_block = all(0 <= one <= most for one, most in zip(grid, self._op.max_grid, strict=True))
        what, shape, largest = ("grid", grid, self._op.max_grid)
        if of_block:
            what, shape, largest = ("block", block, self._op.max_block)
        return HidetError(
            f"the {what} of kernel '{self._name}' would be {shape}",
            where=self._where,
            hint=f"its extents are 0 to {', '.join(map(str, largest))}",
        )


# Arguments as `struct` takes them.

_LETTERS = {"i1": "?", "i8": "B", "i16": "H", "i32": "I", "i64": "Q"} | {
    "f16": "H",
    "bf16": "H",
    "f32": "f",
    "f64": "d",
}


_MAP = f"0Q{MAP_BYTES}s"  # at a multiple of 8 bytes


def _letter(kind: Attribute) -> str:
    """Return the letter of `struct` for the type of a parameter."""
    if isinstance(kind, TensorMapType):
        return _MAP
    return "Q" if isinstance(kind, MemRefType) else _LETTERS[str(kind)]


def _converter(kind: Attribute) -> Callable[[Any], Any]:
    """Return what makes a value what `struct` takes: integers and short floats by their bits."""
    if isinstance(kind, TensorMapType):
        return bytes
    if isinstance(kind, MemRefType):
        return _address
    if isinstance(kind, IntegerType):
        mask = (1 << kind.bitwidth) - 1
        return lambda value: int(value) & mask
    return {"f16": _float16_bits, "bf16": _bfloat16_bits, "f32": _float32}.get(str(kind), float)


def _address(value: int | float) -> int:
    """Return an address, of which kernels take for granted that vectors may begin there."""
    address = int(value)
    if address % POINTER_ALIGNMENT:
        raise HidetError(
            f"a kernel is passed the address {address:#x}",
            hint=f"addresses of tensors, and of their parts, are multiples of {POINTER_ALIGNMENT}",
        )
    return address


def _float32(value: int | float) -> float:
    """Round to float32; what is too large becomes infinite."""
    return ctypes.c_float(value).value


def _bfloat16_bits(value: int | float) -> int:
    return _bits_of(value, torch.bfloat16)


def _float16_bits(value: int | float) -> int:
    return _bits_of(value, torch.float16)


def _bits_of(value: int | float, kind: torch.dtype) -> int:
    return int(torch.tensor(value, dtype=kind).view(torch.int16)) & 0xFFFF
