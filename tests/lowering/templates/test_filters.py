"""Numbers of the template `filters`, as GPUs share rows and channels, on the CPU in strict mode."""

import pytest
import torch

from hidet.arch.chips import Arch
from hidet.errors import ScheduleError
from hidet.lowering.templates.filters import (
    MAX_THREADS,
    Filters,
    FiltersConfig,
    candidates,
    estimate,
)

DTYPES = {"f64": (torch.float64, 1e-13), "f32": (torch.float32, 1e-5), "f16": (torch.float16, 2e-3)}
H200 = Arch.parse("sm_90a")
ONE, WIDE = (1, 1), (2, 2)


def kind(shape, element):
    """Give the text of a tensor type."""
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def reference(x, grad, kernel, window):
    """Give the gradient [KH, KW, D, F] of filters in f64, by autograd."""
    stride, dilation, padding = window
    *taps, depth, filters = kernel
    w = torch.zeros(filters, depth, *taps, dtype=torch.float64, requires_grad=True)
    y = torch.nn.functional.conv2d(
        x.double().permute(0, 3, 1, 2), w, None, stride, padding, dilation, x.shape[3] // depth
    )
    y.backward(grad.double().permute(0, 3, 1, 2))
    return w.grad.permute(2, 3, 1, 0)


CASES = [
    pytest.param(
        "f16", (2, 1, 3, 8), (2, 6, 6, 16), (3, 3, 1, 16), (ONE, ONE, ONE), 1, id="vectors"
    ),
    pytest.param(
        "f16", (4, 2, 3, 4, 4), (2, 6, 6, 16), (3, 3, 4, 16), (ONE, ONE, ONE), 2, id="groups-of-4"
    ),
    pytest.param(
        "f32", (3, 4, 4, 2), (1, 7, 9, 24), (5, 4, 1, 24), (ONE, ONE, (2, 1)), 3, id="slices"
    ),
    pytest.param(
        "f16", (2, 2, 5, 4), (3, 9, 13, 40), (5, 3, 1, 40), (WIDE, ONE, (1, 0)), 4, id="strided"
    ),
    pytest.param(
        "f32", (1, 2, 4, 1), (3, 8, 11, 3), (3, 2, 1, 3), (ONE, WIDE, (2, 1)), 2, id="dilated"
    ),
    pytest.param(
        "f64", (5, 8, 7, 2), (1, 5, 7, 10), (2, 3, 1, 10), (ONE, ONE, (1, 1)), 7, id="idle"
    ),
    pytest.param(
        "f32", (3, 4, 4, 2), (1, 9, 8, 12), (3, 3, 2, 36), (WIDE, ONE, (1, 1)), 3, id="more-filters"
    ),
    pytest.param(
        "f32", (4, 1, 2, 4, 2), (1, 6, 6, 16), (3, 3, 8, 16), (ONE, ONE, (1, 1)), 2, id="chunks"
    ),
]


@pytest.mark.parametrize(("t", "distribution", "shape", "kernel", "window", "parts"), CASES)
@pytest.mark.sample(1)
def test_distributions(check, choose, t, distribution, shape, kernel, window, parts):
    """Runs and slices that rows do not divide, parts without rows, windows beyond the image."""
    dtype, tolerance = DTYPES[t]
    stride, dilation, padding = window
    (images, *sizes, channels), (*taps, depth, filters) = shape, kernel
    padded = [size + 2 * pad for size, pad in zip(sizes, padding, strict=True)]
    counts = [
        (size - step * (size_of_filter - 1) - 1) // stride[0] + 1
        for size, step, size_of_filter in zip(padded, dilation, taps, strict=True)
    ]
    x, grad = torch.randn(shape).to(dtype), torch.randn(images, *counts, filters).to(dtype)
    low = f"array<i64: 0, {padding[0]}, {padding[1]}, 0>"
    total = t if t == "f64" else "f32"
    of_image, of_grad, whole = kind([images, *padded, channels], t), kind(grad.shape, t), kernel
    each = kind([parts, *whole], total)
    check(
        f"""
        %p = graph.pad %x {{low = {low}, high = {low}, value = 0.0 : {t}}} :
            ({kind(shape, t)}) -> {of_image}
        %c = graph.grouped_filter_gradient %p, %g {{
            kernel = array<i64: {taps[0]}, {taps[1]}>, groups = {channels // depth} : i64,
            stride = array<i64: {stride[0]}, {stride[1]}>,
            dilation = array<i64: {dilation[0]}, {dilation[1]}>, parts = {parts} : i64}} :
            ({of_image}, {of_grad}) -> {each}
        %s = graph.sum %c {{axes = array<i64: 0>}} : ({each}) -> {kind(whole, total)}
        %y = graph.cast %s : ({kind(whole, total)}) -> {kind(whole, t)}
        """,
        {"x": x, "g": grad},
        {"y": reference(x, grad, kernel, window)},
        dtype=dtype,
        tolerance=tolerance,
        options=choose(FiltersConfig(*distribution)),
        kernels=2,
    )


def problem(images, size, channels, taps, parts=4, vector=8):
    """Give the gradient of filters of stride 1."""
    return Filters((images, size, size, channels), (taps, taps), ONE, ONE, vector, parts=parts)


def test_candidates():
    """Blocks have all channels of a part, and not too many threads; a cheap one is first."""
    for each in (problem(8, 14, 384, 7), problem(2, 15, 37, 3, vector=1), problem(1, 9, 8, 31)):
        found = candidates(each, H200)
        assert found == sorted(found, key=lambda config: estimate(config, each, H200))
        for config in found:
            assert config.chunks(each) * config.lanes * config.vector == each.shape[3]
            assert config.threads(each) <= MAX_THREADS
            config.check(each)


def test_choices():
    """Channels are loaded by vectors, and adjacent pixels share the image under them."""
    config = candidates(problem(32, 28, 192, 7, parts=176), H200)[0]
    assert config.vector > 1
    assert config.pixels > 1
    assert config.lanes * config.vector >= 32


@pytest.mark.parametrize("config", [(5, 1, 4, 8), (3, 1, 7, 16)])
def test_a_config_that_does_not_fit(config):
    """Channels that blocks do not cover are an error, not missing sums."""
    with pytest.raises(ScheduleError, match="does not fit 384 channels"):
        FiltersConfig(*config).check(problem(1, 14, 384, 7))
