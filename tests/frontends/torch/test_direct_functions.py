"""Functions of torch.nn.functional through hidet.compile, with the reference for programs.

What torch.compile takes apart, torch.export must too: its table of decompositions is another one.
"""

import pytest
import torch
from torch.nn import functional as F

import hidet


def floats(*shape):
    return torch.randn(shape, dtype=torch.float64)


def resized(x, mode):
    """Resize to a size and by a factor, with the corners aligned where a mode can."""
    size = (7, 3, 5)[: x.dim() - 2]
    forms = [{"size": size}, {"scale_factor": 2.0}]
    if mode in ("nearest", "bilinear"):
        forms.append({"scale_factor": 1.7, "recompute_scale_factor": True})
    if mode in ("linear", "bilinear", "bicubic", "trilinear"):
        forms[0]["align_corners"] = True
    if mode == "bilinear":
        forms.append({"size": size, "antialias": True})
    return [F.interpolate(x, mode=mode, **form) for form in forms]


def resized_by_aten(image, volume):
    """Call the overloads that F.interpolate does not."""
    return (
        torch.ops.aten.upsample_bilinear2d.default(image, [7, 3], True),
        torch.ops.aten.upsample_bicubic2d.default(image, [7, 3], True),
        torch.ops.aten.upsample_trilinear3d.default(volume, [7, 3, 5], True),
    )


def rearranged(x):
    columns = F.unfold(x, 3, padding=1, stride=2)
    return (
        F.pixel_shuffle(x, 2),
        F.pixel_unshuffle(x, 3),
        F.channel_shuffle(x, 2),
        columns,
        F.fold(columns, x.shape[2:], 3, padding=1, stride=2),
    )


def padded(line, image, volume):
    return [
        F.pad(x, (1, 2, 2, 1, 1, 0)[: 2 * (x.dim() - 2)], mode=mode)
        for x in (line, image, volume)
        for mode in ("constant", "reflect", "replicate", "circular")
    ]


def pooled(*inputs):
    results = []
    for rank, x in enumerate(inputs, 1):
        for kind in ("avg", "max"):
            adaptive = getattr(F, f"adaptive_{kind}_pool{rank}d")
            pool = getattr(F, f"{kind}_pool{rank}d")
            results += [adaptive(x, 1), adaptive(x, (3, 2, 1)[:rank])]
            results += [pool(x, 2, 1, 1), pool(x, 2, ceil_mode=True)]
        results.append(getattr(F, f"lp_pool{rank}d")(x, 2, 2))
    x = inputs[1][..., :4, :]
    return [*results, F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)]


def sampled(x, grid, theta):
    return [
        F.affine_grid(theta, (1, 3, 4, 5), align_corners=False),
        F.grid_sample(x, grid, "bilinear", "zeros", align_corners=False),
        F.grid_sample(x, grid, "bilinear", "reflection", align_corners=True),
        F.grid_sample(x, grid, "nearest", "border", align_corners=False),
    ]


ACTIVATIONS = (
    "celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu "
    "relu6 rrelu selu sigmoid silu softplus softshrink softsign tanh tanhshrink"
)


def activated(x):
    functions = [getattr(F, name) for name in ACTIVATIONS.split()]
    rows = [
        F.rrelu(x, 0.3, 0.3, training=True),
        F.softmax(x, -1),
        F.softmin(x, -1),
        F.log_softmax(x, -1),
        F.normalize(x),
    ]
    return [
        *(function(x) for function in functions),
        *rows,
        F.threshold(x, 0.1, 2),
        F.prelu(x, x[0]),
    ]


LOSSES = (
    "huber_loss l1_loss mse_loss poisson_nll_loss smooth_l1_loss soft_margin_loss "
    "pairwise_distance cosine_similarity"
)


def losses(x, y, classes):
    p, q = x.sigmoid(), y.sigmoid()
    return [
        *(getattr(F, name)(x, y) for name in LOSSES.split()),
        F.binary_cross_entropy(p, q),
        F.binary_cross_entropy_with_logits(x, q),
        F.cross_entropy(x, classes, label_smoothing=0.1),
        F.cross_entropy(x, q),
        F.kl_div(x, q, reduction="batchmean"),
        F.multi_margin_loss(x, classes),
        F.multilabel_soft_margin_loss(x, q),
        F.nll_loss(x, classes),
        F.triplet_margin_loss(x, y, p),
        F.hinge_embedding_loss(x, y.sign()),
        F.margin_ranking_loss(x, y, y.sign()),
    ]


def normalized(x, image):
    return (
        F.layer_norm(x, (8,)),
        F.rms_norm(x, (8,)),
        F.batch_norm(x, x[0], x[1].abs()),
        F.group_norm(image, 2),
        F.instance_norm(image),
        F.local_response_norm(image, 2),
    )


def embedded(positions, table):
    pairs = positions.view(2, 2)
    return (
        F.embedding(positions, table),
        F.embedding_bag(pairs, table),
        F.embedding_bag(pairs, table, mode="max"),
        F.linear(table, table, table[0, :4]),
        F.bilinear(table, table, table.view(2, 2, 8).repeat(1, 4, 1)),
    )


LINE, IMAGE, VOLUME, ROWS = floats(2, 4, 6), floats(1, 4, 6, 6), floats(1, 2, 4, 5, 3), floats(4, 8)
RANKS = {
    "nearest": (LINE, IMAGE, VOLUME),
    "nearest-exact": (LINE, IMAGE, VOLUME),
    "area": (IMAGE,),
    "linear": (LINE,),
    "bilinear": (IMAGE,),
    "bicubic": (IMAGE,),
    "trilinear": (VOLUME,),
}
CASES = {
    **{
        mode: (lambda *xs, mode=mode: [resized(x, mode) for x in xs], *inputs)
        for mode, inputs in RANKS.items()
    },
    "resized by aten": (resized_by_aten, IMAGE, VOLUME),
    "rearranged": (rearranged, IMAGE),
    "padded": (padded, LINE, IMAGE, VOLUME),
    "pooled": (pooled, LINE, IMAGE, VOLUME),
    "sampled": (sampled, IMAGE, floats(1, 3, 4, 2).tanh(), floats(1, 2, 3)),
    "activated": (activated, ROWS),
    "losses": (losses, ROWS, floats(4, 8), torch.tensor([1, 3, 0, 7])),
    "normalized": (normalized, ROWS, IMAGE),
    "embedded": (embedded, torch.tensor([0, 2, 1, 3]), ROWS),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sample(6)
def test_functions(name, programs):
    function, *inputs = CASES[name]
    torch.testing.assert_close(hidet.compile(function, *inputs)(*inputs), function(*inputs))
    assert len(programs) == 1
