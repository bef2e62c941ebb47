"""Numbers of the template `elementwise`: every element by itself, wherever it comes from."""

import math

import pytest
import torch
from torch.nn import functional

from hidet.lowering.templates.elementwise import ElementwiseConfig, ElementwiseTemplate

HALVES = [
    pytest.param(torch.float16, "f16", 1e-3, id="f16"),
    pytest.param(torch.bfloat16, "bf16", 8e-3, id="bf16"),
]


@pytest.mark.parametrize(
    ("dtype", "t", "tolerance"), [pytest.param(torch.float32, "f32", 1e-6, id="f32"), *HALVES]
)
def test_chain_with_broadcasts(check, dtype, t, tolerance):
    """A chain in one kernel, rounded once; sizes of 1 repeat."""
    x, b, c = (torch.randn(shape).to(dtype) for shape in ((5, 3, 7), (3, 1), (1, 7)))
    check(
        f"""
        %s = graph.add %x, %b : (tensor<5x3x7x{t}>, tensor<3x1x{t}>) -> tensor<5x3x7x{t}>
        %e = graph.exp %s : tensor<5x3x7x{t}>
        %l = graph.log1p %e : tensor<5x3x7x{t}>
        %y = graph.mul %l, %c : (tensor<5x3x7x{t}>, tensor<1x7x{t}>) -> tensor<5x3x7x{t}>
        """,
        {"x": x, "b": b, "c": c},
        {"y": (x.double() + b.double()).exp().log1p() * c.double()},
        dtype=dtype,
        tolerance=tolerance,
    )


@pytest.mark.parametrize("options", [{}, {"strict": True}], ids=["", "strict"])
def test_halves_that_read_each_other(check, monkeypatch, options):
    """A thread computes elements of both; rows do not fill the last block."""
    monkeypatch.setattr(
        ElementwiseTemplate, "configs", lambda *_: [ElementwiseConfig(64, 4, parts=2)]
    )
    x, c = torch.randn(3, 5, 24).half(), torch.randn(5, 24).half()
    one, other = x.double().chunk(2, -1)
    whole, half = "tensor<3x5x24xf16>", "tensor<3x5x12xf16>"
    check(
        f"""
        %a = graph.slice %x {{starts = array<i64: 0, 0, 0>, stops = array<i64: 3, 5, 12>,
            steps = array<i64: 1, 1, 1>}} : ({whole}) -> {half}
        %b = graph.slice %x {{starts = array<i64: 0, 0, 12>, stops = array<i64: 3, 5, 24>,
            steps = array<i64: 1, 1, 1>}} : ({whole}) -> {half}
        %n = graph.neg %b : {half}
        %r = graph.concat %n, %a {{axis = 2 : i64}} : ({half}, {half}) -> {whole}
        %p = graph.mul %r, %c : ({whole}, tensor<5x24xf16>) -> {whole}
        %y = graph.add %p, %x : ({whole}, {whole}) -> {whole}
        """,
        {"x": x, "c": c},
        {"y": torch.cat((-other, one), -1) * c.double() + x.double()},
        dtype=torch.float16,
        tolerance=2e-3,
        options=options,
    )


@pytest.fixture
def in_vectors(monkeypatch, tmp_path):
    """Have threads take four neighbours each, in strict mode; give the options of the compiler."""
    config = ElementwiseConfig(16, 4)
    monkeypatch.setattr(ElementwiseTemplate, "configs", lambda *_: [config])
    return {"cache_dir": tmp_path / "cache", "dump_dir": tmp_path / "dump", "strict": True}


def test_windows_of_neighbours_in_a_row(check, in_vectors):
    """Windows that are not aligned, padded at the ends of a row: a total each."""
    x, w = torch.randn(2, 3, 7, 8), torch.randn(3, 1, 3, 3)
    check(
        """
        %y = graph.conv2d %x, %w {groups = 3 : i64, padding = array<i64: 1, 1>}
          : (tensor<2x3x7x8xf32>, tensor<3x1x3x3xf32>) -> tensor<2x3x7x8xf32>
        """,
        {"x": x, "w": w},
        {"y": functional.conv2d(x.double(), w.double(), padding=1, groups=3)},
        options=in_vectors,
    )


def test_reductions_of_neighbours(check, in_vectors):
    """Windows over channels that lie side by side: a total each, and vectors at each step."""
    x = torch.randn(2, 7, 9, 8)
    y = functional.max_pool2d(x.double().permute(0, 3, 1, 2), 3, 2, 1).permute(0, 2, 3, 1)
    check(
        """
        %i = graph.permute %x {dims = array<i64: 0, 3, 1, 2>}
          : (tensor<2x7x9x8xf32>) -> tensor<2x8x7x9xf32>
        %v = graph.windows %i {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>,
            padding = array<i64: 1, 1>, outside = 0xff800000 : f32}
          : (tensor<2x8x7x9xf32>) -> tensor<2x8x4x5x3x3xf32>
        %p = graph.max %v {axes = array<i64: 4, 5>}
          : (tensor<2x8x4x5x3x3xf32>) -> tensor<2x8x4x5xf32>
        %y = graph.permute %p {dims = array<i64: 0, 2, 3, 1>}
          : (tensor<2x8x4x5xf32>) -> tensor<2x4x5x8xf32>
        """,
        {"x": x},
        {"y": y},
        options=in_vectors,
    )
    (source,) = in_vectors["dump_dir"].rglob("*.cu")
    assert "float total[4];" in source.read_text()


