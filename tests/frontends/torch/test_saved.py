"""What a forward graph saves for its backward graph is one tensor."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F


def compiled(function):
    """Compile a function or a module."""
    return torch.compile(function, backend="hidet")


def step(function, *arguments):
    """Return the results of a function, and the gradients of its arguments."""
    arguments = [each.detach().clone().requires_grad_() for each in arguments]
    results = function(*arguments)
    results = results if isinstance(results, tuple) else (results,)
    total = sum((each.double().cos() * (n + 1)).sum() for n, each in enumerate(results))
    return [*results, *torch.autograd.grad(total, arguments)]


def check(function, *arguments):
    """Compare two steps with those of eager torch; the first one computes forward again."""
    run, expected = compiled(function), step(function, *arguments)
    for _ in range(2):
        for mine, right in zip(step(run, *arguments), expected, strict=True):
            torch.testing.assert_close(mine, right)


def saved_by(run, *arguments):
    """Return the tensors that a call saves."""
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda each: saved.append(each) or each, id):
        run(*arguments)
    return saved


def chain(x, w):
    """Needs many intermediate values in its backward pass."""
    for _ in range(4):
        x = (x @ w).sin().exp()
    return x


def test_one_tensor_beside_the_arguments(programs):
    x, w = torch.randn(3, 5, requires_grad=True), torch.randn(5, 5, requires_grad=True)
    packed, *others = sorted(saved_by(compiled(chain), x, w), key=lambda each: each is w)
    assert packed.dtype is torch.int8
    assert packed.numel() % 256 == 0
    assert all(each.data_ptr() in (x.data_ptr(), w.data_ptr()) for each in others)
    assert "packed_outputs = array<i64: 0, 256, " in str(programs[-1].module)


def several_kinds(x, w):
    """Saves booleans, f64 and other layouts."""
    y = F.max_pool2d(torch.relu(x * w), 2).to(memory_format=torch.channels_last)
    z = torch.where(y > 0.5, y.double().sin(), y.double().exp())
    return z.transpose(1, 2).sigmoid().float() * y.transpose(1, 2)


def results_too(x, w):
    """Returns what it needs, a view of it, and an argument."""
    y = (x @ w).exp()
    z = y.sin().exp()
    return y, y.t() * z.t(), z.t(), x.view(-1)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (chain, [(3, 5), (5, 5)]),
        (several_kinds, [(2, 3, 4, 6), (3, 1, 1)]),
        (results_too, [(4, 4), (4, 4)]),
    ],
)
def test_numbers(programs, function, shapes):
    check(function, *(torch.randn(shape) for shape in shapes))


def test_results_do_not_keep_what_is_saved(programs):
    """Memory that callers get is their own."""
    run, x = compiled(results_too), torch.randn(4, 4, requires_grad=True)
    run(x, x)[0].sum().backward()
    results = run(x, x)
    assert max(each.untyped_storage().nbytes() for each in results) == x.nbytes


class Square(torch.autograd.Function):
    """An operator that stays with eager torch, with a gradient."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.ops.hidet_tests.left(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.ops.hidet_tests.left(x + 1)


def test_parts_that_eager_torch_runs(programs):
    """Between an operator that is not compiled and others, tensors are packed all the same."""

    def function(x, w):
        y = Square.apply((x @ w).exp())
        return (y * w).sin().exp() * y

    x, w = torch.randn(4, 4), torch.randn(4, 4)
    with pytest.warns(UserWarning, match="leaves 1 operator"):
        check(function, x, w)


def test_backward_twice(programs):
    """The saved tensor is not written."""
    run, x = compiled(chain), torch.randn(3, 3, requires_grad=True)
    for _ in range(2):
        result = run(x, x).sum()
        first, second = (torch.autograd.grad(result, x, retain_graph=True)[0] for _ in range(2))
        assert torch.equal(first, second)


@pytest.mark.slow
@pytest.mark.parametrize("channels_last", [True, False])
def test_networks_on_the_cpu(channels_last):
    """Compiled kernels write and read the parts, at other addresses in each call."""
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3))
    model, x = model.double(), torch.randn(2, 3, 9, 9).double()
    if channels_last:
        model, x = (each.to(memory_format=torch.channels_last) for each in (model, x))
    reference, run, kept = copy.deepcopy(model), compiled(model), []
    for _ in range(3):
        results = [each(x) for each in (run, reference)]
        kept.append(torch.empty(7, 512))
        for each, result in zip((model, reference), results, strict=True):
            each.zero_grad()
            result.square().sum().backward()
        for mine, right in zip(model.parameters(), reference.parameters(), strict=True):
            torch.testing.assert_close(mine.grad, right.grad)
        for mine, right in zip(model.buffers(), reference.buffers(), strict=True):
            torch.testing.assert_close(mine, right)


def test_weights_that_are_trained_are_prepared_in_calls(programs):
    """Those that the optimizer leaves alone are prepared once."""
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)), torch.randn(2, 4)
    frozen = copy.deepcopy(model).requires_grad_(False)
    for each, expected in [(model, [False, False, True]), (frozen, [False] * 3)]:
        torch._dynamo.reset()
        programs.clear()
        compiled(each)(x.clone().requires_grad_()).sum().backward()
        assert [hasattr(p, "is_prepared_in_calls") for p in programs] == expected


@pytest.mark.filterwarnings("ignore:hidet leaves")
def test_parts_prepare_trained_weights_in_calls(programs):
    """Those of a graph with an operator of eager torch, too."""
    linear = nn.Linear(4, 4)
    compiled(lambda x: linear(Square.apply(linear(x))))(torch.randn(2, 4)).sum().backward()
    assert sum(hasattr(p, "is_prepared_in_calls") for p in programs) == 2


class Kept(torch.autograd.Function):
    """Its gradient is something that it saves, whatever comes from behind."""

    @staticmethod
    def forward(ctx, x):
        y, z = x.exp(), x.sin()
        ctx.save_for_backward(y, z)
        return y * z

    @staticmethod
    def backward(ctx, grad):
        y, z = ctx.saved_tensors
        return torch.where(grad.sum() > 1e9, z, y) if grad.dim() == 1 else y


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_a_gradient_that_was_saved(layout):
    """It is copied, by the compiled program."""
    x = torch.randn(2, 3, 4, 5).to(memory_format=layout)
    check(lambda x: (Kept.apply(x), Kept.apply(x.flatten())), x)


def test_hooks_that_lose_the_order():
    """What comes back from `save_on_cpu` is contiguous, channels-last filters too."""
    model = nn.Conv2d(3, 4, 3).double().to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 9, 9).double().to(memory_format=torch.channels_last).requires_grad_()
    reference, run = copy.deepcopy(model), compiled(model)
    for _ in range(3):
        for each, network in ((run, model), (reference, reference)):
            network.zero_grad()
            with torch.autograd.graph.save_on_cpu():
                result = each(x)
            result.square().sum().backward()
        for mine, right in zip(model.parameters(), reference.parameters(), strict=True):
            torch.testing.assert_close(mine.grad, right.grad)
