"""Numbers of the template `row`: reductions over any axes, and what surrounds them."""

import math

import pytest
import torch
from torch.nn import functional
from xdsl.parser import Parser

from hidet.arch.chips import Arch
from hidet.context import make_context
from hidet.dialects.compute import FusionOp
from hidet.lowering.pipelines import run_pipeline
from hidet.lowering.templates.row import MAX_KEPT, RowConfig, RowTemplate
from hidet.pass_options import PassOptions

PRECISIONS = [
    pytest.param(torch.float32, "f32", 2e-6, id="f32"),
    pytest.param(torch.float16, "f16", 2e-3, id="f16"),
    pytest.param(torch.bfloat16, "bf16", 1.6e-2, id="bf16"),
]


@pytest.mark.parametrize(("dtype", "t", "tolerance"), PRECISIONS)
def test_softmax(check, dtype, t, tolerance):
    """Odd rows, of which the last block has not all."""
    x = (5 * torch.randn(7, 131)).to(dtype)
    body = f"%y = graph.softmax %x {{axis = 1 : i64}} : tensor<7x131x{t}>"
    check(
        body, {"x": x}, {"y": functional.softmax(x.double(), 1)}, dtype=dtype, tolerance=tolerance
    )


@pytest.mark.parametrize(("dtype", "t", "tolerance"), PRECISIONS)
def test_layer_norm_with_surroundings(check, dtype, t, tolerance):
    """A residual in front, an activation behind: one kernel, rounded once."""
    x, r = (torch.randn(5, 3, 36).to(dtype) for _ in range(2))
    w, b = (torch.randn(36) for _ in range(2))
    s = x.double() + r.double()
    check(
        f"""
        %s = graph.add %x, %r : (tensor<5x3x36x{t}>, tensor<5x3x36x{t}>) -> tensor<5x3x36x{t}>
        %c = graph.cast %s : (tensor<5x3x36x{t}>) -> tensor<5x3x36xf32>
        %n = graph.layer_norm %c : tensor<5x3x36xf32>
        %m = graph.mul %n, %w : (tensor<5x3x36xf32>, tensor<36xf32>) -> tensor<5x3x36xf32>
        %a = graph.add %m, %b : (tensor<5x3x36xf32>, tensor<36xf32>) -> tensor<5x3x36xf32>
        %g = graph.gelu %a : tensor<5x3x36xf32>
        %y = graph.cast %g : (tensor<5x3x36xf32>) -> tensor<5x3x36x{t}>
        """,
        {"x": x, "r": r, "w": w, "b": b},
        {"y": functional.gelu(functional.layer_norm(s, [36], w.double(), b.double()))},
        dtype=dtype,
        tolerance=2 * tolerance,
    )


def test_long_rows_take_a_block(check):
    """Rows of many lanes, which combine through shared memory; the sum of many is still exact."""
    x = torch.randn(3, 5000)
    check(
        """
        %m = graph.mean %x {axes = array<i64: 1>} : (tensor<3x5000xf32>) -> tensor<3xf32>
        %v = graph.var %x {axes = array<i64: 1>} : (tensor<3x5000xf32>) -> tensor<3xf32>
        """,
        {"x": x},
        {"m": x.double().mean(1), "v": x.double().var(1)},
        kernels=1,
        tolerance=1e-6,
    )


@pytest.mark.parametrize(
    ("axes", "keepdims"), [([0], False), ([1], True), ([0, 2], False), ([0, 1, 2], False)]
)
def test_any_axes(check, axes, keepdims):
    """Elements of a row may be apart."""
    x = torch.randn(35, 33, 3)
    result = x.double().sum(axes, keepdim=keepdims)
    listed = ", ".join(map(str, axes))
    shape = "x".join([*map(str, result.shape), "f32"])
    check(
        f"%y = graph.sum %x {{axes = array<i64: {listed}>, keepdims = {str(keepdims).lower()}}}"
        f" : (tensor<35x33x3xf32>) -> tensor<{shape}>",
        {"x": x},
        {"y": result},
    )


