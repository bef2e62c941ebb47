"""Numbers of the template `row`: reductions over any axes, and what surrounds them."""

import pytest
import torch
from torch.nn import functional

HALVES = [(torch.float16, "f16", 2e-3), (torch.bfloat16, "bf16", 1.6e-2)]


@pytest.mark.parametrize(("dtype", "name", "tolerance"), [(torch.float32, "f32", 1e-6), *HALVES])
def test_softmax(check, dtype, name, tolerance):
    x = torch.randn(7, 130).to(dtype)
    check(
        f"%y = graph.softmax %x {{axis = 1 : i64}} : tensor<7x130x{name}>",
        {"x": x},
        {"y": functional.softmax(x.double(), 1)},
        dtype=dtype,
        tolerance=tolerance,
    )
