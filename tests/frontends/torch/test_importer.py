"""The walk over an FX graph: arguments, constants, names, locations, precision, refusals."""

import pickle
from dataclasses import fields

import pytest
import torch
from torch import fx, nn
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from xdsl.dialects.builtin import FileLineColLoc

from hidet.dialects import graph
from hidet.errors import UnsupportedDtypeError, UnsupportedOperatorError
from hidet.frontends.torch.aot import compile_aten
from hidet.frontends.torch.backend import hidet_backend
from hidet.frontends.torch.dtypes import ELEMENTS, element_of, type_of
from hidet.frontends.torch.imported import Returned
from hidet.frontends.torch.importer import import_graph
from hidet.frontends.torch.locations import describe, location_of, name_hint, user_frame
from hidet.frontends.torch.pickled import AtenGraph
from hidet.frontends.torch.settings import Settings
from hidet.frontends.torch.storage import View, physical_order, share_storage, span_of, view_from
from hidet.testing.filecheck import check_text

aten = torch.ops.aten


def traced(function, *tensors):
    """Trace a function of tensors into ATen operators; as from AOTAutograd, it gives a tuple."""

    def function_of_outputs(*tensors):
        outputs = function(*tensors)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    return make_fx(function_of_outputs, tracing_mode="fake", _allow_non_fake_inputs=True)(*tensors)


# ---------------------------------------------------------------------------- programs


def test_arguments_and_constants():
    """Weights become constants in the order of the arguments; unused arguments vanish."""
    module = traced(
        lambda unused, x, a, b, y: (x + b) * (y + a),
        *(torch.ones(2) for _ in range(5)),
    )
    imported = import_graph(module, static=(2, 3))
    assert [source.origin for source in imported.inputs] == [1, 4]
    assert [source.origin for source in imported.constants] == [2, 3]
    check_text(
        str(imported.module),
        """
        // CHECK:      func.func @forward(%x0: tensor<2xf32>, %x1: tensor<2xf32>)
        // CHECK-NEXT:   %p1 = graph.constant "p1" : tensor<2xf32>
        // CHECK-NEXT:   %add = graph.add %x0, %p1
        // CHECK-NEXT:   %p0 = graph.constant "p0" : tensor<2xf32>
        // CHECK-NEXT:   %add1 = graph.add %x1, %p0
        // CHECK-NEXT:   %mul = graph.mul %add, %add1
        // CHECK-NEXT:   func.return %mul : tensor<2xf32>
        """,
    )


def test_strided_argument_arrives_as_its_storage():
    imported = import_graph(traced(lambda x: x + 1, torch.ones(3, 4)[:, 1:3]))
    assert [source.span for source in imported.inputs] == [10]
    check_text(
        str(imported.module),
        """
        // CHECK:      func.func @forward(%x0: tensor<10xf32>) -> tensor<3x2xf32> {
        // CHECK-NEXT:   %{{.*}} = graph.as_strided %x0 {strides = array<i64: 4, 1>}
        """,
    )


def test_output_with_other_strides_is_permuted_and_viewed():
    x = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
    imported = import_graph(traced(lambda x: x + 1, x))
    view = View((2, 3, 4, 5), (60, 1, 15, 3))
    assert imported.outputs == [Returned("result", 0, view)]
    check_text(
        str(imported.module),
        """
        // CHECK: -> tensor<2x4x5x3xf32> {
        // CHECK: graph.permute %{{.*}} {dims = array<i64: 0, 3, 1, 2>}
        // CHECK-NOT: graph.as_strided
        // CHECK: %add = graph.add
        // CHECK-NEXT: %{{.*}} = graph.permute %add {dims = array<i64: 0, 2, 3, 1>}
        // CHECK-NEXT: func.return %{{.*}} : tensor<2x4x5x3xf32>
        """,
    )


@pytest.mark.parametrize(
    ("positions", "step", "offset", "repeat", "low", "high"),
    [
        ([0, 0, 1, 1, 2, 2, 3, 3], 1, 0, 2, 0, 3),
        ([0, 0, 0, 1, 1, 2, 2, 3], 1, -1, 2, 0, 3),
        ([1, 1, 1, 2, 2, 3, 3, 3], 1, 1, 2, 1, 3),
        ([0, 0, 1, 2, 2, 3], 2, 0, 3, 0, 3),
        ([1, 3], 2, 1, 1, 1, 3),
        ([1, 2], 1, 1, 1, 1, 2),
        ([0, 0, 0, 1, 2, 3, 3, 3, 3], 1, -2, 1, 0, 3),
        ([2, 2, 2], 1, 0, 1, 2, 2),
    ],
)
def test_regular_positions_are_computed(positions, step, offset, repeat, low, high):
    module = traced(lambda x: x[:, torch.tensor(positions)], torch.ones(2, 4))
    numbers = f"offset = {offset} : i64, repeat = {repeat} : i64, low = {low} : i64"
    check_text(
        str(import_graph(module).module),
        f"""
        // CHECK: graph.resample %x0 {{axis = 1 : i64, size = {len(positions)} : i64,
        // CHECK-SAME: step = {step} : i64, {numbers}, high = {high} : i64}}
        """,
    )


