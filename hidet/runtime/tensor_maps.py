"""Encoding of tensor maps for GPUs and for the CPU."""

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from hidet.runtime.cuda_services import CudaServices
from hidet.runtime.specs import ITEM_SIZES, DtypeName, TensorMapSpec

MAP_BYTES = 128
"""The size of a tensor map (CUDA driver API, CUtensorMap)."""

MAX_RANK = 5
"""The maximal rank of a tensor (CUDA driver API, cuTensorMapEncodeTiled)."""

MAX_SPATIAL = 3
"""The maximal number of spatial dimensions (CUDA driver API, cuTensorMapEncodeIm2col)."""

Move: TypeAlias = Callable[[int], object]
"""Sets the address of the tensor of a map that has been written."""

WriteMap: TypeAlias = Callable[[TensorMapSpec, int, int], Move]
"""Writes the map, of `MAP_BYTES`, of a tensor at an address to a place in memory of the host."""

_DRIVER_TYPES: dict[DtypeName, str] = {
    "i1": "UINT8",
    "i8": "UINT8",
    "i16": "UINT16",
    "i32": "INT32",
    "i64": "INT64",
    "f16": "FLOAT16",
    "bf16": "BFLOAT16",
    "f32": "FLOAT32",
    "f64": "FLOAT64",
}
"""The name of each element type in CUtensorMapDataType; signedness does not matter for copies."""


class CpuTensorMap(ctypes.Structure):
    """The tensor map of the CPU's device header (hidet_cpu_tensor_copy.h)."""

    _fields_ = (
        ("base", ctypes.c_void_p),
        ("strides", ctypes.c_longlong * (MAX_RANK - 1)),
        ("rank", ctypes.c_int),
        ("element_bytes", ctypes.c_short),
        ("tf32", ctypes.c_short),
        ("swizzle", ctypes.c_int),
        ("extents", ctypes.c_int * MAX_RANK),
        ("box", ctypes.c_int * MAX_RANK),
        ("first", ctypes.c_int * MAX_SPATIAL),
        ("last", ctypes.c_int * MAX_SPATIAL),
        ("step", ctypes.c_int * MAX_SPATIAL),
    )


def encode_for_cpu(spec: TensorMapSpec, address: int) -> bytes:
    """Return the map of a tensor in memory of the CPU."""
    rank = len(spec.shape)
    rest = MAX_RANK - rank
    pixels = spec.pixels or ((),) * 3
    return bytes(
        CpuTensorMap(
            address,
            (*spec.strides[::-1], *[0] * rest),
            rank,
            ITEM_SIZES[spec.dtype],
            spec.tf32,
            spec.swizzle,
            (*spec.shape[::-1], *[1] * rest),
            (*spec.box[::-1], *[1] * (MAX_RANK - len(spec.box))),
            *((*each[::-1], *[0] * (MAX_SPATIAL - len(each))) for each in pixels),
        )
    )


def write_for_cpu(spec: TensorMapSpec, address: int, place: int) -> Move:
    """Write the map of a tensor in memory of the CPU; see `WriteMap`."""

    def move(address: int) -> None:
        ctypes.memmove(place, encode_for_cpu(spec, address), MAP_BYTES)

    move(address)
    return move


def write_for_gpu(services: CudaServices, spec: TensorMapSpec, address: int, place: int) -> Move:
    """Write the map of a tensor in memory of a GPU; see `WriteMap`.

    Raises:
        CudaError: the driver rejects it; also from the function that moves it.
    """
    ctypes.memmove(place, encode_for_gpu(services, spec, address), MAP_BYTES)
    # To encode it again would take 16 us.
    known = services.driver.CUtensorMap(_ptr=place)
    return partial(services.call, "cuTensorMapReplaceAddress", known)


def encode_for_gpu(services: CudaServices, spec: TensorMapSpec, address: int) -> bytes:
    """Return the driver's map of a tensor in memory of a GPU.

    Raises:
        CudaError: the driver rejects it.
    """
    driver: Any = services.driver
    rank, swizzle = len(spec.shape), f"{spec.swizzle}B" if spec.swizzle else "NONE"
    element = "TFLOAT32" if spec.tf32 else _DRIVER_TYPES[spec.dtype]
    if spec.pixels:
        first, last, step = (each[::-1] for each in spec.pixels)
        ends = [place + 1 - extent for place, extent in zip(last, spec.shape[-2:0:-1], strict=True)]
        pixels, channels = spec.box
        box = (list(first), ends, channels, pixels)
    else:
        step = (1,) * (rank - 2)
        box = ([driver.cuuint32_t(extent) for extent in spec.box[::-1]],)
    encoded = services.call(
        "cuTensorMapEncodeIm2col" if spec.pixels else "cuTensorMapEncodeTiled",
        getattr(driver.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{element}"),
        rank,
        address,
        [driver.cuuint64_t(extent) for extent in spec.shape[::-1]],
        [driver.cuuint64_t(stride) for stride in spec.strides[::-1]],
        *box,
        [driver.cuuint32_t(each) for each in (1, *step, 1)[:rank]],
        driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        getattr(driver.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{swizzle}"),
        driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    return ctypes.string_at(encoded.getPtr(), MAP_BYTES)
