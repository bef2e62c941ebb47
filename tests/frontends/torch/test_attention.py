"""Attention stays one operator, whatever torch would make of it."""

import re

import pytest
import torch
from torch.nn import functional as F

import hidet
from hidet.frontends.torch.attention import may_be_fused

QUERY, KEY, VALUE = torch.randn(2, 4, 7, 16), torch.randn(2, 4, 9, 16), torch.randn(2, 4, 9, 24)
MASK = torch.randn(2, 1, 7, 9)
MASK[..., 0].abs_()  # each query sees a key: softmax of a row of -inf is NaN
SEES_NOTHING = (MASK > 0) & (torch.arange(7) != 3)[:, None]
FORMS = {
    "wide values": ((QUERY, KEY, VALUE), {}),
    "causal": ((QUERY, KEY, VALUE), {"is_causal": True, "scale": 0.3}),
    "mask": ((QUERY, KEY, VALUE, MASK), {}),
    "a query that sees nothing": ((QUERY, KEY, VALUE, SEES_NOTHING), {}),
    "three dimensions": ((QUERY[0], KEY[0], VALUE[0], MASK[0]), {}),
    "grouped": ((QUERY, KEY[:, :2], VALUE[:, :2]), {"enable_gqa": True}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.sample(1)
def test_one_operator(form, capsys):
    """Its results and gradients are those of eager torch in float64."""
    torch._dynamo.reset()
    tensors, keywords = FORMS[form]

    def attention(*tensors):
        return F.scaled_dot_product_attention(*tensors, **keywords).transpose(-3, -2).flatten(-2)

    def run(function, dtype):
        given = [each.to(dtype) if each.is_floating_point() else each for each in tensors]
        leaves = [each.detach().requires_grad_(each.is_floating_point()) for each in given]
        result = function(*leaves)
        (result * torch.linspace(-1, 1, result.numel()).view(result.shape)).sum().backward()
        return result, [each.grad for each in leaves]

    options = {"print_input_graph": True}
    compiled = torch.compile(attention, backend="hidet", fullgraph=True, options=options)
    with torch.no_grad():
        torch.testing.assert_close(compiled(*tensors), attention(*tensors))
    graph = capsys.readouterr().out
    assert "hidet.scaled_dot_product_attention" in graph
    assert "softmax" not in graph
    actual, expected = run(compiled, torch.float32), run(attention, torch.float64)
    torch.testing.assert_close(actual, expected, check_dtype=False, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.sample(1)
def test_gradients_of_halves(form, capsys):
    """They are one operator, unless values are wider than keys, or that of a mask is wanted."""
    torch._dynamo.reset()
    tensors, keywords = FORMS[form]
    value = tensors[2] if form == "wide values" else tensors[2][..., :16]
    given = [each.half() if each.is_floating_point() else each for each in tensors]
    given[2] = value.half()

    def run(function, dtype):
        leaves = [
            each.detach().to(dtype).requires_grad_(number < 3) if each.is_floating_point() else each
            for number, each in enumerate(given)
        ]
        result = function(*leaves, **keywords)
        (result * torch.linspace(-1, 1, result.numel()).view(result.shape)).sum().backward()
        return [each.grad for each in leaves[:3]]

    attention = F.scaled_dot_product_attention
    options = {"print_input_graph": True}
    compiled = torch.compile(attention, backend="hidet", fullgraph=True, options=options)
    actual, expected = run(compiled, torch.float16), run(attention, torch.float64)
    assert ("hidet.attention_gradients" in capsys.readouterr().out) == (form != "wide values")
    torch.testing.assert_close(actual, expected, check_dtype=False, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("dtype", "width", "values", "fused"),
    [
        (torch.float16, 64, 64, True),
        (torch.bfloat16, 160, 160, True),
        (torch.float16, 176, 176, False),
        (torch.float16, 40, 40, False),
        (torch.float16, 64, 32, False),
        (torch.float32, 64, 64, False),
    ],
)
def test_what_has_kernels_for_its_gradients(dtype, width, values, fused):
    """16-bit types, in widths that instructions divide and tiles hold."""
    query, value = (torch.empty(1, 1, 2, size, dtype=dtype) for size in (width, values))
    assert may_be_fused(query, value) == fused


def test_gradients_of_causal_masks(capsys):
    """A mask that models compute from positions is no data in the backward graph either."""
    torch._dynamo.reset()
    model, tensors = Masked(visible), [each.half() for each in (QUERY, KEY, VALUE[..., :16])]
    leaves = [each.requires_grad_() for each in tensors]
    options = {"print_input_graph": True}
    torch.compile(model, backend="hidet", options=options)(*leaves).sum().backward()
    calls = [
        line for line in capsys.readouterr().out.splitlines() if "hidet.attention_gradients" in line
    ]
    assert calls
    assert all("None, True" in line for line in calls)


class Attention(torch.nn.Module):
    """Attention as a model, whose values are wider than its keys."""

    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value)


@torch.no_grad()
@pytest.mark.parametrize("exported", [False, True])
def test_ahead_of_time(exported):
    """`hidet.compile` keeps it as one operator, of models and of exported programs."""
    tensors, model = (QUERY, KEY, VALUE), Attention()
    if exported:
        compiled = hidet.compile(torch.export.export(model, tensors).module(), *tensors)
    else:
        compiled = hidet.compile(model, *tensors)
    assert "graph.scaled_dot_product_attention" in compiled.program.runnable.text
    torch.testing.assert_close(compiled(*tensors), model(*tensors))


def visible(length, keys):
    """Causal, as models compute it from positions."""
    positions = torch.arange(length)[:, None], torch.arange(keys)[None, :]
    packed = torch.cumsum((positions[1] < 0).long(), 1)
    return (positions[1] <= positions[0]) & (packed == 0)


def added_lowest(length, keys):
    """Causal, as a tensor that is added to scores."""
    lowest = torch.finfo(torch.float32).min
    return torch.full((length, keys), lowest).triu(1)[None, None]


def everything(length, keys):
    return torch.ones(1, 1, length, 1, dtype=torch.bool).expand(2, 1, length, keys)


def near(length, keys):
    """Causal, but of the last three keys only."""
    distance = torch.arange(length)[:, None] - torch.arange(keys)[None, :]
    return (distance >= 0) & (distance < 3)


def small(length, keys):
    """Causal, but what is hidden still counts a little."""
    return torch.full((length, keys), -3.0).triu(1)


class Masked(torch.nn.Module):
    """Attention with a mask that depends on lengths only."""

    def __init__(self, mask):
        super().__init__()
        self.mask = mask

    def forward(self, query, key, value):
        mask = self.mask(query.shape[-2], key.shape[-2])
        return F.scaled_dot_product_attention(query, key, value, mask)


@torch.no_grad()
@pytest.mark.parametrize(
    ("mask", "form"),
    [
        (visible, "causal"),
        (added_lowest, "causal"),
        (everything, "all"),
        (near, "masked"),
        (small, "masked"),
    ],
)
def test_constant_masks(mask, form):
    """Those that are causal, or hide nothing, are not stored."""
    model = Masked(mask)
    compiled = hidet.compile(model, QUERY, KEY, VALUE)
    text = compiled.program.runnable.text
    (line,) = (each for each in text.splitlines() if "graph.scaled_dot_product_attention" in each)
    operands = re.findall("%[a-z]+[0-9]*", line.split("=", 1)[1])
    assert ("causal = true" in line) == (form == "causal")
    assert len(operands) == (4 if form == "masked" else 3)
    assert form == "masked" or "iota" not in text
    torch.testing.assert_close(compiled(QUERY, KEY, VALUE), model(QUERY, KEY, VALUE))


@torch.no_grad()
def test_large_masks(monkeypatch):
    """What would take too much memory is not computed at compile time."""
    monkeypatch.setattr("hidet.frontends.torch.constants.MAX_BYTES", 100)
    compiled = hidet.compile(Masked(visible), QUERY, KEY, VALUE)
    assert "causal = true" not in compiled.program.runnable.text


@torch.no_grad()
def test_masks_of_inputs():
    """A mask that an input changes is data, also if it is causal for the example."""

    def attention(query, key, value, length):
        positions = torch.arange(query.shape[-2])[:, None], torch.arange(key.shape[-2])[None, :]
        mask = (positions[1] <= positions[0]) & (positions[1] < length)
        return F.scaled_dot_product_attention(query, key, value, mask)

    compiled = hidet.compile(attention, QUERY, KEY, VALUE, torch.tensor(9))
    for length in map(torch.tensor, (9, 2)):
        given = QUERY, KEY, VALUE, length
        torch.testing.assert_close(compiled(*given), attention(*given))


def test_dropout():
    """With dropout torch takes attention apart, and a part of the weights is dropped."""

    @torch.compile(backend="hidet")
    def attention(query, key, value):
        return F.scaled_dot_product_attention(query, key, value, dropout_p=0.5)

    values = torch.eye(KEY.shape[2], dtype=KEY.dtype).expand(*KEY.shape[:3], -1)
    weights = F.scaled_dot_product_attention(QUERY, KEY, values)
    torch.manual_seed(0)
    actual = attention(QUERY, KEY, values)
    kept = actual != 0
    assert 0.3 < kept.double().mean() < 0.7
    torch.testing.assert_close(actual, kept * weights * 2)
    torch.manual_seed(0)
    assert torch.equal(attention(QUERY, KEY, values), actual)


def in_bfloat16(query, key, value):
    with torch.autocast("cpu", torch.bfloat16):
        return F.scaled_dot_product_attention(query, key, value)


def gradient(query, key, value):
    def loss(query):
        return F.scaled_dot_product_attention(query, key, value).square().sum()

    return torch.func.grad(loss)(query)


def for_each(query, key, value):
    return torch.vmap(F.scaled_dot_product_attention)(query[None], key[None], value[None])


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # torch's own, in vmap
@pytest.mark.parametrize("function", [in_bfloat16, gradient, for_each])
def test_what_torch_makes_of_it_otherwise(function):
    """Under autocast it has another type, and transforms have rules for what torch makes of it."""
    tensors = QUERY, KEY, VALUE[..., :16]
    torch._dynamo.reset()
    actual = torch.compile(function, backend="hidet")(*tensors)
    expected = function(*tensors)
    atol = 1e-2 if expected.dtype is torch.bfloat16 else 1e-5
    torch.testing.assert_close(actual, expected, rtol=atol, atol=atol)


def added(scores, mask):
    return scores / 4 + mask.to(scores), torch.float32


def hidden(scores, mask):
    return (scores * 0.25).masked_fill(mask < 0, -torch.inf), None


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("masked", [added, hidden])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_written_out(masked, dtype, device):
    """Attention that a model writes as products and a softmax is as exact as eager torch's."""
    tensors = [each.to(device, dtype) for each in (QUERY, KEY, VALUE, MASK)]

    def attention(query, key, value, mask):
        scores, wide = masked(query @ key.transpose(2, 3), mask)
        return scores.softmax(-1, dtype=wide).to(query.dtype) @ value

    torch._dynamo.reset()
    actual = torch.compile(attention, backend="hidet", fullgraph=True)(*tensors)
    query, key, value, mask = (each.double() for each in tensors)
    expected = masked(query @ key.transpose(2, 3), mask)[0].softmax(-1) @ value
    tolerance = 4 * torch.finfo(dtype).eps
    torch.testing.assert_close(actual.double(), expected, rtol=tolerance, atol=tolerance)
