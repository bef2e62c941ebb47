"""Quantization and dequantization."""

from collections.abc import Sequence

import torch

from hidet.frontends.trace.recording import T, operator
from hidet.frontends.trace.tracing import torch_dtype

Dims = int | tuple[int, ...]
"""One dimension, or several."""


@operator
def symmetric_quantize(w: T, quant_type: str = "int8", dims: Dims = -1) -> Sequence[T]:
    """Return integers q and scales s with w ~ q * s; s is shared along `dims`."""
    integers = torch_dtype(quant_type)
    limit = torch.iinfo(integers).max
    scale = w.abs().amax(dims, keepdim=True) / limit
    quantized = torch.round(w / torch.where(scale == 0, 1.0, scale)).clamp(-limit, limit)
    return [quantized.to(integers), scale.squeeze(dims)]


@operator
def symmetric_dequantize(wq: T, scale: T, dims: Dims = -1) -> T:
    """Return an approximation of the operand of `symmetric_quantize`."""
    rank = wq.dim()
    listed = [dims] if isinstance(dims, int) else list(dims)
    for dim in sorted(dim % rank for dim in listed):
        scale = scale.unsqueeze(dim)
    return wq.to(scale.dtype) * scale
