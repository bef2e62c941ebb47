"""Flow graphs: recorded, printed, optimised, compiled, called."""

import re

import pytest
import torch

import hidet
from hidet import ops
from hidet.errors import DeviceMismatchError, HidetError, OptionError, UnsupportedDtypeError
from hidet.graph import PassContext

A, B, C = hidet.randn([2, 3]), hidet.randn([3, 2]), hidet.randn([2])


def linear_bias(x):
    return ops.matmul(x, B) + C


@pytest.fixture(name="graph")
def graph_of_linear_bias():
    return hidet.trace_from(linear_bias(hidet.symbol_like(A)))


def test_symbols():
    """Symbols have no storage, and know what they are computed by."""
    x = hidet.symbol([2, 3])
    assert (x.shape, x.dtype, x.storage, x.trace, x.op) == ((2, 3), hidet.float32, None, None, None)
    y = linear_bias(x)
    operator, number = y.trace
    assert (operator.name, number, y.op) == ("Add", 0, operator)
    assert operator.where[0] == __file__
    assert str(x) == "Tensor(shape=(2, 3), dtype='float32', device='cpu')"
    assert re.fullmatch(r"Tensor\(.*\)\nfrom \(<hidet.graph.Operator Add at 0x\w+>, 0\)", str(y))
    assert hidet.symbol_like(A, shape=[4], dtype="float16").signature() == "float16[4][cpu]"
    for use in (x.numpy, x.torch, x.item, lambda: bool(x), x.copy):
        with pytest.raises(HidetError, match="a symbolic tensor has no elements"):
            use()
    with pytest.raises(HidetError, match="sizes are numbers or names"):
        hidet.symbol([1.5, 3])


def test_printing(graph):
    """A graph prints as the documents show it, and as a module of the graph dialect."""
    assert str(graph).splitlines() == [
        "Graph(x: float32[2, 3][cpu]){",
        "  c = Constant(float32[3, 2][cpu])",
        "  c_1 = Constant(float32[2][cpu])",
        "  x_1: float32[2, 2][cpu] = Matmul(x, c, require_prologue=False)",
        "  x_2: float32[2, 2][cpu] = Add(x_1, c_1)",
        "  return x_2",
        "}",
    ]
    text = str(graph.module)
    assert "graph.matmul %x0, %p0" in text
    assert "graph.add %mm, %p1" in text


def test_drawing(graph, tmp_path):
    """A file for Graphviz has the operators, and who takes whose results."""
    graph.draw(tmp_path / "new" / "graph")
    assert (tmp_path / "new" / "graph.dot").read_text().splitlines() == [
        "digraph {",
        '  input0 [shape=ellipse, label="input float32[2, 3][cpu]"];',
        '  constant0 [shape=ellipse, label="constant float32[3, 2][cpu]"];',
        '  constant1 [shape=ellipse, label="constant float32[2][cpu]"];',
        '  op0 [shape=box, label="Matmul\\nfloat32[2, 2][cpu]"];',
        "  input0 -> op0;",
        "  constant0 -> op0;",
        '  op1 [shape=box, label="Add\\nfloat32[2, 2][cpu]"];',
        "  op0 -> op1;",
        "  constant1 -> op1;",
        '  output0 [shape=ellipse, label="output 0"];',
        "  op1 -> output0;",
        "}",
    ]


def test_nodes(graph):
    assert [node.name for node in graph.nodes] == ["Matmul", "Add"]
    assert graph.constants[0] is B
    assert graph.constants[1] is C
    assert graph.inputs[0].shape == (2, 3)
    assert graph.outputs[0].trace[0] is graph.nodes[-1]


