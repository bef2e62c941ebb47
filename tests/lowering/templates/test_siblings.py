"""Products that share their left factor, as one kernel: numbers, on the CPU in strict mode."""

import pytest
import torch
from xdsl.parser import Parser

from hidet.analysis.kernels import kernels_of
from hidet.arch.instructions import FMA
from hidet.backend.printer import print_kernels
from hidet.context import make_context
from hidet.lowering.compute import fuse
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.lowering.templates.blocking import Blocking
from hidet.lowering.templates.matmul import MatmulTemplate

SILU_OF_ONE = """
  %wt = graph.permute %w {{dims = array<i64: 1, 0>}} : (tensor<{n}x{k}x{t}>) -> tensor<{k}x{n}x{t}>
  %vt = graph.permute %v {{dims = array<i64: 1, 0>}} : (tensor<{n}x{k}x{t}>) -> tensor<{k}x{n}x{t}>
  %g = graph.matmul %x, %wt{p} : (tensor<{m}x{k}x{t}>, tensor<{k}x{n}x{t}>) -> tensor<{m}x{n}x{t}>
  %u = graph.matmul %x, %vt{p} : (tensor<{m}x{k}x{t}>, tensor<{k}x{n}x{t}>) -> tensor<{m}x{n}x{t}>
  %b = graph.add %u, %r : (tensor<{m}x{n}x{t}>, tensor<{m}x{n}x{t}>) -> tensor<{m}x{n}x{t}>
  %s = graph.silu %g : tensor<{m}x{n}x{t}>
  %y = graph.mul %s, %b : (tensor<{m}x{n}x{t}>, tensor<{m}x{n}x{t}>) -> tensor<{m}x{n}x{t}>
"""

GATES = {
    "fma": (Blocking(FMA, 32, 64, 16, 8, 8, 1), torch.float32),
    "mma": (Blocking("m16n8k16_f16_f32", 32, 64, 32, 2, 2, 3), torch.float16),
    "wgmma": (Blocking("m64n32k16_f16_f32", 64, 64, 64, 1, 1, 3), torch.float16),
    "staged": (
        Blocking("m64n64k16_f16_f32", 64, 128, 64, 1, 1, 3, grid=2, epilogue="staged"),
        torch.float16,
    ),
    "cluster": (
        Blocking("m64n64k16_f16_f32", 64, 128, 64, 1, 1, 3, cluster_rows=2),
        torch.float16,
    ),
}


@pytest.mark.parametrize(("blocking", "dtype"), GATES.values(), ids=GATES)
@pytest.mark.sample(1)
def test_one_result_of_two_products(check, choose, blocking, dtype):
    """The gate and what passes it, and a residual, of sizes that no tile divides."""
    m, n, k = 72, 152, 136
    x, w, v, r = (torch.randn(*size) for size in ((m, k), (n, k), (n, k), (m, n)))
    # Gates of about 1: a large one multiplies what the sum of the other product has lost.
    x, w, v, r = (each.to(dtype) for each in (x / k**0.5, w, v, r))
    t = {torch.float32: "f32", torch.float16: "f16"}[dtype]
    gate, up = x.double() @ w.double().T, x.double() @ v.double().T + r.double()
    check(
        SILU_OF_ONE.format(m=m, n=n, k=k, t=t, p=""),
        {"x": x, "w": w, "v": v, "r": r},
        {"y": gate * gate.sigmoid() * up},
        dtype=dtype,
        tolerance=1e-5 if dtype == torch.float32 else 4e-3,
        options=choose(blocking),
    )


HEADS = {
    "fma": (Blocking(FMA, 32, 96, 16, 8, 4, 1), torch.float32),
    "mma": (Blocking("m16n8k16_f16_f32", 32, 96, 32, 2, 2, 3), torch.float16),
    "wgmma": (Blocking("m64n64k16_f16_f32", 64, 96, 64, 1, 1, 3), torch.float16),
    "staged": (
        Blocking("m64n128k16_f16_f32", 64, 192, 64, 1, 1, 3, grid=2, epilogue="staged"),
        torch.float16,
    ),
}


@pytest.mark.parametrize(("blocking", "dtype"), HEADS.values(), ids=HEADS)
@pytest.mark.sample(1)
def test_products_of_several_widths(check, choose, monkeypatch, blocking, dtype):
    """Queries, and fewer keys and values, each with a bias; weights as torch has them."""
    monkeypatch.setattr(fuse, "worth_sharing", lambda *_: True)
    m, n, k = 72, 72, 136
    sizes = {"q": 4 * n, "k": n, "v": n}
    t = {torch.float32: "f32", torch.float16: "f16"}[dtype]
    x = torch.randn(m, k).to(dtype)
    inputs, expected, lines = {"x": x}, {}, []
    for name, columns in sizes.items():
        w, b = torch.randn(columns, k).to(dtype), torch.randn(columns).to(dtype)
        inputs |= {f"w{name}": w, f"b{name}": b}
        expected[name] = x.double() @ w.double().T + b.double()
        lines.append(
            f"%{name} = graph.linear %x, %w{name}, %b{name} : (tensor<{m}x{k}x{t}>, "
            f"tensor<{columns}x{k}x{t}>, tensor<{columns}x{t}>) -> tensor<{m}x{columns}x{t}>"
        )
    check(
        "\n".join(lines),
        inputs,
        expected,
        dtype=dtype,
        tolerance=3e-5 if dtype == torch.float32 else 2e-3,
        options=choose(blocking),
    )


@pytest.mark.parametrize("k", [64, 192])
def test_short_matmuls_are_not_serialized(monkeypatch, check_ptxas, k):
    """Two layers of ResNet-50: both accumulators are zeroed before the first wgmma."""
    monkeypatch.setattr(fuse, "worth_sharing", lambda *_: True)
    config = Blocking("m64n128k16_f16_f32", 128, 160, 64, 2, 1, 2, epilogue="staged")
    monkeypatch.setattr(MatmulTemplate, "best", lambda *_: config)
    x, u, v = f"tensor<3136x{k}xf16>", f"tensor<64x{k}xf16>", f"tensor<256x{k}xf16>"
    y, z = "tensor<3136x64xf16>", "tensor<3136x256xf16>"
    text = f"""func.func @forward(%x: {x}, %u: {u}, %v: {v}) -> ({y}, {z}) {{
      %y = graph.linear %x, %u : ({x}, {u}) -> {y}
      %z = graph.linear %x, %v : ({x}, {v}) -> {z}
      func.return %y, %z : {y}, {z}
    }}"""
    context = make_context()
    module = Parser(context, text).parse_module()
    run_pipeline(module, context, PassOptions(arch="sm_90a"))
    source = print_kernels(*kernels_of(module))
    assert source.count("__global__") == 1
    assert "wgmma_m64n32k16" in source
    check_ptxas(source)
