"""Resizing of images."""

from collections.abc import Sequence
from math import floor

from hidet.errors import HidetError
from hidet.frontends.resizing import Rule, resized
from hidet.frontends.trace.recording import T, operator


@operator
def resize2d(
    data: T,
    *,
    size: Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    method: str = "nearest",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "round_prefer_floor",
    roi: Sequence[float] | None = None,
    cubic_alpha: float = -0.75,
    cubic_exclude: bool = False,
    extrapolation_value: float | None = None,
    recompute_scale_factor: bool | None = None,
) -> T:
    """Return images [n, c, h, w] resized; see `Resize` of ONNX.

    Args:
        data: the images.
        size: the new height and width; exclusive with `scale_factor`.
        scale_factor: their ratio to the old ones: a number, or two.
        method: "nearest", "linear" or "cubic".
        coordinate_transformation_mode: the mapping of new coordinates to old ones.
        rounding_method: the rounding of coordinates for the method "nearest".
        roi: the region of "tf_crop_and_resize": top, left, bottom and right, relative to the size.
        cubic_alpha: the coefficient of the cubic interpolation.
        cubic_exclude: whether weights outside of the image are 0.
        extrapolation_value: the value outside of the image with "tf_crop_and_resize"; default 0.
        recompute_scale_factor: whether to compute the factor from the sizes.
    """
    old = data.shape[2:]
    if (size is None) == (scale_factor is None):
        raise HidetError("resize2d takes either size or scale_factor")
    factors: Sequence[float] = []
    if scale_factor is not None:
        is_scalar = isinstance(scale_factor, int | float)
        factors = (scale_factor, scale_factor) if is_scalar else tuple(scale_factor)
        size = [floor(factor * each) for factor, each in zip(factors, old, strict=True)]
    sizes = [] if size is None else list(size)
    if recompute_scale_factor or not factors:
        factors = [new / each for new, each in zip(sizes, old, strict=True)]
    outside = 0.0 if extrapolation_value is None else extrapolation_value
    rule = Rule(
        method,
        coordinate_transformation_mode,
        rounding_method,
        cubic_alpha,
        cubic_exclude,
        extrapolation=outside,
    )
    return resized(data, (2, 3), sizes, factors, rule, [] if roi is None else roi)
