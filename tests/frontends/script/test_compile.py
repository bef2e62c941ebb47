"""Calls of kernels inside of functions under torch.compile, with every backend."""

import math
from operator import getitem

import pytest
import torch
from torch._dynamo.exc import TorchRuntimeError
from torch._dynamo.testing import CompileCounterWithBackend
from torch._higher_order_ops.auto_functionalize import auto_functionalized_v2
from torch._subclasses import FakeTensorMode

import hidet
from hidet.driver.script_operator import kernel_of_operator, operator_name
from hidet.frontends.torch.importer import import_graph
from hidet.lang import attrs, boolean, f32, i32
from hidet.lang.cuda import blockIdx, threadIdx

SIZE = 24
BACKENDS = ["eager", "aot_eager", "hidet"]


@pytest.fixture(autouse=True)
def fresh_dynamo():
    """No test sees what dynamo has compiled for another one."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def build(offset=1.0):
    """A kernel that writes and reads an output, one that only writes it, and one with a list."""
    with hidet.script_module() as module:

        @hidet.script
        def accumulate(x: f32[SIZE], y: f32[SIZE], factor: f32, count: i32, negate: boolean):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = SIZE
            i = threadIdx.x
            if i < count:
                y[i] += -x[i] * factor if negate else x[i] * factor

        @hidet.script
        def shift(x: f32[SIZE], y: ~f32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = SIZE
            y[threadIdx.x] = x[threadIdx.x] + offset

    return module.build()


@pytest.fixture(scope="module")
def module():
    """The kernels."""
    return build()


def reference(x, w, factor, count, negate):
    """The float64 reference of `compute`."""
    x, w = x.double(), w.double()
    total = torch.zeros_like(x)
    total[:count] += x.exp()[:count] * (-factor if negate else factor)
    return (total + 1) * w, total


def make_function(module):
    """A function between whose operators kernels are called."""

    def compute(x, w, factor, count, negate):
        total = torch.zeros_like(x)
        module.accumulate(x.exp(), total, factor, count, negate)
        shifted = torch.empty_like(x)
        module["shift"](total, shifted)
        return shifted * w, total

    return compute


def check(function, *numbers):
    x, w = torch.randn(SIZE), torch.randn(SIZE)
    for found, expected in zip(function(x, w, *numbers), reference(x, w, *numbers), strict=True):
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_backends(module, backend):
    """There is one graph without a break, values are right, and equal calls compile nothing."""
    counter = CompileCounterWithBackend(backend)
    compiled = torch.compile(make_function(module), backend=counter, fullgraph=True)
    check(compiled, 2.0, 10, False)
    check(compiled, 2.0, 10, False)
    assert counter.frame_count == 1
    check(compiled, 0.5, SIZE, True)
    check(make_function(module), 0.5, 3, True)


def symbols(plan):
    """The names of the kernels that a plan launches."""
    return [plan.kernels[launch.kernel].symbol for launch in plan.forward]


def test_one_program(module, compiled_plan):
    """Our backend takes kernels into its programs, and copies nothing that is written over."""
    x, w = torch.randn(SIZE), torch.randn(SIZE)

    def function(x, w):
        total, y = torch.zeros_like(x), x.exp()
        module.accumulate(y, total, 2.0, 9, False)
        module.accumulate(y, total, 2.0, SIZE, False)
        module.accumulate(y, total, 2.0, 9, False)
        shifted = torch.empty_like(x)
        module["shift"](total, shifted)
        return shifted * w

    result, plan = compiled_plan(function, x, w)
    total = 2 * x.double().exp()
    total[:9] *= 3
    torch.testing.assert_close(result.double(), (total + 1) * w, rtol=1e-5, atol=1e-5)
    names = symbols(plan)
    assert sorted(names[:2]) == ["exp_kernel", "full_like_kernel"]
    assert names[2:] == ["accumulate", "accumulate_1", "accumulate", "shift_mul"]
    assert plan.arena_bytes == 512


def test_copies(module, compiled_plan):
    """What is needed after a kernel has written over it is copied; so are inputs and weights."""
    weight = torch.nn.Parameter(torch.randn(SIZE))

    def function(x):
        y, w = x.exp(), weight.clone()
        z = y.clone()
        module.accumulate(x, z, 1.0, SIZE, False)
        module.accumulate(y, w, 1.0, SIZE, True)
        return y + z + w

    x = torch.randn(SIZE)
    result, plan = compiled_plan(function, x)
    torch.testing.assert_close(result, x + x.exp() + weight)
    assert symbols(plan).count("accumulate") == 1
    torch.testing.assert_close(function(x), result)


def test_shapes_of_pointers(module, compiled_plan):
    """A tensor of another shape is passed without a copy."""

    def function(x):
        y = torch.empty(4, 6)
        module["shift"](x.relu().reshape(SIZE), y.view(SIZE))
        return y.reshape(6, 4) + 1

    x = torch.randn(2, 12)
    result, plan = compiled_plan(function, x)
    torch.testing.assert_close(result, x.relu().reshape(6, 4) + 2)
    assert len(plan.forward) == 1


def build_launches():
    """A function of the host that launches two kernels, one of them on a grid that it computes."""
    with hidet.script_module() as module:

        @hidet.script
        def exponential(x: ~f32, y: ~f32, n: i32):
            attrs.cuda.grid_dim = (n + 7) // 8
            attrs.cuda.block_dim = 8
            i = blockIdx.x * 8 + threadIdx.x
            if i < n:
                y[i] = math.exp(x[i])

        @hidet.script
        def add(x: ~f32, y: ~f32, n: i32):
            attrs.cuda.grid_dim = (n + 7) // 8
            attrs.cuda.block_dim = 8
            i = blockIdx.x * 8 + threadIdx.x
            if i < n:
                y[i] += x[i]

        @hidet.script
        def launch(x: ~f32, y: ~f32, n: i32, times: i32):
            attrs.func_kind = "public"
            exponential(x, y, n)
            for _ in range(times):
                add(x, y, n)

    return module.build()


@pytest.mark.parametrize("backend", BACKENDS)
def test_functions_of_the_host(backend):
    """A function that launches several kernels is one operator, and several launches of ours."""
    functions = build_launches()

    def function(x):
        y = torch.empty_like(x)
        functions(x.sin(), y, 21, 2)
        return y + 1

    x = torch.randn(21)
    compiled = torch.compile(function, backend=backend, fullgraph=True)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), x.sin().exp() + 2 * x.sin() + 1)
    if backend == "hidet":
        plan = hidet.torch.compiled_graphs()[-1].plan
        assert symbols(plan)[1:-1] == ["exponential", "add", "add"]
        assert [kernel.grid for kernel in plan.kernels if kernel.symbol == "add"] == [(3, 1, 1)]


def test_numbers_that_are_returned():
    """A function that returns a number is no operator: it is called between two graphs."""
    with hidet.script_module() as script_module:

        @hidet.script
        def launch(n: i32) -> i32:
            attrs.func_kind = "public"
            return n + 1

    functions = script_module.build()
    compiled = torch.compile(lambda x: x * functions(2) + 1, backend="aot_eager")
    torch.testing.assert_close(compiled(torch.ones(3)), torch.full((3,), 4.0))


def test_parts_of_tensors(module, compiled_plan):
    """A slice of a tensor is written and read; its surroundings are unchanged."""

    def function(x):
        memory = torch.zeros(3, SIZE)
        module["shift"](x, memory[1])
        module["shift"](memory[1], memory.view(6, SIZE // 2)[4:6])
        return memory.exp()

    x = torch.randn(SIZE)
    expected = torch.stack([torch.zeros(SIZE), x + 1, x + 2]).exp()
    torch.testing.assert_close(compiled_plan(function, x)[0], expected)
    torch.testing.assert_close(function(x), expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, None),
        ({"factor": "x"}, "its argument 'factor' is not constant"),
        ({"_y_slice_dim": 0}, "it writes a part of a tensor through its argument 'y'"),
    ],
)
def test_calls_that_are_refused(module, changes, message):
    """The importer reports why a call is not supported."""
    operator = getattr(torch.ops.hidet_script, operator_name(module.accumulate._key)).default
    graph = torch.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    x.meta["val"] = y.meta["val"] = torch.empty(SIZE)
    keywords = {"x": x, "factor": 2.0, "count": 3, "negate": False, "_y_base_index": 0}
    changes = {name: x if value == "x" else value for name, value in changes.items()}
    call = graph.call_function(
        auto_functionalized_v2, (operator,), {**keywords, "_all_bases": [y], **changes}
    )
    call.meta["val"] = (None, x.meta["val"])
    result = graph.call_function(getitem, (call, 1))
    result.meta["val"] = x.meta["val"]
    graph.output((result,))
    imported = import_graph(torch.fx.GraphModule({}, graph))
    assert [error.what for error in imported.unsupported.values()] == [message] * bool(message)


@pytest.mark.slow
def test_inductor(module):
    """Inductor takes calls of kernels into its programs."""
    compiled = torch.compile(make_function(module), backend="inductor", fullgraph=True)
    with torch._inductor.config.patch(compile_threads=1):  # no pool of processes for one kernel
        check(compiled, 2.0, 10, False)


def test_numbers_that_vary(module):
    """An integer becomes a symbol of the graph when it changes; no call after that compiles."""
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(make_function(module), backend=counter, fullgraph=True)
    for count in range(10, 15):
        check(compiled, 2.0, count, False)
    assert counter.frame_count == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments_of_the_function_are_written(module, backend):
    """A tensor of the caller is written in place, also through a view."""

    def function(x, memory):
        module["shift"](x, memory[1])
        return memory.sum()

    x, memory = torch.randn(SIZE), torch.zeros(3, SIZE)
    total = torch.compile(function, backend=backend, fullgraph=True)(x, memory)
    expected = torch.stack([torch.zeros(SIZE), x + 1, torch.zeros(SIZE)])
    torch.testing.assert_close(memory, expected)
    torch.testing.assert_close(total, expected.sum())


def test_rebuilt_kernels(module):
    """Rebinding a name to another kernel is noticed."""
    kernels = build(1.0)

    def function(x):
        y = torch.empty_like(x)
        kernels["shift"](x, y)
        return y

    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    x = torch.randn(SIZE)
    torch.testing.assert_close(compiled(x), x + 1)
    kernels = build(2.0)
    torch.testing.assert_close(compiled(x), x + 2)


def test_operators(module):
    """Equal kernels are one operator, whose schema declares what is written."""
    targets = []

    def backend(graph, inputs):
        targets.extend(node.target for node in graph.graph.nodes if node.op == "call_function")
        return graph.forward

    for each in (module, build(), build(3.0)):
        torch.compile(make_function(each), backend=backend)(
            torch.randn(SIZE), torch.randn(SIZE), 1.0, 1, False
        )
    found = [target for target in targets if kernel_of_operator(target)]
    assert len(found) == 6
    assert found[0] == found[2] == found[4]
    assert found[1] == found[3] != found[5]
    signature = "(Tensor x, Tensor(a1!) y, float factor, SymInt count, bool negate) -> ()"
    assert str(found[0]._schema).endswith(signature)
    assert kernel_of_operator(torch.ops.aten.add.Tensor) is None


def test_printing_only(capfd):
    """A kernel that writes nothing is called all the same."""
    with hidet.script_module() as printing:

        @hidet.script
        def hello(count: i32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            hidet.lang.printf("hello %d\n", count)

    kernels = printing.build()

    def function(x):
        kernels(7)
        return x + 1

    torch.compile(function, backend="aot_eager", fullgraph=True)(torch.zeros(2))
    assert capfd.readouterr().out == "hello 7\n"


def test_tensors_without_data(module):
    """Tensors without data are checked, and nothing is run."""
    with FakeTensorMode():
        x = torch.empty(SIZE)
        module["shift"](x, torch.empty(SIZE))
        with pytest.raises(hidet.errors.HidetError, match="has shape"):
            module["shift"](torch.empty(SIZE + 1), x)


def test_mistakes_are_found_when_compiling(module):
    """An argument that the kernel does not take fails the compilation and names the line."""

    def function(x):
        module["shift"](x.T, torch.empty_like(x))

    with pytest.raises(TorchRuntimeError, match="'x' of kernel 'shift' has shape") as error:
        torch.compile(function, backend="eager", fullgraph=True)(torch.zeros(3, 4))
    assert "test_compile.py" in str(error.value)


def test_no_gradient(module):
    """A call has no gradient with torch.compile, as it has none without."""
    weight = torch.nn.Parameter(torch.randn(SIZE))

    def function(x):
        y = torch.empty_like(x)
        module["shift"](x * weight, y)
        return y

    x = torch.randn(SIZE)
    for each in (function, torch.compile(function, backend="aot_eager", fullgraph=True)):
        assert not each(x).requires_grad


def test_autograd_function(module):
    """A torch.autograd.Function around calls is traced, forward and backward."""

    class Shift(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.empty_like(x)
            module["shift"](x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            result = torch.empty_like(grad)
            module["shift"](grad.contiguous(), result)
            return result

    compiled = torch.compile(lambda x: Shift.apply(x) * 3, backend="aot_eager", fullgraph=True)
    x = torch.randn(SIZE, requires_grad=True)
    compiled(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.full((SIZE,), 4.0))
