"""Loads and launches single kernels, those of scripts; locates errors about their sources."""

import ctypes
import re
import struct
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import torch
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from hidet.arch.limits import MAX_THREADS_PER_BLOCK
from hidet.backend.printer.kernel import origins_of
from hidet.dialects.cuda import DYNAMIC, KernelOp, TensorMapType
from hidet.dialects.cuda.names import symbol_of
from hidet.dialects.locations import lines_of
from hidet.driver.plan_types import packer_of
from hidet.errors import CompilationError, HidetError
from hidet.runtime.cuda_services import CudaServices
from hidet.runtime.kernels import CpuKernel, CudaKernel, Extents, Library
from hidet.runtime.specs import WORD
from hidet.runtime.tensor_maps import MAP_BYTES
from hidet.runtime.tensors import POINTER_ALIGNMENT


def name_line(error: CompilationError, kernels: Sequence[KernelOp]) -> None:
    """Add the user's line to the error of a compiler, if it names a line of the source.

    Each kernel is in its own file.
    """
    path = error.source_path
    number = re.search(rf"{re.escape(path)}[:(](\d+)", error.log) if path else None
    for kernel in kernels:
        if number is None or not error.what.startswith(f"kernel '{kernel.sym_name.data}'"):
            continue
        line = int(number[1])
        origins = origins_of(kernel)[:line]
        known = [*lines_of(kernel.location)[:1], *filter(None, origins)]
        if known:
            error.where = f"{known[-1]}, which became {path}:{line}"


def in_script(message: str, kernel: KernelOp) -> str:
    """Return a message of a kernel with "line 8" of its source replaced by a script's line."""
    if "the assertion does not hold" in message:  # followed by the script author's own text
        return message
    origins = origins_of(kernel)

    def line_of(found: re.Match[str]) -> str:
        known = [*filter(None, origins[: int(found[1])])]
        return f" in {known[-1]}" if known else found[0]

    return re.sub(r" in line (\d+)\b", line_of, message)


def load_kernel(binary: bytes, op: KernelOp, device: torch.device) -> CpuKernel | CudaKernel:
    """Load a kernel from its binary.

    Raises:
        HidetError: it cannot be loaded, or needs more shared memory than the GPU has.
    """
    symbol = symbol_of(op.sym_name.data)
    if device.type == "cpu":
        return CpuKernel(Library(binary), symbol, op.shared_bytes)
    services = CudaServices(device)
    with services.attach():
        module = services.call("cuModuleLoadData", binary)
        return CudaKernel(services, module, symbol, op.shared_bytes, op.cluster)


class Launcher:
    """Launches a kernel: checks the launch configuration, and packs the arguments."""

    def __init__(self, op: KernelOp, kernel: CpuKernel | CudaKernel) -> None:
        self._op = op
        self._kernel = kernel
        self._name: str = op.sym_name.data
        self._where = next(iter(lines_of(op.location)), None)
        self._dynamic = op.dynamic_extents
        self._static = op.launch_shape() if not self._dynamic else None
        self._extents = (*op.grid_dims, *op.block_dims)
        self._largest = sum(op.max_shape, ())
        self._open = [n for n, extent in enumerate(self._extents) if extent == DYNAMIC]
        types = [argument.type for argument in op.arguments]
        self._packers = [
            _packer(kind, f"argument {number} of kernel '{self._name}'")
            for number, kind in enumerate(types)
        ]
        # The arguments, then the extents of the block.
        sizes = [MAP_BYTES if isinstance(kind, TensorMapType) else WORD for kind in types]
        self._offsets = list(accumulate(sizes, initial=0))

    def __call__(self, *values: Any) -> None:
        """Launch the kernel with its dynamic extents, followed by the arguments.

        Raises:
            HidetError: an extent or an address is invalid, or the launch failed.
        """
        extents, arguments = values[: self._dynamic], values[self._dynamic :]
        grid, block = self._static or self._shape(extents)
        if 0 in grid:
            return
        try:
            packed = [pack(v) for pack, v in zip(self._packers, arguments, strict=True)]
            packed.append(struct.pack("@3I", *block))
            buffer = ctypes.create_string_buffer(b"".join(packed))
            start = ctypes.addressof(buffer)
            places = (ctypes.c_uint64 * len(self._offsets))(*(start + n for n in self._offsets))
            self._kernel.launch(ctypes.addressof(places), grid, block)
        except HidetError as error:
            error.what = in_script(error.what, self._op)
            error.where = error.where or self._where
            raise

    def _shape(self, extents: tuple[int | float, ...]) -> tuple[Extents, Extents]:
        """Return grid and block, checked."""
        shape = list(self._extents)
        for position, extent in zip(self._open, extents, strict=True):
            shape[position] = int(extent)
            if not 0 <= shape[position] <= self._largest[position]:
                what, part = ("grid", slice(3)) if position < 3 else ("block", slice(3, 6))
                raise HidetError(
                    f"the {what} of kernel '{self._name}' would be {tuple(shape[part])}",
                    where=self._where,
                    hint=f"its extents are 0 to {', '.join(map(str, self._largest[part]))}",
                )
        x, y, z, block_x, block_y, block_z = shape
        threads = block_x * block_y * block_z
        if not 1 <= threads <= MAX_THREADS_PER_BLOCK:
            raise HidetError(
                f"a block of kernel '{self._name}' would have {threads} threads",
                where=self._where,
                hint=f"a block has 1 to {MAX_THREADS_PER_BLOCK}",
            )
        return (x, y, z), (block_x, block_y, block_z)


def _packer(kind: Attribute, what: str) -> Callable[[Any], bytes]:
    """Return a function that packs an argument, which errors name so."""
    if isinstance(kind, TensorMapType):
        return bytes
    return partial(_address, what) if isinstance(kind, MemRefType) else packer_of(kind)


def _address(what: str, value: int | float) -> bytes:
    """Pack an address, which kernels assume to be aligned."""
    address = int(value)
    if address % POINTER_ALIGNMENT:
        raise HidetError(
            f"{what} is the address {address:#x}",
            hint=f"addresses of tensors, and of their parts, are multiples of {POINTER_ALIGNMENT}",
        )
    return struct.pack("@Q", address)
