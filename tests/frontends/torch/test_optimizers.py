"""Steps of optimizers, which `torch.compile` compiles whole."""

import copy

import pytest
import torch
from torch import nn

from hidet.torch import compiled_graphs

OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "Adagrad": {},
    "Adamax": {},
    "NAdam": {},
    "RAdam": {},
    "RMSprop": {"centered": True, "momentum": 0.9},
}


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("foreach", [False, True], ids=["one by one", "foreach"])
@pytest.mark.parametrize(
    "name",
    ["AdamW", *(pytest.param(n, marks=pytest.mark.slow) for n in OPTIMIZERS if n != "AdamW")],
)
def test_steps(name, foreach):
    """Nothing is left to eager torch: a warning would be an error."""
    parameters = [nn.Parameter(torch.randn(shape)) for shape in ((30, 40), (7,))]
    expected = copy.deepcopy(parameters)
    make = getattr(torch.optim, name)
    ours, eager = (make(p, foreach=foreach, **OPTIMIZERS[name]) for p in (parameters, expected))
    step = torch.compile(ours.step, backend="hidet")
    for _ in range(3):
        for found, wanted in zip(parameters, expected, strict=True):
            wanted.grad = torch.randn_like(wanted)
            found.grad = wanted.grad.clone()
        step()
        eager.step()
    torch.testing.assert_close(parameters, expected)


SHAPES = [(30, 40), (7,), (), (64, 3, 3, 3), (1,), (1024, 257), (5000,)]


@pytest.mark.parametrize(("name", "kernels"), [("AdamW", 2), ("SGD", 1)])
def test_kernels(name, kernels):
    """All parameters are updated in place by one kernel, behind the one of the numbers of steps."""
    parameters = [nn.Parameter(torch.randn(shape)) for shape in SHAPES]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    expected = copy.deepcopy(parameters)
    for found, wanted in zip(parameters, expected, strict=True):
        wanted.grad = found.grad.clone()
    make = getattr(torch.optim, name)
    ours, eager = (make(p, foreach=True, **OPTIMIZERS[name]) for p in (parameters, expected))
    known = len(compiled_graphs())
    step = torch.compile(ours.step, backend="hidet")
    for _ in range(3):
        step()
        eager.step()
    for found, wanted in zip(parameters, expected, strict=True):
        torch.testing.assert_close(found, wanted)
    *first, last = (graph.plan for graph in compiled_graphs()[known:])
    assert [len(plan.forward) for plan in (*first, last)] == [kernels] * (1 + len(first))
    assert not last.copies, "of momenta only the first step makes copies: of gradients"
