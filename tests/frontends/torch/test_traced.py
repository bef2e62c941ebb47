"""Stored traces: another start finds what was traced, and nothing that another trace would give."""

import shutil

import pytest
import torch
from torch import fx, nn
from torch._dynamo.utils import counters
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint

import hidet
from hidet.backend.cache import Store
from hidet.frontends.torch import aot
from hidet.frontends.torch import traced as traced_module
from hidet.frontends.torch.pickled import AtenGraph, pickled, unpickled
from hidet.frontends.torch.settings import Settings
from hidet.frontends.torch.storage import Spec, share_storage
from hidet.frontends.torch.stored_imports import import_key


@pytest.fixture(autouse=True)
def store(tmp_path):
    """Give the cache of a test, which is empty."""
    with hidet.option.context(cache_dir=tmp_path):
        yield Store(tmp_path)


def start(function, *arguments, **keywords):
    """Compile a function as a new process would, and call it; return results and cache counts."""
    torch._dynamo.reset()
    counters.clear()
    result = torch.compile(function, backend="hidet", **keywords)(*arguments)
    return result, counters["aot_autograd"]


def stored_in(store):
    """Return the paths of what is stored of the only graph: its trace and its program."""
    entries = [entry for entry in store.entries() if entry.namespace == "traces"]
    found = {store.traces.entry(each.key).meta["name"].split()[1]: each.path for each in entries}
    assert len(found) == len(entries)
    return found


@pytest.fixture
def imports(monkeypatch):
    """Give the modules that are imported, not found."""
    made, inner = [], aot._imported
    monkeypatch.setattr(aot, "_imported", lambda *graph: [made.append(graph), inner(*graph)][1])
    return made


def is_found(function, *arguments, **keywords):
    """Return whether a start finds the trace of an earlier one."""
    return bool(start(function, *arguments, **keywords)[1]["autograd_cache_hit"])


TABLE = torch.tensor([3.0, 1.0, 2.0])

FUNCTIONS = {
    "operators": lambda x: (x.sin() @ x.T).relu(),
    "views": lambda x: (x, x.T, (x + 1)[1:, ::2], x.sin().T),
    "constants": lambda x: x[:3, :3] * torch.tensor([1.0, 2.0, 3.0]) + torch.arange(3),
    "captured": lambda x: x[:3, :3] * TABLE,
    "write": lambda x: x.mul_(2)[0],
    "sizes": lambda x: x.sum() / x.shape[0],
    "complex": lambda x: torch.fft.rfft(x).real,
    "eager part": lambda x: (x * 2).sin() + torch.linalg.eigvals(x).real.sum(),
    "pair": lambda x: torch.sort(x.exp(), 0),
    "attention": lambda x: functional.scaled_dot_product_attention(*[x.reshape(1, 2, 4, 8)] * 3),
}

PARTITIONED = ("complex", "eager part")
"""Those that are imported at each start, as a part runs in eager torch."""


@pytest.mark.filterwarnings("ignore:hidet leaves:UserWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.sample(5)
def test_inference(name, imports):
    """The second start neither traces nor imports, and computes the same."""
    x = torch.randn(8, 8)
    found = []
    for counter in ("autograd_cache_saved", "autograd_cache_hit"):
        argument = x.clone()
        results, counts = start(FUNCTIONS[name], argument)
        assert counts[counter] == 1
        found.append((results, argument))
    assert len(imports) == (2 if name in PARTITIONED else 1)
    expected, other = x.clone(), found[0]
    torch.testing.assert_close(other[0], FUNCTIONS[name](expected), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(other[1], expected)
    torch.testing.assert_close(found[1], other, rtol=0, atol=0)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in PARTITIONED])
@pytest.mark.sample(2)
def test_missing_programs(name, store, imports):
    """A program that is no longer in the cache is compiled from its text."""
    x = torch.randn(8, 8)
    expected, _ = start(FUNCTIONS[name], x.clone())
    for entry in store.entries():
        if entry.namespace == "programs":
            shutil.rmtree(entry.path)
    result, _ = start(FUNCTIONS[name], x.clone())
    torch.testing.assert_close(result, expected, rtol=0, atol=0)
    assert any(entry.namespace == "programs" for entry in store.entries())
    assert len(imports) == 1


