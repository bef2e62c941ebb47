"""Functions of Python in scripts: what they may do with tensors, and what parameters may be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
import torch
from xdsl.dialects import builtin
from xdsl.dialects import math as math_dialect
from xdsl.utils.test_value import create_ssa_value

import hidet
from hidet.backend.printer.tables import EXPRESSIONS
from hidet.errors import ScriptError
from hidet.frontends.script.operators import FUNCTIONS
from hidet.frontends.script.tensors import Tensor
from hidet.lang import attrs, f32, i32, register_tensor, spatial
from hidet.lang.cuda import threadIdx
from hidet.mapping import TaskMap


def double(tensor, place):
    tensor[place] = tensor[place] * 2


@hidet.script
def shifted(values: Sequence[int], worker: i32, function: Callable[..., object]) -> Sequence[int]:
    return [function(value, worker) for value in values]


@hidet.script
def visit(tile: Tensor, layout: TaskMap | None, count: int) -> None:
    assert layout is not None
    assert count == 2
    for i, j in tile.on(threadIdx.x):
        tile[i, j] = i * 10 + j


def test_tensors_in_functions_of_python():
    """They load and store elements; parameters of Python's types take what is known."""
    layout = spatial(4, 8)
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[4, 8], out: f32[4, 8]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            tile = register_tensor("float32", layout=layout)
            visit(tile, layout, 2)
            for i, j in layout.on(threadIdx.x):
                double(x, (i, j))
                first, second = shifted((1, 2), threadIdx.x, lambda value, worker: value + worker)
                out[i, j] = x[i, j] + tile[i, j] + first * second

    x, out = torch.randn(4, 8), torch.empty(4, 8)
    number = torch.arange(32.0).reshape(4, 8)
    place = torch.arange(4.0)[:, None] * 10 + torch.arange(8.0)
    expected = x * 2 + place + (number + 1) * (number + 2)
    module.build()(x, out)
    torch.testing.assert_close(out, expected)


def test_a_tensor_outside_of_a_kernel():
    """There is nothing to load from when no kernel is being written."""
    kept = []
    with hidet.script_module():

        @hidet.script
        def kernel(x: f32[4]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 4
            kept.append(x)

    (tensor,) = kept
    assert tensor.dtype == f32
    with pytest.raises(ScriptError, match="exists in a kernel only"):
        tensor[0]
    with pytest.raises(ScriptError, match="exists in a kernel only"):
        tensor[0] = 1.0
    with pytest.raises(TypeError):
        list(tensor)


def test_functions_of_several_values():
    """Python functions that take lists, other bases, or return pairs."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[4], n: i32[2], y: f32[15]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            y[0] = 1.0 if any([x[0] > 1, x[1] > 2]) else 0.0
            y[1] = 1.0 if all([x[0] > 1, x[1] > 2]) else 0.0
            y[2] = 1.0 if any(x[i] > 100 for i in [0, 1]) else 3.0
            y[3] = 1.0 if any([]) else 2.0
            y[4], y[5] = max([x[0], x[1], x[2]]), min([x[i] for i in [0, 1, 2]])
            y[6], y[7], y[8] = math.log(x[3], 2), math.log(x[3]), math.log(x[3], x[2])
            y[9], y[10] = divmod(n[0], 3)
            y[11], y[12] = divmod(17, n[1])
            y[13] = max([1.0, 2.0])
            y[14] = sum([x[0], x[1]])

    x, n = torch.tensor([1.5, 1.0, 3.0, 8.0]), torch.tensor([-7, 5], dtype=torch.int32)
    y = torch.full((15,), math.nan)
    module.build()(x, n, y)
    logarithms = [math.log(8, 2), math.log(8), math.log(8, 3)]
    expected = [1, 0, 3, 2, 3, 1, *logarithms, -3, 2, 3, 2, 2, 2.5]
    torch.testing.assert_close(y, torch.tensor(expected))


def test_what_numpy_calls_otherwise_is_not_asked_for():
    """`str` of a value is its description; numpy warns of its own old name."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[4]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            x[0] = len(str(x[1]))

    x = torch.zeros(4)
    module.build()(x)
    assert x[0] == len("a value of type f32")


def test_all_functions_of_the_dialect():
    """The tables that go by names, so as not to load the dialect, have all that it has."""
    floats = math_dialect.FloatingPointLikeUnaryMathOperation
    unary = {op for op in math_dialect.Math.operations if issubclass(op, floats)}
    unary.remove(math_dialect.RoundOp)  # not half to even
    x = create_ssa_value(builtin.f32)
    assert {type(make(x)) for make in FUNCTIONS.values()} == unary
    assert all(op.name in EXPRESSIONS for op in unary)
    for name, make in FUNCTIONS.items():
        assert make(x).name.removeprefix("math.") in (name, f"{name}f", f"{name}even")