def test_optimized(graph):
    """One kernel computes both, and gives the same."""
    with PassContext():
        optimized = hidet.graph.optimize(graph)
    assert str(optimized).splitlines()[-3:] == [
        "  x_1: float32[2, 2][cpu] = FusedMatmulAdd(x, c, c_1, fused_graph=FlowGraph(Matmul, Add))",
        "  return x_1",
        "}",
    ]
    wanted = A.torch() @ B.torch() + C.torch()
    for each in (graph, optimized, graph.build(), optimized.build(space=0)):
        torch.testing.assert_close(each(A).torch(), wanted)
        torch.testing.assert_close(each(A.torch()).torch(), wanted)
    assert optimized(hidet.symbol_like(A)).shape == (2, 2)
    with pytest.raises(HidetError, match="operators of an optimized graph cannot run separately"):
        optimized.nodes[0].function()


def test_prepared():
    """What depends on weights alone is a node of its own, whose result the others take."""

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(3, 2))

        def forward(self, x):
            return torch.relu(x @ torch.exp(self.weight))

    model = Model()
    function = hidet.graph.frontend.from_torch(model)
    graph = hidet.graph.optimize(hidet.trace_from(function(hidet.symbol_like(A))))
    assert [node.name for node in graph.nodes] == ["Exp", "FusedMatmulRelu"]
    assert graph.nodes[1].inputs[1] is graph.nodes[0].outputs[0]
    torch.testing.assert_close(graph(A).torch(), model(A.torch()).detach())


def test_constants_are_read_in_every_call():
    weight = hidet.randn([3])
    graph = hidet.trace_from(hidet.symbol([3]) * weight)
    x = hidet.randn([3])
    graph(x)
    weight.copy_(hidet.full([3], 2.0))
    torch.testing.assert_close(graph(x).torch(), x.torch() * 2)


def test_several_inputs_and_outputs():
    """They come in the order that is asked for; a graph may begin in the middle of another."""
    x, y = hidet.symbol([4]), hidet.symbol([4])
    both = ops.exp(x) - y
    graph = hidet.trace_from([both, x], inputs=[y, x])
    first, second = hidet.randn([4]), hidet.randn([4])
    results = graph(first, second)
    torch.testing.assert_close(results[0].torch(), second.torch().exp() - first.torch())
    torch.testing.assert_close(results[1].torch(), second.torch())
    found = hidet.trace_from(both).inputs
    assert found[0] is x
    assert found[1] is y
    middle = both.op.inputs[0]
    part = hidet.trace_from(both, [middle, y])
    assert [node.name for node in part.nodes] == ["Subtract"]
    with pytest.raises(HidetError, match="required but is not an input"):
        hidet.trace_from(both, y)
    with pytest.raises(HidetError, match="cannot trace a concrete tensor"):
        hidet.trace_from(first)


def test_a_deep_graph():
    """Recording does not recurse, nor walk what is used twice twice."""
    x = y = hidet.symbol([4])
    for _ in range(1200):
        y = y + y
    assert len(hidet.trace_from(y).nodes) == 1200
    assert hidet.trace_from(y).inputs[0] is x


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((), HidetError, "0 inputs for a graph that takes 1"),
        ((hidet.zeros([3, 2]),), HidetError, r"input 0 is \[3, 2\] of .* for \[2, 3\] of"),
        (
            (hidet.zeros([2, 3], "int32"),),
            UnsupportedDtypeError,
            "input 0 is .*int32 on",
        ),
        ((torch.zeros(2, 3, device="meta"),), DeviceMismatchError, r"input 0 is .* on meta, but"),
        ((3,), HidetError, "input 0 is not a tensor, but int"),
    ],
)
def test_inputs_are_checked(graph, given, error, message):
    with pytest.raises(error, match=message):
        graph(*given)


def test_precision(graph):
    """A graph in half precision takes and gives what it did before."""
    with PassContext() as context:
        context.set_precision("float16")
        half = hidet.graph.optimize(graph)
    assert "graph.matmul" in str(half.module)
    assert re.search(r"graph.matmul .*f16>\) -> tensor<2x2xf16>", str(half.module))
    result = half(A)
    assert result.dtype is hidet.float32
    torch.testing.assert_close(result.torch(), graph(A).torch(), atol=1e-2, rtol=1e-2)
    assert PassContext.current().settings.precision is None


