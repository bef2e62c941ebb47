"""Graphs that cannot be compiled as a whole: what is left to eager torch, what is said of it."""

import re
import warnings

import pytest
import torch
from torch import fx, nn
from torch._dynamo.exc import BackendCompilerFailed, TorchRuntimeError
from torch._subclasses import FakeTensorMode

from hidet.dialects import graph
from hidet.errors import DeviceMismatchError, UnsupportedDtypeError, UnsupportedOperatorError
from hidet.frontends.torch.aot import compile_aten
from hidet.frontends.torch.backend import hidet_backend
from hidet.frontends.torch.partition import UnsupportedOperatorWarning
from hidet.frontends.torch.pickled import AtenGraph
from hidet.frontends.torch.settings import Settings

aten = torch.ops.aten


def compiled(function, **options):
    return torch.compile(function, backend=hidet_backend, options=options or None)


left = torch.ops.hidet_tests.left  # an operator that stays with eager torch


def run(function, *arguments):
    """Run a compiled function; gives its result and its warnings."""
    with warnings.catch_warnings(record=True) as caught, torch.no_grad():
        warnings.simplefilter("always")
        result = compiled(function)(*arguments)
    ours = [str(w.message) for w in caught if w.category is UnsupportedOperatorWarning]
    return result, ours


def operators(program):
    """List the operators of a program by name."""
    ops = program.module.walk()
    return [op.name.removeprefix("graph.") for op in ops if isinstance(op, graph.GraphOp)]


def test_unsupported_operator_is_left_to_eager_torch(programs):
    x = torch.randn(3, 4, dtype=torch.float64)

    def function(x):
        return left(x * 2 + 1).relu().exp()

    result, messages = run(function, x)
    torch.testing.assert_close(result, function(x))
    assert [operators(program) for program in programs] == [
        ["fill", "mul", "fill", "add"],
        ["relu", "exp"],
    ]
    (message,) = messages
    assert message.startswith("hidet leaves 1 operator of a graph to eager torch:")
    assert "hidet_tests.left.default" in message
    assert "test_partition.py:" in message
    assert "it has no translation" in message


def test_one_warning_names_all_operators(programs):
    def function(x):
        return left(x) + left(x + 1) + torch.linalg.ldl_factor_ex(x.T @ x)[0][0]

    x = torch.randn(3, 4, dtype=torch.float64)
    result, messages = run(function, x)
    torch.testing.assert_close(result, function(x))
    (message,) = messages
    assert message.startswith("hidet leaves 2 operators")
    assert message.count("hidet_tests.left.default") == 1
    assert "aten.linalg_ldl_factor_ex.default" in message


def test_no_warning_where_all_is_compiled(programs):
    assert run(lambda x: x + 1, torch.randn(3))[1] == []


def test_nothing_is_compiled(programs):
    x = torch.randn(3, 4)
    result, messages = run(lambda x: left(x), x)
    torch.testing.assert_close(result, left(x))
    assert len(messages) == 1
    assert programs == []


def test_parts_are_as_few_as_they_can_be(programs):
    """What does not depend on an eager operator joins the first part, whatever its place."""

    def function(x, y):
        a = left(x + 1)
        b = y * 2  # comes after the eager operator, but does not need it
        return a * b, (b + 1).sin()

    x, y = torch.randn(3, 4), torch.randn(3, 4)
    result, _ = run(function, x, y)
    torch.testing.assert_close(result, function(x, y))
    assert [operators(program)[-1] for program in programs] == ["sin", "mul"]


def test_unsupported_result_of_a_supported_operator(programs):
    """The sums of attention are not computed; the values would be."""

    def function(x):
        attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        values, sums = attention(x * 2, x, x)
        return values + 1, sums

    x = torch.randn(1, 2, 4, 4)
    result, messages = run(function, x)
    torch.testing.assert_close(result, function(x))
    assert "its result 1 is not computed" in messages[0]
    assert len(programs) == 2


def test_unsupported_dtype(programs):
    def function(x):
        return torch.view_as_real(torch.view_as_complex(x) * 1j) + 1

    x = torch.randn(3, 2)
    result, messages = run(function, x)
    torch.testing.assert_close(result, function(x))
    assert "torch.complex64" in messages[0]
    assert [operators(program)[-1] for program in programs] == ["add"]


@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
def test_sizes_that_depend_on_data(programs):
    """What has such a size stays in eager torch; the rest is compiled."""

    def function(x):
        return (x * 2)[x > 0].sum() + x.sum()

    x = torch.randn(10, dtype=torch.float64)
    result, messages = run(function, x)
    torch.testing.assert_close(result, function(x))
    assert re.search(r"aten.index.Tensor \(.*\): shape \[u\d\] depends on data", messages[0])
    assert len(messages) == 1
    assert {"mul", "gt"} <= set(operators(programs[0]))