class Network(nn.Module):
    """A network with statistics, random numbers, and a part that is used twice."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.out = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, 8)

    def forward(self, x):
        x = functional.dropout(self.norm(self.conv(x)).relu(), training=self.training)
        return self.out(self.out(x.mean((2, 3))).tanh())


def test_training(imports):
    """Results, gradients and statistics of a step are those of the first start, bit for bit."""
    x, states = torch.randn(4, 3, 9, 9), []
    for counter in ("autograd_cache_saved", "autograd_cache_hit"):
        torch.manual_seed(1)
        model = Network()
        result, counts = start(model, x)
        assert counts[counter] == 1
        for _ in range(2):  # the first computes forward again, the second saves for backward
            model.zero_grad()
            torch.compile(model, backend="hidet")(x).square().sum().backward()
        states.append([result, *(p.grad for p in model.parameters()), *model.buffers()])
    torch.testing.assert_close(states[1], states[0], rtol=0, atol=0)
    assert len(imports) == 2  # of the first start: forward, which draws numbers, and backward
    assert all(grad.abs().sum() > 0 for grad in states[0][1:5])


def test_backward_of_a_stored_trace():
    """Gradients are right, also where the first call in a process is one of training."""
    weight = torch.randn(8, 8, requires_grad=True)

    def loss(x):
        return (x @ weight).tanh().square().sum()

    x = torch.randn(8, 8)
    (expected,) = torch.autograd.grad(loss(x), weight)
    for is_hit in (False, True):
        result, counts = start(loss, x)
        assert bool(counts["autograd_cache_hit"]) == is_hit
        for _ in range(2):
            (grad,) = torch.autograd.grad(result, weight, retain_graph=True)
            torch.testing.assert_close(grad, expected, rtol=1e-4, atol=1e-4)


def test_other_arguments_and_states():
    """A trace is found under what it was traced for, alone."""

    def function(x, y):
        return torch.full((2,), 1.5) + (x @ y).sum()

    x, y = torch.randn(4, 4), torch.randn(4, 4)
    assert not is_found(function, x, y)
    assert is_found(function, x, y)
    assert not is_found(function, x, y.half().float().T)
    assert not is_found(function, x.double(), y.double())
    assert not is_found(function, x, y.clone().requires_grad_())
    assert not is_found(function, x, y, options={"use_fp16": True})
    assert is_found(function, x, y, options={"use_fp16": True})
    assert not is_found(lambda x, y: torch.full((2,), 2.5) + (x @ y).sum(), x, y)
    with torch.autocast("cpu", torch.bfloat16):
        assert not is_found(function, x, y)
    torch.set_default_dtype(torch.float64)
    try:
        assert not is_found(function, x, y)
    finally:
        torch.set_default_dtype(torch.float32)
    assert is_found(function, x, y)


def test_arguments_that_share_memory():
    """A trace knows which do, and where they lie."""

    def function(x, y):
        x.mul_(2)
        return x + y

    base = torch.arange(9.0)
    for pair in ((0, 9), (0, 2), (0, 1), (1, 3), (0, 9), (1, 3)):
        memory, expected = (torch.cat([base, base]) for _ in range(2))
        given, wanted = ([each[n : n + 4] for n in pair] for each in (memory, expected))
        if pair == (0, 9):
            given[1], wanted[1] = given[1].clone(), wanted[1].clone()
        assert torch.equal(start(function, *given)[0], function(*wanted))
        assert torch.equal(memory, expected)
    assert is_found(function, memory[1:5], memory[3:7])


@pytest.mark.parametrize("foreach", [False, True], ids=["one by one", "foreach"])
@pytest.mark.sample(1)
def test_optimizers(foreach):
    """A graph that holds parameters and moments is found for others, of the same shapes."""

    def step(*shapes, dtype=torch.float32):
        parameters = [nn.Parameter(torch.randn(shape, dtype=dtype)) for shape in shapes]
        pair = parameters, [nn.Parameter(each.detach().clone()) for each in parameters]
        ours, eager = (torch.optim.AdamW(each, foreach=foreach) for each in pair)
        for each in zip(*pair, strict=True):
            each[0].grad = torch.randn_like(each[0])
            each[1].grad = each[0].grad.clone()
        _, counts = start(ours.step)
        torch.compiler.reset()
        eager.step()
        torch.testing.assert_close(*pair)
        return bool(counts["autograd_cache_hit"])

    assert [step((3, 4), (5,)) for _ in range(3)] == [False, True, True]
    assert not step((4, 3), (5,))
    assert not step((3, 4), (5,), dtype=torch.float64)
    assert step((3, 4), (5,))


def test_constants_of_graphs():
    """What a graph holds beside parameters and buffers is a value of its trace."""
    graph = fx.Graph()
    graph.output(graph.call_function(torch.add, (graph.placeholder("x"), graph.get_attr("held"))))
    x = torch.ones(3)
    for kind in (nn.Parameter, nn.Buffer):
        root = nn.Module()
        root.held = kind(torch.ones(3))
        module = fx.GraphModule(root, graph)
        held = traced_module._held(module)
        assert list(held) == ["held"]
        assert traced_module._may_be_stored(module.graph.nodes, [x], held)
    assert not traced_module._may_be_stored(module.graph.nodes, [x], ())


def test_subclasses():
    """Operators on them are traced into their methods, which may change."""

    class Own(torch.Tensor):
        pass

    x = torch.ones(3)
    nodes = traced(torch.sin, x).graph.nodes
    assert traced_module._may_be_stored(nodes, [x, nn.Parameter(x), 3])
    assert not traced_module._may_be_stored(nodes, [x, x.as_subclass(Own)])


def test_passes_of_users(monkeypatch):
    """A pass on joint graphs is not in the key."""

    def scale(module, *_):
        node, *_ = module.graph.find_nodes(op="call_function", target=torch.ops.aten.mul.Tensor)
        node.update_arg(1, FACTOR["now"])
        return module

    for factor in (2.0, 5.0):
        monkeypatch.setitem(FACTOR, "now", factor)
        with torch._functorch.config.patch(joint_custom_pass=scale):
            x = torch.ones(3, requires_grad=True)
            assert start(lambda x: x * 1.5, x)[0].tolist() == [factor] * 3


def test_kernels_of_users(monkeypatch):
    """Those of torch's operators that are traced are not in the key."""
    with monkeypatch.context() as patch:
        patch.setattr(torch.library, "_impls", {*torch.library._impls, "aten/silu/AutogradCPU"})
        for _ in range(2):
            assert not is_found(functional.silu, torch.ones(3))
    for expected in (False, True):
        assert is_found(functional.silu, torch.ones(3)) == expected


