"""Comparing tensors: small errors pass, every other difference is told."""

import math

import pytest
import torch

from hidet.testing.numeric import assert_close, poison

INF, NAN = math.inf, math.nan


def f32(*values):
    """Make a float32 tensor."""
    return torch.tensor(values, dtype=torch.float32)


def f64(*values):
    """Make a float64 tensor."""
    return torch.tensor(values, dtype=torch.float64)


def test_close():
    """An error below the tolerance passes, one above does not."""
    assert_close(f32(100.0, 0.5), f64(100.5, 0.5), 5e-3)
    with pytest.raises(AssertionError, match="1 / 2"):
        assert_close(f32(100.0, 0.5), f64(100.5, 0.5), 4.9e-3)


def test_message_names_the_worst():
    """The message tells how many are wrong, and the index and the error of the worst."""
    actual = torch.zeros(2, 3, dtype=torch.float32)
    reference = torch.zeros(2, 3, dtype=torch.float64)
    reference[0, 1], reference[1, 2] = 1.0, 3.0
    with pytest.raises(AssertionError, match=r"2 / 6 (.|\n)*difference: 3.0 at index \(1, 2\)"):
        assert_close(actual, reference, 1e-5)


@pytest.mark.parametrize("value", [INF, -INF, NAN])
def test_not_finite_meets_the_same(value):
    """NaN meets NaN, an infinity the same infinity."""
    assert_close(f32(1.0, value), f64(1.0, value), 0.0)


@pytest.mark.parametrize(
    ("actual", "reference"),
    [(INF, -INF), (INF, NAN), (NAN, INF), (NAN, 1.0), (1.0, NAN), (INF, 1.0), (1.0, INF)],
)
def test_not_finite_meets_something_else(actual, reference):
    """No tolerance covers a value that is not finite."""
    with pytest.raises(AssertionError, match="1 / 2"):
        assert_close(f32(1.0, actual), f64(1.0, reference), 1e30)


def test_reference_must_be_precise():
    """A reference of the same precision would hide errors."""
    with pytest.raises(TypeError, match=r"must be torch\.float64, got torch\.float32"):
        assert_close(f32(1.0), f32(1.0), 1e-5)


def test_shapes():
    """A result of another shape never passes, also where it could be broadcast."""
    with pytest.raises(AssertionError, match=r"\[1\]\) != torch.Size\(\[2\]"):
        assert_close(f32(1.0), f64(1.0, 1.0), 1e-5)
    assert_close(f32(), f64(), 0.0)
    assert_close(torch.tensor(2.0), torch.tensor(2.0, dtype=torch.float64), 0.0)


def test_whole_numbers_are_exact():
    """Whole numbers and booleans must be equal, whatever the tolerance."""
    assert_close(torch.tensor([1, 2]), torch.tensor([1, 2]), 0.0)
    big = 2**60
    with pytest.raises(AssertionError, match="1 / 1"):
        assert_close(torch.tensor([big]), torch.tensor([big + 1]), 1.0)
    with pytest.raises(AssertionError, match="1 / 2"):
        assert_close(torch.tensor([True, False]), torch.tensor([True, True]), 1.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_poison_floats(dtype):
    """Poison in a floating point tensor is found, whatever was expected."""
    poisoned = poison(torch.zeros(3, dtype=dtype))
    assert poisoned.isnan().all()
    with pytest.raises(AssertionError, match="3 / 3"):
        assert_close(poisoned, torch.zeros(3, dtype=torch.float64), 1e30)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64, torch.uint8])
def test_poison_whole_numbers(dtype):
    """Whole numbers get their largest value."""
    tensor = torch.zeros(2, dtype=dtype)
    assert poison(tensor) is tensor
    assert tensor.tolist() == [torch.iinfo(dtype).max] * 2


def test_poison_booleans():
    """Booleans get True."""
    assert poison(torch.zeros(2, dtype=torch.bool)).all()
