"""`hidet.ops`: each operator against numpy or torch, run at once and through a graph."""

import ast
import inspect
import runpy
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

import hidet
from hidet import ops
from hidet.errors import HidetError
from hidet.frontends.trace.operators import FAMILIES, OPERATORS

TABLES = runpy.run_path(str(Path(__file__).with_name("cases.py")))
CASES = TABLES["CASES"]

ROOT = Path(__file__).parents[3]


def wide(value):
    """A reference is computed in float64."""
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.double() if is_float else value


def check(results, wanted):
    wanted = tree_leaves(wanted)
    assert len(results) == len(wanted)
    for result, expected in zip(results, wanted, strict=True):
        torch.testing.assert_close(
            wide(result.torch()), wide(expected), atol=2e-6, rtol=2e-5, check_dtype=False
        )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.sample(30)
def test_operator(case):
    """It gives what the reference gives, at once, and as a graph of symbols for its tensors."""
    generator = torch.Generator().manual_seed(0)
    given = tree_map(lambda a: a(generator) if callable(a) else a, case.arguments)
    function = getattr(ops, case.name)
    wanted = case.reference(*tree_map(wide, given), **case.keywords)
    tensors = tree_map(lambda a: hidet.from_torch(a) if isinstance(a, torch.Tensor) else a, given)
    is_tensor = lambda a: isinstance(a, hidet.Tensor)  # noqa: E731
    copies = tree_map(lambda a: a.copy() if is_tensor(a) else a, tensors)
    check(tree_leaves(function(*copies, **case.keywords)), wanted)

    symbols = tree_map(lambda a: hidet.symbol_like(a) if is_tensor(a) else a, tensors)
    outputs = tree_leaves(function(*symbols, **case.keywords))
    graph = hidet.trace_from(outputs, [s for s in tree_leaves(symbols) if is_tensor(s)])
    results = graph.run_async([t for t in tree_leaves(tensors) if is_tensor(t)])
    check(results, wanted)


def test_every_operator_has_a_case():
    """A new function of hidet.ops has a case in cases.py."""
    assert {case.name for case in CASES} - {"barrier"} == set(OPERATORS)


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_is_documented(name):
    """Each says what it returns, and graphs print it by its name."""
    assert OPERATORS[name].__doc__.startswith("Return ")
    assert OPERATORS[name].__name__ == name


SIGNATURES = Path(__file__).with_name("signatures.txt").read_text().splitlines()
"""All functions of the original's `hidet.ops`, with their parameters."""

NOT_THERE = {"all_gather", "all_reduce", "fused_operator", "reduce_scatter", "wait_tensor"}
"""Those that are refused: collectives, and a part of the original's compiler."""


@pytest.mark.parametrize("line", SIGNATURES, ids=lambda line: line.partition("(")[0])
def test_signatures(line):
    """Parameters are those of the original, in name, order and kind; no default is another."""
    name = line.partition("(")[0]
    if name in NOT_THERE:
        with pytest.raises(HidetError, match=f"no '{name}'") as caught:
            getattr(ops, name)
        assert caught.value.hint
        return
    original = eval(f"lambda {line[len(name) + 1 : -1]}: None")
    wanted = inspect.signature(original).parameters.values()
    found = inspect.signature(getattr(ops, name)).parameters.values()
    for theirs, own in zip(wanted, found, strict=True):
        assert own.name == theirs.name
        assert own.kind == theirs.kind or theirs.kind is theirs.POSITIONAL_ONLY
        assert theirs.default in (own.default, theirs.empty)


def test_named_by_a_kernel():
    """The names of kernels of the original give what the operator gives."""
    x, w = hidet.randn([2, 4, 7, 7]), hidet.randn([6, 2, 3, 3])
    wanted = ops.conv2d(x, w, 2, 1, 2).torch()
    rows = ops.conv2d_gemm_image_transform(x, (3, 3), 2, 1, 2)
    matrix = ops.transpose(w.reshape([2, 3, 18]), [0, 2, 1])
    product = ops.cuda_batch_matmul(rows, matrix).reshape([2, 2, 9, 3])
    found = ops.rearrange(product, [[1], [0, 3], [2]]).reshape([2, 6, 3, 3])
    for each in (found, ops.conv2d_gemm(x, w, 2, 1, 2), ops.conv2d_gemm_fp16(x, w, 0, 2, 1, 2)):
        torch.testing.assert_close(each.torch(), wanted)
    for padding in (0, [0, 0, 4]):
        images = ops.transpose(x, [0, 2, 3, 1])
        last = ops.conv2d_gemm_fp16_channel_last(images, w, padding, 2, 1, 2)
        torch.testing.assert_close(ops.transpose(last, [0, 3, 1, 2]).torch(), wanted)
    a, b = hidet.randn([3, 4]), hidet.randn([4, 5])
    for each in (ops.matmul_x86(a, b), ops.matmul_cublas(a, ops.transpose(b), transpose_b=True)):
        torch.testing.assert_close(each.torch(), a.torch() @ b.torch())