def test_others_can_write(store):
    """The error is that of the rest of the cache."""
    assert not is_found(torch.tan, torch.ones(3))
    for path in stored_in(store).values():
        path.chmod(0o777)
        with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="others can write"):
            start(torch.tan, torch.ones(3))
        path.chmod(0o700)


FACTOR = {"now": 2.0}


@hidet.torch.register_op("test_traced::scale")
def scale(x: torch.Tensor) -> torch.Tensor:
    """Multiply by what is then the factor."""
    return x * FACTOR["now"]


def test_operators_of_users_are_traced_anew(monkeypatch):
    """Their functions are inlined, and may have changed."""
    x = torch.ones(4)
    for factor in (2.0, 5.0):
        monkeypatch.setitem(FACTOR, "now", factor)
        result, counts = start(lambda x: scale(x) + 1, x)
        assert result.tolist() == [factor + 1] * 4
        assert counts["autograd_cache_saved"] == 0


def test_functions_that_are_not_stored():
    """Bodies of higher-order operators are not in the key, nor are hooks."""
    x = torch.randn(4, 4, requires_grad=True)

    def recomputed(x):
        return checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)

    for _ in range(2):
        assert not is_found(recomputed, x)
    for _ in range(2):
        with torch.autograd.graph.save_on_cpu():
            assert not is_found(lambda x: x.sin().exp(), x)


