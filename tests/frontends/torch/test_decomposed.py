"""Operators that are taken apart into others: what is made of them computes what they do."""

import itertools
from functools import partial

import mpmath
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from hidet.frontends.torch.decomposed import DECOMPOSED, sorting
from hidet.frontends.torch.decomposed.bessel import BESSEL
from hidet.frontends.torch.decomposed.foreach import FOREACH

aten = torch.ops.aten


def floats(*shape):
    return torch.randn(shape, dtype=torch.float64)


def check(target, *arguments, expected=None, **keywords):
    """Compare the results of a function with those of its operator, or with others."""
    actual = DECOMPOSED[target](*arguments, **keywords)
    expected = target(*arguments, **keywords) if expected is None else expected
    torch.testing.assert_close(actual, expected, equal_nan=True)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_convolution(rank, transposed):
    """Forward, where it is taken apart, and backward."""
    for stride, dilation, groups in itertools.product((1, 2, 3), (1, 2), (1, 2)):
        x, bias = floats(2, 4, *[11] * rank), floats(6)
        weight = floats(*((4, 6 // groups) if transposed else (6, 4 // groups)), *[3] * rank)
        extra = [stride - 1 if transposed and dilation >= stride else 0] * rank
        window = ([stride] * rank, [1], [dilation] * rank, transposed, extra, groups)
        result = aten.convolution(x, weight, bias, *window)
        if transposed or rank == 3:
            check(aten.convolution.default, x, weight, bias, *window, expected=result)
        else:
            found = DECOMPOSED[aten.convolution.default](x, weight, bias, *window)
            assert found is NotImplemented
        grad = torch.randn_like(result)
        check(aten.convolution_backward.default, grad, x, weight, [6], *window, [True] * 3)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_depthwise_gradients(rank):
    """Filters of single channels have their own operator up to two dimensions."""
    for stride, dilation in ((1, 1), (2, 1), (1, 2)):
        x, weight = floats(2, 4, *[11] * rank), floats(4, 1, *[3] * rank)
        window = ([stride] * rank, [1] * rank, [dilation] * rank, False, [0] * rank, 4)
        grad = torch.randn_like(aten.convolution(x, weight, None, *window))
        check(
            aten.convolution_backward.default, grad, x, weight, None, *window, [True, True, False]
        )


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("kernel", [1, 3])
def test_layout_of_gradients(layout, kernel):
    """Gradients of filters have their layout, or torch would copy them."""
    weight = floats(6, 4, kernel, kernel).to(memory_format=layout)
    window = ([1, 1], [kernel // 2] * 2, [1, 1], False, [0, 0], 1)
    mask = [False, True, False]
    backward = DECOMPOSED[aten.convolution_backward.default]
    found = backward(floats(2, 6, 9, 9), floats(2, 4, 9, 9), weight, None, *window, mask)[1]
    assert found.is_contiguous(memory_format=layout)


@pytest.mark.parametrize(
    "window",
    [
        ([3, 3], [2, 2], [1, 1], False, True, None),
        ([2, 3], [], [0, 1], True, False, None),
        ([3, 3], [2, 2], [1, 1], False, True, 5),
    ],
    ids=str,
)
def test_avg_pool(window):
    x = floats(2, 3, 9, 8)
    grad = torch.randn_like(aten.avg_pool2d(x, *window))
    check(aten.avg_pool2d_backward.default, grad, x, *window)
    kernel, stride, padding, *rest = window
    box = [2, *kernel], [2, *stride] if stride else [], [0, *padding], *rest
    x = floats(2, 3, 6, 9, 8)
    grad = torch.randn_like(aten.avg_pool3d(x, *box))
    check(aten.avg_pool3d_backward.default, grad, x, *box)


@pytest.mark.parametrize("size", [(1, 1), (3, 4), (4, 5)], ids=str)
def test_adaptive_avg_pool(size):
    x = floats(2, 3, 9, 8)
    grad = torch.randn_like(F.adaptive_avg_pool2d(x, size))
    check(aten._adaptive_avg_pool2d_backward.default, grad, x)
    check(aten._adaptive_avg_pool2d.default, x, size)
    x = floats(2, 7, 9, 8)
    grad = torch.randn_like(F.adaptive_avg_pool3d(x, (3, *size)))
    check(aten._adaptive_avg_pool3d_backward.default, grad, x)


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("counted", [False, True])
def test_avg_pool_of_different_windows(ceil_mode, counted):
    for window in ([3, 2], [2, 1], [1, 1]), ([2, 5], [3, 3], [1, 2]), ([3], [2]), ([2], [], [1]):
        padding = window[2] if len(window) == 3 else [0]
        for x in (floats(2, 3, 8, 7), floats(3, 9, 10)):
            given = (x, *window[:2], padding, ceil_mode, counted)
            if ceil_mode or (any(padding) and not counted):
                check(aten.avg_pool2d.default, *given)
            else:
                assert DECOMPOSED[aten.avg_pool2d.default](*given) is NotImplemented


@pytest.mark.parametrize(
    "window",
    [
        ([3, 3], [2, 2], [1, 1], [1, 1], False),
        ([3, 3], [2, 2], [0, 0], [1, 1], True),  # the last windows are not whole
        ([3, 2], [], [1, 0], [2, 1], False),
        ([2, 2], [3, 3], [0, 0], [1, 1], False),  # gaps
        ([3, 3], [1, 1], [1, 1], [1, 1], False),  # 9 windows over an element
        ([4, 3], [1, 1], [0, 0], [1, 1], False),  # more: a scatter
    ],
)
def test_max_pool(window):
    x = floats(2, 3, 9, 8).round(decimals=1)  # some are equal
    result, positions = aten.max_pool2d_with_indices(x, *window)
    grad = torch.randn_like(result)
    check(aten.max_pool2d_with_indices_backward.default, grad, x, *window, positions)


CPU, CUDNN, EFFICIENT, FLASH = (
    aten._scaled_dot_product_flash_attention_for_cpu_backward.default,
    aten._scaled_dot_product_cudnn_attention_backward.default,
    aten._scaled_dot_product_efficient_attention_backward.default,
    aten._scaled_dot_product_flash_attention_backward.default,
)


@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize("kind", ["plain", "causal", "mask"])
def test_attention(kind, scale):
    """The forms of GPUs take their arguments in other orders, and compute what a CPU's does."""
    query, key, value = (floats(2, 3, 5, 4) for _ in range(3))
    causal, mask = kind == "causal", floats(2, 3, 5, 5) if kind == "mask" else None
    forward = aten._scaled_dot_product_flash_attention_for_cpu
    out, sums = forward(query, key, value, 0.0, causal, attn_mask=mask, scale=scale)
    grad, seed = torch.randn_like(out), torch.tensor(0)
    first = (grad, query, key, value)
    expected = CPU(*first, out, sums, 0.0, causal, attn_mask=mask, scale=scale)
    check(CPU, *first, out, sums, 0.0, causal, attn_mask=mask, scale=scale)
    sizes = (None, None, 5, 5, 0.0, causal)
    rest = (out, sums, seed, seed)
    check(CUDNN, *first, *rest, mask, *sizes, scale=scale, expected=expected)
    found = DECOMPOSED[EFFICIENT](*first, mask, *rest, 0.0, [True] * 4, causal, scale=scale)
    torch.testing.assert_close(found[:3], expected)
    if mask is None:
        check(FLASH, *first, out, sums, *sizes, seed, seed, scale=scale, expected=expected)


# ---------------------------------------------------------------------------- sorting and scans

WITH_SPECIALS = torch.tensor([3, torch.nan, 1, 2, 1, torch.inf, -torch.inf, 0]).double()
ROWS = {
    "floats": floats(3, 5, 7),
    "specials": WITH_SPECIALS,
    "integers": torch.randint(0, 5, (4, 9)),
    "truths": torch.randint(0, 2, (4, 9)).bool(),
    "scalar": floats(),
    "empty": floats(0, 3),
    "empty rows": floats(3, 0).t(),
}
TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.int64, torch.bool)


def mixed(dtype, *shape):
    """Return a few different elements; among floats, of both signs: NaN, infinities and zeros."""
    x = torch.randint(-3, 4, shape).to(dtype)
    if not dtype.is_floating_point:
        return x
    specials = torch.tensor([torch.nan, torch.inf, 0.0, 0.1]).to(dtype)
    specials = torch.cat([specials, -specials])
    return torch.where(torch.rand(shape) < 0.1, specials[torch.randint(0, 8, shape)], x)


@pytest.mark.parametrize("descending", [False, True])
def test_sort(descending):
    """Equal elements stay in their order, and NaN is the largest number."""
    tensors = [mixed(dtype, 2, size, 2) for dtype in TYPES for size in (1, 16, 17, 1025)]
    for x in (*tensors, mixed(torch.float32, 1, 10000, 1)):
        check(aten.sort.stable, x, stable=True, dim=1, descending=descending)
    for x in ROWS.values():
        check(aten.sort.stable, x, stable=True, dim=0, descending=descending)


def test_sort_by_ranks(monkeypatch):
    """GPUs compare all pairs of rows that are not short; the first elements are their beginning."""
    monkeypatch.setitem(sorting.PAIRS, "cpu", 1 << 20)
    for x in (mixed(dtype, 2, 100, 2) for dtype in TYPES):
        check(aten.sort.stable, x, stable=True, dim=1)
        check(aten.sort.stable, x, stable=True, dim=1, descending=True)
    check(aten.topk.default, torch.randperm(300).reshape(3, 100), 7)


@pytest.mark.parametrize("size", [100, 1000, 4096])
def test_sort_in_parts(monkeypatch, size):
    """Rows that no block holds are sorted in parts, which are merged: up to six times here."""
    monkeypatch.setattr(sorting, "SHARED_BYTES", 512)
    for x in (floats(3, size).float(), torch.randint(-(1 << 62), 1 << 62, (2, size)) // 3):
        check(aten.sort.stable, x, stable=True, dim=1)


@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema(name):
    """The first of equal elements; NaN counts as the largest and as the smallest one."""
    extremum, position = getattr(aten, name).dim, getattr(aten, f"arg{name}").default
    tensors = [mixed(dtype, 4, size, 3) for dtype in (*TYPES, torch.int8) for size in (1, 5, 300)]
    for x in (*tensors, WITH_SPECIALS, floats(), floats(2, 70, 2), torch.tensor([0.0, -0.0])):
        for rest in ((), (None, True), (0,), (-1, True)):
            if x.dtype is not torch.bool:  # torch has no positions of booleans
                check(position, x, *rest)
            if rest and rest[0] is not None:
                check(extremum, x, *rest)
    check(position, floats(0, 3), 1)


def test_chosen():
    x = floats(3, 5, 7)
    for largest in (True, False):
        check(aten.topk.default, x, 3, 1, largest, True)
    check(aten.topk.default, ROWS["empty rows"], 0, 0)
    check(aten.kthvalue.default, x, 2, 1, True)
    for median in (aten.median, aten.nanmedian):
        for each in (x, WITH_SPECIALS):
            check(median.default, each)
            check(median.dim, each, 0)
        assert DECOMPOSED[median.default](floats(0)) is NotImplemented


@pytest.mark.parametrize("name", ["cummax", "cummin", "cumprod", "cumsum", "logcumsumexp"])
@pytest.mark.sample(1)
def test_scans(name):
    scan = getattr(aten, name).default
    for rows in ROWS.values():
        if name != "logcumsumexp" or rows.is_floating_point():
            check(scan, rows, 0)
    for dtype, size in itertools.product(TYPES, (1, 31, 32, 33, 1024, 1025, 5000)):
        if name in ("cummax", "cummin"):
            check(scan, mixed(dtype, 2, size, 2), 1)
        elif name != "logcumsumexp" or dtype.is_floating_point:
            steps = 1 + floats(2, size, 2) / 64 if name == "cumprod" else floats(2, size, 2) / 8
            check(scan, steps.to(dtype), 1)


def test_types_of_sums():
    """Sums and products in a given type; those of half precision are not rounded before the end."""
    for x in (floats(2, 3) > 0, torch.tensor([[1.0, torch.inf, 2.0]])):
        check(aten.cumsum.default, x, 0, dtype=torch.float32)
        check(aten.cumprod.default, x, 1, dtype=torch.float64)
    large = torch.randint(1 << 61, (3, 40))
    check(aten.cumsum.default, large, 1)
    check(aten.cumsum.default, large, 1, dtype=torch.int32)
    halves = torch.full((4096,), 2.0**-8, dtype=torch.float16)
    expected = (torch.arange(1, 4097) / 256).half()
    check(aten.cumsum.default, halves, 0, expected=expected)


def test_logcumsumexp_of_large_numbers():
    check(aten.logcumsumexp.default, torch.cat([floats(3, 40) * 300, floats(3, 4)], 1), 1)
    check(aten.logcumsumexp.default, mixed(torch.float32, 9, 40), 0)


def test_long_rows_stay_whole():
    """Each merge takes further kernels; the work of `mode` grows with the square of the length."""
    assert DECOMPOSED[aten.sort.default](torch.zeros(20000)) is NotImplemented
    assert DECOMPOSED[aten.topk.default](torch.zeros(20000), 3) is NotImplemented
    assert DECOMPOSED[aten.mode.default](torch.zeros(20, 2000)) is NotImplemented


@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(right):
    bounds, x = floats(4).sort()[0], torch.cat([floats(6), torch.tensor([torch.nan]).double()])
    check(aten.bucketize.Tensor, x, bounds, right=right)
    check(aten.bucketize.Tensor, bounds, bounds, right=right)
    rows, values = floats(3, 4).sort()[0], floats(3, 6)
    check(aten.searchsorted.Tensor, rows, values, right=right, out_int32=True)
    for size in (0, 1, 2, 3, 7, 8, 2000):  # NaN is sorted last
        bounds = torch.cat([floats(size).sort()[0], torch.tensor([torch.nan]).double()])
        check(aten.searchsorted.Tensor, bounds, values, right=right)


# ---------------------------------------------------------------------------- writes


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_reductions_at_positions(reduce, include_self):
    x, source, places = floats(3, 5, 7), floats(3, 6, 7), torch.randint(0, 5, (2, 6, 7))
    check(aten.scatter_reduce.two, x, 1, places, source, reduce, include_self=include_self)
    if reduce != "sum":
        places = torch.randint(0, 5, (6,))
        check(aten.index_reduce.default, x, 1, places, source, reduce, include_self=include_self)


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin"])
def test_reductions_of_integers_and_truths(reduce, include_self):
    places = torch.randint(0, 5, (2, 6))
    for limit, dtype in ((2, torch.bool), (9, torch.int64), (9, torch.uint8), (9, torch.int16)):
        x, source = (torch.randint(0, limit, (3, 6)).to(dtype) for _ in range(2))
        rest = (x, 1, places, source, reduce)
        check(aten.scatter_reduce.two, *rest, include_self=include_self)


def test_slice_scatter():
    for x, source, *rest in (
        (floats(6, 2), floats(2, 2), 0, 1, 3),
        (floats(6, 2), floats(6, 2)),
        (floats(3, 6, 2), floats(3, 2, 2), 1, 1, 6, 3),
        (floats(3, 6), floats(3, 0), -1, 4, 2),
    ):
        check(aten.slice_scatter.default, x, source, *rest)
    check(aten.select_scatter.default, floats(3, 4), floats(4), 0, -1)
    check(aten.select_scatter.default, floats(3, 4), floats(3), 1, 0)


def test_masked_scatter():
    for x in (floats(3, 5, 7), floats(90, 60)):
        check(aten.masked_scatter.default, x, x > 0, floats(x.numel()))


# ---------------------------------------------------------------------------- boxes, and the rest


@pytest.mark.parametrize("x", [floats(2, 3, 7, 8, 9), floats(3, 7, 8, 9)], ids=["5", "4"])
def test_boxes(x):
    box = ([3, 2, 2], [2, 2, 1], [1, 0, 1])
    check(aten.max_pool3d_with_indices.default, x, *box, [1, 2, 1])
    check(aten.max_pool3d_with_indices.default, x, [3], [], [1])
    check(aten.avg_pool3d.default, x, *box, False, True)
    check(aten.avg_pool3d.default, x, *box, True, False)
    check(aten.avg_pool3d.default, x, *box, True, True, 5)
    check(aten.avg_pool3d.default, x, *box, True, True)
    for sizes in ([3, 2, 4], [7, 2, 9], [1, 9, 3]):
        check(aten._adaptive_avg_pool3d.default, x, sizes)
    assert DECOMPOSED[aten.avg_pool3d.default](x.long(), *box) is NotImplemented


@pytest.mark.parametrize("x", [floats(2, 3, 7, 8, 9), floats(3, 7, 8, 9)], ids=["5", "4"])
def test_adaptive_max_pools(x):
    check(aten.adaptive_max_pool3d.default, x, [3, 2, 9])
    check(aten.adaptive_max_pool2d.default, x[0], [3, 4])
    check(aten.adaptive_max_pool2d.default, torch.full((2, 3, 3), -torch.inf), [2, 2])


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("special", [None, -torch.inf, torch.nan])
def test_fractional_max_pool(rank, special):
    """Of equal elements the first is chosen, but the last NaN."""
    packet = aten.fractional_max_pool2d if rank == 2 else aten.fractional_max_pool3d
    x = floats(2, 3, *(9, 8, 7)[:rank]).round(decimals=1)
    if special is not None:
        x = torch.where(x > 0.5, torch.tensor(special).double(), x)
    for sizes in ((4, 5, 3), (1, 7, 5), (2, 1, 1)):
        for images in (x, x[0]):
            samples = torch.rand(2 if images.dim() > rank + 1 else 1, 3, rank).double()
            check(packet.default, images, [2, 1, 2][:rank], sizes[:rank], samples)


@pytest.mark.parametrize("rank", [2, 3])
def test_gradients_of_max_pools(rank):
    x, grad = floats(2, 3, *[6] * rank), floats(2, 3, *[3] * rank)
    window = ([2], [2], [0], [1], False)
    kinds = {
        "max_pool{}d_with_indices": window,
        "adaptive_max_pool{}d": ([3] * rank,),
        "fractional_max_pool{}d": ([2] * rank, [3] * rank, torch.rand(2, 3, rank).double()),
    }
    for name, rest in kinds.items():
        index = getattr(aten, name.format(rank))(x, *rest)[1]
        rest = {"adaptive_max_pool{}d": (), "fractional_max_pool{}d": rest[:2]}.get(name, rest)
        check(getattr(aten, f"{name.format(rank)}_backward").default, grad, x, *rest, index)


def test_larger_and_smaller():
    """NaN gives way to numbers."""
    x, other = WITH_SPECIALS, WITH_SPECIALS.flip(0)
    for target in (aten.fmax.default, aten.fmin.default):
        check(target, x, other)


def test_distances_between_rows():
    x = floats(2, 5, 7)
    check(aten._cdist_forward.default, x[0], x[1], 2.0, None)
    check(aten._pdist_forward.default, x[0], 1.5)


def test_trilinear():
    a, b, c = floats(4, 3), floats(2, 3, 5), floats(4, 5)
    check(aten._trilinear.default, a, b, c, [1, 3], [0], [1, 2], [2, 3])


SIGNED = torch.linspace(-25, 60, 4001, dtype=torch.float64)
WITHIN_ONE = torch.linspace(-0.9999, 0.9999, 2001, dtype=torch.float64)
FUNCTIONS = {
    aten.angle.default: (SIGNED, 0),
    aten.digamma.default: (torch.linspace(0.01, 60, 4001, dtype=torch.float64), 1e-12),
    aten.erfinv.default: (WITHIN_ONE, 1e-12),
    aten.i0.default: (SIGNED, 1e-11),
    aten.signbit.default: (torch.cat([SIGNED, torch.tensor([-0.0, 0.0])]), 0),
    aten.special_i0e.default: (SIGNED, 1e-11),
    aten.special_i1.default: (SIGNED, 1e-11),
    aten.special_i1e.default: (SIGNED, 1e-11),
    aten.special_modified_bessel_i0.default: (SIGNED, 1e-11),
    aten.special_modified_bessel_i1.default: (SIGNED, 1e-11),
    aten.special_ndtri.default: ((1 + WITHIN_ONE) / 2, 1e-12),
    aten.special_spherical_bessel_j0.default: (SIGNED, 1e-12),
}
"""Where functions are tried, and the relative error that they may have."""


@pytest.mark.parametrize("target", FUNCTIONS, ids=str)
def test_function(target):
    """Approximations are as precise as they say."""
    x, error = FUNCTIONS[target]
    actual, expected = DECOMPOSED[target](x), target(x)
    torch.testing.assert_close(actual, expected, rtol=error, atol=error)
    if error:
        single = DECOMPOSED[target](x.float())
        torch.testing.assert_close(single, target(x.float()), rtol=1e-5, atol=2e-6)


def test_digamma_of_negative_numbers():
    x = torch.tensor([-0.3, -2.7, -7.5, 0.0, -0.0, -3.0]).double()
    check(aten.digamma.default, x)


def test_limits_of_erfinv():
    check(aten.erfinv.default, torch.tensor([-1, 1, 2, -2, 0]).double())


@pytest.mark.parametrize(("p", "train"), [(0.0, True), (1.0, True), (0.3, False)])
def test_dropout_of_nothing_and_of_all(p, train):
    check(aten.native_dropout.default, floats(50), p, train)


def test_shared_heads():
    """The gradients of heads that several queries share add up."""
    query, key, value = floats(2, 4, 5, 8), floats(2, 2, 7, 8), floats(2, 2, 7, 8)
    leaves = [each.requires_grad_() for each in (query, key, value)]
    out = F.scaled_dot_product_attention(
        query, *(each.repeat_interleave(2, 1) for each in (key, value))
    )
    grad = torch.randn_like(out)
    expected = torch.autograd.grad(out, leaves, grad)
    first = [each.detach() for each in (grad, query, key, value)]
    check(CPU, *first, out, out, 0.0, False, expected=expected)


@pytest.mark.parametrize("decimals", [-2, 0, 3])
def test_rounded(decimals):
    check(aten.round.decimals, floats(50) * 300, decimals=decimals)


@pytest.mark.parametrize("reduce", ["add", "multiply"])
def test_older_form(reduce):
    x, places = floats(3, 5), torch.randint(0, 5, (2, 9))
    check(aten.scatter.reduce, x, 1, places, floats(3, 9), reduce=reduce)
    check(aten.scatter.value_reduce, x, 1, places, 2.5, reduce=reduce)


def test_views_are_written():
    x = floats(4, 5, 6)
    check(aten.diagonal_scatter.default, x, floats(5, 4), 2, 0, 2)
    check(aten.diagonal_scatter.default, x, floats(4, 4), -1, 1, 2)
    check(aten.as_strided_scatter.default, x, floats(2, 3), [2, 3], [7, 2], 5)


@pytest.mark.filterwarnings("ignore:index_reduce")
def test_scalars():
    one = torch.tensor([0])
    check(aten.index_reduce.default, floats(), 0, one, floats(), "amax")
    check(aten.scatter_reduce.two, floats(), 0, one[0], floats(), "prod")
    check(aten.searchsorted.Tensor, floats(0), floats(3))


# ---------------------------------------------------------------------------- counting

AGAIN = torch.randint(0, 3, (5, 6, 7)).double()


@pytest.mark.parametrize("x", [ROWS["integers"], ROWS["truths"], ROWS["scalar"], AGAIN])
def test_mode(x):
    check(aten.mode.default, x, 0, True)
    torch.testing.assert_close(DECOMPOSED[aten.mode.default](x, 0)[0], x.mode(0)[0])


def test_histograms():
    x = floats(200)
    for bins, low, high in ((100, 0, 0), (7, -1, 1), (3, 0, 10)):
        check(aten.histc.default, x, bins, low, high)
    check(aten.histc.default, torch.ones(3), 5)
    integers = torch.randint(-3, 12, (200,), dtype=torch.int32)  # eager torch counts them on GPUs
    for bins, low, high in ((10, 0, 9), (4, -2, 11), (5, 0, 0), (1 << 15, 0, (1 << 15) - 1)):
        expected = aten.histc(integers.float(), bins, low, high).int()
        check(aten.histc.default, integers, bins, low, high, expected=expected)
    for keywords in ({}, {"density": True}, {"weight": floats(200)}):
        check(aten.histogram.bins_tensor, x, floats(5).sort()[0], **keywords)
        for ends in ([-1.0, 2.0], [1.0, 1.0], None):
            check(aten.histogram.bin_ct, x, 11, range=ends, **keywords)


@pytest.mark.parametrize("density", [False, True])
def test_histograms_of_points(density):
    x, weight = floats(5, 40, 3), floats(5, 40)
    edges = [floats(count).sort()[0] for count in (3, 4, 2)]
    for keywords in ({}, {"weight": weight}):
        given = {**keywords, "density": density}
        check(aten._histogramdd_from_bin_tensors.default, x, edges, **given)
        for ends in (None, [-1.0, 2.0, 0.0, 1.0, 1.0, 1.0]):
            check(aten._histogramdd_bin_edges.default, x, [3, 4, 2], range=ends, **given)
            check(aten._histogramdd_from_bin_cts.default, x, [3, 4, 2], range=ends, **given)


def test_nonzero_static():
    for size in (0, 3, 100):
        check(aten.nonzero_static.default, ROWS["truths"], size=size, fill_value=-7)
    check(aten.nonzero_static.default, torch.rand(90, 60) < 0.1, size=700)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("initial", [None, 1.5])
def test_segments(reduce, initial):
    for bounds in ({"lengths": torch.tensor([0, 1, 4])}, {"offsets": torch.tensor([0, 0, 1, 5])}):
        check(aten.segment_reduce.default, floats(5, 3), reduce, initial=initial, **bounds)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("last", [False, True])
def test_embedding_bag(mode, last):
    target, ids, offsets = aten._embedding_bag_forward_only, [1, 5, 5, 0], [0, 3, 3, 4]
    table = floats(6, 5)
    for padding in (-1, 5):
        weights = floats(4) if mode == 0 else None
        rest = (False, mode, False, weights, last, padding)
        given = (table, torch.tensor(ids), torch.tensor(offsets), *rest)
        torch.testing.assert_close(DECOMPOSED[target.default](*given)[0], target(*given)[0])


@pytest.mark.parametrize("dtype", [pytest.param(torch.int32, marks=pytest.mark.slow), torch.int64])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.sample(1)
def test_gradient_of_an_embedding_bag(mode, dtype):
    """What the backward pass takes has the types of eager torch."""
    module = torch.nn.EmbeddingBag(20, 7, mode=mode, padding_idx=2)
    ids, offsets = torch.randint(0, 20, (32,)).to(dtype), torch.tensor([0, 3, 3, 10]).to(dtype)
    ids[8:16] = 2
    for given in ((ids, offsets), (ids.reshape(4, 8),)):
        found, gradients = [], []
        for run in (module, torch.compile(module, backend="hidet")):
            module.zero_grad()
            found.append(run(*given))
            found[-1].backward(torch.linspace(-1, 1, 28).reshape(4, 7))
            gradients.append(module.weight.grad.clone())
        torch.testing.assert_close(*found)
        torch.testing.assert_close(*gradients)


def of_list(argument):
    """Return what an operator on two tensors takes as an argument, by its type."""
    match str(argument.type):
        case "List[Tensor]":
            return [torch.rand(3, 4) + 0.5, torch.rand(2) + 0.5]
        case "Tensor":
            return torch.tensor([0.5, 2.0] if argument.name == "scalars" else 0.5)
        case "number":
            return 0.5
        case kind:
            assert kind == "List[number]"
            return [0.5, 2.0]


@pytest.mark.parametrize("target", FOREACH, ids=str)
def test_lists(target):
    given = [a for a in target._schema.arguments if not a.kwarg_only]
    check(target, *(of_list(a) for a in given if "Optional" not in str(a.type)))


@pytest.mark.parametrize("size", [6, 200], ids=["16 bits", "32 bits"])
def test_gradient_of_max_pooling(size):
    """Indices are compared in the shortest type that has them all."""
    x, window = floats(2, 3, size, size), ([3, 3], [2, 2], [1, 1], [1, 1], False)
    found, indices = aten.max_pool2d_with_indices(x, *window)
    check(aten.max_pool2d_with_indices_backward.default, floats(*found.shape), x, *window, indices)


def test_gradient_of_the_weights_of_a_bag():
    table, weights = floats(20, 7), floats(32)
    ids, offsets = torch.randint(0, 20, (32,)), torch.tensor([0, 3, 3, 10])
    grad = floats(4, 7)

    def gradients(table, weights):
        given = table.clone().requires_grad_(), weights.clone().requires_grad_()
        options = {"mode": "sum", "padding_idx": 2, "per_sample_weights": given[1]}
        found = F.embedding_bag(ids, given[0], offsets, **options)
        return torch.autograd.grad(found, given, grad)

    traced = make_fx(gradients, decomposition_table=DECOMPOSED)(table, weights)
    assert "embedding_bag" not in traced.code
    torch.testing.assert_close(traced(table, weights), gradients(table, weights))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("last", [False, True])
def test_equal_bags(mode, last):
    """Bags of 2-D indices, or at a range of offsets, are rows: nothing is scattered or compared."""
    given = floats(9, 4), torch.tensor([[1, 8, 5], [5, 2, 0]]), floats(2, 3)

    def bags(table, ids, weights):
        return at(table, ids, weights, None, last=False)

    def at(table, ids, weights, offsets, last):
        weights = weights if mode == "sum" else None
        options = {"per_sample_weights": weights, "include_last_offset": last}
        return F.embedding_bag(ids, table, offsets, mode=mode, **options)

    def at_a_range(table, ids, weights):
        offsets = torch.arange(0, 6 + last, 3)
        return at(table, ids.ravel(), weights.ravel(), offsets, last)

    for function in (bags, at_a_range):
        traced = make_fx(function, decomposition_table=DECOMPOSED, tracing_mode="fake")(*given)
        traced.graph.eliminate_dead_code()
        operators = {str(node.target) for node in traced.graph.nodes}
        assert "aten.index_select.default" in operators
        assert "aten.index_add.default" not in operators
        assert mode == "max" or "aten.eq.Tensor" not in operators  # of elements and the largest one
        torch.testing.assert_close(traced(*given), function(*given))


def test_sums_at_positions():
    """Rows are added on several cores; many have the same position."""
    x, positions, rows = floats(50, 40), torch.randint(0, 50, (4096,)), floats(4096, 40)
    add = torch.compile(lambda x, i, rows: x.index_add(0, i, rows), backend="hidet")
    torch.testing.assert_close(add(x, positions, rows), x.index_add(0, positions, rows))


# ---------------------------------------------------------------------------- functions

RANDOM = torch.cat([floats(500) * 5, torch.rand(200).double() * 40, torch.rand(100).double() / 999])
EXACT = {
    "special_airy_ai": mpmath.airyai,
    "special_bessel_j0": partial(mpmath.besselj, 0),
    "special_bessel_j1": partial(mpmath.besselj, 1),
    "special_bessel_y0": partial(mpmath.bessely, 0),
    "special_bessel_y1": partial(mpmath.bessely, 1),
    "special_erfcx": lambda x: mpmath.erfc(x) * mpmath.exp(x * x),
    "special_modified_bessel_k0": partial(mpmath.besselk, 0),
    "special_modified_bessel_k1": partial(mpmath.besselk, 1),
    "special_scaled_modified_bessel_k0": lambda x: mpmath.besselk(0, x) * mpmath.exp(x),
    "special_scaled_modified_bessel_k1": lambda x: mpmath.besselk(1, x) * mpmath.exp(x),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.sample(4)
def test_bessel(name):
    """What cancels out at the roots is as good as the amplitude."""
    target = getattr(aten, name).default
    x = RANDOM[RANDOM > 0] if "_y" in name or "_k" in name else RANDOM
    exact = [float(EXACT[name](each)) for each in x.tolist()]
    expected = torch.tensor(exact, dtype=torch.float64)
    torch.testing.assert_close(BESSEL[target](x), expected, rtol=1e-7, atol=1e-8)
    ends = torch.tensor([0.0, -1.0, torch.nan]).double()
    torch.testing.assert_close(BESSEL[target](ends), target(ends), equal_nan=True)


@pytest.mark.parametrize("target", [t for t in BESSEL if "chebyshev" in str(t)], ids=str)
def test_chebyshev(target):
    x = torch.cat([floats(300) * 2, torch.rand(300).double(), torch.tensor([1.0, -1, 0, 0.5])])
    n = torch.randint(-2, 12, x.shape)
    given = {"x_scalar": (0.3, n), "n_scalar": (x, 5)}
    check(target, *given.get(target._overloadname, (x, n)))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 7])
def test_polygamma(n):
    """Torch's own trigamma is good to 5e-10, and finite at negative poles."""
    x = torch.cat([RANDOM, torch.tensor([0.0, 1, 2] if n == 1 else [0.0, -1, -2, 1, 2])])
    actual, expected = BESSEL[aten.polygamma.default](n, x), torch.polygamma(n, x)
    torch.testing.assert_close(actual, expected, rtol=1e-8, atol=1e-8, equal_nan=True)


@pytest.mark.parametrize("name", ["hermite_h", "hermite_he", "laguerre_l", "legendre_p"])
def test_polynomials(name):
    prefix, _, letter = name.partition("_")
    packet = getattr(aten, f"special_{prefix}_polynomial_{letter}")
    x = torch.cat([floats(300) * 2, torch.tensor([0.0, 1, -1])])
    n = torch.randint(-2, 15, x.shape)
    check(packet.default, x, n)
    check(packet.default, x[:, None], torch.tensor([torch.nan, torch.inf, 2.5, -0.5]))
    check(packet.n_scalar, x, 4)
    check(packet.x_scalar, 0.5, n)


def test_zeta():
    """Of negative numbers, too, unless they are in between."""
    s = torch.cat([1 + 20 * torch.rand(300), torch.randint(2, 9, (300,))]).double()
    q = torch.cat([20 * torch.rand(300), 20 * torch.randn(300)]).double()
    target = aten.special_zeta.default
    torch.testing.assert_close(BESSEL[target](s, q), target(s, q), rtol=1e-12, atol=1e-12)
    ends = torch.tensor([1.0, 0, 2, 2, 2.5, 2.5, 3, torch.nan, 200, 200, 300]).double()
    check(target, ends, torch.tensor([1.0, 1, 0, -1, -0.5, -2, -1e5 - 0.25, 1, 1, 1.5, 0.5]))
    check(aten.special_zeta.other_scalar, ends, 2.5)
    check(aten.special_zeta.self_scalar, 3.5, q.abs())


@pytest.mark.parametrize("upper", [False, True])
def test_incomplete_gamma(upper):
    """To 1e-12, also of large numbers, where torch is less exact."""
    target = aten.igammac.default if upper else aten.igamma.default
    ends = torch.tensor([0.0, 1, 2, -1, torch.inf, -torch.inf, torch.nan]).double()
    check(target, ends[:, None], ends)
    a = torch.cat([5 * torch.rand(99), 300 * torch.rand(99), torch.rand(9) / 999]).double()
    x = (a * 2 * torch.rand_like(a)).abs()
    pairs = zip(a.tolist(), x.tolist(), strict=True)
    exact = [mpmath.gammainc(*pair, regularized=True) for pair in pairs]
    a, x = torch.cat([a, LARGE[0]]), torch.cat([x, LARGE[1]])
    expected = torch.tensor([*map(float, exact), *LARGE[2].tolist()], dtype=torch.float64)
    expected = expected if upper else 1 - expected
    torch.testing.assert_close(DECOMPOSED[target](a, x), expected, rtol=0, atol=1e-12)


LARGE = torch.tensor(
    [
        [1e4, 1e4, 0.4986701916600448],
        [9e4, 90500, 0.04798623079627197],
        [2e5, 201000, 0.01277127170937222],
        [1e6, 1003000, 0.0013617406462175915],
        [1e6, 996000, 0.9999689928817889],
        [1e8, 100020000, 0.022755530774855204],
    ],
    dtype=torch.float64,
).T
"""Large a and x with Q(a, x), by the series in 40 digits."""


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_divisors(dtype):
    """They wrap around as in C++."""
    least, most = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    ends = torch.tensor([least + 1, most, 0, 1, 96]).to(dtype)  # torch traps for some with `least`
    for x, y in (
        (ends[:, None], ends),
        torch.randint(least, most, (2, 500)).to(dtype),
        torch.randint(0, 100, (2, 500)).to(dtype),
    ):
        check(aten.gcd.default, x, y)
        check(aten.lcm.default, x, y)


def test_frexp():
    """To the last bit, also of numbers that are not normal."""
    powers = torch.cat([2.0 ** torch.arange(-149, 128), torch.tensor([0, -0.0, torch.inf])])
    singles = torch.cat([powers, -powers, torch.randn(500) * 1e30])
    for x in (singles, floats(500) * 1e-200, singles.half(), singles.bfloat16()):
        actual, expected = DECOMPOSED[aten.frexp.Tensor](x), aten.frexp(x)
        torch.testing.assert_close(actual, expected, rtol=0, atol=0)


@pytest.mark.parametrize("corners", [False, True])
def test_smooth_upsampling(corners):
    for size in ((3, 3), (5, 30), (20, 7)):
        x = floats(2, 3, 10, 20)
        check(aten._upsample_bilinear2d_aa.default, x, size, corners)


@pytest.mark.parametrize("corners", [False, True])
def test_grids_of_volumes(corners):
    x, grid = floats(2, 3, 5, 6, 7), floats(2, 4, 3, 5, 3)
    for mode, padding in itertools.product((0, 1), (0, 1, 2)):
        check(aten.grid_sampler_3d.default, x, grid, mode, padding, corners)


@pytest.mark.parametrize("rows", [1, 2, 70])
def test_distances_of_rows(rows):
    check(aten._pdist_forward.default, floats(rows, 4), 2.0)
