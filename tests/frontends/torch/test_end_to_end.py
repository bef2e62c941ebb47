"""A few models through torch.compile and the whole compiler, without any stand-in."""

import copy

import pytest
import torch
from torch import nn

import hidet
from hidet.frontends.torch.backend import hidet_backend
from hidet.testing.numeric import assert_close

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture(autouse=True)
def _fresh():
    """Compile anew, from known random numbers, in full precision."""
    torch._dynamo.reset()
    torch.manual_seed(11)
    matmul, conv = torch.backends.cuda.matmul, torch.backends.cudnn.conv
    before = matmul.fp32_precision, conv.fp32_precision
    matmul.fp32_precision = conv.fp32_precision = "ieee"
    yield
    matmul.fp32_precision, conv.fp32_precision = before


def compiled(model):
    return torch.compile(model, backend=hidet_backend, options={"fallback": False})


def check(run, model, x):
    """Compare a compiled model with the model itself in float64; gives the result."""
    with torch.no_grad():
        actual = run(x)
        assert_close(actual, copy.deepcopy(model).double()(x.double()), 1e-5)
    return actual


@pytest.mark.parametrize("device", DEVICES)
def test_linear(device):
    """Weights are read live, results are new tensors, and the report is there."""
    before = hidet.torch.compiled_graphs()
    model = nn.Sequential(nn.Linear(24, 16), nn.ReLU()).to(device)
    x = torch.randn(4, 24, device=device)
    run = compiled(model)
    first = check(run, model, x)
    kept = first.clone()
    with torch.no_grad():
        model[0].weight.mul_(-2)
        model[0].bias.add_(0.5)
    second = check(run, model, x)
    model[0].weight.data = torch.randn(16, 24, device=device)
    third = check(run, model, x)
    # Each owns its storage: an arena that is used again would have changed the first.
    torch.testing.assert_close(first, kept, rtol=0, atol=0)
    tensors = (first, second, third)
    assert len({tensor.untyped_storage().data_ptr() for tensor in tensors}) == 3
    assert all(t.untyped_storage().nbytes() == t.numel() * t.element_size() for t in tensors)

    (graph,) = hidet.torch.compiled_graphs()[len(before) :]
    assert graph.report.total > 0
    assert "total" in graph.report.table()
    assert {"p0", "p1"} == set(graph.constant_names)


class Layer(nn.Module):
    """A convolution whose lengths of weights are prepared, and a batch norm, which is not."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, bias=False)
        self.norm = nn.BatchNorm2d(4)
        for parameter in (*self.norm.parameters(), *self.norm.buffers()):
            if parameter.is_floating_point():
                nn.init.uniform_(parameter, 0.5, 2)

    def forward(self, x):
        length = self.conv.weight.square().sum((1, 2, 3)).rsqrt()
        return self.norm(self.conv(x) * length[:, None, None]).relu()


@pytest.mark.parametrize("device", DEVICES)
def test_several_sets_of_weights(device):
    """One compiled graph serves several modules; what it prepared follows their weights."""
    before = hidet.torch.compiled_graphs()
    one, other = (Layer().eval().to(device) for _ in range(2))
    x = torch.randn(2, 3, 6, 6, device=device)
    for _ in range(2):
        for model in (one, other):
            check(compiled(model), model, x)
            with torch.no_grad():
                model.norm.running_var.mul_(3)
                model.conv.weight.neg_()
            check(compiled(model), model, x)
    assert len(hidet.torch.compiled_graphs()) == len(before) + 1


def test_parts():
    """Compiled parts and eager operators work together."""

    def function(x):
        return torch.ops.hidet_tests.left(x.relu() + 1).sigmoid()

    x = torch.randn(3, 5)
    run = torch.compile(function, backend=hidet_backend)
    with torch.no_grad(), pytest.warns(hidet.torch.UnsupportedOperatorWarning, match="left"):
        assert_close(run(x), function(x.double()), 1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_strides_and_lower_precision(dtype):
    """An input that is not contiguous, and an output that is permuted."""
    x = torch.randn(6, 5).to(dtype)[:, 1:].t()
    run = compiled(lambda x: (x * 2 + 1).t().cumsum(0))
    expected = (x.double() * 2 + 1).t().cumsum(0)
    with torch.no_grad():
        actual = run(x)
    assert actual.dtype is dtype
    assert_close(actual, expected, 5e-2 if dtype is torch.bfloat16 else 1e-2)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8])
def test_integers_wrap(dtype):
    """What does not fit in the type loses its upper bits; counts of bits may be anything."""
    limits = torch.iinfo(dtype)
    x = torch.tensor([limits.max, limits.min, limits.min, -1, 7, 100], dtype=dtype)
    y = torch.tensor([1, -1, limits.min, limits.max, 3, limits.bits], dtype=dtype)

    def function(x, y):
        return x + y, x - y, x * y, -x, x**3, x << y, x >> y, x.cumsum(0, dtype=dtype)

    for found, expected in zip(compiled(function)(x, y), function(x, y), strict=True):
        assert torch.equal(found, expected)


def test_orders_and_scans():
    """Ties, NaN and zeros of both signs; scans of two levels."""
    x = torch.randint(-9, 9, (3, 40)).half()
    x[0, :4] = torch.tensor([torch.nan, -0.0, -torch.inf, -torch.nan])

    def function(x):
        return *x.sort(stable=True, dim=1, descending=True), x[1:].cumsum(1), *x.cummax(1)

    for found, expected in zip(compiled(function)(x), function(x), strict=True):
        torch.testing.assert_close(found, expected, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64])
def test_positions_of_extrema(dtype):
    """The first of equal elements, zeros of both signs among them; NaN is either extremum."""
    x = torch.randint(-3, 3, (4, 70)).to(dtype)
    x[0] = 0
    if dtype.is_floating_point:
        x[0, ::3], x[1, 40], x[2, 69], x[3, 7] = -0.0, torch.nan, torch.inf, -torch.inf

    def function(x):
        return x.argmax(1), x.argmin(0), *x.max(1), *x.min(1)

    for found, expected in zip(compiled(function)(x), function(x), strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


def test_empty_result():
    """What has no element is not copied."""
    assert compiled(lambda: torch.eye(0))().shape == (0, 0)


@pytest.mark.parametrize("device", [pytest.param("cpu", marks=pytest.mark.slow), DEVICES[1]])
def test_mixture_of_experts(device):
    """Tokens are sorted by their experts, which multiply groups of rows of any size."""
    transformers = pytest.importorskip("transformers", reason="needs hidet-xdsl[models]")
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4}
    heads = {"num_key_value_heads": 2, "num_local_experts": 5}
    config = transformers.MixtralConfig(intermediate_size=48, vocab_size=99, **sizes, **heads)
    model = transformers.MixtralModel(config).eval().to(device)
    ids = torch.randint(0, 99, (2, 16), device=device)
    reference = copy.deepcopy(model).double()
    reference.set_experts_implementation("eager")  # that of float64
    with torch.no_grad():
        actual = compiled(model)(ids, use_cache=False)[0]
        assert_close(actual, reference(ids, use_cache=False)[0], 1e-5)