def test_all_positions_in_order_are_no_look_up():
    module = traced(lambda x: x[:, torch.tensor([0, 1, 2, 3])] + 1, torch.ones(2, 4))
    check_text(str(import_graph(module).module), "// CHECK: graph.add %x0,")


@pytest.mark.parametrize("positions", [[3, 1], [0, 3, 3], [0, -1], []])
def test_other_positions_are_looked_up(positions):
    module = traced(lambda x: x[:, torch.tensor(positions, dtype=torch.long)], torch.ones(2, 4))
    imported = str(import_graph(module).module)
    assert "graph.gather" in imported
    assert "graph.resample" not in imported


def test_held_tensors():
    """Tables are constants that the graph itself brings; scalars stand in the program."""
    table = torch.tensor([1.0, 2.0])
    imported = import_graph(traced(lambda x: x * table + torch.tensor(3.0), torch.ones(2)))
    (constant,) = imported.constants
    assert constant.origin.tolist() == [1.0, 2.0]
    check_text(
        str(imported.module),
        """
        // CHECK: %p0 = graph.constant "p0" : tensor<2xf32>
        // CHECK: graph.fill 3.000000e+00 : f32 : tensor<f32>
        """,
    )


def test_text_survives_parsing(models):
    """No name ends in what xDSL strips, so that the text of a program is a fixed point."""
    from hidet.testing.filecheck import run_passes

    module = traced(lambda x: (x.relu().relu().relu() + 1) @ x, torch.ones(3, 3))
    text = str(import_graph(module).module)
    assert "%relu2 = graph.relu %relu1" in text
    assert run_passes(text).strip() == text.strip()


def test_repeated_reshapes_are_one():
    imported = import_graph(traced(lambda x: (x + 1).view(6).view(2, 3).view(6), torch.ones(3, 2)))
    assert str(imported.module).count("graph.reshape") == 1


def test_reshapes_back_and_forth_are_none():
    imported = import_graph(traced(lambda x: (x + 1).view(6).view(3, 2) + 1, torch.ones(3, 2)))
    assert "graph.reshape" not in str(imported.module)


# ---------------------------------------------------------------------------- precision


def matmul_module(device, dtype=torch.float32):
    """Make a graph of a matrix product and a convolution on a device that need not be there."""
    with FakeTensorMode():
        m = torch.empty(8, 8, device=device, dtype=dtype)
        x = torch.empty(1, 3, 8, 8, device=device, dtype=dtype)
        w = torch.empty(4, 3, 3, 3, device=device, dtype=dtype)
        return make_fx(lambda m, x, w: (aten.mm(m, m), aten.conv2d(x, w)))(m, x, w)


@pytest.fixture
def _flags():
    """Keep torch's flags from lasting; they inherit from the one for everything."""
    matmul, conv = torch.backends.cuda.matmul, torch.backends.cudnn.conv
    before = torch.backends.fp32_precision, matmul.fp32_precision, conv.fp32_precision
    yield
    torch.backends.fp32_precision, matmul.fp32_precision, conv.fp32_precision = before


def precisions(module):
    """Give the precision of each kind of contraction in a program."""
    ops = [op for op in module.walk() if isinstance(op, graph.MatmulOp | graph.Conv2dOp)]
    return {op.name.removeprefix("graph."): op.precision.data for op in ops}


@pytest.mark.usefixtures("_flags")
@pytest.mark.parametrize("matmul", ["ieee", "tf32"])
@pytest.mark.parametrize("conv", ["ieee", "tf32"])
def test_tf32_follows_torch(matmul, conv):
    torch.backends.cuda.matmul.fp32_precision = matmul
    torch.backends.cudnn.conv.fp32_precision = conv
    found = precisions(import_graph(matmul_module("cuda")).module)
    assert found == {"matmul": matmul, "conv2d": conv}


WAYS = {
    "matmul.allow_tf32": (
        lambda on: setattr(torch.backends.cuda.matmul, "allow_tf32", on),
        "matmul",
    ),
    "cudnn.allow_tf32": (lambda on: setattr(torch.backends.cudnn, "allow_tf32", on), "conv2d"),
    "set_float32_matmul_precision": (
        lambda on: torch.set_float32_matmul_precision("high" if on else "highest"),
        "matmul",
    ),
}


