"""What one call of a compiled model hands to the CUDA driver."""

import importlib
from collections import Counter

import pytest
import torch
from torch import nn


@pytest.mark.gpu
def test_one_graph_launch_a_call(monkeypatch):
    """A call is one launch of a CUDA Graph: no kernel by itself, no new parameters, no copy."""
    driver = importlib.import_module("cuda.bindings.driver")
    calls = Counter()

    def count(name):
        function = getattr(driver, name)

        def counted(*arguments):
            calls[name] += 1
            return function(*arguments)

        monkeypatch.setattr(driver, name, counted)

    for name in ("cuGraphLaunch", "cuLaunchKernel", "cuGraphExecKernelNodeSetParams"):
        count(name)
    torch._dynamo.reset()
    model = nn.Sequential(nn.Linear(48, 40), nn.ReLU(), nn.Linear(40, 24)).cuda().eval()
    x = torch.randn(8, 48, device="cuda")
    compiled = torch.compile(model, backend="hidet")
    with torch.no_grad():
        compiled(x)
        calls.clear()
        for _ in range(3):
            compiled(x)
    assert calls == {"cuGraphLaunch": 3}
