"""Programs of the graph dialect, run through the graph passes and the reference evaluator."""

import pytest
import torch
from compute_interpreter import evaluate
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from hidet.context import make_context
from hidet.frontends.torch.dtypes import ELEMENTS
from hidet.lowering.graph.decompose_graph import DecomposeGraphPass
from hidet.lowering.graph.hoist_constants import HoistConstantsPass
from hidet.lowering.graph.lower_graph_to_compute import LowerGraphToComputePass
from hidet.testing.numeric import assert_close


def as_array(x):
    """A torch tensor as the evaluator holds it: bf16 in float32."""
    return (x.float() if x.dtype == torch.bfloat16 else x).numpy()


class GraphProgram:
    """A function @forward under construction."""

    def __init__(self, *inputs):
        self.inputs = inputs
        types = [TensorType(ELEMENTS[x.dtype], list(x.shape)) for x in inputs]
        self.block = Block(arg_types=types)

    @property
    def values(self):
        """The arguments of the function."""
        return list(self.block.args)

    def emit(self, op):
        """Append an operation; give its result."""
        self.block.add_op(op)
        return op.results[0]

    def module(self, *results):
        """Finish the program with the values that it returns."""
        values = [SSAValue.get(result) for result in results]
        self.block.add_op(ReturnOp(*values))
        types = [list(value.type for value in group) for group in (self.block.args, values)]
        return ModuleOp([FuncOp("forward", (types[0], types[1]), Region(self.block))])


def lower(module):
    """Run the graph passes on a module; verify what each leaves."""
    context = make_context()
    module.verify()
    for each in (DecomposeGraphPass(), HoistConstantsPass(), LowerGraphToComputePass()):
        each.apply(context, module)
        module.verify()
    return module


@pytest.fixture
def run_graph():
    """Build a program on torch tensors, lower it, evaluate it; give a torch tensor.

    `build(program, *values)` emits what is needed and gives the last operation. Weights are torch
    tensors by name. bf16 comes back as float32.
    """

    def run(build, *inputs, **constants):
        program = GraphProgram(*inputs)
        result = program.emit(build(program, *program.values))
        module = lower(program.module(result))
        arrays = {name: as_array(x) for name, x in constants.items()}
        (output,) = evaluate(module, [as_array(x) for x in inputs], arrays)
        return torch.from_numpy(output.copy())

    return run


@pytest.fixture
def check_op(run_graph):
    """Compare an operator on torch tensors with a function of torch on the same tensors."""

    def check(op, reference, *inputs, tolerance=1e-12):
        actual = run_graph(lambda program, *values: op(*values), *inputs)
        expected = reference(*inputs)
        assert_close(actual, expected, tolerance)

    return check
