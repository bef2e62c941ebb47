"""Numbers of convolutions in the schedules of GPUs, on the CPU in strict mode; what copies them."""

import random
import re

import pytest
import torch
from torch.nn import functional
from xdsl.parser import Parser

from hidet.backend.printer import print_kernels
from hidet.context import make_context
from hidet.dialects.cuda import KernelOp, TensorMapOp
from hidet.frontends.torch.dtypes import type_of
from hidet.lowering.graph import merge_taps
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.lowering.templates.blocking import Blocking
from hidet.runtime.plan import TensorMap

CHOICES = (
    Blocking("m16n8k16_f16_f32", 32, 32, 64, 2, 2, 3),
    Blocking("m16n8k16_f16_f32", 16, 32, 32, 1, 4, 4),
    Blocking("m64n32k16_f16_f32", 64, 32, 64, 1, 1, 3),
    Blocking("fma", 32, 32, 16, 8, 8, 1),
)


def convolution(draw, groups, depths, filters):
    """Draw images, filters and the numbers of a convolution."""
    depth, filters = draw.choice(depths), draw.choice(filters)
    kernel = [draw.randint(1, 4) for _ in range(2)]
    stride, dilation, padding = ([draw.randint(low, 3) for _ in range(2)] for low in (1, 1, 0))
    sizes = [
        draw.randint(max(1, dilation[i] * (kernel[i] - 1) + 1 - 2 * padding[i]), 12)
        for i in range(2)
    ]
    x = torch.randn(draw.randint(1, 3), depth * groups, *sizes).half()
    w = torch.randn(filters * groups, depth, *kernel).half()
    return x, w, {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


def packed(x, w):
    """Give images [N, H, W, C] and filters [KH, KW, C, O], as programs store them."""
    return {"x": x.permute(0, 2, 3, 1).contiguous(), "w": w.permute(2, 3, 1, 0).contiguous()}


def conv2d(x, w, y, options):
    """Give the text of a convolution and a ReLU of packed images and filters."""
    numbers = {k: v for k, v in options.items() if k != "groups"}
    lists = ", ".join(f"{k} = array<i64: {', '.join(map(str, v))}>" for k, v in numbers.items())
    image, filters, result = map(type_of, (x, w, y))
    ours = {name: type_of(each) for name, each in packed(x, w).items()}
    return f"""
      %i = graph.permute %x {{dims = array<i64: 0, 3, 1, 2>}} : ({ours["x"]}) -> {image}
      %f = graph.permute %w {{dims = array<i64: 3, 2, 0, 1>}} : ({ours["w"]}) -> {filters}
      %p = graph.conv2d %i, %f {{{lists}, groups = {options["groups"]} : i64}}
        : ({image}, {filters}) -> {result}
      %y = graph.relu %p : {result}"""


def kernels_of(w, groups):
    """Return how many kernels a convolution is: filters are packed, and images of few channels."""
    windows, depth = w[0, 0].numel() > 1, w.shape[1]
    images_are_packed = windows and groups == 1 and depth % 4 > 0
    return 1 + windows + images_are_packed


def check_convolution(check, x, w, options, kernels, choices):
    """Compare a convolution and a ReLU with float64; return the compiled graph."""
    y = functional.conv2d(x.double(), w.double(), **options).relu()
    return check(
        conv2d(x, w, y.half(), options),
        packed(x, w),
        {"y": y},
        dtype=torch.float16,
        tolerance=4e-3,
        kernels=kernels,
        options=choices,
    )


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 10))]
)
@pytest.mark.sample(1)
def test_random_convolutions(check, choose, seed):
    """Any sizes, strides, paddings, dilations and groups, by all kinds of instructions."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    groups = draw.choice((1, 1, 2, 3))
    depths = (1, 3, 8, 16, 24) if groups == 1 else (9, 16, 24)
    x, w, options = convolution(draw, groups, depths, (1, 4, 8, 20))
    kernels = kernels_of(w, groups)
    check_convolution(check, x, w, options, kernels, choose(draw.choice(CHOICES)))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.sample(3)
def test_random_small_groups(check, seed):
    """Groups too small for matmuls: packed filters, a stencil, and a result with channels first."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    groups = draw.choice((2, 3, 8))
    x, w, options = convolution(draw, groups, (1, 2, 3, 4, 6, 8), (1, 2, 3, 4, 8, 16))
    check_convolution(check, x, w, options, 3, {})


