"""The compute passes keep what a program means: random programs before and after, evaluated."""

import numpy as np
import pytest
import torch
from compute_interpreter import evaluate
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from hidet.analysis.rows import rows_of_grid
from hidet.arch.chips import Arch
from hidet.context import make_context
from hidet.dialects.compute import FusionOp, GridOp
from hidet.dialects.graph import MatmulOp
from hidet.dialects.shaped import shape_of
from hidet.legality.dominance import check_dominance
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.lowering.task.schedule import SchedulePass, find_template
from hidet.testing.numeric import assert_close


def random_inputs(module, seed):
    """Arrays for the arguments of @forward."""
    numbers = np.random.default_rng(seed)
    forward = next(op for op in module.ops if isinstance(op, FuncOp))
    shapes = [shape_of(argument) for argument in forward.body.block.args]
    return [numbers.standard_normal(shape).astype(np.float32) for shape in shapes]


def assert_rows_are_reduced_together(module, arch):
    """Several threads reduce each row: no other template takes a fusion with rows."""
    fusions = [op for op in module.walk() if isinstance(op, FusionOp)]
    for fusion in fusions:
        if any(isinstance(op, GridOp) and rows_of_grid(op) for op in fusion.body.block.ops):
            assert find_template(fusion, Arch.parse(arch)).name == "row"


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
    assert_rows_are_reduced_together(module, "cpu")
    SchedulePass("cpu").apply(context, module)
    module.verify()


LOSS = """func.func @forward(%x : tensor<8192x64xf16>, %i : tensor<8192x1xi32>) -> tensor<1xf16> {
  %y = graph.log_softmax %x {axis = 1 : i64} : tensor<8192x64xf16>
  %p = graph.gather %y, %i {axis = 1 : i64}
    : (tensor<8192x64xf16>, tensor<8192x1xi32>) -> tensor<8192x1xf16>
  %s = graph.sum %p {axes = array<i64: 0>} : (tensor<8192x1xf16>) -> tensor<1xf16>
  func.return %s : tensor<1xf16>
}"""

BIAS = """func.func @forward(%x : tensor<32x12x197x64xf16>) -> tensor<768xf16> {
  %t = graph.permute %x {dims = array<i64: 0, 2, 1, 3>}
    : (tensor<32x12x197x64xf16>) -> tensor<32x197x12x64xf16>
  %m = graph.reshape %t : (tensor<32x197x12x64xf16>) -> tensor<6304x768xf16>
  %s = graph.sum %m {axes = array<i64: 0>} : (tensor<6304x768xf16>) -> tensor<768xf16>
  func.return %s : tensor<768xf16>
}"""


@pytest.mark.parametrize(("text", "rows"), [(LOSS, 2), (BIAS, 2)], ids=["loss", "bias"])
def test_no_thread_reduces_long_rows_alone(text, rows):
    """What is read in another order, by look-ups or behind a reshape, does not matter."""
    context = make_context()
    module = Parser(context, text).parse_module()
    for pipeline in ("graph-pipeline", "compute-pipeline"):
        run_pipeline(module, context, PassOptions("sm_90a"), pipeline=pipeline)
    grids = [op for op in module.walk() if isinstance(op, GridOp) and rows_of_grid(op)]
    fusions = {grid.parent_op() for grid in grids}
    assert len(fusions) == rows, module
    assert_rows_are_reduced_together(module, "sm_90a")


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
