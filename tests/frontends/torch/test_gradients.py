"""Training: forward and backward graphs are compiled, and gradients are those of eager torch."""

import copy
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from hidet.errors import HidetError


def compiled(function, **options):
    return torch.compile(function, backend="hidet", options={"fallback": False, **options})


def training_step(function, model, *inputs):
    """Give the result and all gradients of one training step."""
    model.zero_grad()
    copies = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    result = function(*copies)
    result.square().sum().backward()
    parameters = [parameter.grad.clone() for parameter in model.parameters()]
    return [result.detach(), *(x.grad for x in copies if x.requires_grad), *parameters]


class Attention(nn.Module):
    """Attention of four heads, with a mask or causal."""

    def __init__(self, causal, mask=None):
        super().__init__()
        self.project = nn.Linear(8, 24)
        self.causal, self.mask = causal, mask

    def forward(self, x):
        heads = self.project(x).unflatten(-1, (3, 4, 2)).permute(2, 0, 3, 1, 4)
        query, key, value = heads.unbind()
        found = F.scaled_dot_product_attention(
            query, key, value, attn_mask=self.mask, is_causal=self.causal
        )
        return found.transpose(1, 2).flatten(2)


class Shared(nn.Linear):
    """Attention of four heads over two that they share."""

    def forward(self, x):
        query, key, value = super().forward(x).split((8, 4, 4), -1)
        heads = (each.unflatten(-1, (-1, 2)).transpose(1, 2) for each in (query, key, value))
        return F.scaled_dot_product_attention(*heads, enable_gqa=True)


class Loss(nn.Module):
    """A cross entropy of what an embedding gives, some of whose rows come several times."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 5)

    def forward(self, ids):
        return F.cross_entropy(self.embed(ids), ids % 5, label_smoothing=0.1)


class Picked(nn.Linear):
    """A linear layer that uses one row of its weight twice."""

    def forward(self, x):
        return F.linear(x, self.weight[torch.tensor([1, 1, 0])])


def image(*layers):
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), *layers), torch.randn(2, 3, 9, 8)


MODELS = {
    "mlp": lambda: (
        nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2)),
        torch.randn(5, 4),
    ),
    "softmax": lambda: (
        nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Softmax(-1)),
        torch.ones(5, 4),
    ),
    "group norm": lambda: image(nn.GroupNorm(2, 4), nn.LeakyReLU()),
    "rms norm": lambda: (nn.Sequential(nn.Linear(4, 8), nn.RMSNorm(8)), torch.randn(5, 4)),
    "batch norm": lambda: image(nn.BatchNorm2d(4), nn.ReLU()),
    "max pool": lambda: image(nn.ReLU(), nn.MaxPool2d(3, 2, 1)),
    "avg pool": lambda: image(nn.AvgPool2d(3, 2, 1), nn.Conv2d(4, 4, 3, stride=2, groups=2)),
    "adaptive pool": lambda: image(nn.AdaptiveAvgPool2d((2, 3))),
    "depthwise": lambda: image(nn.Conv2d(4, 4, (3, 5), (2, 1), (1, 0), groups=4, bias=False)),
    "transposed": lambda: image(nn.ConvTranspose2d(4, 2, 3, 2, 1, 1)),
    "causal": lambda: (Attention(causal=True), torch.randn(2, 6, 8)),
    "mask": lambda: (
        Attention(causal=False, mask=torch.randn(6, 6).double()),
        torch.randn(2, 6, 8),
    ),
    "shared heads": lambda: (Shared(8, 16), torch.randn(2, 6, 8)),
    "loss": lambda: (Loss(), torch.randint(0, 7, (12,))),
    "index": lambda: (Picked(4, 2, bias=False), torch.randn(3, 4)),
}


@pytest.mark.parametrize("train", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(15)
def test_gradients(programs, name, train):
    """All of forward and backward is compiled; a second step computes the same as the first."""
    torch.manual_seed(3)
    model, x = MODELS[name]()
    model = model.double().train(train)
    x = x.double() if x.is_floating_point() else x
    run = compiled(model)
    for _ in range(2):
        actual = training_step(run, model, x)
        for one, other in zip(actual, training_step(model, model, x), strict=True):
            torch.testing.assert_close(one, other)


def test_calls_without_gradients_save_nothing(programs):
    """Until a backward pass comes, the program is that of `no_grad`; then it is another one."""
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))
    run, x = compiled(model), torch.randn(3, 4)
    with torch.no_grad():
        run(x)
    result = run(x)
    assert str(programs[0].module) == str(programs[1].module)
    assert len(programs) == 2
    result.sum().backward()
    whole, backward = programs[2:]
    assert [whole.calls, backward.calls] == [1, 1]
    run(x).sum().backward()
    assert [program.calls for program in programs] == [1, 1, 2, 2]


def test_written_before_the_first_backward(programs):
    """What would be computed again of other numbers is refused."""
    run = compiled(lambda x, w: (x @ x).sin() * w)
    x, w = torch.randn(3, 3), torch.randn(3, requires_grad=True)
    result = run(x, w)
    x.add_(1)
    with pytest.raises(HidetError, match="changed in place") as failure:
        result.sum().backward()
    assert "copy it" in failure.value.hint


def test_hooks_see_what_is_saved(programs):
    """Who hooks saved tensors gets those that the backward pass needs."""
    seen = []
    x = torch.randn(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        result = compiled(lambda x: x.sin().exp())(x)
    result.sum().backward()
    assert seen
    assert all(tensor.shape == (3,) for tensor in seen)
    torch.testing.assert_close(x.grad, x.detach().cos() * x.detach().sin().exp())


@pytest.mark.parametrize("sizes", [(3, 4, 5)])
def test_gradients_of_many_shapes(programs, sizes):
    """Every shape has its own graphs."""
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).double()
    run = compiled(model)
    for size in sizes:
        x = torch.randn(size, 4, dtype=torch.float64)
        for one, other in zip(
            training_step(run, model, x), training_step(model, model, x), strict=True
        ):
            torch.testing.assert_close(one, other)


def test_double_backward_is_refused_by_torch():
    """As with every compiler behind AOTAutograd."""
    x = torch.randn(3, requires_grad=True)
    torch._dynamo.reset()
    (first,) = torch.autograd.grad(compiled(lambda x: x.exp())(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="double backward"):
        first.sum().backward()


# ---------------------------------------------------------------------------- through the compiler


class Block(nn.Module):
    """A residual block."""

    def __init__(self, channels, filters, stride):
        super().__init__()
        self.left = nn.Sequential(
            nn.Conv2d(channels, filters, 3, stride, 1, bias=False),
            nn.BatchNorm2d(filters),
            nn.ReLU(),
            nn.Conv2d(filters, filters, 3, 1, 1, bias=False),
            nn.BatchNorm2d(filters),
        )
        self.right = nn.Conv2d(channels, filters, 1, stride, bias=False)

    def forward(self, x):
        return F.relu(self.left(x) + self.right(x))


class Gpt(nn.Module):
    """A block of GPT, between an embedding and its transpose."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 32), nn.Embedding(16, 32)
        self.first, self.second, self.last = (nn.LayerNorm(32) for _ in range(3))
        self.project, self.output = nn.Linear(32, 96), nn.Linear(32, 32)
        self.mlp = nn.Sequential(
            nn.Linear(32, 128), nn.GELU(), nn.Linear(128, 32), nn.Dropout(dropout)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids):
        x = self.dropout(self.tokens(ids) + self.places(torch.arange(ids.shape[1])))
        heads = self.project(self.first(x)).unflatten(-1, (3, 2, 16)).permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(*heads.unbind(), is_causal=True)
        x = x + self.output(found.transpose(1, 2).flatten(2))
        x = x + self.mlp(self.second(x))
        return (self.last(x) @ self.tokens.weight.T).transpose(1, 2)


