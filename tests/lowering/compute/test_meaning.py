"""The compute passes keep what a program means: random programs before and after, evaluated."""

import numpy as np
import torch
from compute_interpreter import evaluate
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from hidet.context import make_context
from hidet.dialects.compute import FusionOp, GridOp
from hidet.dialects.graph import MatmulOp
from hidet.dialects.shaped import shape_of
from hidet.legality.dominance import check_dominance
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.lowering.task.schedule import SchedulePass
from hidet.testing.numeric import assert_close


def random_inputs(module, seed):
    """Arrays for the arguments of @forward."""
    numbers = np.random.default_rng(seed)
    forward = next(op for op in module.ops if isinstance(op, FuncOp))
    shapes = [shape_of(argument) for argument in forward.body.block.args]
    return [numbers.standard_normal(shape).astype(np.float32) for shape in shapes]


@settings(max_examples=60)
@given(st.data())
def test_fused_programs_compute_the_same(programs, data):
    """Fusions give what the operators gave, and each finds a template."""
    context = make_context()
    module = Parser(context, data.draw(programs())).parse_module()
    inputs = random_inputs(module, data.draw(st.integers(0, 2**32)))
    run_pipeline(module, context, PassOptions("cpu"), pipeline="graph-pipeline")
    expected = evaluate(module, inputs)
    run_pipeline(module, context, PassOptions("cpu"), pipeline="compute-pipeline")
    module.verify()
    check_dominance(module)
    for result, reference in zip(evaluate(module, inputs), expected, strict=True):
        reference = torch.from_numpy(reference.astype(np.float64))
        assert_close(torch.from_numpy(result.copy()), reference, tolerance=1e-4)
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    for op in (op for function in functions for op in function.body.block.ops):
        assert not isinstance(op, GridOp | MatmulOp), "fusions hold all grids and products"
        if isinstance(op, FusionOp):
            matmuls = [inner for inner in op.body.walk() if isinstance(inner, MatmulOp)]
            assert len({matmul.lhs for matmul in matmuls}) <= 1, "siblings share operand A"
    SchedulePass("cpu").apply(context, module)
    module.verify()


TURNED = """func.func @forward(
    %a : tensor<96x32xf32>, %b : tensor<32x64xf32>, %r : tensor<64x96xf32>) -> tensor<64x96xf32> {
  %y = graph.matmul %a, %b : (tensor<96x32xf32>, tensor<32x64xf32>) -> tensor<96x64xf32>
  %e = graph.exp %y : tensor<96x64xf32>
  %t = graph.permute %e {dims = array<i64: 1, 0>} : (tensor<96x64xf32>) -> tensor<64x96xf32>
  %z = graph.add %t, %r : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  %s = graph.softmax %z {axis = 1 : i64} : tensor<64x96xf32>
  func.return %s : tensor<64x96xf32>
}"""


def test_products_that_are_reduced_along_columns_compute_the_same():
    """They become their transposes, whatever is computed of them in between."""
    context = make_context()
    module = Parser(context, TURNED).parse_module()
    inputs = [array / 4 for array in random_inputs(module, 0)]
    run_pipeline(module, context, PassOptions("cpu"), pipeline="graph-pipeline")
    (expected,) = evaluate(module, inputs)
    run_pipeline(module, context, PassOptions("cpu"), pipeline="compute-pipeline")
    products = [op for op in module.walk() if isinstance(op, MatmulOp)]
    assert [shape_of(op.result) for op in products] == [(64, 96)]
    (result,) = evaluate(module, inputs)
    reference = torch.from_numpy(expected.astype(np.float64))
    assert_close(torch.from_numpy(result.copy()), reference, tolerance=1e-4)
