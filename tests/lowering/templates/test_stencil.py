"""Numbers of the template `stencil`, as GPUs share runs of pixels, on the CPU in strict mode."""

import math

import pytest
import torch

from hidet.arch.chips import Arch
from hidet.arch.limits import STATIC_SHARED_BYTES
from hidet.errors import ScheduleError
from hidet.lowering.templates.runs import Sliding
from hidet.lowering.templates.stencil import MAX_THREADS, StencilConfig, candidates, estimate

DTYPES = {"f64": (torch.float64, 1e-13), "f32": (torch.float32, 1e-5), "f16": (torch.float16, 2e-3)}
H200 = Arch.parse("sm_90a")


def program(x, w, t, window):
    """Give the ops of a padded convolution with a bias and a ReLU, and its reference."""
    stride, dilation, padding = window
    images, height, width, channels = x.shape
    y = torch.nn.functional.conv2d(
        x.double().permute(0, 3, 1, 2),
        w.double().permute(3, 2, 0, 1),
        stride=stride,
        dilation=dilation,
        padding=padding,
        groups=channels // w.shape[2],
    ).permute(0, 2, 3, 1)
    low = f"array<i64: 0, {padding[0]}, {padding[1]}, 0>"
    padded = [images, height + 2 * padding[0], width + 2 * padding[1], channels]
    total = t if t == "f64" else "f32"

    def kind(shape, element=t):
        return f"tensor<{'x'.join(map(str, shape))}x{element}>"

    whole = kind(y.shape)
    cast = "" if total == t else f"%h = graph.cast %c : ({kind(y.shape, total)}) -> {whole}"
    return (
        f"""
        %p = graph.pad %x {{low = {low}, high = {low}, value = 0.0 : {t}}} :
            ({kind(x.shape)}) -> {kind(padded)}
        %c = graph.grouped_conv2d %p, %w {{stride = array<i64: {stride[0]}, {stride[1]}>,
            dilation = array<i64: {dilation[0]}, {dilation[1]}>}} :
            ({kind(padded)}, {kind(w.shape)}) -> {kind(y.shape, total)}
        {cast}
        %s = graph.add {"%h" if cast else "%c"}, %b : ({whole}, {kind(w.shape[3:])}) -> {whole}
        %y = graph.relu %s : {whole}
        """,
        y,
    )


ONE, WIDE = (1, 1), (2, 2)
CASES = [
    pytest.param("f16", (64, 1, 1, 8), (2, 6, 5, 16), (3, 3, 1, 16), (ONE, ONE, ONE), id="vectors"),
    pytest.param(
        "f16", (64, 1, 5, 4), (2, 6, 5, 8), (3, 3, 4, 8), (ONE, ONE, ONE), id="groups-of-4"
    ),
    pytest.param(
        "f32", (96, 3, 7, 2), (1, 7, 7, 24), (7, 7, 1, 24), (ONE, ONE, (3, 3)), id="shared"
    ),
    pytest.param(
        "f16", (128, 2, 4, 4), (1, 9, 9, 40), (5, 3, 1, 40), (WIDE, ONE, (1, 0)), id="strided"
    ),
    pytest.param(
        "f32", (64, 2, 4, 1), (3, 8, 8, 3), (3, 2, 1, 3), (ONE, WIDE, (2, 1)), id="dilated"
    ),
    pytest.param(
        "f64", (160, 5, 1, 2), (1, 6, 4, 10), (4, 3, 1, 10), (ONE, ONE, (2, 1)), id="idle-part"
    ),
    pytest.param(
        "f32", (96, 3, 4, 2), (1, 9, 8, 24), (3, 3, 8, 18), (WIDE, ONE, (1, 1)), id="chunks"
    ),
    pytest.param(
        "f16", (64, 1, 3, 2), (2, 5, 5, 6), (3, 3, 1, 12), (ONE, ONE, (0, 0)), id="multiplier"
    ),
]


@pytest.mark.parametrize(("t", "distribution", "shape", "kernel", "window"), CASES)
@pytest.mark.sample(2)
def test_distributions(check, choose, t, distribution, shape, kernel, window):
    """Runs that blocks do not divide, rows that parts do not, windows beyond the image."""
    dtype, tolerance = DTYPES[t]
    x, w = torch.randn(shape).to(dtype), torch.randn(kernel).to(dtype)
    b = torch.randn(kernel[-1]).to(dtype)
    body, y = program(x, w, t, window)
    check(
        body,
        {"x": x, "w": w, "b": b},
        {"y": (y + b.double()).relu()},
        dtype=dtype,
        tolerance=tolerance,
        options=choose(StencilConfig(*distribution)),
    )


@pytest.mark.parametrize("images", [2, 0])
def test_computed_images(check, images):
    """What computes the pixels is no part of the kernel, which reads each of them many times."""
    x, w = torch.randn(images, 5, 5, 8), torch.randn(3, 3, 1, 8)
    y = torch.nn.functional.conv2d(
        x.double().tanh().permute(0, 3, 1, 2), w.double().permute(3, 2, 0, 1), groups=8
    )
    check(
        f"""
        %t = graph.tanh %x : tensor<{images}x5x5x8xf32>
        %y = graph.grouped_conv2d %t, %w :
            (tensor<{images}x5x5x8xf32>, tensor<3x3x1x8xf32>) -> tensor<{images}x3x3x8xf32>
        """,
        {"x": x, "w": w},
        {"y": y.permute(0, 2, 3, 1)},
        kernels=2 if images else 0,
    )


def problem(images, rows, pixels, channels, size, vector=8):
    """Give a convolution of stride 1."""
    return Sliding((images, rows, pixels, channels), (size, size), ONE, ONE, vector)


def test_candidates():
    """Vectors and runs divide the result; what threads share fits into shared memory."""
    for each in (problem(1, 14, 14, 384, 7), problem(2, 15, 13, 24, 31), problem(1, 3, 3, 5, 3, 1)):
        found = candidates(each, H200)
        assert found == sorted(found, key=lambda config: estimate(config, each, H200))
        for config in found:
            assert math.prod(config.runs_of(each)) * config.pixels * config.vector == math.prod(
                each.shape
            )
            assert config.threads == config.runs * config.parts <= MAX_THREADS
            shared = config.threads * config.pixels * config.vector * each.sum_bytes
            assert config.parts == 1 or shared <= STATIC_SHARED_BYTES
            assert config.blocks(each) * config.runs >= config.count(each)


def test_choices():
    """Few pixels are shared by many threads, many images are not."""
    few, many = (candidates(problem(n, 14, 14, 384, 7), H200)[0] for n in (1, 256))
    assert few.parts == 7
    assert many.parts == 1
    assert many.pixels > 1


@pytest.mark.parametrize("config", [(64, 1, 4, 2), (64, 1, 7, 16), (64, 3, 7, 1)])
def test_a_config_that_does_not_fit(config):
    """A distribution that leaves pixels, channels or threads over is an error, not a wrong sum."""
    with pytest.raises(ScheduleError, match="does not fit rows of 14 pixels"):
        StencilConfig(*config).check(problem(1, 14, 14, 384, 7))


def test_long_windows():
    """A window longer than the registers of a thread has a config nevertheless."""
    each = Sliding((1, 8, 8, 16), (9, 9), ONE, (20, 20), 8)
    assert [(c.parts, c.pixels, c.vector) for c in candidates(each, H200)] == [(1, 1, 1)] * 3