@pytest.mark.parametrize("size", [65536, 65537])
def test_vectors(check, size):
    """Plenty of elements go as vectors where they come out even, else one by one."""
    x, z = torch.randn(size), torch.randn(size)
    check(
        f"""
        %s = graph.mul %x, %z : (tensor<{size}xf32>, tensor<{size}xf32>) -> tensor<{size}xf32>
        %y = graph.tanh %s : tensor<{size}xf32>
        """,
        {"x": x, "z": z},
        {"y": (x.double() * z.double()).tanh()},
    )


def test_vectors_across_rows(check, in_vectors):
    """Vectors may belong to two rows, which are of any length."""
    x, z = torch.randn(8, 33), torch.randn(8, 1)
    check(
        "%y = graph.mul %x, %z : (tensor<8x33xf32>, tensor<8x1xf32>) -> tensor<8x33xf32>",
        {"x": x, "z": z},
        {"y": x.double() * z.double()},
        options={**in_vectors, "strict": False},
    )
    (source,) = in_vectors["dump_dir"].rglob("*.cu")
    assert "copy_vector<float, 4>(x" in source.read_text()


def test_moved_elements(check):
    """Permuted, flipped, sliced, padded and joined in one kernel."""
    x = torch.randn(4, 6)
    y = x.double().T.flip(0)[1::2]
    y = torch.cat([functional.pad(y, (1, 0), value=0.5), y + y], 1)
    check(
        """
        %t = graph.permute %x {dims = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
        %f = graph.slice %t {starts = array<i64: 5, 0>, stops = array<i64: -1, 4>,
          steps = array<i64: -1, 1>} : (tensor<6x4xf32>) -> tensor<6x4xf32>
        %s = graph.slice %f {starts = array<i64: 1, 0>, steps = array<i64: 2, 1>,
          stops = array<i64: 6, 4>} : (tensor<6x4xf32>) -> tensor<3x4xf32>
        %p = graph.pad %s {low = array<i64: 0, 1>, high = array<i64: 0, 0>, value = 0.5 : f32}
          : (tensor<3x4xf32>) -> tensor<3x5xf32>
        %n = graph.add %s, %s : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
        %y = graph.concat %p, %n {axis = 1 : i64}
          : (tensor<3x5xf32>, tensor<3x4xf32>) -> tensor<3x9xf32>
        """,
        {"x": x},
        {"y": y},
    )


def test_several_results(check):
    """Results of several types and shapes from one kernel."""
    x = torch.randn(6, 5)
    e = x.double().exp()
    check(
        """
        %e = graph.exp %x : tensor<6x5xf32>
        %r = graph.reshape %e : (tensor<6x5xf32>) -> tensor<2x15xf32>
        %h = graph.sqrt %r : tensor<2x15xf32>
        %b = graph.lt %e, %x : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5xi1>
        %i = graph.cast %e : (tensor<6x5xf32>) -> tensor<6x5xi32>
        """,
        {"x": x},
        {"e": e, "h": e.reshape(2, 15).sqrt(), "b": e < x, "i": e.to(torch.int32)},
    )


def test_windows(check):
    """A pooling reduces its window in one thread; padding is no candidate, NaN always wins."""
    x = torch.randn(2, 3, 9, 8)
    x[0, 0, 4, 4] = math.nan
    x[1] = -math.inf
    check(
        """
        %w = graph.windows %x {kernel = array<i64: 3, 2>, padding = array<i64: 1, 1>,
          stride = array<i64: 2, 2>, outside = 0xff800000 : f32}
          : (tensor<2x3x9x8xf32>) -> tensor<2x3x5x5x3x2xf32>
        %p = graph.max %w {axes = array<i64: 4, 5>}
          : (tensor<2x3x5x5x3x2xf32>) -> tensor<2x3x5x5xf32>
        %y = graph.relu %p : tensor<2x3x5x5xf32>
        """,
        {"x": x},
        {"y": functional.max_pool2d(x.double(), (3, 2), 2, 1).relu()},
    )


def test_extremes(check):
    """NaN, infinities and signed zeros flow as in torch."""
    x = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e38, -1e38])
    z = torch.tensor([1.0, math.nan, 2.0, -0.0, 0.0, 1e38, 1.0])
    wide, other = x.double(), z.double()
    product = (x * z).double()
    check(
        """
        %m = graph.maximum %x, %z : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
        %r = graph.relu %x : tensor<7xf32>
        %p = graph.mul %x, %z : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
        %g = graph.sigmoid %x : tensor<7xf32>
        %u = graph.reciprocal %x : tensor<7xf32>
        %n = graph.ne %x, %x : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xi1>
        """,
        {"x": x, "z": z},
        {
            "m": torch.maximum(wide, other),
            "r": wide.relu(),
            "p": product,
            "g": wide.sigmoid(),
            "u": wide.reciprocal(),
            "n": x.isnan(),
        },
        kernels=1,
    )


def test_sizes_of_one_and_none(check):
    """Scalars are tensors of rank 0; without elements there is no work."""
    check(
        """
        %y = graph.exp %x : tensor<f32>
        %z = graph.exp %o : tensor<1x1x1xf32>
        %e = graph.exp %n : tensor<3x0x2xf32>
        """,
        {"x": torch.tensor(0.5), "o": torch.ones(1, 1, 1), "n": torch.empty(3, 0, 2)},
        {
            "y": torch.tensor(0.5).double().exp(),
            "z": torch.ones(1, 1, 1).double().exp(),
            "e": torch.empty(3, 0, 2, dtype=torch.float64),
        },
        kernels=1,
    )
