"""Numbers of the template `segmented`: each block computes one of several sets of results."""

import pytest
import torch
from xdsl.parser import Parser

from hidet.context import make_context
from hidet.driver import compile_graph
from hidet.frontends.torch.dtypes import type_of
from hidet.lowering.templates.segmented import SegmentedConfig, SegmentedTemplate

SIZES = (1, 4, 63, 64, 67, 130)


@pytest.mark.parametrize("vector", [1, 4])
def test_segments(check, monkeypatch, tmp_path, vector):
    """Sizes that fill blocks, vectors, and neither; a segment of two results."""
    config = SegmentedConfig(16, vector)
    monkeypatch.setattr(SegmentedTemplate, "configs", lambda *_: [config])
    body, inputs, expected = [], {}, {}
    for number, size in enumerate(SIZES):
        x, kind = torch.randn(size), f"tensor<{size}xf32>"
        inputs[f"x{number}"], expected[f"y{number}"] = x, x.double().exp()
        body.append(f"%y{number} = graph.exp %x{number} : {kind}")
    expected["z"] = inputs["x4"].double().tanh()
    body.append("%z = graph.tanh %x4 : tensor<67xf32>")
    options = {"cache_dir": tmp_path, "strict": True}
    check("\n".join(body), inputs, expected, options=options)


@pytest.mark.parametrize("vector", [1, 4])
def test_updates(monkeypatch, tmp_path, vector):
    """What is updated in place is read before it is written, by vectors too."""
    config = SegmentedConfig(16, vector)
    monkeypatch.setattr(SegmentedTemplate, "configs", lambda *_: [config])
    tensors = [torch.randn(size) for size in SIZES]
    kinds = [str(type_of(x)) for x in tensors]
    arguments = ", ".join(f"%x{n} : {kind}" for n, kind in enumerate(kinds))
    body = "\n".join(
        f"%e{n} = graph.exp %x{n} : {kind}\n"
        f"%y{n} = graph.add %x{n}, %e{n} : ({kind}, {kind}) -> {kind}"
        for n, kind in enumerate(kinds)
    )
    results = ", ".join(f"%y{n}" for n in range(len(kinds)))
    text = f"""
      func.func @forward({arguments}) -> ({", ".join(kinds)})
          attributes {{updates = array<i64: {", ".join(map(str, range(len(kinds))))}>}} {{
        {body}
        func.return {results} : {", ".join(kinds)}
      }}"""
    module = Parser(make_context(), text).parse_module()
    options = {"cache_dir": tmp_path, "strict": True}
    graph = compile_graph(module, device=torch.device("cpu"), options=options)
    assert len(graph.plan.forward) == 1
    assert not graph.plan.copies
    wanted = [x + x.exp() for x in tensors]
    assert graph.run(tensors, []) == []
    torch.testing.assert_close(tensors, wanted)
