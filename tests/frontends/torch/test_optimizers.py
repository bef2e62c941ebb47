"""Steps of optimizers, which `torch.compile` compiles whole."""

import copy

import pytest
import torch
from torch import nn

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
