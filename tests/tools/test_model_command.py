"""Models compiled, run and timed by the command line."""

import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

import hidet
from hidet.tools import cli


@pytest.fixture(name="onnx_file")
def file_of_onnx(tmp_path):
    """Write a model with an open size, and return its path and its weight."""
    w = torch.randn(3, 5)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 5])]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    weights = [numpy_helper.from_array(w.numpy(), "w")]
    graph = helper.make_graph(nodes, "model", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(model, tmp_path / "model.onnx")
    return tmp_path / "model.onnx", w


def test_onnx(onnx_file, tmp_path, capsys):
    """A model of ONNX becomes a saved graph, that runs and is timed."""
    path, w = onnx_file
    saved = tmp_path / "model.hidet"
    assert cli.main(["compile", str(path), "-o", str(saved), "--shape", "x=4x3"]) == 0
    x = torch.randn(4, 3)
    torch.testing.assert_close(hidet.load_compiled(saved)(x).torch(), x @ w)
    assert cli.main(["run", str(saved)]) == 0
    assert "output 0: float32[4, 5][cpu]" in capsys.readouterr().out
    assert cli.main(["bench", "graph", str(saved)]) == 0
    assert "the median of 20 calls" in capsys.readouterr().out


@pytest.mark.parametrize("shape", [[], ["--shape", "x=4"], ["--shape", "x=4xn"]])
def test_open_size(onnx_file, tmp_path, capsys, shape):
    path, _ = onnx_file
    assert cli.main(["compile", str(path), "-o", str(tmp_path / "y"), *shape]) == 1
    assert "--shape x=1x3" in capsys.readouterr().err


@pytest.mark.parametrize("shape", ["x", "y=4x3"])
def test_shape_of_no_input(onnx_file, tmp_path, capsys, shape):
    path, _ = onnx_file
    wrong = ["--shape", shape, "--shape", "x=4x3"]
    assert cli.main(["compile", str(path), "-o", str(tmp_path / "y"), *wrong]) == 1
    assert "the inputs are x" in capsys.readouterr().err


def test_no_program(tmp_path, capsys):
    path = tmp_path / "model.pt2"
    path.write_text("x = 1")
    assert cli.main(["compile", str(path), "-o", str(tmp_path / "y")]) == 1
    assert "no program that torch.export.save has written" in capsys.readouterr().err
    assert cli.main(["compile", str(path), "-o", str(tmp_path / "y"), "--shape", "x=4"]) == 1
    assert "--shape is for ONNX" in capsys.readouterr().err


def test_no_device(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    given = ["compile", "model.pt2", "-o", str(tmp_path / "y"), "--device", "cuda"]
    assert cli.main(given) == 1
    assert "there is no CUDA device" in capsys.readouterr().err


def test_exported(tmp_path):
    """A program of torch.export becomes a saved graph, too."""
    model, x = torch.nn.Linear(3, 5), torch.randn(2, 3)
    path, saved = tmp_path / "model.pt2", tmp_path / "model.hidet"
    torch.export.save(torch.export.export(model, (x,)), path)
    assert cli.main(["compile", str(path), "-o", str(saved)]) == 0
    found = hidet.load_compiled(saved)(x).torch()
    torch.testing.assert_close(found, model(x).detach())
