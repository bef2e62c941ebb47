"""Results that differ by the order of their sums agree; others do not."""

import pytest
import torch

from hidet.tuning import measuring
from hidet.tuning.measuring import difference

KINDS = {torch.float64: 1e-15, torch.float32: 1e-7, torch.float16: 1e-3, torch.bfloat16: 1e-2}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [16, 4096])
def test_orders_of_sums(kind, length):
    """Sums from either end agree, also where they cancel."""
    torch.manual_seed(0)
    wide = torch.float64 if kind == torch.float64 else torch.float32
    terms = torch.randn(length, 500, dtype=wide)
    terms[: length // 2, 100:200] = -terms[length // 2 :, 100:200]
    one, other = torch.zeros(500, dtype=wide), torch.zeros(500, dtype=wide)
    for term in terms:
        one += term
    for term in terms.flip(0):
        other += term
    assert difference([one.to(kind)], [other.to(kind)], length) <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_one_wrong_element(kind):
    one = torch.randn(300, 40, dtype=torch.float64).to(kind)
    other = one.clone()
    other[17, 3] += 0.5 if one[17, 3] < 1 else -0.5
    assert difference([one], [other], 64) > 1
    assert difference([one], [one.clone()], 64) == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_poison_and_infinities(value):
    one = torch.randn(50)
    other = one.clone()
    other[7] = value
    assert difference([one], [other], 8) == float("inf")
    assert difference([other], [one], 8) == float("inf")
    assert difference([other], [other.clone()], 8) == 0
    if value == value:
        assert difference([other], [torch.where(other == value, -other, other)], 8) > 1


def test_parts(monkeypatch):
    """Large results are compared part by part, with the same outcome."""
    one = torch.randn(50, 7)
    other = one + 1e-5 * torch.randn(50, 7)
    other[0, 0] = one[0, 0] = float("inf")
    whole = difference([one], [other], 9)
    monkeypatch.setattr(measuring, "PART", 16)
    assert difference([one], [other], 9) == pytest.approx(whole)
    assert 0 < whole < float("inf")


def test_the_worst_result_counts():
    one, other = torch.ones(4), torch.tensor([1.0, 1, 1, 2])
    assert difference([one, one], [one, other], 1) > 1
    assert difference([], [], 1) == 0
    assert difference([torch.ones(0, 3)], [torch.ones(0, 3)], 1) == 0


def test_whole_numbers():
    """A rounding in the epilogue may turn few of them into others."""
    one = torch.zeros(10_000, dtype=torch.int32)
    few, many = one.clone(), one.clone()
    few[3] = 1
    many[:100] = 1
    assert difference([one], [few], 1) <= 1
    assert difference([one], [many], 1) > 1
    assert difference([one == 0], [many == 0], 1) > 1
