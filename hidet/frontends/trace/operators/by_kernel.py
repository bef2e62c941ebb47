"""Operators of the original Hidet that are named after a kernel.

They are aliases of operators. The kernel is selected as usual, and kernel parameters are ignored.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeAlias

from hidet.frontends.trace.operators import contraction, transform
from hidet.frontends.trace.recording import Ints

Tensor: TypeAlias = Any


def conv1d_gemm(
    data: Tensor, weight: Tensor, stride: Ints, dilation: Ints = 1, groups: int = 1
) -> Tensor:
    """Return the result of `conv1d`."""
    return contraction.conv1d(data, weight, stride, dilation, groups)


def conv2d_gemm(
    data: Tensor, weight: Tensor, stride: Ints, dilations: Ints, groups: int = 1
) -> Tensor:
    """Return the result of `conv2d`."""
    return contraction.conv2d(data, weight, stride, dilations, groups)


def conv2d_gemm_fp16(
    img: Tensor,
    weight: Tensor,
    padding: Ints = 0,
    stride: Ints = (1, 1),
    dilations: Ints = (1, 1),
    groups: int = 1,
    parallel_k_parts: int = 1,
    disable_cp_async: bool = False,
) -> Tensor:
    """Return the result of `conv2d`."""
    return contraction.conv2d(img, weight, stride, dilations, groups, padding)


def conv2d_gemm_fp16_channel_last(
    img: Tensor,
    weight: Tensor,
    padding: Ints,
    stride: Ints,
    dilations: Ints,
    groups: int,
    parallel_k_parts: int = 1,
    disable_cp_async: bool = False,
) -> Tensor:
    """Return the result of `conv2d_channel_last`; a third `padding`, of channels, is ignored."""
    spatial = padding if isinstance(padding, int) else tuple(padding)[:2]
    return contraction.conv2d_channel_last(img, weight, stride, dilations, groups, spatial)


def conv2d_gemm_image_transform(
    x: Tensor, kernel: Ints, stride: Ints, dilations: Ints, groups: int = 1
) -> Tensor:
    """Return the im2col matrix of images for each group of channels, one row per window."""
    columns = transform.im2col(x, kernel, dilations, 0, stride)
    batch, size, windows = columns.shape
    parts = columns.reshape([batch, groups, size // groups, windows])
    rows = transform.permute_dims(parts, [1, 0, 3, 2])
    return rows.reshape([groups, batch * windows, size // groups])


def conv2d_winograd(x: Tensor, w: Tensor) -> Tensor:
    """Return the result of `conv2d`."""
    return contraction.conv2d(x, w)


conv2d_transpose_gemm = contraction.conv2d_transpose
conv3d_gemm = contraction.conv3d


def cuda_batch_matmul(a: Tensor, b: Tensor, mma: str = "mma") -> Tensor:
    """Return the result of `matmul`."""
    return contraction.matmul(a, b)


def matmul_cublas(a: Tensor, b: Tensor, transpose_b: bool = False) -> Tensor:
    """Return the result of `matmul` or `matmul_nt`; cuBLAS is not used."""
    return contraction.matmul_nt(a, b) if transpose_b else contraction.matmul(a, b)


def matmul_x86(a: Tensor, b: Tensor) -> Tensor:
    """Return the result of `matmul`."""
    return contraction.matmul(a, b)


BY_KERNEL: dict[str, Callable[..., Tensor]] = {
    name: value for name, value in vars().items() if isinstance(value, FunctionType)
}
