"""Graphs of symbols whose sizes have names."""

import pytest
import torch

import hidet
from hidet import ops
from hidet.errors import HidetError
from hidet.graph import PassContext

W = hidet.randn([4, 5])


def flat_softmax(x):
    return ops.softmax(ops.matmul(x, W)).reshape([x.shape[0] * 5])


@pytest.fixture(name="graph")
def graph_of_flat_softmax():
    return hidet.trace_from(flat_softmax(hidet.symbol(["n", 4])))


def test_printing(graph):
    """Shapes and arguments show names, and what is computed from them."""
    assert str(graph).splitlines() == [
        "Graph(x: float32[n, 4][cpu]){",
        "  c = Constant(float32[4, 5][cpu])",
        "  x_1: float32[n, 5][cpu] = Matmul(x, c, require_prologue=False)",
        "  x_2: float32[n, 5][cpu] = Softmax(x_1, axis=1)",
        "  x_3: float32[5*n][cpu] = Reshape(x_2, shape=[5*n])",
        "  return x_3",
        "}",
    ]
    size = 2 * hidet.symbol_var("n")
    assert str(hidet.symbol([size])) == "Tensor(shape=(2*n,), dtype='float32', device='cpu')"


def test_calls(graph):
    """A graph, optimised or built, computes with the numbers of each call, 1 too."""
    with PassContext() as context:
        context.set_precision("float32")
        optimized = hidet.graph.optimize(graph)
    for call in (graph, optimized, graph.build(), graph.build(space=0)):
        for n in (3, 1):
            x = hidet.randn([n, 4])
            torch.testing.assert_close(call(x).torch(), flat_softmax(x).torch())
    assert graph(hidet.symbol([7, 4])).shape == (35,)
    assert graph.with_sizes([2, 4]).outputs[0].shape == (10,)
    built = graph.build()
    launches = built.profile(hidet.randn([2, 4]), runs=1).launches
    assert len(launches) == len(graph.with_sizes([2, 4]).build().profile(runs=1).launches)


def test_names_are_equal_where_they_must_be():
    """Different names may be one number, and a name may be the number that an operator needs."""
    x, y = hidet.symbol(["a", "b"]), hidet.symbol(["c", 3])
    graph = hidet.trace_from(ops.concat([x @ y, y], 0), [x, y])
    given = hidet.randn([2, 6]), hidet.randn([6, 3])
    wanted = torch.cat([given[0].torch() @ given[1].torch(), given[1].torch()])
    torch.testing.assert_close(graph(*given).torch(), wanted)
    data, weight = hidet.symbol(["n", "c", 8]), hidet.randn([5, 4, 3])
    found = hidet.trace_from(ops.conv1d(data, weight))(hidet.randn([2, 4, 8]))
    assert found.shape == (2, 5, 6)


def test_models_of_torch():
    """A module of torch takes symbols with named sizes, too."""
    pool = torch.nn.AdaptiveAvgPool2d(1)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, stride=2), pool, torch.nn.Flatten())
    y = hidet.graph.frontend.from_torch(model)(hidet.symbol(["n", 3, "h", "w"]))
    assert y.signature() == "float32[n, 4][cpu]"
    x = hidet.randn([2, 3, 9, 6])
    torch.testing.assert_close(hidet.trace_from(y)(x).torch(), model(x.torch()).detach())


def test_every_kind_of_argument():
    """Operators take named sizes beside tensors with elements, too."""
    n, x = hidet.symbol_var("n"), hidet.randn([1, 3])
    y = ops.broadcast(x, [n, 3]) + hidet.symbol([n, 3]).expand(-1, 3)
    assert y.shape[1] == 3
    zeros = hidet.zeros([4, 3])
    torch.testing.assert_close(hidet.trace_from(y)(zeros).torch(), x.torch().expand(4, 3))


SHAPES = [
    (lambda x: ops.conv_pad(x, [1]), "[n, 3, h + 2, w + 2]"),
    (lambda x: ops.conv2d(x, hidet.randn([4, 3, 3, 3])), "[n, 4, h - 2, w - 2]"),
    (lambda x: ops.max_pool2d(x, 2, 2, 0), "[n, 3, (h//2), (w//2)]"),
    (lambda x: ops.split(x, 2, 2)[1], "[n, 3, (h//2), w]"),
    (lambda x: ops.flatten(x, 2), "[n, 3, h*w]"),
    (lambda x: ops.einops_rearrange(x, "n c h w -> n (h w) c"), "[n, h*w, 3]"),
    (lambda x: ops.take(x, hidet.symbol(["i"], "int64"), 2), "[n, 3, i, w]"),
    (lambda x: x[:, 0, 1:-1], "[n, h - 2, w]"),
    (lambda x: ops.layer_norm(x), "[n, 3, h, w]"),
    (lambda x: x.mean([2, 3]), "[n, 3]"),
    (lambda x: ops.tile(x, [1, 2, 1, 1]) > 0, "[n, 6, h, w]"),
]


@pytest.mark.parametrize(("compute", "shape"), SHAPES)
def test_shapes(compute, shape):
    """Operators compute the shapes of their results with names."""
    result = compute(hidet.symbol(["n", 3, "h", "w"]))
    assert result.signature() == f"{result.dtype.name}{shape}[cpu]"


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda graph, x: graph(hidet.randn([3, 5])), r"input 0 of shape \[3, 5\] is not \[n, 4\]"),
        (lambda graph, x: graph(hidet.randn([4])), "input 0 has rank 1, not 2"),
        (lambda graph, x: graph(), "0 inputs for a graph that takes 1"),
        (lambda graph, x: graph(x), "takes symbols whose sizes are numbers"),
        (lambda graph, x: graph.module, "named sizes cannot be imported before it is called"),
        (lambda graph, x: graph.build().program, "named sizes has no 'program'"),
        (lambda graph, x: graph.dummy_inputs(), "named sizes has no 'specs'"),
        (lambda graph, x: int(x.shape[0]), "n is not known until the graph is called"),
        (
            lambda graph, x: ops.resize2d(x[None, None], scale_factor=2.0),
            "n.* is not known until the graph is called",
        ),
        (lambda graph, x: bool(x.shape[0] > 2), "n > 2 is not known"),
        (
            lambda graph, x: hidet.trace_from(ops.broadcast(x, [x.shape[0], 4]) + 1, [x])(
                hidet.randn([2, 3])
            ),
            "is not",
        ),
        (
            lambda graph, x: hidet.trace_from(hidet.symbol([2 * x.shape[0]]) + 1)(hidet.randn([4])),
            r"no input has a dimension of size 2\*n",
        ),
    ],
)
def test_mistakes(graph, use, message):
    with pytest.raises((HidetError, AttributeError), match=message):
        use(graph, graph.inputs[0])


def test_one_name_is_one_number():
    x, y = hidet.symbol(["n"]), hidet.symbol(["n"])
    with pytest.raises(HidetError, match=r"input 1 of shape \[3\] is not \[n\]"):
        hidet.trace_from(x + y)(hidet.randn([2]), hidet.randn([3]))