@pytest.mark.parametrize(
    ("pattern", "sizes", "message"),
    [
        ("a b", {}, "without '->'"),
        ("a b c -> a", {}, "is for rank 3"),
        ("a b -> a", {}, "must contain the same names"),
        ("(a b) c -> a b c", {"a": 4}, "a dimension of size 2 cannot be split into a=4"),
        ("(a b) c -> a b c", {}, "a dimension of size 2 cannot be split into a="),
    ],
)
def test_mistakes_in_patterns(pattern, sizes, message):
    with pytest.raises(HidetError, match=message):
        ops.einops_rearrange(hidet.randn([2, 3]), pattern, **sizes)


def test_no_operator_twice():
    """An operator stands in one family, and what it computes in the torch frontend alone.

    So nothing here, or in what hands it out, writes operations of the graph dialect.
    """
    names = Counter(
        name
        for family in FAMILIES
        for name, value in vars(family).items()
        if hasattr(value, "__wrapped__") and value.__module__ == family.__name__
    )
    assert [name for name, count in names.items() if count > 1] == []
    folder = ROOT / "hidet"
    paths = [*(folder / "frontends" / "trace").rglob("*.py"), *(folder / "graph").glob("*.py")]
    for path in [*paths, folder / "ops.py", folder / "tensor.py"]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func).rpartition(".")[2]
                assert not called.endswith("Op"), f"{path.name} writes {called}"


def test_creation():
    """Makers of tensors are operators without inputs."""
    assert ops.full([2], 3).dtype is hidet.int64
    assert ops.full([2], 3.5).dtype is hidet.float32
    assert ops.tri(3, k=-1).tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0]]
    assert ops.linspace(0.0, 1.0, 4, endpoint=False).tolist() == [0, 0.25, 0.5, 0.75]
    x = hidet.randn([2])
    assert ops.transfer(x, "cpu").torch() is x.torch()


def test_in_place():
    """Operators whose names end in `_` change a tensor with elements, and return it."""
    x, index, y = hidet.zeros([3, 2]), hidet.zeros([2, 2], "int64"), hidet.ones([2, 2])
    assert ops.scatter_add_(x, 0, index, y) is x
    assert x.tolist() == [[2, 2], [0, 0], [0, 0]]
    assert ops.scatter_(x, 0, index, y, reduce="replace") is x
    assert x.tolist() == [[1, 1], [0, 0], [0, 0]]
    symbol = hidet.symbol_like(x)
    assert ops.scatter_add_(symbol, 0, index, y) is not symbol


def test_compiled_once():
    """A second call with tensors of the same kind compiles nothing; other shapes do."""
    from hidet.frontends.trace import recording

    x = hidet.randn([7, 11])
    ops.relu(x)
    before = recording._program.cache_info()
    ops.relu(hidet.randn([7, 11]))
    after = recording._program.cache_info()
    assert (after.misses, after.hits) == (before.misses, before.hits + 1)
    ops.relu(hidet.randn([11, 7]))
    assert recording._program.cache_info().misses == before.misses + 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ops.matmul(x, x), r"invalid arguments of Matmul: .*2.*3"),
        (lambda x: x + hidet.randn([4]), r"invalid arguments of Add"),
        (lambda x: ops.pad(x, [1]), "1 pads for a tensor of rank 2"),
        (lambda x: ops.max_pool2d(x[None, None], 2, 1, [1, 1, 0, 0]), "is asymmetric"),
        (lambda x: ops.split(x, 2, axis=1), "an axis of size 3 cannot be split into 2 equal parts"),
        (lambda x: ops.squeeze(x, 0), r"dimension 0 of shape \(2, 3\)"),
        (lambda _: ops.relu(3), r"Relu needs a tensor, got \[3\]"),
        (lambda x: ops.cast(x, "uint16"), "data type torch.uint16 is not supported"),
        (lambda x: ops.resize2d(x[None, None]), "takes either size or scale_factor"),
        (lambda _: ops.softmaxx, "no attribute 'softmaxx'"),
    ],
)
@pytest.mark.parametrize("make", [hidet.randn, hidet.symbol])
def test_mistakes(make, call, message):
    """Both ways of calling say what is wrong; what has no translation, when it is to run."""
    with pytest.raises((HidetError, AttributeError), match=message):
        hidet.trace_from(call(make([2, 3]))).build()
