"""Images of other sizes."""

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
    """Return images [n, c, h, w] of another size, in between elements as `Resize` of ONNX says.

    Args:
        data: the images.
        size: the new height and width, or else
        scale_factor: the new ones over the old ones: a number, or two.
        method: "nearest", "linear" or "cubic".
        coordinate_transformation_mode: where a new element is on the old axis.
        rounding_method: how such a place is rounded where the method is "nearest".
        roi: with "tf_crop_and_resize" the part that is seen: its top, left, bottom and right as
            shares of the size.
        cubic_alpha: the coefficient of a cubic interpolation.
        cubic_exclude: whether what is outside of the image counts for nothing.
        extrapolation_value: what is outside with "tf_crop_and_resize"; 0 if none is given.
        recompute_scale_factor: take the factor of the sizes, not the one given.
    """
    old = data.shape[2:]
    if (size is None) == (scale_factor is None):
        raise HidetError("resize2d takes either size or scale_factor")
    factors: Sequence[float] = []
    if scale_factor is not None:
        one = isinstance(scale_factor, int | float)
        factors = (scale_factor, scale_factor) if one else tuple(scale_factor)
        size = [floor(factor * each) for factor, each in zip(factors, old, strict=True)]
    sizes = [] if size is None else list(size)
    if recompute_scale_factor or not factors:
        factors = [new / each for new, each in zip(sizes, old, strict=True)]
    outside = 0.0 if extrapolation_value is None else extrapolation_value
    place = (coordinate_transformation_mode, rounding_method)
    rule = Rule(method, *place, cubic_alpha, cubic_exclude, extrapolation=outside)
    return resized(data, (2, 3), sizes, factors, rule, [] if roi is None else roi)
