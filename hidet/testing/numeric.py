"""Compares tensors with a reference of higher precision.

The error is |a - r| / (|r| + 1): relative for large values, absolute for small ones.
"""

import torch


def error_of(actual: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """Return |a - r| / (|r| + 1) for each element, in float64.

    The error of equal infinities, or of two NaN, is 0; that of other nonfinite elements infinity.
    """
    a = actual.detach().to("cpu", torch.float64)
    r = reference.detach().to("cpu", torch.float64)
    same = (a == r) | (a.isnan() & r.isnan())
    comparable = a.isfinite() & r.isfinite()
    error = (a - r).abs() / (r.abs() + 1)
    error = torch.where(comparable, error, torch.full_like(error, torch.inf))
    return torch.where(same, torch.zeros_like(error), error)


def assert_close(actual: torch.Tensor, reference: torch.Tensor, tolerance: float) -> None:
    """Check a result against a reference that was computed in float64.

    NaN equals NaN, and infinities have to be equal. Integers and booleans are compared exactly with
    a reference of their own type.

    Args:
        actual: the result, on any device.
        reference: the expected result, in float64 if `actual` is floating point.
        tolerance: the largest allowed error.

    Raises:
        AssertionError: the shapes differ, or an error is too large; names the worst element.
        TypeError: the reference is not of higher precision.
    """
    exact = not actual.dtype.is_floating_point
    wanted_dtype = actual.dtype if exact else torch.float64
    if reference.dtype != wanted_dtype:
        raise TypeError(f"the reference must be {wanted_dtype}, got {reference.dtype}")
    if actual.shape != reference.shape:
        raise AssertionError(
            f"the shape is {tuple(actual.shape)}, it should be {tuple(reference.shape)}"
        )
    if actual.numel() == 0:
        return
    if exact:
        error = (actual.cpu() != reference.cpu()).to(torch.float64)
        tolerance = 0.0
    else:
        error = error_of(actual, reference)
    worst = int(error.argmax())
    if float(error.flatten()[worst]) <= tolerance:
        return
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), error.shape))
    wrong = int((error > tolerance).sum())
    raise AssertionError(
        f"{wrong} of {error.numel()} elements are off by more than {tolerance:g}; worst is "
        f"[{', '.join(map(str, index))}]: {actual[index].item()}, it should be "
        f"{reference[index].item()}, error {float(error[index]):.3g}"
    )


def poison(tensor: torch.Tensor) -> torch.Tensor:
    """Fill a tensor with NaN, the largest integer, or True, in place; return it."""
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        return tensor.fill_(float("nan"))
    if tensor.dtype == torch.bool:
        return tensor.fill_(True)
    return tensor.fill_(torch.iinfo(tensor.dtype).max)