def resnet():
    stem = nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
    )
    blocks = Block(8, 8, 1), Block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    return nn.Sequential(stem, *blocks, nn.Linear(16, 10))


def images():
    return torch.randn(4, 3, 32, 32), torch.randint(0, 10, (4,))


def text():
    ids = torch.randint(0, 50, (4, 17))
    return ids[:, :-1], ids[:, 1:]


TRAININGS = {
    "resnet": (resnet, images, lambda p: torch.optim.SGD(p, 0.05, momentum=0.9)),
    "gpt": (Gpt, text, lambda p: torch.optim.AdamW(p, 1e-3)),
}


def losses(name, compile, steps=50):
    """Give the losses of some steps of training from a seed."""
    make, data, optimizer_of = TRAININGS[name]
    torch.manual_seed(11)
    model = make()
    optimizer = optimizer_of(model.parameters())
    run = compile(model)
    found = []
    for _ in range(steps):
        x, target = data()
        optimizer.zero_grad()
        loss = F.cross_entropy(run(x), target)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAININGS)
def test_training(name):
    """Fifty steps lose as much as eager torch's."""
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        actual = losses(name, compiled)
    torch.testing.assert_close(actual, losses(name, lambda model: model), rtol=1e-3, atol=0)


def last_losses(model, run, seeds, steps=50):
    """Give the mean of the last ten losses, for each seed, from the same weights and texts."""
    start = {name: value.clone() for name, value in model.state_dict().items()}
    texts = torch.arange(64).reshape(4, 16) * 7
    found = []
    for seed in seeds:
        model.load_state_dict(start)
        optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
        torch.manual_seed(seed)
        losses = []
        for step in range(steps):
            ids = (texts + step) % 50
            optimizer.zero_grad()
            loss = F.cross_entropy(run(ids), (ids + 7) % 50)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        found.append(sum(losses[-10:]) / 10)
    model.load_state_dict(start)
    return torch.tensor(found)


@pytest.mark.slow
def test_training_with_dropout():
    """The losses that come out differ from seed to seed, and from eager torch no more than that.

    Without dropout, or with another share of it, they would: by more than their deviation.
    """
    torch._dynamo.reset()
    torch.manual_seed(11)
    model = Gpt(0.3)
    eager = last_losses(model, model, range(12))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        actual = last_losses(model, compiled(model), range(6))
    assert len(set(actual.tolist())) == 6
    error = eager.std() * (1 / 6 + 1 / 12) ** 0.5
    assert (actual.mean() - eager.mean()).abs() < 4 * error, (actual, eager)
    others = []
    for dropout in (0.0, 0.2, 0.4):
        model.mlp[3].p = model.dropout.p = dropout
        others.append(last_losses(model, model, range(6)).mean())
    for other in others:
        assert (other - eager.mean()).abs() > 4 * error, (others, eager)


def counted(model, x):
    """Write a buffer, and read its old and its new content."""
    y = model(x) * model.count.clone()
    model.count.add_(1)
    return y * model.count.square()


def test_buffers_that_forward_writes():
    """The backward graph reads what they held, in the first step and later."""
    model, x = nn.Linear(3, 3), torch.randn(2, 3)
    model.register_buffer("count", torch.ones(3))
    runs = [(compiled(counted), model), (counted, copy.deepcopy(model))]
    for _ in range(3):
        found, expected = (
            [*torch.autograd.grad(run(each, x).sum(), list(each.parameters())), each.count]
            for run, each in runs
        )
        torch.testing.assert_close(found, expected)
