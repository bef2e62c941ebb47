"""Constants on the CPU that meet tensors of another device: they are folded at import."""

import pytest
import torch
from torch import fx, nn
from torch._subclasses import FakeTensorMode

import hidet
from hidet.dialects import graph
from hidet.errors import DeviceMismatchError
from hidet.frontends.torch import importer
from hidet.frontends.torch.aot import compile_aten
from hidet.frontends.torch.backend import hidet_backend
from hidet.frontends.torch.pickled import AtenGraph
from hidet.frontends.torch.settings import Settings

aten = torch.ops.aten


def masked_and_scaled(x):
    """Copy numbers on the CPU into a mask as Swin does, and divide as DeBERTa does."""
    mask = x.new_zeros(x.shape)
    mask[:2].copy_(torch.tensor(3.0))
    scale = torch.sqrt(torch.tensor(x.shape[-1], dtype=torch.float32) * 3)
    return (x + mask) / scale.to(x.dtype)


def tables(x):
    """Look up positions on the CPU, and move what is computed there."""
    steps = (torch.arange(3) * 2).to(x.device)
    return x[torch.tensor([2, 0])] + steps + torch.tensor([1.0, 2.0, 3.0]).to(x.device)


def compile_directly(function, x):
    return hidet.compile(function, x)


def compile_by_dynamo(function, x):
    with torch.no_grad():
        torch.compile(function, backend=hidet_backend, options={"fallback": False})(x)


@pytest.fixture(name="imported", params=[compile_directly, compile_by_dynamo])
def import_for_meta(request, monkeypatch, reference):
    """Give a function that imports a function of a tensor on a device that has no elements."""
    monkeypatch.setattr(importer, "_DEVICES", {"meta"})
    found = []

    def compile_module(imported, settings):
        found.append(imported)
        program = reference(imported.module)
        program.run = lambda inputs, constants: [torch.empty(3, 3, device="meta")]
        return program

    monkeypatch.setattr("hidet.frontends.torch.program.compile_module", compile_module)
    torch._dynamo.reset()

    def run(function):
        request.param(function, torch.empty(3, 3, device="meta"))
        (only,) = found
        return only

    return run


def test_numbers(imported, evaluate):
    """A tensor without dimensions becomes a number of the program."""
    found = imported(masked_and_scaled)
    assert not found.constants
    x = torch.randn(3, 3)
    torch.testing.assert_close(evaluate(found.module, [x], {}), [masked_and_scaled(x)])


def test_tables(imported):
    """Others move to the device of the program, with nothing left to compute on the CPU."""
    found = imported(tables)
    assert {source.origin.device.type for source in found.constants} == {"meta"}
    assert sorted(list(source.origin.shape) for source in found.constants) == [[2], [3], [3]]
    assert not any(isinstance(op, graph.IotaOp) for op in found.module.walk())


def test_weights_are_not_folded(monkeypatch):
    monkeypatch.setattr(importer, "_DEVICES", {"meta", "cpu"})
    model = nn.Module()
    model.register_buffer("scale", torch.tensor(2.0))
    model.forward = lambda x: x * (model.scale + 1)
    with pytest.raises(DeviceMismatchError, match=r"it mixes devices: \w+ on meta, \w+ on cpu"):
        hidet.compile(model, torch.empty(3, device="meta"))


def graph_of_gpu(constant):
    """Make a graph that adds the root of a constant on the CPU to a tensor on a GPU."""
    fx_graph = fx.Graph()
    x = fx_graph.placeholder("x")
    held = fx_graph.get_attr("held")
    root = fx_graph.call_function(aten.sqrt.default, (held,))
    total = fx_graph.call_function(aten.add.Tensor, (x, root))
    fx_graph.output((total,))
    with FakeTensorMode():
        x.meta["val"] = torch.empty(3, device="cuda")
        total.meta["val"] = torch.empty(3, device="cuda")
        root.meta["val"] = torch.empty(constant.shape)
    module = nn.Module()
    module.register_buffer("held", constant)
    return fx.GraphModule(module, fx_graph)


def test_program_of_gpu(programs):
    """The number is computed at import, by torch."""
    program = compile_aten(
        AtenGraph.of(graph_of_gpu(torch.tensor(9.0)), None), (), Settings(fallback=False)
    )
    assert program([torch.ones(3)])[0].tolist() == [4, 4, 4]
    names = [op.name for op in programs[0].module.walk() if isinstance(op, graph.GraphOp)]
    assert names == ["graph.fill", "graph.add"]
