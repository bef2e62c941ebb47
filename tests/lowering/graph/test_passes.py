"""What the graph passes keep and refuse: locations, prepared values, leftovers."""

import numpy as np
import pytest
import torch
from compute_interpreter import EvaluationError, evaluate
from torch.nn import functional
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from hidet.context import make_context
from hidet.dialects import graph
from hidet.dialects.compute import GridOp, LoadOp
from hidet.errors import DivisionByZeroError, IndexOutOfRangeError, PassError
from hidet.lowering.graph.decompose_graph import (
    DECOMPOSITIONS,
    DECOMPOSITIONS_FOR_ARCH,
    SOFTMAX_AND_NORMS,
    DecomposeGraphPass,
)
from hidet.lowering.graph.hoist_constants import HoistConstantsPass
from hidet.lowering.graph.lower_graph_to_compute import STAY, LowerGraphToComputePass
from hidet.lowering.single_walk import apply_rules
from hidet.testing.numeric import assert_close

ALWAYS_DECOMPOSED = {
    graph.Conv2dFilterGradientOp,
    graph.LayerNormOp,
    graph.LinearOp,
    graph.RmsNormOp,
    graph.SoftmaxOp,
}
PASSES = (DecomposeGraphPass(), HoistConstantsPass(), LowerGraphToComputePass())
BLOCK = """
  func.func @forward(%x : tensor<1x3x8x8xf32>) -> tensor<1x4x1x1xf32> {
    %w = graph.constant "p0" : tensor<4x3x3x3xf32>
    %v = graph.constant "p1" : tensor<4xf32>
    %y = graph.conv2d %x, %w, %v {padding = array<i64: 1, 1>}
      : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
    %a = graph.abs %w : tensor<4x3x3x3xf32>
    %u = graph.sum %a {axes = array<i64: 1, 2, 3>} : (tensor<4x3x3x3xf32>) -> tensor<4xf32>
    %q = graph.rsqrt %u : tensor<4xf32>
    %k = graph.mul %v, %q : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %c = graph.reshape %k : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %n = graph.mul %y, %c : (tensor<1x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<1x4x8x8xf32>
    %s = graph.softmax %n {axis = 3 : i64} : tensor<1x4x8x8xf32>
    %r = graph.relu %s : tensor<1x4x8x8xf32>
    %z = graph.mean %r {axes = array<i64: 2, 3>, keepdims = true}
      : (tensor<1x4x8x8xf32>) -> tensor<1x4x1x1xf32>
    func.return %z : tensor<1x4x1x1xf32>
  }"""


def parse(text):
    """Read a program."""
    return Parser(make_context(), text).parse_module()


def run_passes(module, passes=PASSES):
    """Run passes and verify what each leaves."""
    for each in passes:
        each.apply(make_context(), module)
        module.verify()
    return module


