"""Calls of each operator of `hidet.ops`, with what numpy or torch makes of them.

A case is the name, the arguments, and the reference on tensors in float64. Arrays are given as
functions of a generator, so that data are random and within the domain of each function.
"""

from collections import namedtuple

import numpy as np
import torch
from torch.nn import functional as nn

Case = namedtuple("Case", "name arguments reference keywords", defaults=({},))


def normal(*shape):
    return lambda g: torch.randn(shape, generator=g)


def between(low, high, *shape):
    return lambda g: torch.rand(shape, generator=g) * (high - low) + low


def integers(low, high, *shape, dtype=torch.int32):
    return lambda g: torch.randint(low, high, shape, generator=g).to(dtype)


def positions(high, *shape):
    return integers(0, high, *shape, dtype=torch.int64)


def by_numpy(function):
    """A reference of numpy."""
    return lambda *arguments, **keywords: torch.as_tensor(
        function(*(a.numpy() if isinstance(a, torch.Tensor) else a for a in arguments), **keywords)
    )


ANY, POSITIVE, UNIT = normal(3, 5), between(0.1, 4, 3, 5), between(-0.9, 0.9, 3, 5)

UNARY = {
    **dict.fromkeys(["abs", "ceil", "cos", "cosh", "exp", "expm1", "floor", "isfinite"], ANY),
    **dict.fromkeys(["isinf", "isnan", "negative", "positive", "sign", "sin", "sinh"], ANY),
    **dict.fromkeys(["square", "tanh", "trunc", "rint", "arctan"], ANY),
    **dict.fromkeys(["log", "log10", "log1p", "log2", "sqrt", "reciprocal"], POSITIVE),
    **dict.fromkeys(["arccos", "arcsin", "arctanh", "tan"], UNIT),
    "arcsinh": ANY,
    "arccosh": between(1.1, 4, 3, 5),
}
"""For the name of each function of numpy its domain."""

ARCS = ["cos", "cosh", "sin", "sinh", "tan", "tanh"]
NAMES = {"rint": "round", **{f"arc{name}": f"a{name}" for name in ARCS}}
"""What `hidet.ops` calls those that it has under another name."""

BINARY = {
    "add": (ANY, normal(5)),
    "arctan2": (ANY, normal(3, 1)),
    "divide": (ANY, POSITIVE),
    "equal": (integers(0, 3, 3, 5), integers(0, 3, 5)),
    "fmod": (ANY, POSITIVE),
    "greater": (ANY, normal(5)),
    "greater_equal": (ANY, normal(5)),
    "less": (ANY, normal(5)),
    "less_equal": (ANY, normal(5)),
    "logaddexp": (ANY, normal(5)),
    "logical_and": (integers(0, 2, 3, 5), integers(0, 2, 5)),
    "logical_or": (integers(0, 2, 3, 5), integers(0, 2, 5)),
    "logical_xor": (integers(0, 2, 3, 5), integers(0, 2, 5)),
    "maximum": (ANY, normal(5)),
    "minimum": (ANY, normal(5)),
    "multiply": (ANY, normal(3, 1)),
    "not_equal": (integers(0, 3, 3, 5), integers(0, 3, 5)),
    "power": (POSITIVE, between(-2, 2, 5)),
    "remainder": (ANY, between(-3, -1, 3, 5)),
    "subtract": (ANY, normal(5)),
    "bitwise_and": (integers(0, 99, 4), integers(0, 99, 4)),
    "bitwise_or": (integers(0, 99, 4), integers(0, 99, 4)),
    "bitwise_xor": (integers(0, 99, 4), integers(0, 99, 4)),
    "left_shift": (integers(0, 99, 4), integers(0, 9, 4)),
    "right_shift": (integers(0, 99, 4), integers(0, 9, 4)),
}
NAMES |= {
    "arctan2": "atan2",
    "fmod": "mod",
    "power": "pow",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
}

COMPLEX = lambda g: torch.complex(ANY(g), ANY(g))  # noqa: E731
IMAGES, VOLUMES = normal(2, 4, 6, 6), normal(1, 2, 6, 5, 4)


POSITIVE_ROW = between(0.1, 4, 5)


def halves(g):
    """Rows of multiples of 1/2, the last of which is the largest that 8 bits hold."""
    rows = torch.randint(-127, 128, (3, 5), generator=g) / 2
    rows[:, -1] = 63.5
    return rows


def orders(g):
    """Different positions in each column."""
    return torch.rand(3, 5, generator=g).argsort(0)


