"""Every ATen operator in the tables: translated, run by the reference, compared with torch.

A new operator in a table needs a case in `cases.py`; `test_every_operator_has_a_case` asks for it.
"""

import operator
import runpy
from pathlib import Path

import pytest
import torch
from torch import fx
from torch._subclasses import FakeTensorMode
from torch.fx.node import map_arg

from hidet.dialects.graph import Graph
from hidet.frontends.torch.decompositions import decompositions
from hidet.frontends.torch.importer import import_graph
from hidet.frontends.torch.nodes import overloads_of
from hidet.frontends.torch.operators import OPERATORS
from hidet.testing.numeric import assert_close

TABLES = runpy.run_path(str(Path(__file__).with_name("cases.py")))
CASES, GPU_CASES, GPU_REFERENCES = (
    TABLES[name] for name in ("CASES", "GPU_CASES", "GPU_REFERENCES")
)
TOLERANCE = 1e-12


def trace(example, device="cpu"):
    """Make the graph of one call of an operator by hand, as tracing would take some apart.

    Gives the graph and the tensors that it takes.
    """
    mode = FakeTensorMode()
    fx_graph = fx.Graph()
    tensors, nodes = [], []

    def to_node(value):
        if isinstance(value, list | tuple):
            return [to_node(part) for part in value]
        if not isinstance(value, torch.Tensor):
            return value
        node = fx_graph.placeholder(f"x{len(tensors)}")
        with mode:
            node.meta["val"] = torch.empty_strided(
                value.shape, value.stride(), dtype=value.dtype, device=device
            )
        tensors.append(value)
        nodes.append(node)
        return node

    arguments = tuple(to_node(value) for value in example.arguments)
    keywords = {name: to_node(value) for name, value in example.keywords.items()}
    call = fx_graph.call_function(example.target, arguments, keywords)
    with mode:
        call.meta["val"] = example.target(
            *map_arg(arguments, lambda node: node.meta["val"]),
            **map_arg(keywords, lambda node: node.meta["val"]),
        )
    outputs = [call]
    if not isinstance(call.meta["val"], torch.Tensor):
        outputs = [fx_graph.call_function(operator.getitem, (call, n)) for n in example.results]
        for number, node in zip(example.results, outputs, strict=True):
            node.meta["val"] = call.meta["val"][number]
    fx_graph.output(tuple(outputs))
    return fx.GraphModule(torch.nn.Module(), fx_graph), tensors


def import_and_run(example, evaluate, device="cpu"):
    """Translate one call and run the program; gives the outputs."""
    module, tensors = trace(example, device)
    imported = import_graph(module)
    assert not imported.unsupported
    imported.module.verify()
    assert all(source.span is None for source in imported.inputs)
    inputs = [tensors[source.origin] for source in imported.inputs]
    results = [] if imported.is_empty else evaluate(imported.module, inputs, {})
    actual = []
    for returned in imported.outputs:
        tensor = (results if returned.kind == "result" else tensors)[returned.origin]
        actual.append(tensor if returned.view is None else returned.view.of(tensor))
    return actual, tensors


@pytest.mark.parametrize("example", CASES, ids=str)
def test_operator(example, evaluate):
    """The program computes what torch's operator does, in its type and strides."""
    actual, _ = import_and_run(example, evaluate)
    expected = example.target(*example.arguments, **example.keywords)
    if isinstance(expected, torch.Tensor):
        expected = [expected]
    for tensor, number in zip(actual, example.results, strict=True):
        reference = expected[number]
        assert tensor.dtype is reference.dtype
        assert tensor.stride() == reference.stride()
        if reference.dtype.is_floating_point:
            reference = reference.double()
        assert_close(tensor, reference, TOLERANCE)


@pytest.mark.parametrize(
    ("example", "reference"),
    list(zip(GPU_CASES, GPU_REFERENCES, strict=True)),
    ids=[str(case) for case in GPU_CASES],
)
def test_operator_of_gpu(example, reference, evaluate):
    """The program computes what the operator means, seen through tensors without data."""
    (actual,), tensors = import_and_run(example, evaluate, "cuda")
    expected = reference(*(tensor.double() for tensor in tensors))
    assert_close(actual, expected, 5e-3 if actual.dtype is torch.float16 else 1e-6)


def test_every_operator_has_a_case():
    """Whoever adds an operator adds a case."""
    tested = {example.target for example in [*CASES, *GPU_CASES]}
    assert not set(OPERATORS) - tested


# They arrive as others: as `div` with a rounding mode, and as `mm` and `bmm`.
OTHERS = {"graph.floor_divide", "graph.matmul"}


@pytest.mark.parametrize("op", list(Graph.operations), ids=lambda op: op.name)
def test_operators_of_the_dialect_are_not_decomposed(op):
    """An operator of tensors alone that torch decomposed would never reach the importer."""
    overloads = overloads_of(op.name, len(op.get_irdl_definition().operands))
    is_decomposed = bool(overloads) and set(overloads) <= set(decompositions())
    assert is_decomposed == (op.name in OTHERS)