def functions_of(module):
    """The functions of a module by name."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def test_every_operator_has_a_rule():
    """What one pass leaves, the next knows."""
    rules = LowerGraphToComputePass().rules()
    for op in graph.Graph.operations:
        known = op in rules or op in ALWAYS_DECOMPOSED or issubclass(op, STAY)
        assert known or op is graph.CallKernelOp, op.name  # which `schedule` takes
    decomposed = DECOMPOSITIONS | DECOMPOSITIONS_FOR_ARCH | SOFTMAX_AND_NORMS
    assert decomposed.keys() >= ALWAYS_DECOMPOSED


def test_composite_operators_are_refused():
    program = """
      func.func @forward(%x : tensor<2x3xf32>, %w : tensor<4x3xf32>) -> tensor<2x4xf32> {
        %y = graph.linear %x, %w : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
        func.return %y : tensor<2x4xf32>
      }"""
    with pytest.raises(PassError, match=r"no rule for graph\.linear; run decompose-graph first"):
        run_passes(parse(program), [LowerGraphToComputePass()])


def test_checks_can_be_left_out():
    """Without checks a position is counted from the front, and a divisor is what it is."""
    program = """
      func.func @forward(%ids: tensor<3xi64>, %d: tensor<3xi32>) -> tensor<3xi64> {
        %p = graph.checked_positions %ids
          {size = 5 : i64, from_end, operator = "aten.index"} : tensor<3xi64>
        %q = graph.checked_divisor %d {operator = "aten.div"} : tensor<3xi32>
        %c = graph.cast %q : (tensor<3xi32>) -> tensor<3xi64>
        %y = graph.add %p, %c : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
        func.return %y : tensor<3xi64>
      }"""
    module = run_passes(parse(program), [LowerGraphToComputePass(checks=False)])
    inputs = [np.array([-1, 4, 7]), np.array([0, 1, 2], np.int32)]
    assert evaluate(module, inputs)[0].tolist() == [4, 5, 9]
    module = run_passes(parse(program), [LowerGraphToComputePass()])
    with pytest.raises(IndexOutOfRangeError, match="below 5"):
        evaluate(module, inputs)
    with pytest.raises(DivisionByZeroError, match="divided by zero"):
        evaluate(module, [np.array([-1, 4, 0]), inputs[1]])


def test_locations_are_carried_over():
    """Every operation that a pass makes has the location of the one that it is made of."""
    module = parse(BLOCK)
    lines = {}
    for number, op in enumerate(functions_of(module)["forward"].body.block.ops):
        op.location = FileLineColLoc(StringAttr("model.py"), IntAttr(number), IntAttr(0))
        lines[op.name] = number
    for each in PASSES:
        run_passes(module, [each])
        for function in functions_of(module).values():
            made = [op for op in function.body.walk() if op.name != "func.return"]
            assert all(isinstance(op.location, FileLineColLoc) for op in made)
    forward = functions_of(module)["forward"]
    (product,) = (op for op in forward.body.walk() if isinstance(op, graph.MatmulOp))
    assert product.location.line.data == lines["graph.conv2d"]
    (root,) = (op for op in forward.body.walk() if op.name == "arith.maximumf")
    assert root.location.line.data == lines["graph.relu"]
    factors = [op for op in module.walk() if op.name == "math.rsqrt"]
    assert {op.location.line.data for op in factors} == {lines["graph.rsqrt"]}


def test_unknown_operations_are_left_alone():
    """`apply_rules` meets only what there is a rule for."""
    module = parse(BLOCK)
    before = str(module)
    apply_rules(module, object, {})
    assert str(module) == before


def test_prepared_values_are_right():
    """A whole block, with what is prepared, against torch."""
    module = run_passes(parse(BLOCK))
    assert set(functions_of(module)) == {"forward", "prepare"}
    x, weight = np.random.randn(1, 3, 8, 8), np.random.randn(4, 3, 3, 3)
    vector = np.abs(np.random.randn(4))
    tensors = {"p0": weight.astype(np.float32), "p1": vector.astype(np.float32)}
    (actual,) = evaluate(module, [x.astype(np.float32)], tensors)
    w, v = (torch.from_numpy(tensors[name]).double() for name in ("p0", "p1"))
    y = functional.conv2d(torch.from_numpy(x.astype(np.float32)).double(), w, v, padding=1)
    y = y * (v * w.abs().sum((1, 2, 3)).rsqrt())[:, None, None]
    expected = y.softmax(3).relu().mean((2, 3), keepdim=True)
    assert_close(torch.from_numpy(actual.copy()), expected, 1e-5)


def test_hoisting_twice_changes_nothing():
    module = run_passes(parse(BLOCK), PASSES[:2])
    before = str(module)
    run_passes(module, [HoistConstantsPass()])
    assert str(module) == before


def test_a_second_prepare_is_refused():
    program = """
      func.func @prepare() -> tensor<4xf32> {
        %w = graph.constant "p0" : tensor<4xf32>
        func.return %w : tensor<4xf32>
      }
      func.func @forward() -> tensor<4xf32> {
        %w = graph.constant "p0" : tensor<4xf32>
        %a = graph.softmax %w {axis = 0 : i64} : tensor<4xf32>
        func.return %a : tensor<4xf32>
      }"""
    with pytest.raises(PassError, match="there is already a function @prepare"):
        run_passes(parse(program), [HoistConstantsPass()])


def test_long_chains_are_one_grid():
    """Thousands of elementwise operators, or of views, that follow one another."""
    chain = "\n".join(
        f"%x{2 * i + 1} = graph.relu %x{2 * i} : tensor<4xf16>\n"
        f"%x{2 * i + 2} = graph.exp %x{2 * i + 1} : tensor<4xf16>"
        for i in range(1000)
    )
    views = "\n".join(
        f"%v{i + 1} = graph.permute %v{i} {{dims = array<i64: 1, 0>}}"
        ": (tensor<4x4xf16>) -> tensor<4x4xf16>"
        for i in range(1000)
    )
    module = run_passes(
        parse(
            f"""func.func @forward(%x0: tensor<4xf16>, %v0: tensor<4x4xf16>)
                -> (tensor<4xf16>, tensor<4x4xf16>) {{
                {chain}
                {views}
                func.return %x2000, %v1000 : tensor<4xf16>, tensor<4x4xf16>
            }}"""
        )
    )
    grids = [op for op in module.walk() if isinstance(op, GridOp)]
    assert len(grids) == 2
    (load,) = (op for op in grids[1].body.block.ops if isinstance(op, LoadOp))
    assert tuple(load.indices) == grids[1].indices


@pytest.mark.parametrize("layers", [1, 40])
def test_the_passes_grow_with_the_program(layers):
    """Every layer becomes the same operations, however many there are."""
    body = "\n".join(
        f"""%s{i} = graph.constant "p{i}" : tensor<4xf32>
            %r{i} = graph.sum %s{i} {{axes = array<i64: 0>}} : (tensor<4xf32>) -> tensor<f32>
            %x{i + 1} = graph.mul %x{i}, %r{i} : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
        """
        for i in range(layers)
    )
    module = run_passes(
        parse(
            f"""func.func @forward(%x0 : tensor<3x4xf32>) -> tensor<3x4xf32> {{
                {body}
                func.return %x{layers} : tensor<3x4xf32>
            }}"""
        )
    )
    grids = {n: len(list(f.body.block.ops)) for n, f in functions_of(module).items()}
    assert grids == {"prepare": 2 * layers + 1, "forward": layers + 2}


# ----------------------------------------------------------------------------- the evaluator itself


def test_the_evaluator_refuses_loads_out_of_bounds():
    program = """
      func.func @forward(%x : tensor<4xf32>) -> tensor<4xf32> {
        %y = compute.grid (%i) {
          %one = arith.constant 1 : index
          %next = arith.addi %i, %one : index
          %v = compute.load %x[%next] : tensor<4xf32>
          compute.yield %v : f32
        } : tensor<4xf32>
        func.return %y : tensor<4xf32>
      }"""
    with pytest.raises(EvaluationError, match=r"goes to 1\.\.\.4 in a dimension of 4"):
        evaluate(parse(program), [np.zeros(4, np.float32)])


def test_the_evaluator_runs_fusions():
    program = """
      func.func @forward(%x : tensor<4xf32>) -> tensor<4xf32> {
        %y = compute.fusion (%x_ = %x : tensor<4xf32>) -> (tensor<4xf32>) {
          %a = compute.grid (%i) {
            %v = compute.load %x_[%i] : tensor<4xf32>
            %w = arith.addf %v, %v : f32
            compute.yield %w : f32
          } : tensor<4xf32>
          compute.yield %a : tensor<4xf32>
        }
        func.return %y : tensor<4xf32>
      }"""
    (y,) = evaluate(parse(program), [np.arange(4, dtype=np.float32)])
    assert y.tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([np.zeros(3, np.float32)], "cannot be float32 of shape"),
        ([np.zeros(4, np.float64)], "cannot be float64 of shape"),
    ],
)
def test_the_evaluator_refuses_other_arrays(inputs, message):
    program = (
        "func.func @forward(%x : tensor<4xf32>) -> tensor<4xf32> { func.return %x : tensor<4xf32> }"
    )
    with pytest.raises(EvaluationError, match=message):
        evaluate(parse(program), inputs)