CASES = [
    *(Case(NAMES.get(n, n), (x,), by_numpy(getattr(np, n))) for n, x in UNARY.items()),
    *(Case(NAMES.get(n, n), xs, by_numpy(getattr(np, n))) for n, xs in BINARY.items()),
    Case("erf", (ANY,), torch.erf),
    Case("rsqrt", (POSITIVE,), lambda x: 1 / torch.sqrt(x)),
    Case("logical_not", (integers(0, 2, 4),), by_numpy(np.logical_not)),
    Case("bitwise_invert", (integers(0, 9, 4),), by_numpy(np.invert)),
    Case("barrier", (ANY,), lambda x: x),
    Case("maximum", (ANY, normal(5), normal(3, 1)), lambda x, y, z: x.maximum(y).maximum(z)),
    Case("clamp", (ANY, -0.5, 0.5), by_numpy(np.clip)),
    Case("clip", (ANY, None, 0.5), by_numpy(np.clip)),
    Case("roll", (ANY, 2, 1), by_numpy(lambda x, n, axis: np.roll(x, n, axis))),
    Case("where", (integers(0, 2, 3, 5, dtype=torch.bool), ANY, normal(5)), by_numpy(np.where)),
    *(Case(name, (COMPLEX,), by_numpy(getattr(np, name))) for name in ("conj", "imag", "real")),
    Case("make_complex", (ANY, ANY), torch.complex),
    # activations
    Case("celu", (ANY, 0.7), nn.celu),
    Case("gelu", (ANY,), nn.gelu),
    Case("gelu", (ANY, True), lambda x, _: nn.gelu(x, approximate="tanh")),
    Case("hardshrink", (ANY, 0.4), nn.hardshrink),
    Case("hardsigmoid", (ANY,), lambda x: (x / 6 + 0.5).clamp(0, 1)),
    Case("hardswish", (ANY,), lambda x: x * (x / 6 + 0.5).clamp(0, 1)),
    Case("hardtanh", (ANY, -0.3, 0.6), lambda x, a, b: x.clamp(a, b)),
    Case("leaky_relu", (ANY, 0.1), nn.leaky_relu),
    Case("logsigmoid", (ANY,), lambda x: -torch.log(1 + torch.exp(-x))),
    Case("logsoftmax", (ANY,), lambda x: x - torch.logsumexp(x, 1, True)),
    Case("prelu", (ANY, between(0.1, 0.2, 5)), lambda x, a: torch.where(x > 0, x, a * x)),
    Case("relu", (ANY,), lambda x: x.clamp(min=0)),
    Case("relu6", (ANY,), lambda x: x.clamp(0, 6)),
    Case("sigmoid", (ANY,), lambda x: 1 / (1 + torch.exp(-x))),
    Case("silu", (ANY,), lambda x: x / (1 + torch.exp(-x))),
    Case("softmax", (ANY,), lambda x: x.exp() / x.exp().sum(1, True)),
    Case("softmin", (ANY, 0), lambda x, dim: (-x).exp() / (-x).exp().sum(dim, True)),
    Case("softplus", (ANY, 2.0, 20.0), lambda x, b, _: torch.log(1 + torch.exp(b * x)) / b),
    Case("softshrink", (ANY, 0.3), nn.softshrink),
    Case("softsign", (ANY,), lambda x: x / (1 + x.abs())),
    Case("tanhshrink", (ANY,), lambda x: x - x.tanh()),
    # reductions
    Case("all", (integers(0, 2, 3, 2),), by_numpy(np.all), {"axis": 1}),
    Case("any", (integers(0, 2, 3, 2),), by_numpy(np.any), {"axis": 0, "keepdims": True}),
    Case("argmax", (ANY, 1), by_numpy(np.argmax)),
    Case("argmin", (ANY, 0), by_numpy(np.argmin)),
    Case("cumsum", (ANY, 1), torch.cumsum),
    Case("cumsum", (ANY, 1, True, True), lambda x, *_: x.flip(1).cumsum(1).flip(1) - x),
    Case("max", (ANY, [0, 1]), lambda x, _: x.amax()),
    Case("mean", (ANY, -1, True), lambda x, dim, keep: x.mean(dim, keep)),
    Case("min", (ANY, 0), lambda x, _: x.amin(0)),
    Case("prod", (ANY, [0, 1]), lambda x, _: x.prod()),
    Case("std", (ANY, 1), by_numpy(np.std)),
    Case("sum", (ANY, None), lambda x, _: x.sum()),
    Case("var", (ANY, 0, False, 1), lambda x, *_: x.var(0)),
    # products
    Case("matmul", (normal(2, 3, 4), normal(4, 5)), by_numpy(np.matmul)),
    Case("matmul_nt", (normal(3, 4), normal(5, 4)), lambda a, b: a @ b.T),
    Case("matmul_nt", (normal(2, 3, 4), normal(4)), lambda a, b: a @ b),
    Case("einsum", ("bij,bjk->bik", [normal(2, 3, 4), normal(2, 4, 5)]), torch.einsum),
    Case(
        "conv1d",
        (normal(2, 4, 9), normal(6, 2, 3), 2, 1, 2),
        lambda x, w, s, d, g: nn.conv1d(x, w, stride=s, dilation=d, groups=g),
    ),
    Case("conv2d", (IMAGES, normal(5, 4, 3, 3)), nn.conv2d),
    Case(
        "conv2d",
        (IMAGES, normal(4, 1, 3, 3), 2, 1, 4, 1),
        lambda x, w, s, d, g, p: nn.conv2d(x, w, None, s, p, d, g),
    ),
    Case(
        "conv2d_channel_last",
        (normal(2, 6, 6, 4), normal(5, 4, 3, 3)),
        lambda x, w: nn.conv2d(x.permute(0, 3, 1, 2), w).permute(0, 2, 3, 1),
    ),
    Case(
        "attention",
        (normal(2, 3, 8), normal(2, 8, 5), normal(2, 5, 8)),
        lambda q, k, v: torch.softmax(q @ k, -1) @ v,
    ),
    # norms
    Case(
        "batch_norm_infer",
        (IMAGES, normal(4), between(1, 2, 4)),
        lambda x, m, v: (x - m[:, None, None]) / (v[:, None, None] + 1e-5).sqrt(),
    ),
    Case("group_norm", (IMAGES, 2), nn.group_norm),
    Case("instance_norm", (IMAGES,), nn.instance_norm),
    Case("layer_norm", (IMAGES, 2), lambda x, n: nn.layer_norm(x, x.shape[-n:])),
    Case("lp_norm", (ANY,), lambda x: x / x.norm(dim=1, keepdim=True)),
    # pooling
    Case("avg_pool2d", (IMAGES, 3, 2, 1), nn.avg_pool2d),
    Case("avg_pool2d", (IMAGES, 3, 2, [1, 0, 1, 0]), lambda x, *_: nn.avg_pool2d(x, 3, 2, (1, 0))),
    Case("max_pool2d", (IMAGES, 3, 2, 1), nn.max_pool2d),
    Case("adaptive_avg_pool2d", (IMAGES, 3), nn.adaptive_avg_pool2d),
    Case("avg_pool3d", (VOLUMES, 3, 2, 1), nn.avg_pool3d),
    Case("max_pool3d", (VOLUMES, 3, 2, 1), nn.max_pool3d),
    Case("adaptive_avg_pool1d", (normal(2, 4, 9), 3), nn.adaptive_avg_pool1d),
    Case("adaptive_avg_pool3d", (VOLUMES, 2), nn.adaptive_avg_pool3d),
    Case("adaptive_max_pool1d", (normal(2, 4, 9), 3), nn.adaptive_max_pool1d),
    Case("adaptive_max_pool2d", (IMAGES, 3), nn.adaptive_max_pool2d),
    Case("adaptive_max_pool3d", (VOLUMES, 2), nn.adaptive_max_pool3d),
    Case("conv3d", (VOLUMES, normal(3, 2, 3, 3, 3)), nn.conv3d),
    Case("conv1d_transpose", (normal(2, 4, 9), normal(4, 3, 3)), nn.conv_transpose1d),
    Case(
        "conv2d_transpose",
        (IMAGES, normal(4, 3, 3, 3), 2, 1),
        lambda x, w, s, p: nn.conv_transpose2d(x, w, None, s, p),
    ),
    Case("conv3d_transpose", (VOLUMES, normal(2, 3, 3, 3, 3)), nn.conv_transpose3d),
    # what moves elements
    Case("broadcast", (normal(3, 1), [2, 3, 5]), torch.broadcast_to),
    Case("cast", (between(0, 9, 4), "int32"), lambda x, _: x.int()),
    Case("concat", ([ANY, normal(3, 2)], 1), torch.cat),
    Case("conv_pad", (IMAGES, [1, 2]), lambda x, _: nn.pad(x, [2, 2, 1, 1])),
    Case("expand_dims", (ANY,), torch.unsqueeze, {"axis": 1}),
    Case("flatten", (IMAGES, 1), torch.flatten),
    Case("flip", (ANY, [0, 1]), torch.flip),
    Case("gather", (ANY, positions(3, 2, 5), 0), lambda x, ids, axis: x.gather(axis, ids)),
    Case("im2col", (IMAGES, 3), nn.unfold),
    Case("index_select", (ANY, positions(5, 4), 1), lambda x, ids, dim: x[:, ids]),
    Case("meshgrid", (normal(3), normal(2)), lambda x, y: torch.meshgrid(x, y, indexing="ij")),
    Case("pad", (ANY, [1, 0, 2, 3]), lambda x, _: nn.pad(x, [0, 3, 1, 2])),
    Case("permute_dims", (normal(2, 3, 4), [2, 0, 1]), torch.permute),
    Case(
        "rearrange",
        (normal(2, 3, 4), [[1], [], [2, 0]]),
        lambda x, _: x.permute(1, 2, 0).reshape(3, 1, 8),
    ),
    Case("repeat_interleave", (ANY, 2, 1), torch.repeat_interleave),
    Case("reshape", (ANY, [5, -1]), torch.reshape),
    Case("split", (normal(4, 3), 2), lambda x, n: torch.chunk(x, n)),
    Case("split", (normal(4, 3), [1, 3]), torch.split),
    Case("squeeze", (normal(1, 3, 1), [0, 2]), lambda x, _: x.reshape(3)),
    Case(
        "strided_slice", (normal(4, 8), [1, 0], [4, 7], None, [1, 3]), lambda x, *_: x[1:4, 0:7:3]
    ),
    Case("strided_slice", (normal(4, 8), [-3], [-1], [1]), lambda x, *_: x[:, -3:-1]),
    Case("take", (normal(4, 8), positions(8, 2, 3), 1), lambda x, ids, _: x[:, ids]),
    Case("tile", (ANY, [2, 1, 3]), torch.tile),
    Case("transpose", (normal(2, 3, 4),), lambda x: x.permute(2, 1, 0)),
    Case("tril", (ANY, -1), torch.tril),
    Case("triu", (ANY, 1), torch.triu),
    Case("unsqueeze", (ANY, [0, 3]), lambda x, _: x[None, :, :, None]),
    Case("view", (ANY, None, [15]), lambda x, *_: x.reshape(15)),
    Case("as_strided", (ANY, [2, 2], [1, 5], 1), torch.as_strided),
    Case("index", (ANY, 1), lambda x, key: x[key]),
    Case(
        "set_strided_slice",
        (normal(4, 8), normal(3, 2), [1, 2], [4, 8], [], [None, 4]),
        lambda x, y, *_: x.slice_scatter(x[1:4].slice_scatter(y, 1, 2, 8, 4), 0, 1, 4),
    ),
    Case(
        "set_strided_slice",
        (normal(4, 8), 2.0, [3], [None], [0]),
        lambda x, *_: torch.cat([x[:3], torch.full((1, 8), 2.0)]),
    ),
    Case(
        "einops_rearrange",
        (normal(2, 6, 5), "b (h w) c -> b c 1 (w h)"),
        lambda x, _, h: x.view(2, h, -1, 5).permute(0, 3, 2, 1).reshape(2, 5, 1, -1),
        {"h": 2},
    ),
    Case("einops_rearrange", (normal(2, 3, 4), "a ... -> ... a"), lambda x, _: x.permute(1, 2, 0)),
    # images, and numbers of few bits
    Case(
        "resize2d",
        (IMAGES,),
        lambda x, size, method: nn.interpolate(x, size, mode="bilinear"),
        {"size": (9, 4), "method": "linear"},
    ),
    Case(
        "resize2d",
        (IMAGES,),
        lambda x, scale_factor, method, **_: nn.interpolate(
            x, None, scale_factor, "bicubic", align_corners=True
        ),
        {
            "scale_factor": 2.0,
            "method": "cubic",
            "coordinate_transformation_mode": "align_corners",
        },
    ),
    Case(
        "resize2d",
        (IMAGES,),
        lambda x, **_: x.repeat_interleave(2, 2).repeat_interleave(3, 3),
        {"scale_factor": (2, 3)},
    ),
    Case("symmetric_quantize", (halves,), lambda x: (torch.round(x * 2), torch.full((3,), 0.5))),
    Case(
        "symmetric_dequantize",
        (integers(-9, 9, 3, 5, dtype=torch.int8), POSITIVE_ROW, 0),
        lambda q, s, _: q * s,
    ),
    # what writes at positions, and look-ups
    Case("scatter_", (ANY, 0, orders, normal(3, 5)), lambda x, d, ids, y: x.scatter(d, ids, y)),
    Case("scatter_add_", (ANY, 0, positions(3, 4, 5), normal(4, 5)), torch.scatter_add),
    Case("embedding_bag", (positions(6, 4, 3), normal(6, 5)), lambda ids, w: w[ids].mean(1)),
]
