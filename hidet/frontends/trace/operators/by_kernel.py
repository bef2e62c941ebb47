"""Operators of the original Hidet that are named by a kernel.

They give what the operator gives, whose kernel is chosen as ever; what is said about a kernel has
no effect.
"""

from typing import Any, TypeAlias

from hidet.frontends.trace.operators import contraction, transform
from hidet.frontends.trace.operators.contraction import Ints

Tensor: TypeAlias = Any
"""A tensor of hidet."""


def conv1d_gemm(
    data: Tensor, weight: Tensor, stride: Ints, dilation: Ints = 1, groups: int = 1
) -> Tensor:
    """Return what `conv1d` does."""
    return contraction.conv1d(data, weight, stride, dilation, groups)


def conv2d_gemm(
    data: Tensor, weight: Tensor, stride: Ints, dilations: Ints, groups: int = 1
) -> Tensor:
    """Return what `conv2d` does."""
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
    """Return what `conv2d` does."""
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
    """Return what `conv2d_channel_last` does; a third `padding`, of channels, has no effect."""
    sides = padding if isinstance(padding, int) else tuple(padding)[:2]
    return contraction.conv2d_channel_last(img, weight, stride, dilations, groups, sides)


def conv2d_gemm_image_transform(
    x: Tensor, kernel: Ints, stride: Ints, dilations: Ints, groups: int = 1
) -> Tensor:
    """Return the windows of images as rows of a matrix for each group of channels."""
    columns = transform.im2col(x, kernel, dilations, 0, stride)
    batch, size, windows = columns.shape
    parts = columns.reshape([batch, groups, size // groups, windows])
    rows = transform.permute_dims(parts, [1, 0, 3, 2])
    return rows.reshape([groups, batch * windows, size // groups])


def conv2d_winograd(x: Tensor, w: Tensor) -> Tensor:
    """Return what `conv2d` does."""
    return contraction.conv2d(x, w)


def conv2d_transpose_gemm(
    data: Tensor,
    weight: Tensor,
    stride: Ints,
    padding: Ints,
    groups: int = 1,
    output_padding: Ints = 0,
) -> Tensor:
    """Return what `conv2d_transpose` does."""
    return contraction.conv2d_transpose(data, weight, stride, padding, groups, output_padding)


def conv3d_gemm(
    data: Tensor, weight: Tensor, stride: Ints, dilations: Ints, groups: int = 1
) -> Tensor:
    """Return what `conv3d` does."""
    return contraction.conv3d(data, weight, stride, dilations, groups)


def cuda_batch_matmul(a: Tensor, b: Tensor, mma: str = "mma") -> Tensor:
    """Return what `matmul` does."""
    return contraction.matmul(a, b)


def matmul_cublas(a: Tensor, b: Tensor, transpose_b: bool = False) -> Tensor:
    """Return what `matmul` does, or `matmul_nt`; cuBLAS is not used."""
    return contraction.matmul_nt(a, b) if transpose_b else contraction.matmul(a, b)


def matmul_x86(a: Tensor, b: Tensor) -> Tensor:
    """Return what `matmul` does."""
    return contraction.matmul(a, b)


__all__ = [
    "conv1d_gemm",
    "conv2d_gemm",
    "conv2d_gemm_fp16",
    "conv2d_gemm_fp16_channel_last",
    "conv2d_gemm_image_transform",
    "conv2d_transpose_gemm",
    "conv2d_winograd",
    "conv3d_gemm",
    "cuda_batch_matmul",
    "matmul_cublas",
    "matmul_x86",
]