@pytest.mark.parametrize("name", ["graph", "program"])
def test_damage(store, name):
    """A damaged trace or import is made again, with a warning."""
    x = torch.randn(4, 4)
    assert not is_found(torch.sin, x)
    (stored_in(store)[name] / "trace.pickle").write_bytes(b"damaged")
    with pytest.warns(hidet.backend.cache.CacheWarning, match="is damaged"):
        result, counts = start(torch.sin, x)
    assert bool(counts["autograd_cache_hit"]) == (name == "program")
    torch.testing.assert_close(result, x.sin())
    assert is_found(torch.sin, x)


def test_keys_of_imports():
    """All that the importer looks at is in the key."""
    graph, keys = AtenGraph("graph", lambda: None), []

    def add(static=(1, 2), graph=graph, **flags):
        keys.append(import_key(graph, static, Settings(flags=flags)))

    add()
    add((2, 1))
    assert keys[0] == keys.pop()
    add((1, 3))
    add(graph=graph.derived("first 2", lambda: None))
    add(use_fp16_reduction=True)
    for module, name, value in (
        (torch.backends.cuda.matmul, "fp32_precision", "tf32"),
        (torch.backends.cudnn.conv, "fp32_precision", "ieee"),
        (torch.backends.mkldnn, "enabled", False),
    ):
        before = getattr(module, name)
        setattr(module, name, value)
        add()
        setattr(module, name, before)
    assert len(set(keys)) == len(keys) == 7
    assert import_key(AtenGraph(None, lambda: None), (), Settings()) is None


def test_no_caches():
    """Torch's switch holds."""
    x = torch.randn(4, 4)
    with torch._functorch.config.patch(enable_autograd_cache=False):
        assert not is_found(torch.cos, x)
    assert not is_found(torch.cos, x)
    with torch._functorch.config.patch(enable_autograd_cache=False):
        assert not is_found(torch.cos, x)


def traced(function, *arguments):
    """Return a graph of ATen operators."""
    with FakeTensorMode() as mode:
        return make_fx(function)(*map(mode.from_tensor, arguments))


def layout(tensor):
    """Return what there is to know about a fake tensor."""
    return Spec.of(tensor), tensor.storage_offset(), tensor.untyped_storage().nbytes()


def test_pickled():
    """A graph is the same afterwards: code, names, values, memory that values share."""

    def function(x, y):
        a, b = (x @ y).split([1, 3])
        return a.T, b.to(torch.float16), torch.ops.aten.add.Tensor(a, 1.5, alpha=2)

    module = traced(function, torch.randn(4, 4), torch.randn(4, 4).T)
    module.register_buffer("constant", torch.arange(3.0))
    with module.graph.inserting_before(module.graph.output_node()):
        held = module.graph.get_attr("constant")
        held.meta["val"] = FakeTensorMode().from_tensor(module.constant)
    module.recompile()
    copy = unpickled(pickled(module))
    assert copy.code == module.code
    assert copy.constant.tolist() == [0, 1, 2]
    for old, new in zip(module.graph.nodes, copy.graph.nodes, strict=True):
        assert (new.op, new.name, new.target) == (old.op, old.name, old.target)
        was, now = (tree_leaves(node.meta.get("val", [])) for node in (old, new))
        assert list(map(layout, now)) == list(map(layout, was))
    for graph in (module, copy):
        named = {node.name: node.meta["val"] for node in graph.graph.nodes if "val" in node.meta}
        assert share_storage(named["mm"], named["permute"])
        assert not share_storage(named["mm"], named["add"])


def test_what_is_not_pickled():
    """Tensors that sizes, strides and a data type do not describe."""
    assert pickled(traced(lambda x: x.conj() * 2, torch.ones(2, dtype=torch.complex64))) is None
    module = traced(torch.sin, torch.ones(2))
    module.graph.inserting_before(module.graph.output_node())
    module.graph.create_node("call_function", lambda x: x, ())
    assert pickled(module) is None
