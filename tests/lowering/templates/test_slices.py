"""Numbers of matmuls whose slices of K are blocks of a cluster, and when there are any."""

import random
from dataclasses import replace

import pytest
import torch
from torch.nn import functional
from xdsl.parser import Parser

from hidet.analysis.kernels import kernels_of
from hidet.arch.chips import Arch
from hidet.backend.printer import print_kernels
from hidet.context import make_context
from hidet.errors import PassError
from hidet.lowering.compute import split_products
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.lowering.templates.blocking import Blocking
from hidet.lowering.templates.cost_model import estimate, least_time, throughput
from hidet.lowering.templates.problem import Problem
from hidet.lowering.templates.splits import GAIN, best_slices, time_of
from hidet.lowering.templates.tilings import candidates, fastest

MMA = Blocking("m16n8k16_f16_f32", 32, 32, 32, 2, 2, 3)
WGMMA = Blocking("m64n64k16_f16_f32", 64, 64, 32, 1, 1, 4)
TALL = Blocking("m64n64k16_f16_f32", 128, 64, 32, 2, 1, 2)
WIDE = Blocking("m64n48k16_f16_f32", 64, 96, 32, 1, 2, 3)


@pytest.mark.parametrize(
    ("blocking", "slices"), [(MMA, 4), (WGMMA, 2), (WGMMA, 8), (TALL, 4), (WIDE, 2)]
)
def test_epilogue(check, choose, blocking, slices):
    """Each block stores some rows through the whole epilogue; no tile divides the result."""
    m, n = random.randint(65, 90), 8 * random.randint(9, 13)
    k = slices * blocking.block_k * random.randint(1, 3)
    x, w, b, r = (torch.randn(*shape).half() for shape in ((m, k), (n, k), (n,), (m, n)))
    result = f"tensor<{m}x{n}xf16>"
    check(
        f"""
        %t = graph.permute %w {{dims = array<i64: 1, 0>}}
          : (tensor<{n}x{k}xf16>) -> tensor<{k}x{n}xf16>
        %p = graph.matmul %x, %t {{slices = {slices} : i64}}
          : (tensor<{m}x{k}xf16>, tensor<{k}x{n}xf16>) -> {result}
        %s = graph.add %p, %b : ({result}, tensor<{n}xf16>) -> {result}
        %u = graph.add %s, %r : ({result}, {result}) -> {result}
        %y = graph.relu %u : {result}
        """,
        {"x": x, "w": w, "b": b, "r": r},
        {"y": (x.double() @ w.double().T + b.double() + r.double()).relu()},
        dtype=torch.float16,
        tolerance=4e-3,
        options=choose(blocking),
    )


@pytest.mark.parametrize("blocking", [MMA, WGMMA])
def test_batches(check, choose, blocking):
    x, w = torch.randn(3, 70, 128).half(), torch.randn(128, 40).half()
    check(
        """
        %y = graph.matmul %x, %w {slices = 2 : i64}
          : (tensor<3x70x128xf16>, tensor<128x40xf16>) -> tensor<3x70x40xf16>
        """,
        {"x": x, "w": w},
        {"y": x.double() @ w.double()},
        dtype=torch.float16,
        tolerance=4e-3,
        options=choose(blocking),
    )


@pytest.fixture
def sliced(monkeypatch, choose):
    """Give a function that has all matmuls computed in slices by one config, in strict mode."""

    def sliced(slices, blocking):
        monkeypatch.setattr(split_products, "best_slices", lambda *_: slices)
        return choose(blocking) | {"parallel_k": "cluster"}

    return sliced


@pytest.mark.parametrize("blocking", [MMA, WGMMA])
@pytest.mark.parametrize("channels", [64, 32])
def test_convolution(check, sliced, blocking, channels):
    """The second slice begins within the fifth tap; or there is none."""
    slices = 2 if channels == 64 else 1
    x, w = torch.randn(2, channels, 9, 8).half(), torch.randn(12, channels, 3, 3).half()
    check(
        f"""
        %y = graph.conv2d %x, %w {{padding = array<i64: 1, 1>, stride = array<i64: 2, 1>}}
          : (tensor<2x{channels}x9x8xf16>, tensor<12x{channels}x3x3xf16>) -> tensor<2x12x5x8xf16>
        """,
        {"x": x, "w": w},
        {"y": functional.conv2d(x.double(), w.double(), stride=(2, 1), padding=1)},
        kernels=3,
        dtype=torch.float16,
        tolerance=4e-3,
        options=sliced(slices, blocking),
    )


def test_tiles_that_do_not_come_out_even(check, choose):
    x, w = torch.randn(64, 96).half(), torch.randn(96, 64).half()
    with pytest.raises(PassError, match="tiles of 64 rows and 32 along K for 3 slices of 32"):
        check(
            """
            %y = graph.matmul %x, %w {slices = 3 : i64}
              : (tensor<64x96xf16>, tensor<96x64xf16>) -> tensor<64x64xf16>
            """,
            {"x": x, "w": w},
            {"y": x.double() @ w.double()},
            dtype=torch.float16,
            options=choose(WGMMA),
        )


def test_when_there_are_slices():
    """Few tiles and a long K are split, if that is faster than two kernels; whole waves are not."""
    arch = Arch.parse("sm_90a")
    long = Problem(1, 49, 512, 4608, "f16", "f32", 2)
    slices = best_slices(long, arch)
    assert slices > 1
    assert time_of(replace(long, slices=slices), arch) < GAIN * time_of(long, arch)
    assert best_slices(replace(long, m=8192, n=8192), arch) == 1
    assert best_slices(replace(long, k=4600), arch) == 1
    for other in ("sm_80", "cpu"):
        assert best_slices(long, Arch.parse(other)) == 1


def test_the_bound_holds_for_slices():
    """The fastest tiling is the first of all candidates, and none is faster than its bound."""
    arch = Arch.parse("sm_90a")
    for _ in range(20):
        m, n = random.randint(1, 600), 8 * random.randint(1, 100)
        problem = Problem(1, m, n, 1024, "f16", "f32", 2, slices=random.choice((2, 4, 8)))
        found = candidates(problem, arch)
        assert found
        assert fastest(problem, arch) == found[0]
        for choice in found:
            rates = throughput(choice, problem, arch)
            assert least_time(choice, problem, arch, rates) <= estimate(choice, problem, arch)


@pytest.mark.parametrize(("rows", "instruction"), [(49, "wgmma_m64n32k16_f16_f32"), (9, "mma_m16")])
def test_nothing_is_spilled(check_ptxas, rows, instruction):
    x, w, y = f"tensor<{rows}x4608xf16>", "tensor<4608x512xf16>", f"tensor<{rows}x512xf16>"
    text = f"""func.func @forward(%x: {x}, %w: {w}) -> {y} {{
      %y = graph.matmul %x, %w {{slices = 8 : i64}} : ({x}, {w}) -> {y}
      func.return %y : {y}
    }}"""
    context = make_context()
    module = Parser(context, text).parse_module()
    run_pipeline(module, context, PassOptions(arch="sm_90a"))
    source = print_kernels(kernels_of(module))
    assert instruction in source
    check_ptxas(source)
