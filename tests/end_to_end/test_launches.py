"""What one call of a compiled model hands to the CUDA driver."""

import importlib
import runpy
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import nn

from hidet.runtime.snapshots import Snapshots

EXAMPLES = Path(__file__).parents[2] / "examples" / "script"
COUNTED = (
    "cuGraphLaunch",
    "cuLaunchKernel",
    "cuGraphExecKernelNodeSetParams",
    "cuTensorMapEncodeTiled",
    "cuTensorMapReplaceAddress",
)


@pytest.fixture
def calls(monkeypatch):
    """Count the calls of the functions of the driver that a call of a model may need."""
    driver = importlib.import_module("cuda.bindings.driver")
    calls = Counter()

    def count(name):
        function = getattr(driver, name)

        def counted(*arguments):
            calls[name] += 1
            return function(*arguments)

        monkeypatch.setattr(driver, name, counted)

    for name in COUNTED:
        count(name)
    # Native code launches graphs by the address of the driver's function.
    monkeypatch.setattr("hidet.runtime.compiled_graph.load_snapshots", lambda _: Snapshots())
    torch._dynamo.reset()
    return calls


@pytest.mark.gpu
def test_one_graph_launch_a_call(calls):
    """A call is one launch of a CUDA Graph: no kernel by itself, no new parameters, no copy."""
    model = nn.Sequential(nn.Linear(48, 40), nn.ReLU(), nn.Linear(40, 24)).cuda().eval()
    x = torch.randn(8, 48, device="cuda")
    compiled = torch.compile(model, backend="hidet")
    with torch.no_grad():
        compiled(x)
        calls.clear()
        for _ in range(3):
            compiled(x)
    assert calls == {"cuGraphLaunch": 3}


@pytest.mark.gpu
def test_one_graph_launch_with_tensor_maps(calls):
    """So it is where kernels get tensor maps; where an input moves, its map gets the address."""
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("needs Hopper")
    matmul = runpy.run_path(str(EXAMPLES / "matmul_hopper.py"))["build"](256, 256, 256)

    def model(a, b):
        first, second = (torch.empty_like(a) for _ in range(2))
        matmul(a, b, first)
        matmul(first, b, second)
        return second

    a, b, other = (torch.randn(256, 256, device="cuda").half() for _ in range(3))
    compiled = torch.compile(model, backend="hidet", fullgraph=True)
    with torch.no_grad():
        compiled(a, b)
        calls.clear()
        for _ in range(3):
            compiled(a, b)
        assert calls == {"cuGraphLaunch": 3}
        calls.clear()
        compiled(other, b)
    assert calls == {
        "cuTensorMapReplaceAddress": 1,
        "cuGraphExecKernelNodeSetParams": 1,
        "cuGraphLaunch": 1,
    }
