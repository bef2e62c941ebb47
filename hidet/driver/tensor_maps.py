"""Tensor maps: what a launch passes for a tensor that TMA moves boxes of."""

from __future__ import annotations

import ctypes
from importlib import import_module
from typing import Any

import torch

from hidet.errors import CudaError, HidetError
from hidet.frontends.script.tensor_maps import MAX_RANK, TensorMapType

MAP_BYTES = 128
"""The size of a tensor map (CUDA driver API, CUtensorMap)."""

MAX_KEPT = 64
"""So many maps of a parameter are kept; a program rarely has more tensors for it."""

ALIGNMENT = 16
"""What an address and the strides of a tensor are multiples of, in bytes (CUDA driver API,
cuTensorMapEncodeTiled)."""

_DRIVER_TYPES = {
    "bool": "UINT8",
    "i8": "UINT8",
    "u8": "UINT8",
    "i16": "UINT16",
    "u16": "UINT16",
    "i32": "INT32",
    "u32": "UINT32",
    "i64": "INT64",
    "u64": "UINT64",
    "f16": "FLOAT16",
    "bf16": "BFLOAT16",
    "f32": "FLOAT32",
    "f64": "FLOAT64",
}
"""For each element type its name in CUtensorMapDataType; copies do not look at signs."""


class CpuTensorMap(ctypes.Structure):
    """A tensor map as the device header of the CPU reads it (hidet_cpu_tensor_copy.h)."""

    _fields_ = (
        ("base", ctypes.c_void_p),
        ("strides", ctypes.c_longlong * 4),
        ("rank", ctypes.c_int),
        ("element_bytes", ctypes.c_int),
        ("swizzle", ctypes.c_int),
        ("extents", ctypes.c_int * 5),
        ("box", ctypes.c_int * 5),
        ("unused", ctypes.c_int * 9),
    )


class TensorMaps:
    """Encodes the tensor maps of one parameter, and keeps them by address and strides.

    Args:
        what: the parameter, for messages.
        kind: its type.
    """

    def __init__(self, what: str, kind: TensorMapType) -> None:
        self._what = what
        self._kind = kind
        self._kept: dict[tuple[object, ...], bytes] = {}

    def check(self, tensor: torch.Tensor) -> None:
        """Check that TMA can read and write a tensor of the right type and shape.

        Raises:
            HidetError: it has no elements, or an address or strides that TMA cannot follow.
        """
        if self._key(tensor) in self._kept:
            return
        if tensor.numel() == 0:
            raise HidetError(f"{self._what} has no elements that could be copied")
        if tensor.data_ptr() % ALIGNMENT:
            raise HidetError(
                f"{self._what} starts at an address that is no multiple of {ALIGNMENT} bytes",
                hint="pass x.clone()",
            )
        for extent, stride in zip(tensor.shape[:-1], tensor.stride()[:-1], strict=True):
            if extent > 1 and (stride * tensor.element_size() % ALIGNMENT or stride == 0):
                raise HidetError(
                    f"{self._what} has strides {tensor.stride()}, but TMA takes "
                    f"multiples of {ALIGNMENT} bytes",
                    hint="pad the rows of the tensor, or load its elements one by one",
                )
        if tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
            raise HidetError(
                f"{self._what} has strides {tensor.stride()}, but the last one must be 1",
                hint="pass x.contiguous()",
            )

    def map_of(self, tensor: torch.Tensor) -> bytes:
        """Return the map of a tensor that has been checked, 128 bytes.

        Raises:
            CudaError: the driver refuses it.
        """
        key = self._key(tensor)
        known = self._kept.get(key)
        if known is None:
            if len(self._kept) == MAX_KEPT:
                del self._kept[next(iter(self._kept))]
            encode = self._for_gpu if tensor.is_cuda else self._for_cpu
            known = self._kept[key] = encode(tensor)
        return known

    @staticmethod
    def _key(tensor: torch.Tensor) -> tuple[object, ...]:
        """Return what the map of a tensor of this type and shape depends on."""
        return tensor.data_ptr(), tensor.stride(), tensor.device

    def _strides(self, tensor: torch.Tensor) -> list[int]:
        """Return the strides in bytes, of the fastest dimension but one first.

        That of a dimension of extent 1 counts for nothing, and becomes one that is allowed.
        """
        size = tensor.element_size()
        pairs = list(zip(tensor.shape, tensor.stride(), strict=True))[-2::-1]
        return [stride * size if extent > 1 else ALIGNMENT for extent, stride in pairs]

    def _for_cpu(self, tensor: torch.Tensor) -> bytes:
        rank = tensor.dim()
        encoded = CpuTensorMap(
            tensor.data_ptr(),
            (*self._strides(tensor), *[0] * (MAX_RANK - rank)),
            rank,
            tensor.element_size(),
            self._kind.swizzle,
            (*tensor.shape[::-1], *[1] * (MAX_RANK - rank)),
            (*self._kind.extents[::-1], *[1] * (MAX_RANK - rank)),
        )
        return bytes(encoded)

    def _for_gpu(self, tensor: torch.Tensor) -> bytes:
        driver: Any = import_module("cuda.bindings.driver")
        kind, rank = self._kind, tensor.dim()
        element = _DRIVER_TYPES[kind.tensor.element.short_name]
        swizzle = f"{kind.swizzle}B" if kind.swizzle else "NONE"
        status, encoded = driver.cuTensorMapEncodeTiled(
            getattr(driver.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{element}"),
            rank,
            tensor.data_ptr(),
            [driver.cuuint64_t(extent) for extent in tensor.shape[::-1]],
            [driver.cuuint64_t(stride) for stride in self._strides(tensor)],
            [driver.cuuint32_t(extent) for extent in kind.extents[::-1]],
            [driver.cuuint32_t(1)] * rank,
            driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            getattr(driver.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{swizzle}"),
            driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
        if status != driver.CUresult.CUDA_SUCCESS:
            raise CudaError(
                "cuTensorMapEncodeTiled", int(status), f"{status.name} for {self._what}"
            )
        return ctypes.string_at(encoded.getPtr(), MAP_BYTES)
