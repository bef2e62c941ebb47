"""Models of ONNX: read, called on tensors and symbols, compiled, refused."""

import ast
import inspect
from pathlib import Path

import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

import hidet
from hidet.errors import HidetError, UnsupportedDtypeError, UnsupportedOperatorError
from hidet.frontends.onnx.operators import FAMILIES
from hidet.frontends.onnx.table import TABLE
from hidet.frontends.trace.operators import FAMILIES as OWN_FAMILIES
from hidet.graph.frontend import from_onnx

ROOT = Path(__file__).parents[3]


def model_of(*nodes, weights=(), inputs=(("x", [2, 3]),), outputs=("y",), opset=18, **more):
    """Return a model of float tensors."""
    graph = helper.make_graph(
        list(nodes),
        "model",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in outputs],
        [numpy_helper.from_array(weight.numpy(), name) for name, weight in weights],
    )
    versions = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10, **more)


def perceptron(hidden=5):
    """Return a model whose shapes are computed, and what it computes."""
    w, b = torch.randn(3, hidden), torch.randn(hidden)
    model = model_of(
        helper.make_node("Gemm", ["x", "w", "b"], ["h"]),
        helper.make_node("Gelu", ["h"], ["a"]),
        helper.make_node("Shape", ["x"], ["s"], end=1),
        helper.make_node("Concat", ["s", "rest"], ["t"], axis=0),
        helper.make_node("Reshape", ["a", "t"], ["y"]),
        weights=[("w", w), ("b", b), ("rest", torch.tensor([-1, 1]))],
        opset=20,
    )
    return model, lambda x: torch.nn.functional.gelu(x @ w + b)[..., None]


def test_tensors_and_symbols(tmp_path):
    """A model takes tensors, symbols and names, and its graph has no arithmetic of shapes."""
    proto, reference = perceptron()
    onnx.save(proto, tmp_path / "model.onnx")
    model = from_onnx(tmp_path / "model.onnx")
    x = torch.randn(2, 3)
    assert (model.input_names, model.output_names) == (["x"], ["y"])
    torch.testing.assert_close(model(hidet.from_torch(x)).torch(), reference(x))
    found = model.dict_forward({"x": hidet.from_torch(x)})
    torch.testing.assert_close(found["y"].torch(), reference(x))
    graph = hidet.trace_from(model(hidet.symbol([2, 3])))
    names = [op.name for op in graph.module.body.block.first_op.walk()]
    assert "graph.gelu" in names
    assert "graph.concat" not in names
    hidet.save_graph(graph, tmp_path / "model.hidet")
    torch.testing.assert_close(hidet.load_graph(tmp_path / "model.hidet")(x).torch(), reference(x))
    direct = hidet.compile(model.module, x)
    torch.testing.assert_close(direct(x), reference(x))


def test_layouts_of_weights():
    """The columns of a weight are contiguous, whichever way a model stores it."""
    w, v, x = torch.randn(3, 5), torch.randn(4, 5), torch.randn(2, 3)
    proto = model_of(
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Gemm", ["h", "v"], ["y"], transB=1),
        weights=[("w", w), ("v", v)],
    )
    model = from_onnx(proto)
    assert [each.stride() for each in model.module.buffers()] == [(1, 3), (5, 1)]
    torch.testing.assert_close(model.module(x), x @ w @ v.t())


def test_numbers():
    """A program knows scalars, and what is computed to be one number; other weights it reads."""
    nodes = [
        helper.make_node("Mul", ["x", "scale"], ["s"]),
        helper.make_node("Sub", ["w", "w"], ["mask"]),
        helper.make_node("Add", ["s", "mask"], ["m"]),
        helper.make_node("Add", ["m", "w"], ["y"]),
    ]
    weights = [("scale", torch.tensor(0.5)), ("w", torch.ones(2, 3))]
    model = from_onnx(model_of(*nodes, weights=weights))
    graph = hidet.trace_from(model(hidet.symbol([2, 3])))
    text = str(graph.module)
    assert (text.count("graph.fill"), text.count("graph.constant")) == (2, 1)
    x = hidet.randn([2, 3])
    torch.testing.assert_close(graph(x).torch(), x.torch() * 0.5 + 1)


def test_external_data(tmp_path):
    """Weights may lie beside the model, and only there."""
    proto, reference = perceptron(512)
    path = tmp_path / "model.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    x = torch.randn(2, 3)
    torch.testing.assert_close(from_onnx(path).module(x), reference(x))
    (tmp_path / "weights.bin").rename(tmp_path / "elsewhere.bin")
    with pytest.raises(HidetError, match="no model of ONNX"):
        from_onnx(path)


