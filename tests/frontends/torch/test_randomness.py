"""Operators that draw numbers: known answers, distributions, seeds, gradients."""

import math
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import hidet
from hidet.frontends.torch.decomposed import DECOMPOSED, randomness
from hidet.frontends.torch.philox import draw, philox, random

aten = torch.ops.aten
COUNT = 1_000_000


def compiled(function, **options):
    """Compile anew; what is left to eager torch, or warned of, is an error."""
    torch._dynamo.reset()
    return torch.compile(function, backend="hidet", options={"fallback": False, **options})


# ---------------------------------------------------------------------------- the numbers

ANSWERS = [
    (
        [0x00000000] * 4,
        [0x00000000] * 2,
        [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8],
    ),
    (
        [0xFFFFFFFF] * 4,
        [0xFFFFFFFF] * 2,
        [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
    ),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]
"""Counter, key and words: the file kat_vectors of the library Random123."""


@pytest.mark.parametrize(("counter", "key", "words"), ANSWERS)
def test_known_answers(counter, key, words):
    found = philox(torch.tensor(key), [torch.tensor([word]) for word in counter])
    assert found.tolist() == [words]


@pytest.mark.parametrize("size", [(), (1,), (3, 5), (2, 3, 4), (257, 129), (0, 4)])
@pytest.mark.sample(2)
def test_programs_agree_with_eager_torch(size):
    """A program computes the same bits as `random` does in eager torch, and close normal ones."""
    kinds = [
        ("bits", torch.int32),
        ("bits", torch.int64),
        ("uniform", torch.float32),
        ("uniform", torch.float64),
        ("normal", torch.float32),
        ("normal", torch.float64),
    ]

    def all_kinds(seeds):
        return [random(seeds, n % 3, size, *kind) for n, kind in enumerate(kinds)]

    seeds = draw(3, torch.device("cpu"))
    for (name, dtype), one, other in zip(
        kinds, compiled(all_kinds)(seeds), all_kinds(seeds), strict=True
    ):
        assert one.shape == size
        assert one.dtype is dtype
        error = (1e-5 if dtype is torch.float32 else 1e-12) if name == "normal" else 0
        torch.testing.assert_close(one, other, rtol=error, atol=error)


def phi(x):
    return torch.special.ndtr(x)


CONTINUOUS = {
    "rand": (lambda x: torch.rand_like(x), lambda x: x),
    "rand of a size": (lambda x: torch.rand(x.shape, dtype=x.dtype), lambda x: x),
    "randn": (lambda x: torch.randn_like(x), phi),
    "uniform_": (lambda x: torch.empty_like(x).uniform_(-2, 3), lambda x: (x + 2) / 5),
    "normal_": (lambda x: torch.empty_like(x).normal_(1, 2), lambda x: phi((x - 1) / 2)),
    "normal of tensors": (lambda x: torch.normal(x * 0 + 1, x * 0 + 2), lambda x: phi((x - 1) / 2)),
    "normal of a tensor": (lambda x: torch.normal(x * 0 + 3), lambda x: phi(x - 3)),
    "normal of numbers": (
        lambda x: torch.normal(1.0, 2.0, x.shape, dtype=x.dtype),
        lambda x: phi((x - 1) / 2),
    ),
    "exponential_": (lambda x: torch.empty_like(x).exponential_(2), lambda x: 1 - (-2 * x).exp()),
    "log_normal_": (
        lambda x: torch.empty_like(x).log_normal_(0.5, 0.25),
        lambda x: phi((x.log() - 0.5) / 0.25),
    ),
    "cauchy_": (
        lambda x: torch.empty_like(x).cauchy_(1, 2),
        lambda x: 0.5 + ((x - 1) / 2).atan() / math.pi,
    ),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.sample(7)
def test_continuous_distributions(name, dtype):
    """The largest distance from the distribution is what chance exceeds once in 10^5 times."""
    function, distribution = CONTINUOUS[name]
    torch.manual_seed(5)
    x = compiled(function)(torch.zeros(1000, COUNT // 1000, dtype=dtype))
    assert x.dtype is dtype
    assert bool(x.isfinite().all())
    steps = distribution(x.flatten().double().sort().values)
    places = torch.arange(COUNT + 1, dtype=torch.float64) / COUNT
    distance = max((steps - places[1:]).abs().max(), (steps - places[:-1]).abs().max())
    assert 1e-4 < distance < 2.47 / math.sqrt(COUNT)
    # Neighbours, and those that share a counter, know nothing of each other.
    ranks = steps.new_empty(COUNT).index_copy_(0, x.flatten().argsort(), steps) - 0.5
    for apart in (1, 2, 3, 4, 1000):
        correlation = (ranks[:-apart] * ranks[apart:]).mean() * 12
        assert abs(correlation) < 5 / math.sqrt(COUNT), apart


DISCRETE = {
    "bernoulli": (lambda x: torch.bernoulli(x * 0 + 0.3), [0.7, 0.3]),
    "bernoulli_": (lambda x: torch.empty_like(x).bernoulli_(0.3), [0.7, 0.3]),
    "bernoulli_ of a tensor": (lambda x: torch.empty_like(x).bernoulli_(x * 0 + 0.3), [0.7, 0.3]),
    "randint": (lambda x: torch.randint(0, 7, x.shape), [1 / 7] * 7),
    "randint from": (lambda x: torch.randint(-3, 4, x.shape) + 3, [1 / 7] * 7),
    "randint_like": (lambda x: torch.randint_like(x, 7), [1 / 7] * 7),
    "randint_like from": (lambda x: torch.randint_like(x, -3, 4) + 3, [1 / 7] * 7),
    "randint of many": (
        lambda x: torch.div(torch.randint(7 << 40, x.shape), 1 << 40, rounding_mode="floor"),
        [1 / 7] * 7,
    ),
    "random_": (lambda x: torch.empty_like(x).random_(7), [1 / 7] * 7),
    "random_ from": (lambda x: torch.empty_like(x).random_(-3, 4) + 3, [1 / 7] * 7),
    "random_ of a type": (
        lambda x: torch.empty(x.shape, dtype=torch.int16).random_() // (1 << 13),
        [1 / 4] * 4,
    ),
    "random_ of bits": (lambda x: torch.empty(x.shape, dtype=torch.bool).random_(), [0.5] * 2),
    "random_ of all": (
        lambda x: torch.empty(x.shape, dtype=torch.int64).random_() // (1 << 61),
        [1 / 4] * 4,
    ),
    "geometric_": (
        lambda x: torch.empty_like(x).geometric_(0.5).clamp(max=5),
        [0, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 16],
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.sample(5)
def test_discrete_distributions(name):
    """Each value comes as often as it should, within five standard deviations."""
    function, shares = DISCRETE[name]
    torch.manual_seed(6)
    x = compiled(function)(torch.zeros(1000, COUNT // 1000))
    assert int(x.min()) == next(n for n, share in enumerate(shares) if share)
    counts = x.flatten().long().bincount()
    assert len(counts) == len(shares)
    for count, share in zip(counts.tolist(), shares, strict=True):
        assert abs(count - share * COUNT) <= 5 * math.sqrt(COUNT * share * (1 - share))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_types(dtype):
    """They have as many digits as the type, so that none is rounded up to 1."""
    x = torch.zeros(1000, 100, dtype=dtype)

    def all_of_them(x):
        return torch.rand_like(x), torch.randn_like(x), torch.empty_like(x).uniform_(1, 3)

    torch.manual_seed(7)
    uniform, normal, wide = (each.double() for each in compiled(all_of_them)(x))
    assert uniform.min() == 0
    assert uniform.max() == 1 - (2**-11 if dtype is torch.float16 else 2**-8)
    assert abs(uniform.mean() - 0.5) < 0.005
    assert abs(normal.mean()) < 0.02
    assert abs(normal.var() - 1) < 0.03
    assert wide.min() == 1
    assert wide.max() <= 3
    assert abs(wide.mean() - 2) < 0.02


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_exponential_is_positive(dtype, monkeypatch):
    """`gumbel_softmax` takes the logarithm, also where 0 is drawn."""
    monkeypatch.setattr(randomness, "_draw", lambda size, _, dtype, __: torch.zeros(size).to(dtype))
    exponential = randomness.RANDOMNESS[aten.exponential.default]
    assert bool((exponential(torch.empty(3, dtype=dtype)) > 0).all())


# ---------------------------------------------------------------------------- seeds


def two_masks(x):
    return F.dropout(x + 1, 0.5), F.dropout(x + 1, 0.5)


def test_seeds():
    """Torch's seed says which numbers come; each call, and each operator, has others."""
    run, x = compiled(two_masks), torch.zeros(100, 100)
    torch.manual_seed(1)
    first, second = run(x), run(x)
    torch.manual_seed(1)
    again = run(x)
    torch.manual_seed(2)
    masks = [*first, *second, *run(x)]
    assert all(map(torch.equal, first, again))
    for number, one in enumerate(masks):
        for other in masks[:number]:
            assert 0.45 < (one == other).double().mean() < 0.55


def test_generator_goes_on():
    """One draw is one call of the generator, whatever is made of it; forks give it back."""
    run = compiled(lambda x: x + torch.randn_like(x))
    state = torch.get_rng_state()
    with torch.random.fork_rng():
        one = run(torch.zeros(8))
    other = run(torch.zeros(8))
    assert torch.equal(one, other)
    torch.set_rng_state(state)
    draw(1, torch.device("cpu"))
    expected = torch.rand(3)
    torch.set_rng_state(state)
    run(torch.zeros(8))
    assert torch.equal(torch.rand(3), expected)


def test_generators_of_their_own():
    """Operators with a generator stay whole, and so do those on types that have no such numbers."""
    x, generator = torch.rand(3), torch.Generator()
    for target, arguments in (
        (aten.bernoulli.default, (x,)),
        (aten.bernoulli.p, (x, 0.5)),
        (aten.uniform.default, (x,)),
        (aten.normal_functional.default, (x,)),
        (aten.normal.Tensor_float, (x,)),
        (aten.normal.float_float, (0.0, 1.0, [3])),
        (aten.random.to, (x, 4)),
    ):
        assert DECOMPOSED[target](*arguments, generator=generator) is NotImplemented
    complex_ = torch.empty(3, dtype=torch.complex64)
    assert DECOMPOSED[aten.rand_like.default](complex_) is NotImplemented
    assert DECOMPOSED[aten.normal_functional.default](complex_) is NotImplemented


def test_hidet_compile():
    """A model without dynamo draws at each call as well."""
    run = hidet.compile(lambda x: F.dropout(x, 0.5) + torch.rand(8), torch.ones(8))
    torch.manual_seed(3)
    first, second = run(torch.ones(8)), run(torch.ones(8))
    torch.manual_seed(3)
    assert torch.equal(run(torch.ones(8)), first)
    assert not torch.equal(first, second)


# ---------------------------------------------------------------------------- dropout


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_dropout(dtype):
    """One kernel; what is left is scaled, and its gradient is that of what is left."""
    model = nn.Dropout(0.25)
    x = torch.rand(500, 64).to(dtype).add_(1).requires_grad_()
    y = compiled(model)(x)
    forward = hidet.torch.compiled_graphs()[-1]
    assert len(forward.plan.forward) == 1
    y.sum().backward()
    kept = y != 0
    assert 0.73 < kept.double().mean() < 0.77
    torch.testing.assert_close(y, torch.where(kept, x.detach() * (1 / 0.75), 0))
    torch.testing.assert_close(x.grad, (kept / 0.75).to(dtype))


@pytest.mark.parametrize(("p", "share"), [(0.0, 1), (1.0, 0), (1e-9, 1), (1 - 1e-9, 0)])
def test_edges_of_dropout(p, share):
    x = torch.ones(1000, requires_grad=True)
    y = compiled(lambda x: F.dropout(x, p))(x)
    y.sum().backward()
    assert (y != 0).double().mean() == share
    assert torch.equal(y, x.grad)


def test_dropout_of_what_is_no_number():
    """As in eager torch, what is dropped of infinities and NaN is NaN."""
    x = torch.tensor([math.inf, -math.inf, math.nan, 1.0]).repeat(100)
    y = compiled(lambda x: F.dropout(x, 0.5))(x)
    assert {*y[::4].isnan().tolist()} == {True, False}
    assert bool(y[2::4].isnan().all())
    assert {*y[3::4].tolist()} == {0.0, 2.0}


def test_eval_draws_nothing():
    x, state = torch.rand(8), torch.get_rng_state()
    assert torch.equal(compiled(nn.Dropout(0.5).eval())(x), x)
    assert torch.equal(state, torch.get_rng_state())


OTHERS = {
    "alpha_dropout": lambda x: F.alpha_dropout(x, 0.5, training=True),
    "dropout1d": lambda x: F.dropout1d(x, 0.5),
    "feature_alpha_dropout": lambda x: F.feature_alpha_dropout(x, 0.5, training=True),
    "gumbel_softmax": lambda x: F.gumbel_softmax(x, dim=-1),
    "rrelu": lambda x: F.rrelu(x - 2, training=True),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions(name):
    """What torch makes of these operators is compiled as a whole."""
    run, x = compiled(OTHERS[name]), torch.rand(20, 30, 8) + 1
    torch.manual_seed(8)
    first, second = run(x), run(x)
    torch.manual_seed(8)
    assert torch.equal(run(x), first)
    assert not torch.equal(first, second)
    assert abs(first.mean() - OTHERS[name](x).mean()) < 0.2


# ---------------------------------------------------------------------------- gradients


def values(program):
    """Give the types of what a program takes and returns."""
    (entry,) = program.module.ops
    return [str(each) for each in (*entry.function_type.inputs, *entry.function_type.outputs)]


def test_seeds_are_saved_and_not_masks(programs):
    """The backward graph computes masks of the seeds that the forward graph had."""
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Dropout(0.4), nn.Linear(16, 4))
    model.append(nn.Dropout(0.2))
    x = torch.randn(6, 8)
    compiled(model)(x).sum().backward()
    forward, backward = programs
    for program in programs:
        assert "tensor<2x2xi32>" in values(program)
        assert not any("xi1>" in kind for kind in values(program))
        names = [op.name for op in program.module.walk()]
        assert names.count("graph.random") == 2
    assert forward.calls == backward.calls == 1


class Residual(nn.Module):
    """A block with two dropouts."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        inner = F.dropout(F.gelu(self.up(x)), 0.3)
        return x + F.dropout(self.down(inner), 0.5)


class Checkpointed(nn.Module):
    """Blocks of which the backward pass computes all again."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Residual(), Residual()])

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return x


def in_parts(x):
    """Numbers ahead of and behind what stays in eager torch."""
    y = F.dropout(x.sin(), 0.5)
    return F.dropout(torch.linalg.matrix_exp(y @ y.T / 64), 0.3).cos()


MODELS = {"plain": Residual, "checkpointed": Checkpointed, "in parts": lambda: in_parts}


@pytest.mark.filterwarnings("ignore::hidet.frontends.torch.partition.UnsupportedOperatorWarning")
def test_parts_make_their_numbers_themselves(programs):
    """No mask goes from one part to another; what eager torch reads or is returned is computed."""

    def function(x):
        y = torch.linalg.matrix_exp(F.dropout(x, 0.5))
        numbers = torch.linalg.matrix_exp(torch.randn(40, 40))  # too large to be compiled
        return F.dropout(y, 0.5), torch.rand(8, 8).t(), numbers

    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = torch.compile(function, backend="hidet")(torch.rand(40, 40))
    assert all(bool(each.isfinite().all()) for each in results)
    first, second = programs
    assert [op.name for op in first.module.walk()].count("graph.random") == 3
    assert [op.name for op in second.module.walk()].count("graph.random") == 1
    assert not any("xi1>" in kind for program in programs for kind in values(program))


@pytest.mark.filterwarnings("ignore::hidet.frontends.torch.partition.UnsupportedOperatorWarning")
@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_those_of_the_numbers_drawn(name, programs):
    """The directional derivative, for one seed, is the difference of two calls with that seed."""
    model = MODELS[name]()
    if isinstance(model, nn.Module):
        model = model.double()
    torch._dynamo.reset()
    run = torch.compile(model, backend="hidet")
    x = torch.randn(40, 8, dtype=torch.float64, requires_grad=True)
    direction, step = torch.randn(40, 8, dtype=torch.float64), 1e-6

    def loss(x):
        torch.manual_seed(9)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if name == "in parts" else "error")
            return run(x).square().sum()

    loss(x).backward()
    with torch.no_grad():
        difference = (loss(x + step * direction) - loss(x - step * direction)) / (2 * step)
    torch.testing.assert_close((x.grad * direction).sum(), difference, rtol=1e-5, atol=1e-5)
    assert programs


def test_what_is_drawn_and_has_no_gradient(programs):
    """Noise that is added, and a result that needs nothing of the backward pass."""
    x = torch.randn(5, requires_grad=True)
    y = compiled(lambda x: x + torch.randn(5))(x)
    y.sum().backward()
    assert torch.equal(x.grad, torch.ones(5))
    noise, z = compiled(lambda x: (torch.rand(5), x * 2))(x)
    z.sum().backward()
    assert noise.min() >= 0
    assert torch.equal(x.grad, torch.full((5,), 3.0))


@pytest.mark.gpu
def test_on_a_gpu():
    """Seeds are drawn by the device's generator, while torch captures a CUDA Graph as well."""
    run = compiled(lambda x: F.dropout(x + 1, 0.5))
    x = torch.zeros(1000, 100, device="cuda")
    torch.cuda.manual_seed(3)
    first, second = run(x), run(x)
    torch.cuda.manual_seed(3)
    assert torch.equal(run(x), first)
    assert not torch.equal(first, second)
    seeds = draw(1, x.device)
    on_host = random(seeds.cpu(), 0, (1000, 99), "uniform", torch.float32)
    on_gpu = compiled(lambda s: random(s, 0, (1000, 99), "uniform", torch.float32))(seeds)
    assert torch.equal(on_gpu.cpu(), on_host)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        seeds = draw(2, x.device)
    graph.replay()
    before = seeds.clone()
    graph.replay()
    assert not torch.equal(seeds, before)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
def test_a_training_step_on_a_gpu_does_not_wait():
    model = nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.5), nn.Linear(64, 8)).cuda()
    run, x = compiled(model), torch.randn(32, 64, device="cuda")
    for _ in range(2):  # compile both graphs
        run(x).sum().backward()
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        run(x).sum().backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")
