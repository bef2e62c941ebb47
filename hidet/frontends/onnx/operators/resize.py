"""Resizing."""

from __future__ import annotations

import math
from typing import Any

from hidet.errors import UnsupportedOperatorError
from hidet.frontends.onnx.table import Ints, KnownTensor, T, row
from hidet.frontends.resizing import Rule, listed, resized


@row("Resize", since=11)
def resize(
    x: T,
    roi: KnownTensor | None = None,
    scales: KnownTensor | None = None,
    sizes: Ints | None = None,
    *,
    axes: Ints | None = None,
    keep_aspect_ratio_policy: str = "stretch",
    **rule: Any,
) -> T:
    """Return x resized, interpolated."""
    axes = [axis % x.dim() for axis in axes] if axes is not None else list(range(x.dim()))
    old = [x.shape[axis] for axis in axes]
    if sizes:
        factors = [new / size for new, size in zip(sizes, old, strict=True)]
        if keep_aspect_ratio_policy != "stretch":
            least = keep_aspect_ratio_policy == "not_larger"
            factors = [min(factors) if least else max(factors)] * len(axes)
            sizes = [math.floor(f * size + 0.5) for f, size in zip(factors, old, strict=True)]
    elif scales is not None and scales.numel():
        factors = listed(scales)
        sizes = [math.floor(f * size) for f, size in zip(factors, old, strict=True)]
    else:
        raise UnsupportedOperatorError("it has neither scales nor sizes")
    return resized(x, axes, sizes, factors, Rule(**rule), [] if roi is None else listed(roi))


@row("Upsample", since=9)
def upsample(x: T, scales: KnownTensor, *, mode: str = "nearest") -> T:
    """Return x upsampled, interpolated."""
    where = "asymmetric"
    return resize(
        x, None, scales, mode=mode, coordinate_transformation_mode=where, nearest_mode="floor"
    )