def test_functions_and_branches():
    """Functions of a model are called with their attributes; a known condition picks a branch."""
    alpha = onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    inner = helper.make_node("LeakyRelu", ["a"], ["b"])
    inner.attribute.append(alpha)
    function = helper.make_function(
        "own", "Steep", ["a"], ["b"], [inner], [helper.make_opsetid("", 18)], ["slope"]
    )
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(op, ["x"], ["r"])],
            name,
            [],
            [helper.make_tensor_value_info("r", TensorProto.FLOAT, ["n"])],
        )
        for name, op in (("then", "Exp"), ("else", "Neg"))
    }
    model = model_of(
        helper.make_node("Steep", ["x"], ["l"], domain="own", slope=2.0),
        helper.make_node("If", ["is_exp"], ["e"], **branches),
        helper.make_node("Add", ["l", "e"], ["y"]),
        weights=[("is_exp", torch.tensor(False))],
        functions=[function],
    )
    model.opset_import.append(helper.make_opsetid("own", 1))
    x = torch.randn(2, 3)
    expected = torch.nn.functional.leaky_relu(x, 2.0) - x
    torch.testing.assert_close(from_onnx(model).module(x), expected)


@pytest.mark.parametrize(
    ("node", "opset", "error", "message"),
    [
        (("NonMaxSuppression", ["x"]), 18, HidetError, "no operator NonMaxSuppression"),
        (("Relu", ["x", "x"]), 18, HidetError, "no model of ONNX"),
        (("Reshape", ["x", "shape"]), 18, UnsupportedOperatorError, "input 1 depends on"),
        (("Transpose", ["x"], {"perm": [0]}), 18, HidetError, "cannot be computed"),
        (("Cast", ["x"], {"to": TensorProto.STRING}), 18, UnsupportedDtypeError, "type STRING"),
    ],
)
def test_refused(node, opset, error, message):
    """What is not there, or malformed, is named with its node, operator and opset."""
    op, names, *attributes = node
    made = helper.make_node(op, names, ["y"], "culprit", **(attributes or [{}])[0])
    model = model_of(made, inputs=[("x", [2, 3]), ("shape", [2])], opset=opset)
    if op == "NonMaxSuppression":  # ONNX's checker knows how many inputs it takes
        made = helper.make_node(op, ["x", "x"], ["y"], "culprit")
        model = model_of(made, opset=opset)
    with pytest.raises(error, match=message) as caught:
        from_onnx(model).module(
            torch.randn(2, 3), *[torch.tensor([3, 2])] * (op != "NonMaxSuppression")
        )
    if "no model" not in message:
        assert caught.value.where == f"node 'culprit' ({op}, opset {opset})"


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        from_onnx(tmp_path / "model.onnx")
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(HidetError, match="no model of ONNX"):
        from_onnx(tmp_path / "model.onnx")


def test_wrong_number_of_inputs():
    proto, _ = perceptron()
    with pytest.raises(HidetError, match="0 inputs; the model takes x"):
        from_onnx(proto).module()


def bodies(families):
    """Give the functions of some modules by what they compute, with their names."""
    for family in families:
        for node in ast.walk(ast.parse(inspect.getsource(family))):
            if isinstance(node, ast.FunctionDef):
                statements = [s for s in node.body if not isinstance(s, ast.Expr)]
                text = "".join(map(ast.dump, [node.args, *statements]))
                if len(statements) > 1:  # a call of torch's function is no rule
                    yield text, f"{family.__name__}.{node.name}"


def test_one_home_of_operators():
    """No operator is defined twice, and none but those of the torch frontend says what it becomes.

    `hidet.ops` and ONNX are calls of torch: what they import knows nothing of the graph dialect.
    """
    found = {}
    for text, name in [*bodies(OWN_FAMILIES), *bodies(FAMILIES)]:
        assert found.setdefault(text, name) == name
    for family in (*OWN_FAMILIES, *FAMILIES):
        for node in ast.walk(ast.parse(inspect.getsource(family))):
            if isinstance(node, ast.ImportFrom):
                assert not node.module.startswith(("hidet.dialects", "hidet.lowering", "xdsl"))
    assert all(len({row.since for row in rows}) == len(rows) for rows in TABLE.values())