@pytest.mark.usefixtures("_flags")
@pytest.mark.parametrize("way", WAYS)
def test_tf32_follows_the_older_flags(way):
    switch, kind = WAYS[way]
    for on in (True, False, True):
        switch(on)
        found = precisions(import_graph(matmul_module("cuda")).module)
        assert found[kind] == ("tf32" if on else "ieee")


@pytest.mark.usefixtures("_flags")
def test_flag_for_all_precisions():
    torch.backends.cuda.matmul.fp32_precision = "none"
    torch.backends.cudnn.conv.fp32_precision = "none"
    for precision in ("tf32", "ieee"):
        torch.backends.fp32_precision = precision
        found = precisions(import_graph(matmul_module("cuda")).module)
        assert found == {"matmul": precision, "conv2d": precision}


@pytest.mark.usefixtures("_flags")
def test_flag_for_matrix_products_changes(programs):
    """dynamo traces anew."""
    run = torch.compile(lambda x: x + 1, backend=hidet_backend)
    with torch.no_grad():
        for precision in ("ieee", "tf32", "ieee"):
            torch.backends.cuda.matmul.fp32_precision = precision
            run(torch.ones(2))
    assert len(programs) == 2


def test_what_is_stored_of_an_import():
    """All but the program, which is stored as text; that of convolutions depends on a flag."""
    imported = import_graph(matmul_module("cuda"))
    assert imported.depends_on_flag
    assert not import_graph(matmul_module("cpu")).depends_on_flag
    stored = pickle.loads(pickle.dumps(imported.with_program(str(imported.module))))
    assert stored.program == str(imported.module)
    for each in fields(stored):
        assert each.name == "program" or getattr(stored, each.name) == getattr(imported, each.name)


@pytest.mark.usefixtures("_flags")
def test_flag_for_convolutions_changes(programs):
    """dynamo does not notice, so that the backend looks at the flag in every call."""
    m, x, w = torch.randn(8, 8), torch.randn(1, 3, 8, 8), torch.randn(4, 3, 3, 3)
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    torch.backends.cudnn.conv.fp32_precision = "tf32"
    run = compile_aten(AtenGraph.of(matmul_module("cuda"), None), (), Settings())
    for precision in ("tf32", "ieee", "tf32"):
        torch.backends.cudnn.conv.fp32_precision = precision
        torch.testing.assert_close(list(run([m, x, w])), [m @ m, torch.conv2d(x, w)])
    found = [(precisions(program.module)["conv2d"], program.calls) for program in programs]
    assert found == [("tf32", 2), ("ieee", 1)]


@pytest.mark.usefixtures("_flags")
@pytest.mark.parametrize(
    ("device", "dtype"), [("cpu", torch.float32), ("cuda", torch.float16), ("cuda", torch.float64)]
)
def test_tf32_is_for_float32_on_gpus(device, dtype):
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    torch.backends.cudnn.conv.fp32_precision = "tf32"
    assert "tf32" not in str(import_graph(matmul_module(device, dtype)).module)


# ---------------------------------------------------------------------------- locations and names


def test_locations_are_lines_of_the_user(programs):
    """Every operation knows the user's line, also of an operator inside of a module of torch."""
    model = nn.Linear(3, 3)

    def function(x):
        return model(x).relu()

    with torch.no_grad():
        torch.compile(function, backend=hidet_backend)(torch.ones(2, 3))
    line = function.__code__.co_firstlineno + 1
    ops = [op for op in programs[0].module.walk() if isinstance(op, graph.GraphOp)]
    assert {op.name for op in ops} == {"graph.constant", "graph.linear", "graph.relu"}
    for op in ops:
        assert isinstance(op.location, FileLineColLoc)
        assert op.location.filename.data == __file__
        assert op.location.line.data == line


def node_with(trace=None, name="relu"):
    node = fx.Graph().create_node("call_function", aten.relu.default, name=name)
    node.stack_trace = trace
    return node


