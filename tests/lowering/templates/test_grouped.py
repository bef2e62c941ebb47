"""Numbers of the template `grouped`, as GPUs compute them, on the CPU in strict mode."""

from itertools import pairwise

import pytest
import torch

from hidet.arch.instructions import FMA
from hidet.lowering.templates.blocking import Blocking
from hidet.lowering.templates.config import STRIPED

CASES = [
    ("f32", Blocking(FMA, 16, 32, 16, 8, 8, 1, arrangement=STRIPED)),
    ("f16", Blocking("m16n8k16_f16_f32", 16, 32, 64, 1, 4, 3)),
    ("bf16", Blocking("m16n8k16_bf16_f32", 32, 24, 32, 2, 1, 2)),
    ("f16", Blocking("m64n64k16_f16_f32", 64, 64, 64, 1, 1, 4)),
    ("bf16", Blocking("m64n64k16_bf16_f32", 128, 64, 32, 2, 1, 3)),
    ("f32", Blocking("m64n64k8_tf32_f32", 64, 64, 32, 1, 1, 2)),
]

QUICK = 1
"""The case that is tested with all groups in every run."""

DTYPES = {
    "f32": (torch.float32, 2e-2),
    "f16": (torch.float16, 3e-3),
    "bf16": (torch.bfloat16, 2e-2),
}
"""The types with the tolerance: that of TF32 for f32."""

ENDS = {
    "even": [32, 64, 96, 136],
    "empty": [0, 0, 136, 136],
    "odd": [1, 70, 71, 136],
    "rest": [40, 40, 105, 110],
    "nothing": [0, 0, 0, 0],
}


def grouped(x, w, ends):
    """Multiply each group of rows by its matrix in float64."""
    y = torch.zeros(x.shape[0], w.shape[2], dtype=torch.float64)
    for group, (begin, end) in enumerate(pairwise([0, *ends])):
        y[begin:end] = x[begin:end].double() @ w[group].double()
    return y


@pytest.mark.parametrize(
    ("t", "blocking", "ends"),
    [
        pytest.param(
            t,
            blocking,
            ends,
            marks=() if ends == "rest" or number == QUICK else pytest.mark.slow,
            id=f"{blocking.instruction}-{ends}",
        )
        for number, (t, blocking) in enumerate(CASES)
        for ends in ENDS
    ],
)
@pytest.mark.sample(2)
def test_groups(check, choose, t, blocking, ends):
    """Groups of any size, of none, and rows behind the last one, through an epilogue."""
    dtype, tolerance = DTYPES[t]
    x, w = torch.randn(136, 72).to(dtype), torch.randn(4, 88, 72).to(dtype)
    index = "i32" if ends == "odd" else "i64"
    offsets = torch.tensor(ENDS[ends], dtype=torch.int32 if index == "i32" else torch.int64)
    precision = '{precision = "tf32"}' if "tf32" in blocking.instruction else ""
    check(
        f"""
        %t = graph.permute %w {{dims = array<i64: 0, 2, 1>}} :
            (tensor<4x88x72x{t}>) -> tensor<4x72x88x{t}>
        %p = graph.grouped_matmul %x, %t, %e {precision} :
            (tensor<136x72x{t}>, tensor<4x72x88x{t}>, tensor<4x{index}>) -> tensor<136x88x{t}>
        %y = graph.relu %p : tensor<136x88x{t}>
        """,
        {"x": x, "w": w, "e": offsets},
        {"y": grouped(x, w.transpose(1, 2), ENDS[ends]).relu()},
        dtype=dtype,
        tolerance=tolerance,
        options=choose(blocking),
    )