@pytest.mark.parametrize("columns", [16, 50, 99, 768])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.sample(3)
def test_adjacent_rows(check, columns, dtype):
    """Sums over the first dimension: lanes are across rows, whose number is any."""
    x, t = torch.rand(3, 70, columns).to(dtype), {4: "f32", 2: "f16"}[dtype.itemsize]
    check(
        f"""
        %y = graph.sum %x {{axes = array<i64: 0, 1>}}
          : (tensor<3x70x{columns}x{t}>) -> tensor<{columns}x{t}>
        %z = graph.max %x {{axes = array<i64: 1>}}
          : (tensor<3x70x{columns}x{t}>) -> tensor<3x{columns}x{t}>
        """,
        {"x": x},
        {"y": x.double().sum((0, 1)), "z": x.double().amax(1)},
        kernels=2,
        dtype=dtype,
        tolerance=2e-6 if dtype is torch.float32 else 2e-3,
    )


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(("dtype", "t", "tolerance"), PRECISIONS)
def test_a_few_long_rows(check, dtype, t, tolerance, keepdims):
    """They are reduced in parts, which are rounded to 16 bits only in the end."""
    x = torch.rand(5, 3, 9000).to(dtype)
    settings = f"axes = array<i64: 0, 2>, keepdims = {str(keepdims).lower()}"
    shape = "1x3x1" if keepdims else "3"
    check(
        f"""
        %y = graph.sum %x {{{settings}}} : (tensor<5x3x9000x{t}>) -> tensor<{shape}x{t}>
        %z = graph.mean %x {{{settings}}} : (tensor<5x3x9000x{t}>) -> tensor<{shape}x{t}>
        %m = graph.min %x {{{settings}}} : (tensor<5x3x9000x{t}>) -> tensor<{shape}x{t}>
        """,
        {"x": x},
        {
            "y": x.double().sum((0, 2), keepdim=keepdims),
            "z": x.double().mean((0, 2), keepdim=keepdims),
            "m": x.double().amin((0, 2), keepdim=keepdims),
        },
        kernels=4,
        dtype=dtype,
        tolerance=tolerance,
    )


def test_integers_and_booleans(check):
    """Reductions of other types; a max starts from the least number; bytes travel between lanes."""
    n = torch.randint(-(2**62), 2**62, (4, 50))
    b = torch.rand(4, 50) < 0.02
    c = torch.randint(-128, 128, (2, 700), dtype=torch.int8)
    check(
        """
        %m = graph.max %n {axes = array<i64: 1>} : (tensor<4x50xi64>) -> tensor<4xi64>
        %s = graph.sum %n {axes = array<i64: 1>} : (tensor<4x50xi64>) -> tensor<4xi64>
        %a = graph.max %b {axes = array<i64: 1>} : (tensor<4x50xi1>) -> tensor<4xi1>
        %l = graph.min %c {axes = array<i64: 1>} : (tensor<2x700xi8>) -> tensor<2xi8>
        """,
        {"n": n, "b": b, "c": c},
        {"m": n.amax(1), "s": n.sum(1), "a": b.any(1), "l": c.amin(1)},
        kernels=3,
    )


def test_not_finite(check):
    """A NaN spreads over its row and no further; -inf masks, a row of it is NaN; inf is NaN."""
    x = torch.randn(6, 40)
    x[0, 7] = math.nan
    x[1, ::2] = -math.inf
    x[2] = -math.inf
    x[3, 39] = math.inf
    check(
        """
        %m = graph.max %x {axes = array<i64: 1>} : (tensor<6x40xf32>) -> tensor<6xf32>
        %y = graph.softmax %x {axis = 1 : i64} : tensor<6x40xf32>
        """,
        {"x": x},
        {"m": x.double().amax(1), "y": functional.softmax(x.double(), 1)},
    )


COLUMNS = [
    pytest.param((2, 64, 3), 1, id="few side by side"),
    pytest.param((3, 50, 7, 61), 1, id="an odd number"),
    pytest.param((40, 2048), 0, id="of a matrix"),
    pytest.param((18, 2100, 64), 1, id="more than a lane keeps"),
]


@pytest.mark.parametrize(("shape", "axis"), COLUMNS)
def test_columns(check, shape, axis):
    """The elements of a row lie apart: one kernel, whose adjacent lanes have adjacent rows."""
    x, t = torch.randn(shape), "x".join(map(str, shape))
    check(
        f"%y = graph.softmax %x {{axis = {axis} : i64}} : tensor<{t}xf32>",
        {"x": x},
        {"y": functional.softmax(x.double(), axis)},
        tolerance=1e-6,
    )


ACROSS = {
    "weights per row": (
        "%x : tensor<512x2048xf16>, %w : tensor<512x1xf16>",
        """%p = graph.mul %x, %w : (tensor<512x2048xf16>, tensor<512x1xf16>) -> tensor<512x2048xf16>
        %y = graph.sum %p {axes = array<i64: 0>} : (tensor<512x2048xf16>) -> tensor<2048xf16>""",
        "tensor<2048xf16>",
    ),
    "heads": (
        "%x : tensor<4x12x128x64xf16>",
        """%t = graph.permute %x {dims = array<i64: 0, 2, 1, 3>}
            : (tensor<4x12x128x64xf16>) -> tensor<4x128x12x64xf16>
        %m = graph.reshape %t : (tensor<4x128x12x64xf16>) -> tensor<512x768xf16>
        %y = graph.sum %m {axes = array<i64: 0>} : (tensor<512x768xf16>) -> tensor<768xf16>""",
        "tensor<768xf16>",
    ),
    "elements too": (
        "%x : tensor<16x64x16384xf16>",
        "%y = graph.softmax %x {axis = 1 : i64} : tensor<16x64x16384xf16>",
        "tensor<16x64x16384xf16>",
    ),
}