def test_innermost_frame_of_the_user():
    inside = f'  File "{torch.nn.__file__}", line 3, in forward\n    f()\n'
    user = '  File "a.py", line 1, in g\n    g()\n  File "b.py", line 2, in f\n    f()\n      ^^^\n'
    assert user_frame(node_with(user + inside)) == ("b.py", 2)
    assert user_frame(node_with(inside)) == (torch.nn.__file__, 3)
    assert user_frame(node_with()) is None
    assert describe(node_with(user)) == "aten.relu.default (b.py:2)"
    assert describe(node_with()) == "aten.relu.default"
    assert str(location_of(node_with())) == "loc(unknown)"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("relu", "relu"),
        ("relu_1", "relu1"),
        ("a_1_2", "a_12"),
        ("x2", "x2"),
        ("_native_batch_norm_legit_no_training", "batch_norm"),
        ("native_layer_norm_3", "layer_norm3"),
        ("_softmax", "softmax"),
    ],
)
def test_name_hints(name, hint):
    assert name_hint(node_with(name=name)) == hint


# ---------------------------------------------------------------------------- refusals


def refusals(function, *tensors):
    imported = import_graph(traced(function, *tensors))
    return {str(node.target): error for node, error in imported.unsupported.items()}


def test_all_problems_are_found():
    """The walk goes on after a problem."""
    found = refusals(
        lambda x: torch.linalg.ldl_factor_ex(torch.ops.hidet_tests.left(x) + 1)[0].exp() * 1j,
        torch.ones(3, 3),
    )
    assert set(found) == {
        "hidet_tests.left.default",
        "aten.linalg_ldl_factor_ex.default",
        "aten.mul.Tensor",
    }
    assert type(found["hidet_tests.left.default"]) is UnsupportedOperatorError
    assert type(found["aten.mul.Tensor"]) is UnsupportedDtypeError


@pytest.mark.parametrize(
    ("function", "tensors", "reason"),
    [
        (
            lambda x: aten.convolution(x, x, None, [1], [0], [1], True, [0], 1),
            [torch.ones(3, 3, 4)],
            "a transposed convolution",
        ),
        (
            lambda x: aten.convolution(x, x, None, [1], [0], [1], False, [0], 1),
            [torch.ones(3, 3, 2, 2, 2)],
            "a convolution over 3 dimensions; supported are 1 and 2",
        ),
        (
            lambda x: x.sort(1)[0],
            [torch.ones(20, 2000)],
            "it is not decomposed for these arguments",
        ),
        (lambda x: x[x > 0], [torch.ones(3)], "shape [u0] depends on data"),
        (
            lambda x: aten.var.correction(x, [0], correction=0.5),
            [torch.ones(4)],
            "a correction of 0.5; supported are integers",
        ),
        (
            lambda x: aten.as_strided(x, [2, 2], [1, 2]),
            [torch.ones(3, 4)[:, ::2]],
            "the storage of a view of a part",
        ),
        (
            lambda x: aten._scaled_dot_product_flash_attention_for_cpu(x, x, x, 0.5)[0],
            [torch.ones(1, 1, 2, 2)],
            "attention with dropout",
        ),
        (
            lambda x: aten.clamp(x, False, True),
            [torch.ones(2).bool()],
            "booleans are not clamped between numbers",
        ),
        (lambda x: x.view(torch.int16), [torch.ones(2)], "differ in width"),
        (lambda x: x.view(torch.int8), [torch.ones(2).byte()], "differ in width"),
        (lambda x: aten.randperm(2), [torch.ones(2)], "it has no translation"),
    ],
)
def test_forms_that_have_no_translation(function, tensors, reason):
    (error,) = refusals(function, *tensors).values()
    assert reason in str(error)


def test_dtypes():
    assert type_of(torch.empty(2, 0, dtype=torch.bool)).get_shape() == (2, 0)
    with pytest.raises(UnsupportedDtypeError, match="float8_e4m3fn is not supported") as failure:
        element_of(torch.float8_e4m3fn)
    assert all(str(dtype).removeprefix("torch.") in failure.value.hint for dtype in ELEMENTS)
    with pytest.raises(UnsupportedDtypeError, match="sparse_coo is not supported"):
        type_of(torch.eye(2).to_sparse())


# ---------------------------------------------------------------------------- strides


def test_strides():
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert span_of(x) is None
    assert span_of(x[:, 1:, ::2]) == 1 + 12 + 4 + 2
    assert span_of(x[:1].expand(5, 3, 4)) == 12
    assert physical_order(x.permute(2, 0, 1)) == (1, 2, 0)
    assert physical_order(x[:, :, ::2]) is None
    assert view_from(x, x) is None
    part = x[1:, :, 1]
    assert view_from(part, x) == View((1, 3), (12, 4), 13)
    torch.testing.assert_close(View((1, 3), (12, 4), 13).of(x), part)
    # Offsets count from where the other tensor begins.
    torch.testing.assert_close(view_from(x[1, 1], x[1]).of(x[1]), x[1, 1])
    assert share_storage(x, part)
    assert not share_storage(x, x.clone())