@pytest.mark.parametrize("choice", CHOICES[1:3], ids=["mma", "wgmma"])
@pytest.mark.sample(1)
def test_single_pixels_with_channels_first(check, choose, choice):
    """The filters, which images share, times each of these."""
    torch.manual_seed(0)
    x, w, b = (torch.randn(*shape).half() for shape in ((2, 24, 12, 18), (40, 24, 1, 1), (40,)))
    y = functional.conv2d(x.double(), w.double(), b.double())
    types = ", ".join(str(type_of(each)) for each in (x, w, b))
    body = f"%y = graph.conv2d %x, %w, %b : ({types}) -> {type_of(y.half())}"
    inputs, options = {"x": x, "w": w, "b": b}, choose(choice)
    check(body, inputs, {"y": y}, dtype=torch.float16, tolerance=4e-3, options=options)


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 8))]
)
@pytest.mark.sample(1)
def test_few_channels(check, choose, seed):
    """Taps of a row are channels of windows, whatever sizes, paddings and vertical steps."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    depth, kernel = draw.randint(1, 4), [draw.randint(1, 4), draw.randint(2, 7)]
    stride = [draw.randint(1, 3), draw.choice((2, 4))]
    padding, dilation = [draw.randint(0, 3) for _ in range(2)], [draw.randint(1, 2), 1]
    sizes = [draw.randint(8, 12) for _ in range(2)]
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": 1}
    x = torch.randn(draw.randint(1, 3), depth, *sizes).half()
    w = torch.randn(draw.choice((8, 20)), depth, *kernel).half()
    kernels = 2 + (kernel[0] > 1)  # filters of one row are a matrix already
    graph = check_convolution(check, x, w, options, kernels, choose(draw.choice(CHOICES)))
    y = functional.conv2d(x, w, **options)
    taps = 4 * w.shape[2] * (kernel[1] + kernel[1] % 2)
    work = [each.work.operations for each in graph.plan.kernels if each.work]
    assert 2 * y.numel() * taps in work


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))]
)
def test_windows_of_several_pixels(check, choose, monkeypatch, seed):
    """Adjacent output pixels of large images share a window of 16 pixels, and shifted filters."""
    monkeypatch.setattr(merge_taps, "MIN_WINDOWS", 1)
    draw = random.Random(seed)
    torch.manual_seed(seed)
    step, kernel, padding = draw.choice((2, 4)), [draw.randint(2, 3), draw.randint(2, 7)], seed % 3
    pixels = (16 - kernel[1]) // step + 1
    width = step * (pixels * draw.randint(1, 2) - 1) + kernel[1] - 2 * padding
    x = torch.randn(2, draw.randint(1, 4), 9, width).half()
    w, bias = torch.randn(8, x.shape[1], *kernel).half(), torch.randn(8).half()
    y = functional.conv2d(x.double(), w.double(), bias.double(), (1, step), padding)
    image, filters, result, rows = map(type_of, (x, w, y.half(), y.half().amax(3)))
    graph = check(
        f"""
      %p = graph.conv2d %x, %w, %b {{stride = array<i64: 1, {step}>,
        padding = array<i64: {padding}, {padding}>}}
        : ({image}, {filters}, {type_of(bias)}) -> {result}
      %y = graph.max %p {{axes = array<i64: 3>}} : ({result}) -> {rows}""",
        {"x": x, "w": w, "b": bias},
        {"y": y.amax(3)},
        dtype=torch.float16,
        tolerance=4e-3,
        kernels=4,
        options=choose(draw.choice(CHOICES)),
    )
    work = [each.work.operations for each in graph.plan.kernels if each.work]
    assert 2 * y.numel() * 16 * 4 * kernel[0] in work


@pytest.mark.parametrize(("depth", "copied"), [(64, 16), (8, 16), (4, 8), (3, 8)])
def test_images_are_copied_in_vectors(depth, copied):
    """Channels of images go to shared memory by `cp.async`, with zeros around the image."""
    x, w = torch.empty(1, depth, 14, 14).half(), torch.empty(64, depth, 3, 3).half()
    options = {"stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "groups": 1}
    y = torch.empty(1, 64, 14, 14).half()
    arguments = ", ".join(f"%{name}: {type_of(each)}" for name, each in packed(x, w).items())
    text = f"""func.func @forward({arguments}) -> {type_of(y)} {{
      {conv2d(x, w, y, options)}
      func.return %y : {type_of(y)} }}"""
    context = make_context()
    module = Parser(context, text).parse_module()
    run_pipeline(module, context, PassOptions(arch="sm_90a"))
    source = print_kernels(*(op for op in module.ops if isinstance(op, KernelOp)))
    copies = re.findall(r"cp_async_c[ag]<(\d+)>\(&sa.* \? (\d+) : 0\)", source)
    assert {2 * int(size) for pair in copies for size in pair} == {copied}


# ---- by TMA

NAME = "m64n32k16_f16_f32"


@pytest.mark.parametrize(
    ("images", "filters", "options", "choice"),
    [
        (  # 90 places, 30 an image: tiles begin and end within rows, and the last one is half full
            (3, 64, 9, 11),
            (32, 64, 3, 3),
            {"stride": (2, 2), "padding": (1, 1), "dilation": (1, 1)},
            Blocking(NAME, 64, 32, 64, 1, 1, 3, grid=1, epilogue="staged"),
        ),
        (  # steps of two panels; nothing is the same along both dimensions
            (2, 128, 9, 8),
            (24, 128, 3, 2),
            {"stride": (1, 3), "padding": (2, 0), "dilation": (2, 3)},
            Blocking(NAME, 64, 32, 128, 1, 1, 2),
        ),
        (  # blocks share their filters, not their pixels
            (2, 64, 19, 9),
            (32, 64, 1, 1),
            {"stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)},
            Blocking(NAME, 64, 32, 64, 1, 1, 2, cluster_rows=2),
        ),
        (  # windows of four channels and eight taps, which overlap
            (2, 3, 17, 30),
            (32, 3, 7, 7),
            {"stride": (2, 2), "padding": (3, 3), "dilation": (1, 1)},
            Blocking(NAME, 64, 32, 32, 1, 1, 3),
        ),
    ],
    ids=["tiles over rows and images", "panels", "clusters", "few channels"],
)
@pytest.mark.sample(2)
def test_images_that_come_by_tma(check, choose, images, filters, options, choice):
    """Places and taps of all kinds, in tiles that end where no row and no image does."""
    torch.manual_seed(0)
    x, w = torch.randn(images).half(), torch.randn(filters).half()
    options = {**options, "groups": 1}
    kernels = 1 + (w[0, 0].numel() > 1) + (w.shape[1] < 4)
    graph = check_convolution(check, x, w, options, kernels, choose(choice))
    arguments = [argument for launch in graph.plan.forward for argument in launch.arguments]
    maps = [argument.spec for argument in arguments if isinstance(argument, TensorMap)]
    assert sum(spec.pixels != () for spec in maps) == 1


def test_tensor_maps_of_tf32_round():
    """Images and filters alike; `wgmma` would truncate."""
    image, filters = "tensor<8x64x28x28xf32>", "tensor<64x64x3x3xf32>"
    context = make_context()
    module = Parser(
        context,
        f"""func.func @forward(%x: {image}, %w: {filters}) -> {image} {{
          %y = graph.conv2d %x, %w {{stride = array<i64: 1, 1>, padding = array<i64: 1, 1>,
            dilation = array<i64: 1, 1>, groups = 1 : i64, precision = "tf32"}}
            : ({image}, {filters}) -> {image}
          func.return %y : {image} }}""",
    ).parse_module()
    for pipeline in ("graph-pipeline", "compute-pipeline", "task-pipeline"):
        run_pipeline(module, context, PassOptions(arch="sm_90a"), pipeline=pipeline)
    maps = [op.kind for op in module.walk() if isinstance(op, TensorMapOp)]
    assert [kind.pixels is not None for kind in maps] == [True, False]
    assert all(kind.rounds for kind in maps)


def test_the_producer_has_enough_registers(check_ptxas):
    """A kernel of ResNet-50: it fetches pixels, spills nothing, and its products overlap."""
    x, w = torch.empty(128, 256, 14, 14).half(), torch.empty(256, 256, 3, 3).half()
    options = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    arguments = ", ".join(f"%{name}: {type_of(each)}" for name, each in packed(x, w).items())
    text = f"""func.func @forward({arguments}) -> {type_of(x)} {{
      {conv2d(x, w, x, options)}
      func.return %y : {type_of(x)} }}"""
    context = make_context()
    module = Parser(context, text).parse_module()
    run_pipeline(module, context, PassOptions(arch="sm_90a"))
    kernels = [op for op in module.ops if isinstance(op, KernelOp)]
    source = print_kernels(*(op for op in kernels if "conv" in op.sym_name.data))
    assert "hidet::tma_load_pixels" in source
    check_ptxas(source)
