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
    same = torch.isclose(a, r, rtol=0, atol=0, equal_nan=True)
    error = ((a - r).abs() / (r.abs() + 1)).nan_to_num(torch.inf, torch.inf)
    return torch.where(same, 0.0, error)


def assert_close(actual: torch.Tensor, reference: torch.Tensor, tolerance: float) -> None:
    """Check a result, on any device, against a reference that was computed in float64.

    NaN equals NaN, and infinities have to be equal. Integers and booleans are compared exactly with
    a reference of their own type.

    Raises:
        AssertionError: the shapes differ, or the error of an element exceeds the tolerance.
        TypeError: the reference is not of higher precision.
    """
    exact = not actual.dtype.is_floating_point
    wanted_dtype = actual.dtype if exact else torch.float64
    if reference.dtype != wanted_dtype:
        raise TypeError(f"the reference must be {wanted_dtype}, got {reference.dtype}")
    limit = 0.0 if exact else tolerance
    torch.testing.assert_close(
        actual.detach().cpu().to(wanted_dtype),
        reference.detach().cpu(),
        rtol=limit,
        atol=limit,
        equal_nan=True,
    )


def poison(tensor: torch.Tensor) -> torch.Tensor:
    """Fill a tensor with NaN, the largest integer, or True, in place; return it."""
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        return tensor.fill_(float("nan"))
    if tensor.dtype == torch.bool:
        return tensor.fill_(True)
    return tensor.fill_(torch.iinfo(tensor.dtype).max)
