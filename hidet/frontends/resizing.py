"""Interpolation for `Resize` of ONNX and `hidet.ops.resize2d`.

Cases that torch supports use `torch.nn.functional.interpolate`; all others are decomposed into one
matmul with a weight matrix per axis.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch.nn import functional as nn
from torch.utils._python_dispatch import _disable_current_modes as untraced  # pyright: ignore[reportPrivateUsage]

from hidet.errors import UnsupportedOperatorError


@dataclass(frozen=True)
class Rule:
    """The interpolation parameters: the attributes of `Resize` of ONNX.

    With `exclude_outside` samples outside of the tensor have weight 0, instead of being clamped to
    the edge; with `antialias` the filter is widened for downsampling.
    """

    mode: str = "nearest"
    coordinate_transformation_mode: str = "half_pixel"
    nearest_mode: str = "round_prefer_floor"
    cubic_coeff_a: float = -0.75
    exclude_outside: int = 0
    antialias: int = 0
    extrapolation_value: float = 0.0


def resized(
    x: torch.Tensor,
    axes: Sequence[int],
    sizes: Sequence[int],
    factors: Sequence[float],
    rule: Rule,
    corners: Sequence[float] = (),
) -> torch.Tensor:
    """Return a tensor resized along some axes; the factors are about the new over the old sizes.

    `corners` are the region of interest: its starts, then its ends, relative to the sizes; the
    whole tensor if empty.
    """
    if (plain := _interpolated(x, axes, sizes, factors, rule)) is not None:
        return plain
    for number, axis in enumerate(axes):
        old = x.shape[axis]
        span = (corners[number], corners[number + len(axes)]) if corners else (0.0, 1.0)
        is_cropped = rule.coordinate_transformation_mode == "tf_crop_and_resize"
        if sizes[number] == old and factors[number] == 1 and not is_cropped:
            continue
        with untraced():
            matrix, outside = _weights(old, sizes[number], factors[number], span, rule)
            weights = listed(matrix.argmax(1) if rule.mode == "nearest" else matrix)
            is_outside = listed(outside)
        x = _applied(x, axis, weights, is_outside, rule)
    return x


def listed(tensor: torch.Tensor) -> list[Any]:
    """Return a tensor as a nested list."""
    return cast("list[Any]", tensor.tolist())


def _interpolated(
    x: torch.Tensor, axes: Sequence[int], sizes: Sequence[int], factors: Sequence[float], rule: Rule
) -> torch.Tensor | None:
    """Return the result of torch's interpolation; None if it does not support the rule."""
    kinds = {
        ("nearest", "asymmetric", "floor"): ("nearest", None),
        ("linear", "half_pixel", rule.nearest_mode): ("bilinear", False),
        ("linear", "pytorch_half_pixel", rule.nearest_mode): ("bilinear", False),
        ("linear", "align_corners", rule.nearest_mode): ("bilinear", True),
    }
    kind = kinds.get((rule.mode, rule.coordinate_transformation_mode, rule.nearest_mode))
    new = [*x.shape]
    for axis, size in zip(axes, sizes, strict=True):
        new[axis] = size
    exact = all(
        factor * x.shape[axis] == size
        for axis, size, factor in zip(axes, sizes, factors, strict=True)
    )
    is_image = x.dim() == 4 and new[:2] == [*x.shape[:2]] and x.is_floating_point()
    has_size_one = rule.coordinate_transformation_mode == "pytorch_half_pixel" and 1 in new[2:]
    if (
        kind is None
        or not (is_image and exact)
        or rule.antialias
        or rule.exclude_outside
        or has_size_one
    ):
        return None
    return nn.interpolate(x, new[2:], mode=kind[0], align_corners=kind[1])


