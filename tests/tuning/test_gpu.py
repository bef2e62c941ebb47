"""Tuning on a GPU."""

import pytest
import torch
from xdsl.parser import Parser

from hidet.context import make_context
from hidet.driver import compile_graph
from hidet.driver.options import CompileOptions
from hidet.driver.target import Target
from hidet.driver.tuning import make_tuner
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.testing.numeric import assert_close

pytestmark = pytest.mark.gpu

TEXT = """
func.func @forward(%x: tensor<300x512xf16>, %b: tensor<300x264xf16>) -> tensor<300x264xf16> {
  %w = graph.constant "p0" : tensor<512x264xf16>
  %y = graph.matmul %x, %w : (tensor<300x512xf16>, tensor<512x264xf16>) -> tensor<300x264xf16>
  %z = graph.add %y, %b : (tensor<300x264xf16>, tensor<300x264xf16>) -> tensor<300x264xf16>
  func.return %z : tensor<300x264xf16>
}
"""


def parse():
    return Parser(make_context(), TEXT).parse_module()


@pytest.mark.parametrize("cold", [False, True])
def test_search(tmp_path, cold):
    """No candidate of an ordinary product fails, or disagrees with the others."""
    device = torch.device("cuda", 0)
    options = CompileOptions.current({"search_space": 2, "cache_dir": tmp_path / "cache"})
    target = Target.of(device, options)
    module = parse()
    for pipeline in ("graph-pipeline", "compute-pipeline"):
        run_pipeline(module, make_context(), PassOptions(str(target.arch)), pipeline=pipeline)
    tuner = make_tuner(target, cold=cold)
    tuner.tune(module)
    (search,) = tuner.searches
    assert search.rejected() == []
    assert search.measured >= 16
    assert "config {" in str(module)


@pytest.mark.parametrize("space", [1, 2])
def test_tuned_program(tmp_path, space):
    device = torch.device("cuda", 0)
    options = {"search_space": space, "cache_dir": tmp_path / "cache"}
    graph = compile_graph(parse(), device=device, options=options)
    x, b = (torch.randn(300, n, device=device).half() for n in (512, 264))
    w = torch.randn(512, 264, device=device).half()
    for _ in range(3):
        (out,) = graph.run([x, b], [w])
        assert_close(out, (x.double() @ w.double()).half().double() + b.double(), 4e-3)