@pytest.mark.parametrize(
    ("arguments", "body", "result"), [pytest.param(*case, id=name) for name, case in ACROSS.items()]
)
def test_adjacent_lanes_have_adjacent_columns(arguments, body, result):
    """Whatever else is loaded; of elements that are stored, a lane has no more than it keeps."""
    text = f"func.func @forward({arguments}) -> {result} {{ {body} \n func.return %y : {result} }}"
    module = Parser(make_context(), text).parse_module()
    for pipeline in ("graph-pipeline", "compute-pipeline"):
        run_pipeline(module, make_context(), PassOptions("sm_90a"), pipeline=pipeline)
    (fusion,) = (op for op in module.walk() if isinstance(op, FusionOp))
    (config,) = RowTemplate().configs(fusion, Arch.parse("sm_90a"))
    assert config.across >= 2
    if body.startswith("%y"):
        assert config.elements(1, 64).tasks_per_worker <= MAX_KEPT


def test_log_softmax_over_an_inner_axis(check):
    """Without powers, in double precision."""
    x = torch.randn(2, 64, 3, dtype=torch.float64)
    check(
        "%y = graph.log_softmax %x {axis = 1 : i64} : tensor<2x64x3xf64>",
        {"x": x},
        {"y": functional.log_softmax(x, 1)},
        dtype=torch.float64,
        tolerance=1e-13,
    )


def test_weighted_sum_of_columns(check):
    """A weight per row of the matrix, and an offset per column."""
    x, w, b = torch.randn(300, 96), torch.randn(300, 1), torch.randn(96)
    check(
        """
        %o = graph.sub %x, %b : (tensor<300x96xf32>, tensor<96xf32>) -> tensor<300x96xf32>
        %p = graph.mul %o, %w : (tensor<300x96xf32>, tensor<300x1xf32>) -> tensor<300x96xf32>
        %s = graph.sum %p {axes = array<i64: 0>} : (tensor<300x96xf32>) -> tensor<96xf32>
        """,
        {"x": x, "w": w, "b": b},
        {"s": ((x.double() - b.double()) * w.double()).sum(0)},
        tolerance=1e-5,
    )


def test_elements_and_sums_of_columns(check):
    """What is summed up along columns is a result, too: it is computed once, as in a backward pass.

    Parts of columns are summed up by blocks, and then the parts.
    """
    x, y = torch.randn(4096, 256), torch.randn(4096, 256)
    product = x.double() * y.double().tanh()
    check(
        """
        %t = graph.tanh %y : tensor<4096x256xf32>
        %p = graph.mul %x, %t : (tensor<4096x256xf32>, tensor<4096x256xf32>) -> tensor<4096x256xf32>
        %s = graph.sum %p {axes = array<i64: 0>} : (tensor<4096x256xf32>) -> tensor<256xf32>
        """,
        {"x": x, "y": y},
        {"p": product, "s": product.sum(0)},
        kernels=2,
        tolerance=1e-5,
    )


def test_values_of_rows_are_results(check):
    """One kernel stores elements, and values of rows that it has anyway."""
    x = torch.randn(9, 77)
    mean = x.double().mean(1)
    check(
        """
        %m = graph.mean %x {axes = array<i64: 1>} : (tensor<9x77xf32>) -> tensor<9xf32>
        %k = graph.reshape %m : (tensor<9xf32>) -> tensor<9x1xf32>
        %d = graph.sub %x, %k : (tensor<9x77xf32>, tensor<9x1xf32>) -> tensor<9x77xf32>
        %e = graph.exp %m : tensor<9xf32>
        """,
        {"x": x},
        {"d": x.double() - mean[:, None], "e": mean.exp(), "m": mean},
    )


def test_rows_without_elements_and_of_one(check):
    """No row at all, rows without elements, whose sum is 0, and rows of one element."""
    check(
        """
        %y = graph.softmax %x {axis = 1 : i64} : tensor<0x64xf32>
        %s = graph.sum %e {axes = array<i64: 1>} : (tensor<3x0xf32>) -> tensor<3xf32>
        %o = graph.softmax %l {axis = 1 : i64} : tensor<5x1xf32>
        """,
        {"x": torch.empty(0, 64), "e": torch.empty(3, 0), "l": torch.randn(5, 1)},
        {
            "y": torch.empty(0, 64, dtype=torch.float64),
            "s": torch.zeros(3, dtype=torch.float64),
            "o": torch.ones(5, 1, dtype=torch.float64),
        },
        kernels=2,
    )


@pytest.mark.parametrize(("length", "at_once"), [(32 * 16, 32), (33 * 16, 16)])
def test_loops_over_many_vectors_are_unrolled_in_part(length, at_once):
    """Else ptxas keeps the elements of two loops, in local memory."""
    config = RowConfig(threads=512, lanes=16, vector=8, across=32)
    assert config.elements(1, length).hints[1] == at_once