def _coordinates(
    old: int, new: int, factor: float, span: tuple[float, float], rule: Rule
) -> torch.Tensor:
    """Return the coordinate of each new element on the old axis."""
    i = torch.arange(new, dtype=torch.float64)
    match rule.coordinate_transformation_mode:
        case "half_pixel":
            return (i + 0.5) / factor - 0.5
        case "tf_half_pixel_for_nn":
            return (i + 0.5) / factor
        case "half_pixel_symmetric":
            adjusted = new / (factor * old)
            return old / 2 * (1 - adjusted) + (i + 0.5) / factor - 0.5
        case "pytorch_half_pixel":
            return (i + 0.5) / factor - 0.5 if new > 1 else i * 0
        case "align_corners":
            return i * (old - 1) / (factor * old - 1) if new > 1 else i * 0
        case "asymmetric":
            return i / factor
        case "tf_crop_and_resize":
            start, end = span
            if new == 1:
                return i * 0 + 0.5 * (start + end) * (old - 1)
            return start * (old - 1) + i * (end - start) * (old - 1) / (new - 1)
        case _:
            raise UnsupportedOperatorError(
                f"unknown coordinate transformation mode '{rule.coordinate_transformation_mode}'"
            )


def _weights(
    old: int, new: int, factor: float, span: tuple[float, float], rule: Rule
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the weight matrix [new, old], and which new elements are outside of the tensor."""
    coordinates = _coordinates(old, new, factor, span, rule)
    outside = (coordinates < 0) | (coordinates > old - 1)
    if rule.mode == "nearest":
        rounded = {
            "floor": coordinates.floor(),
            "ceil": coordinates.ceil(),
            "round_prefer_floor": (coordinates - 0.5).ceil(),
            "round_prefer_ceil": (coordinates + 0.5).floor(),
        }[rule.nearest_mode]
        found = rounded.clamp(0, old - 1).to(torch.int64)
        return nn.one_hot(found, old).to(torch.float64), outside
    # Distances are in units in which the filter has radius 1 (linear) or 2 (cubic).
    shrink = min(factor, 1.0) if rule.antialias else 1.0
    radius = math.ceil((1 if rule.mode == "linear" else 2) / shrink)
    samples = coordinates.floor()[:, None] + torch.arange(-radius + 1, radius + 1)
    distances = (coordinates[:, None] - samples).abs() * shrink
    is_linear = rule.mode == "linear"
    weights = (1 - distances).clamp(min=0) if is_linear else _cubic(distances, rule.cubic_coeff_a)
    if rule.exclude_outside:
        weights = torch.where((samples < 0) | (samples > old - 1), 0.0, weights)
    weights = weights / weights.sum(1, keepdim=True)
    matrix = torch.zeros(new, old, dtype=torch.float64)
    matrix.scatter_add_(1, samples.clamp(0, old - 1).to(torch.int64), weights)
    return matrix, outside


def _cubic(d: torch.Tensor, a: float) -> torch.Tensor:
    """Return the weights of cubic interpolation (Keys, 1981)."""
    inner = ((a + 2) * d - (a + 3)) * d * d + 1
    outer = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return torch.where(d <= 1, inner, torch.where(d < 2, outer, 0.0))


def _applied(
    x: torch.Tensor, axis: int, weights: list[Any], is_outside: list[bool], rule: Rule
) -> torch.Tensor:
    """Return x with an axis multiplied by the weights, or gathered by indices for "nearest"."""
    if rule.mode == "nearest":
        y = x.index_select(axis, torch.tensor(weights, device=x.device))
    else:
        matrix = torch.tensor(weights, dtype=x.dtype, device=x.device)
        y = torch.matmul(x.movedim(axis, -1), matrix.t()).movedim(-1, axis)
    if rule.coordinate_transformation_mode == "tf_crop_and_resize" and any(is_outside):
        mask = torch.tensor(is_outside, device=x.device)
        mask = mask.reshape([-1 if n == axis else 1 for n in range(x.dim())])
        y = torch.where(mask, rule.extrapolation_value, y)
    return y