def test_mma():
    """Products are permitted to be TF32 where a context says so, on a GPU; flags come back."""
    before = torch.backends.cuda.matmul.fp32_precision
    with PassContext().set_mma("mma").settings.flags():
        assert torch.backends.cuda.matmul.fp32_precision == "tf32"
    assert torch.backends.cuda.matmul.fp32_precision == before
    with PassContext().set_mma("simt").settings.flags():
        assert torch.backends.cuda.matmul.fp32_precision == "ieee"


def test_instruments(graph, tmp_path, capsys):
    """A context has the program after every pass written, and the times of the passes."""
    with PassContext() as context:
        context.save_graph_instrument(tmp_path / "dump")
        context.profile_pass_instrument(tmp_path / "times.txt")
        optimized = hidet.graph.optimize(graph)
    optimized.build()
    assert list((tmp_path / "dump").rglob("*_fuse.mlir"))
    assert "passes" in (tmp_path / "times.txt").read_text()
    with PassContext() as context:
        hidet.graph.optimize(context.set_verbose() and graph).build()
    assert "look up" in capsys.readouterr().out


def test_contexts():
    """They nest, and refuse what they do not know."""
    assert PassContext.current().settings == PassContext().settings
    with PassContext() as outer, PassContext() as inner:
        assert PassContext.current() is inner
        assert inner.settings == outer.settings
    for wrong in (
        lambda: PassContext().set_precision("int3"),
        lambda: PassContext().set_reduce_precision("float16"),
        lambda: PassContext().set_mma("dp4a"),
    ):
        with pytest.raises(OptionError, match="cannot be"):
            wrong()
    assert PassContext().set_reduce_precision("float32").reduce_cuda_compile_mem(True)
    with pytest.warns(RuntimeWarning, match="no effect"):
        PassContext().add_quantize_rules([])


def test_cuda_graph_needs_a_gpu(graph):
    with pytest.raises(HidetError, match="a graph for the CPU has no CUDA graph"):
        graph.cuda_graph()


@pytest.mark.gpu
def test_cuda_graph():
    """It is replayed with other inputs, and gives new tensors."""
    b, c = B.cuda(), C.cuda()
    x = hidet.symbol([2, 3], device="cuda")
    graph = hidet.graph.optimize(hidet.trace_from(ops.matmul(x, b) + c)).cuda_graph()
    first, second = (graph.run([hidet.randn([2, 3], device="cuda")])[0] for _ in range(2))
    assert not torch.equal(first.torch(), second.torch())
    torch.testing.assert_close(graph.run([A.cuda()])[0].cpu().torch(), linear_bias(A).torch())
    assert graph.run()[0].shape == (2, 2)


def test_run(graph):
    """Other ways of running."""
    torch.testing.assert_close(graph.run_async([A])[0].torch(), graph(A).torch())
    assert graph(*graph.dummy_inputs()).shape == (2, 2)
    assert graph.latency(warmup=1, repeat=2) > 0


def test_a_model_of_torch():
    """A module takes tensors, and symbols, of which a graph is made."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(inplace=True)).eval()
    function = hidet.graph.frontend.from_torch(model)
    with torch.no_grad():
        wanted = model(A.torch())
    torch.testing.assert_close(function(A).torch(), wanted)
    graph = hidet.trace_from(function(hidet.symbol_like(A)))
    assert [node.name for node in graph.nodes] == ["Sequential"]
    torch.testing.assert_close(graph(A).torch(), wanted)


def test_errors_name_the_line():
    """What cannot be compiled is said to be so at the line that calls it."""
    graph = hidet.trace_from(ops.cast(hidet.symbol([2, 3]), "uint16"))
    with pytest.raises(HidetError, match=r"uint16 is not supported\n.*test_flow_graph.py:\d+"):
        graph.build()