def test_sign_in_the_tensor(programs):
    """torch marks some tensors as negated and leaves their storage as it is."""
    x = torch.randn(3, dtype=torch.complex128).conj().imag
    assert x.is_neg()
    result, messages = run(lambda x: x * 2, x)
    torch.testing.assert_close(result, (x * 2).resolve_neg())
    assert "is stored with the opposite sign" in messages[0]
    assert operators(programs[0])[-1] == "mul"


def test_numbers_beyond_unsigned_bytes(programs):
    """What a number means that is no unsigned byte, eager torch knows."""
    x = torch.randint(0, 255, (3, 2), dtype=torch.uint8)
    result, messages = run(lambda x: ((x > 300), x.float() / 255 + 1), x)
    torch.testing.assert_close(result, ((x > 300), x.float() / 255 + 1))
    assert len(messages) == 1


def test_what_draws_and_is_not_compiled_is_eager(programs):
    """There is no warning: such operators belong to torch, which has the generators."""
    x = torch.randn(100)
    result, messages = run(lambda x: (x + 1) * torch.randperm(100), x)
    torch.testing.assert_close((result / (x + 1)).sort().values, torch.arange(100.0))
    assert messages == []
    assert len(programs) == 2


def test_random_numbers_cut_no_program(programs):
    """Seeds are drawn ahead of all else; what is made of them is compiled with what reads it."""
    x = torch.randn(100)
    result, messages = run(lambda x: torch.nn.functional.dropout(x + 1, 0.5) * 2, x)
    zeros = int((result == 0).sum())
    assert 20 < zeros < 80
    torch.testing.assert_close(result[result != 0], ((x + 1) * 4)[result != 0])
    assert messages == []
    (program,) = programs
    assert {"random", "lt", "mul"} <= set(operators(program))


def test_weights_are_constants_of_every_part(programs):
    """What depends on weights alone does not travel between parts."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            weight = self.fc.weight.abs() + 1
            return left(x @ weight) @ weight + self.fc.bias

    model, x = Model(), torch.randn(3, 4)
    result, _ = run(model, x)
    torch.testing.assert_close(result, model(x))
    first, second = programs
    assert operators(first).count("constant") == 1
    assert operators(second).count("constant") == 2
    for program in programs:
        assert operators(program).count("abs") == 1
        (entry,) = program.module.ops
        assert len(entry.body.block.args) == 1


def test_views_across_parts(programs):
    """Strides and shared storage survive the borders of parts."""

    def function(x):
        y = (x + 1).t()
        z = left(y)[:, 1:]
        return y, z * y[:, 1:], y[0]

    x = torch.randn(3, 4, dtype=torch.float64)
    result, _ = run(function, x)
    for actual, expected in zip(result, function(x), strict=True):
        torch.testing.assert_close(actual, expected)
        assert actual.stride() == expected.stride()
    assert result[0].untyped_storage().data_ptr() == result[2].untyped_storage().data_ptr()


def test_input_mutated_in_an_eager_part(programs):
    def function(x):
        x.add_(1)
        return x.copy_(left(x)).mul_(2) + 1

    x = torch.randn(3, 4, dtype=torch.float64)
    mine, eager = x.clone(), x.clone()
    result, _ = run(function, mine)
    torch.testing.assert_close(result, function(eager))
    torch.testing.assert_close(mine, eager)


def test_views_alone_make_no_part(programs):
    x = torch.randn(3, 4)
    result, _ = run(lambda x: left(left(x).t()[1:]), x)
    torch.testing.assert_close(result, left(left(x).t()[1:]))
    assert programs == []


def test_other_strides_than_foretold(programs):
    """An eager operator may give other strides than torch has said; the program is safe."""
    library = torch.library.Library("hidet_test", "DEF")
    library.define("turn(Tensor x) -> Tensor")
    library.impl("turn", lambda x: x.t().contiguous().t(), "CPU")
    library.impl("turn", lambda x: torch.empty_like(x), "Meta")
    x = torch.randn(3, 4)
    result, _ = run(lambda x: torch.ops.hidet_test.turn(x + 1) * 2, x)
    torch.testing.assert_close(result, (x + 1) * 2)


# ---------------------------------------------------------------------------- errors


def failure_of(function, *arguments, **options):
    """Give the error that a backend raised, after a check that torch's own message shows it."""
    with torch.no_grad(), pytest.raises(BackendCompilerFailed) as failure:
        compiled(function, **options)(*arguments)
    inner = failure.value.inner_exception
    assert str(inner) in str(failure.value)
    return inner


