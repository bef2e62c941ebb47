"""Results of operators that are decomposed: they have the strides that eager torch gives them."""

import pytest
import torch
from torch.nn import functional as F


def written(view, end):
    """Return a function that writes a view of its input, and views what it computes then."""

    def function(x):
        view(x).fill_(0)
        return end(x)

    return function


def smooth(x):
    return F.interpolate(x, size=(4, 3), mode="bilinear", antialias=True)


CONTIGUOUS = {
    "sort": lambda x: x.sort(1)[0].view(-1),
    "argsort": lambda x: x.argsort(0).view(-1),
    "topk": lambda x: x.topk(2, 0).values,
    "sort, as_strided": lambda x: x.sort(0)[0].as_strided((5,), (1,)),
    "slice of a transposed input": written(lambda x: x.mT[..., :2, :], lambda x: x.view(2, -1)),
    "row of a transposed input": written(lambda x: x.mT[..., 0, :], lambda x: (x + 1).view(-1)),
    "diagonal": written(lambda x: x.mT.diagonal(0, -2, -1), lambda x: x.relu().view(-1)),
    "antialias": lambda x: smooth(x).view(2, -1),
    "cholesky": lambda x: torch.linalg.cholesky(x @ x.mT + torch.eye(5)).mT.view(-1),
    "pinv": lambda x: torch.linalg.pinv(x).view(-1),
}
"""Functions of contiguous tensors."""

CHANNELS_LAST = {
    "topk": lambda x: x.topk(2, 0).values,
    "channel": written(lambda x: x[:, 0], lambda x: (x * 1).permute(0, 2, 3, 1).view(-1)),
    "select_scatter": lambda x: x.select_scatter(x[:, 1], 1, 0).permute(0, 2, 3, 1).view(-1),
    "masked_scatter": lambda x: x.masked_scatter(x > 0, x).view(-1),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 3).permute(0, 2, 3, 1).view(-1),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 3).permute(0, 2, 3, 1).view(-1),
    "rand_like": lambda x: torch.rand_like(x).permute(0, 2, 3, 1).view(-1) * 0,
}
"""Functions of images whose channels are last."""

CASES = [(f, torch.contiguous_format) for f in CONTIGUOUS.values()]
CASES += [(f, torch.channels_last) for f in CHANNELS_LAST.values()]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("function", "order"), CASES, ids=[*CONTIGUOUS, *CHANNELS_LAST])
def test_strides(function, order):
    x = torch.randn(2, 3, 5, 6).to(memory_format=order)
    expected = function(x.clone())
    found = torch.compile(function, backend="hidet")(x.clone())
    assert found.stride() == expected.stride()
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
