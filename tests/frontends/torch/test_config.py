"""`hidet.torch.dynamo_config` and what else `hidet.torch` hands out."""

import copy

import pytest
import torch
from torch import nn
from xdsl.dialects.builtin import ModuleOp, TensorType, f16, f32

import hidet.torch
from hidet import option
from hidet.dialects.graph import (
    AttentionLogsumexpOp,
    ConstantOp,
    Conv2dFilterGradientOp,
    Conv2dOp,
    LinearOp,
    MatmulOp,
)
from hidet.errors import OptionError
from hidet.frontends.torch import program
from hidet.frontends.torch.precision import set_precision
from hidet.frontends.torch.settings import FLAGS, DynamoConfig, Settings, dynamo_config


@pytest.fixture(autouse=True)
def _restore():
    """Keep settings from lasting."""
    with option.context():
        yield
    dynamo_config.reset()


def test_public_names():
    assert all(hasattr(hidet.torch, name) for name in hidet.torch.__all__)
    assert hidet.torch.dynamo_config is dynamo_config


def test_search_space():
    assert dynamo_config.search_space(1) is dynamo_config
    assert dynamo_config["search_space"] == option.get_option("search_space") == 1


def test_use_cuda_graph():
    assert Settings.of(None, None)["use_cuda_graph"]
    dynamo_config.use_cuda_graph(False)
    assert not Settings.of(None, None)["use_cuda_graph"]
    # What is said to torch.compile is nearer.
    assert Settings.of("reduce-overhead", None)["use_cuda_graph"]
    dynamo_config.reset()
    assert dynamo_config["use_cuda_graph"]


def test_print_input_graph(programs, capsys):
    dynamo_config.print_input_graph()
    with torch.no_grad():
        torch.compile(lambda x: x + 1, backend=hidet.torch.backend)(torch.ones(2))
    assert "torch.ops.aten.add.Tensor" in capsys.readouterr().out


def test_dump_graph_ir(tmp_path):
    dynamo_config.dump_graph_ir(tmp_path)
    assert dynamo_config["dump_graph_ir"] == option.get_option("dump_dir") == tmp_path


@pytest.mark.parametrize("name", FLAGS)
def test_flags(name):
    """Each is set for all models, or for one; nothing warns."""
    config, default = DynamoConfig(), FLAGS[name][0]
    assert config[name] is default
    assert getattr(config, name)(not default) is config
    assert config[name] is not default
    config.reset()
    assert config[name] is default
    assert getattr(config, name)()[name] is True
    assert Settings.of(None, {name: not default})[name] is not default


def test_unknown_settings():
    """There are no others, neither to be set nor to be read."""
    with pytest.raises(OptionError, match="the settings are search_space"):
        dynamo_config["use_attention"]
    with pytest.raises(AttributeError, match="dynamo_config has no 'use_attention'"):
        dynamo_config.use_attention()


def network():
    torch.manual_seed(0)
    layers = (nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 5))
    return nn.Sequential(*layers).eval()


def test_use_fp16(programs):
    model, x = network(), torch.randn(2, 3, 8, 8)
    dynamo_config.use_fp16()
    compiled = torch.compile(model, backend=hidet.torch.backend)
    with torch.no_grad():
        found, expected = compiled(x), model(x)
    torch.testing.assert_close(found, expected, rtol=1e-2, atol=1e-2)  # the data types, too
    assert not torch.equal(found, expected)
    (program,) = programs
    products = [op for op in program.module.walk() if isinstance(op, Conv2dOp | LinearOp)]
    assert [op.result.type.element_type for op in products] == [f16, f16]


def test_use_fp16_leaves_buffers_and_gradients_as_they_are(programs):
    model, x = network().train(), torch.randn(2, 3, 8, 8)
    other = copy.deepcopy(model)
    compiled = torch.compile(model, backend=hidet.torch.backend, options={"use_fp16": True})
    compiled(x).sum().backward()
    other(x).sum().backward()
    torch.testing.assert_close(model.state_dict(), other.state_dict(), rtol=1e-2, atol=1e-2)
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one.grad, two.grad, rtol=5e-2, atol=5e-2)


@pytest.mark.parametrize(
    ("flags", "precisions"),
    [
        ({}, ["ieee", "ieee"]),
        ({"use_fp16_reduction": True}, ["f16", "ieee"]),
        ({"use_fp16_reduction": True, "use_tensor_core": False}, ["fma", "fma"]),
    ],
)
def test_precision_of_products(flags, precisions):
    half = ConstantOp("p0", result=TensorType(f16, [4, 4]))
    single = ConstantOp("p1", result=TensorType(f32, [4, 4]))
    products = [MatmulOp(each.result, each.result) for each in (half, single)]
    set_precision(ModuleOp([half, single, *products]), Settings(flags=flags))
    assert [op.precision.data for op in products] == precisions


@pytest.mark.parametrize(
    "make",
    [
        lambda x: Conv2dFilterGradientOp(x, x, kernel=(1, 1)),
        lambda x: AttentionLogsumexpOp(x, x, None),
    ],
    ids=["filters", "attention"],
)
def test_precision_of_gradients(make):
    half = ConstantOp("p0", result=TensorType(f16, [2, 4, 4, 4]))
    op = make(half.result)
    flags = {"use_tensor_core": False}
    set_precision(ModuleOp([half, op]), Settings(flags=flags))
    assert op.precision.data == "fma"


def test_correctness_report(programs, capsys):
    model, x = network(), torch.randn(2, 3, 8, 8)
    dynamo_config.correctness_report()
    compiled = torch.compile(model, backend=hidet.torch.backend)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["kind", "operator", "dtype", "error", "attention"]
    kinds = ["placeholder", *["call_function"] * 3, "call_method", "call_function", "output"]
    assert [line.split()[1] for line in lines[2:]] == kinds
    assert "conv2d (Conv2d 0)" in lines[3]
    assert all("float32" in line and "<---" not in line for line in lines[2:])
    before = len(programs), programs[0].calls
    with torch.no_grad():
        compiled(x)
    assert (len(programs), programs[0].calls) == (before[0], before[1] + 1)  # nothing is lost
    assert capsys.readouterr().out == ""


def test_correctness_report_points_at_errors(programs, capsys, monkeypatch):
    inner = program.compile_module

    class Wrong:
        def __init__(self, right):
            self.right, self.constant_names, self.report = right, right.constant_names, None
            self.lay_out, self.prepare_in_calls = right.lay_out, right.prepare_in_calls

        def run(self, inputs, constants):
            *before, last = self.right.run(inputs, constants)
            return [*before, last + 1]

    monkeypatch.setattr(program, "compile_module", lambda *a: Wrong(inner(*a)))
    x = torch.ones(4)
    options = {"correctness_report": True}
    torch.compile(lambda x: x.exp() * 2, backend=hidet.torch.backend, options=options)(x)
    marked = [line.split()[1:3] for line in capsys.readouterr().out.splitlines() if "<---" in line]
    assert marked == [["call_function", "mul"], ["output", "0"]]