def test_strict_operator(programs):
    error = failure_of(lambda x: left(x), torch.randn(3), fallback=False)
    assert type(error) is UnsupportedOperatorError
    assert error.what == "it has no translation"
    assert error.where.startswith("hidet_tests.left.default (")
    assert "test_partition.py:" in error.where
    assert "fallback" in error.hint


def test_strict_dtype(programs):
    error = failure_of(lambda x: x * 2j, torch.randn(3), fallback=False)
    assert type(error) is UnsupportedDtypeError
    assert "torch.complex64 is not supported" in str(error)
    assert "float32" in error.hint


def on_two_devices(device):
    """Make a call that torch permits: a tensor on one device, positions on another."""
    x, positions = torch.ones(3, 2, device=device), torch.tensor([0, 2])
    return (lambda x, positions: x[positions]), x, positions


@pytest.mark.parametrize("device", ["meta", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def test_two_devices(programs, device):
    function, x, positions = on_two_devices(device)
    result, messages = run(function, x, positions)
    assert (result.device, result.shape) == (x.device, (2, 2))
    (message,) = messages
    assert "aten.index.Tensor" in message
    assert re.search(rf"it mixes devices: \w+ on {device}, \w+ on cpu", message)
    assert programs == []


@pytest.mark.parametrize("device", ["meta", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def test_two_devices_strictly(programs, device):
    error = failure_of(*on_two_devices(device), fallback=False)
    assert type(error) is DeviceMismatchError
    assert re.fullmatch(rf"it mixes devices: \w+ on {device}, \w+ on cpu", error.what)
    assert error.where.startswith("aten.index.Tensor (")
    assert "test_partition.py:" in error.where


def test_devices_that_torch_refuses(programs):
    """torch finds such a mistake itself, while it traces."""
    x = torch.ones(3, device="meta")
    with torch.no_grad(), pytest.raises(TorchRuntimeError, match=r"meta(,| and) cpu"):
        compiled(lambda x, y: x + y)(x, torch.ones(3))
    assert programs == []


def two_device_graph():
    """Make a graph that adds a tensor on a GPU and one on the CPU, which torch would not trace."""
    mode = FakeTensorMode()
    fx_graph = fx.Graph()
    x, y = fx_graph.placeholder("x"), fx_graph.placeholder("y")
    with mode:
        x.meta["val"] = torch.empty(3, device="cuda")
        y.meta["val"] = torch.empty(3)
    add = fx_graph.call_function(aten.add.Tensor, (x, y))
    add.meta["val"] = x.meta["val"]
    fx_graph.output((add,))
    return fx.GraphModule(nn.Module(), fx_graph)


def test_strict_devices(programs):
    with pytest.raises(DeviceMismatchError, match="x on cuda:0, y on cpu") as failure:
        compile_aten(AtenGraph.of(two_device_graph(), None), (), Settings(fallback=False))
    assert failure.value.where == "aten.add.Tensor"


def test_devices_are_left_to_torch(programs):
    """By default torch judges such an operator when it runs; some of them it permits."""
    with pytest.warns(UnsupportedOperatorWarning, match="x on cuda:0, y on cpu"):
        program = compile_aten(AtenGraph.of(two_device_graph(), None), (), Settings())
    assert program([torch.ones(3), torch.ones(3)])[0].tolist() == [2, 2, 2]


def test_several_devices_make_several_programs(programs):
    """Operators on different devices that have nothing to do with each other are all compiled."""
    mode = FakeTensorMode()
    fx_graph = fx.Graph()
    outputs = []
    for name, device in (("x", "cuda"), ("y", "cpu")):
        node = fx_graph.placeholder(name)
        with mode:
            node.meta["val"] = torch.empty(3, device=device)
        outputs.append(fx_graph.call_function(aten.relu.default, (node,)))
        with mode:
            outputs[-1].meta["val"] = torch.empty(3, device=device)
    fx_graph.output(tuple(outputs))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = AtenGraph.of(fx.GraphModule(nn.Module(), fx_graph), None)
        program = compile_aten(graph, (), Settings(fallback=False))
    results = program([torch.tensor([-1.0, 2, 3]), torch.tensor([4.0, -5, 6])])
    assert [result.tolist() for result in results] == [[0, 2, 3], [4, 0, 6]]
    assert len(programs) == 2


def test_device_without_code(programs):
    x = torch.empty(3, device="meta")
    result, messages = run(lambda x: x + 1, x)
    assert result.device.type == "meta"
    assert "device meta; supported are cpu and cuda" in messages[0]
