"""Arguments that a model writes: where, how many bytes, and what others see of them."""

from math import prod

import pytest
import torch
from torch import nn
from xdsl.dialects import scf
from xdsl.parser import Parser
from xdsl.traits import MemoryEffectKind

from hidet.analysis.kernels import kernels_of
from hidet.analysis.memory import root_of
from hidet.context import make_context
from hidet.dialects.constants import known_index
from hidet.dialects.cuda import CopyVectorOp
from hidet.dialects.effects import accessed, effects_of
from hidet.driver.plan_types import ITEM_SIZES, dtype_name
from hidet.lowering.pipelines import run_pipeline
from hidet.pass_options import PassOptions
from hidet.torch import compiled_graphs

CACHE = (2, 4, 64, 8)


def numbers(*shape) -> torch.Tensor:
    """Return random integers as float32, whose sums and products are exact in any order."""
    return torch.randint(-8, 9, shape[0] if isinstance(shape[0], tuple) else shape).float()


def bytes_moved(graph) -> int:
    """Count what the kernels and copies of a compiled graph store, by the IR of its kernels."""
    module = Parser(make_context(), graph.text).parse_module()
    run_pipeline(module, make_context(), PassOptions("cpu"))
    stored = {kernel.sym_name.data: stored_by(kernel) for kernel in kernels_of(module)}
    plan = graph.plan
    names = [kernel.symbol for kernel in plan.kernels]
    launched = sum(stored[names[launch.kernel]] for launch in plan.forward)
    specs = {"input": plan.inputs, "output": plan.outputs}
    return launched + sum(specs[c.target.space][c.target.at].nbytes for c in plan.copies)


def stored_by(kernel) -> int:
    """Count what all threads of a kernel store to its arguments at most."""
    total = 0
    for op in kernel.body.walk():
        for value in accessed(effects_of(op) or (), MemoryEffectKind.WRITE):
            if value is None or root_of(value) not in kernel.arguments:
                continue
            count = prod(kernel.grid_dims) * prod(kernel.block_dims)
            count *= op.width.value.data if isinstance(op, CopyVectorOp) else 1
            outer = op.parent_op()
            while outer is not kernel:
                if isinstance(outer, scf.ForOp):
                    bounds = map(known_index, (outer.lb, outer.ub, outer.step))
                    count *= len(range(*bounds))
                outer = outer.parent_op()
            size = prod(value.type.get_shape())
            total += min(count, size) * ITEM_SIZES[dtype_name(value.type.element_type)]
    return total


def run(function, *arguments, fallback=False):
    """Run a function eagerly and compiled, on copies; give the new arguments of both, and bytes."""
    torch.compiler.reset()
    before = set(map(id, compiled_graphs()))
    mine, eager = ([each.clone() for each in arguments] for _ in range(2))
    compiled = torch.compile(function, backend="hidet", options={"fallback": fallback})
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(compiled(*mine), function(*eager))
    for one, other in zip(mine, eager, strict=True):
        torch.testing.assert_close(one, other)
    return sum(bytes_moved(graph) for graph in compiled_graphs() if id(graph) not in before)


def index_copy(cache, k, pos):
    cache.index_copy_(2, pos, k)
    return cache.sum()


def index_put(cache, k, pos):
    cache[:, :, pos] = k
    return cache.sum()


def slices(cache, k, pos):
    cache[:, :, 5:6] = k
    cache[:, :, 7:8].copy_(k * 2)
    return cache.sum()


def select(cache, k, pos):
    cache[1].index_copy_(1, pos, k[1])
    cache[0, :, 3] = k[0, :, 0]
    return cache.sum()


def select_slice(cache, k, pos):
    cache[1, :, 9:10] = k[1]
    return cache[1].sum()


def strided(cache, k, pos):
    cache[:, :, 1:32:16] = k
    return cache.sum()


def accumulated(cache, k, pos):
    cache.index_add_(2, pos, k)
    return cache.sum()


@pytest.mark.parametrize(
    "write",
    [index_copy, index_put, slices, select, select_slice, strided, accumulated],
)
@pytest.mark.sample(3)
def test_a_cache_is_written_where_it_lies(write):
    # Integers, whose sums are exact.
    cache, k = (torch.randint(-9, 10, size).float() for size in (CACHE, (2, 4, 1, 8)))
    moved = run(write, cache, k, torch.tensor([3]))
    # What is written, positions, and the sum by parts; of the cache nothing else is stored.
    assert moved < cache.nbytes / 4


def test_a_part_of_parts_is_written():
    """Parts of parts, along several axes at once, are written like others."""

    def write(cache, k):
        cache[:, :, 5:9][..., :1, 2:] = k[..., 2:]
        cache[:1, :, 5:6, 0] = k[:1, ..., 0]
        return cache.sum()

    run(write, numbers(CACHE), numbers(2, 4, 1, 8))


def test_elements_are_updated_in_place():
    """Of three arguments only one is stored apart: others read it in another order, or later."""

    def update(a, b, c):
        old = a.sum()
        a.mul_(2).add_(c)
        b.copy_(b.flip(0))
        late = c.exp()
        c.add_(1)
        return old, late

    mine, eager = ([numbers(64, 50) for _ in range(3)] for _ in range(2))
    for one, other in zip(mine, eager, strict=True):
        other.copy_(one)
    compiled = torch.compile(update, backend="hidet")
    known = len(compiled_graphs())
    torch.testing.assert_close(compiled(*mine), update(*eager))
    torch.testing.assert_close(mine, eager)
    (graph,) = compiled_graphs()[known:]
    copied = [copy.target for copy in graph.plan.copies]
    written = {
        argument.at
        for launch in graph.plan.forward
        for number, argument in enumerate(launch.arguments)
        if argument.space == "input" and number in launch.writes
    }
    assert len(copied) == 1, copied
    assert len(written) == 2, written


def test_elements_are_not_updated_before_they_are_read():
    """Neither by a reader that joins the kernel, nor by blocks of its other segments."""

    def update(a, b):
        mean = a + b.mean()
        a.sub_(b)
        b.add_(a[:1])
        return mean, a.exp() + b[0]

    run(update, numbers(64, 50), numbers(64, 50))


def test_what_replaces_all_is_computed_in_its_place():
    cache, x = numbers(CACHE), numbers(CACHE)
    assert run(lambda cache, x: cache.copy_(x.exp()), cache, x) == cache.nbytes
    assert run(lambda cache, x: (cache.copy_(x * 2), x.sum(0))[1], cache, x) <= 1.5 * cache.nbytes


def test_the_old_content_may_be_read_still():
    """Before and after the write, by what depends on the new content, and as a result."""
    cache, k, pos = numbers(CACHE), numbers(2, 4, 1, 8), torch.tensor([3])

    def before(cache, k, pos):
        old = cache.sum(-1)
        copy = cache.clone()
        cache[:, :, pos] = k
        return old, copy, cache * 2

    def mixed(cache, k, pos):
        old = cache.clone()
        cache[:, :, pos] = k
        return old + cache.flip(2)

    def twice(cache, k, pos):
        cache.index_copy_(2, pos, k)
        between = cache.sum(2)
        cache.index_copy_(2, pos + 1, k * between.unsqueeze(2))
        return between

    def shifted(cache, k, pos):
        cache.copy_(torch.cat([cache[:, :, 1:], k], 2))
        return cache.sum(-1)

    for function in (before, mixed, twice, shifted):
        run(function, cache, k, pos)


def test_written_arguments_may_be_views_of_each_other():
    base = numbers(40)

    def write(x, y):
        x.add_(1)
        y[2:6] = x[:4]
        return x * y

    with torch.no_grad():
        mine, eager = base.clone(), base.clone()
        found = torch.compile(write, backend="hidet")(mine[:20], mine[10:30])
        torch.testing.assert_close(found, write(eager[:20], eager[10:30]))
        torch.testing.assert_close(mine, eager)


def test_arguments_may_change_places():
    def swap(x, y):
        old = x.clone()
        x.copy_(y)
        y.copy_(old)
        return old

    def spread(x, y):
        x.copy_(y[:1])
        y.zero_()
        return x + y

    x, y = numbers(3, 4), numbers(3, 4)
    run(swap, x, y)
    run(spread, x, y)


@pytest.mark.parametrize("layout", ["transposed", "misaligned", "gaps"])
def test_memory_of_every_layout_is_written(layout):
    """Where kernels cannot write it, by a copy at the end."""
    views = {
        "transposed": lambda: numbers(8, 6).t(),
        "misaligned": lambda: numbers(49)[1:].view(6, 8),
        "gaps": lambda: numbers(6, 16)[:, ::2],
    }

    def write(x, k):
        x[2:3] = k
        return x.sum(0)

    torch.manual_seed(0)
    mine, k = views[layout](), numbers(8)
    eager = mine.clone()
    compiled = torch.compile(write, backend="hidet", options={"fallback": False})
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(compiled(mine, k), write(eager, k))
            torch.testing.assert_close(mine, eager)
            k = k + 1


def test_a_fallback_reads_what_there_was_before():
    def write(cache, k, pos):
        factors = torch.linalg.ldl_factor_ex(cache[0, 0, :8])[0]
        cache[:, :, pos] = k
        return factors, cache.sum()

    cache = numbers(CACHE)
    with pytest.warns(UserWarning, match="linalg_ldl_factor_ex"):
        run(write, cache, numbers(2, 4, 1, 8), torch.tensor([3]), fallback=True)


def test_counts_are_written_once_also_where_weights_change():
    """A program that writes its arguments is never launched a second time."""

    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("count", torch.zeros(4))

        def forward(self, x):
            self.count.index_add_(0, torch.tensor([1]), torch.ones(1))
            return self.linear(x).sum() + self.linear.weight.exp().sum()

    model, x = Counter(), numbers(2, 4)
    compiled = torch.compile(model, backend="hidet")
    with torch.no_grad():
        for step in range(1, 210):
            if step % 70 == 0:
                model.linear.weight.mul_(0.5)
            compiled(x)
            assert model.count[1] == step


def test_a_written_argument_is_known_to_have_changed():
    x = torch.zeros(4)
    compiled = torch.compile(lambda x, y: x.copy_(y * 2).sum(), backend="hidet")
    with torch.no_grad():
        version = x._version
        compiled(x, torch.ones(4))
        assert x._version > version


@pytest.mark.slow
def test_a_decoding_step_stores_its_own_keys_and_values_only():
    """Of a Llama with the static cache of transformers."""
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=128,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config).eval()
    torch.compiler.reset()
    compiled = torch.compile(model, backend="hidet", options={"fallback": False})
    found = []
    for run_step in (compiled, model):
        cache = transformers.StaticCache(config=config, max_cache_len=128)
        with torch.no_grad():
            model(torch.arange(5)[None], past_key_values=cache, cache_position=torch.arange(5))
            for step in range(5, 8):
                position = torch.tensor([step])
                out = run_step(position[None], past_key_values=cache, cache_position=position)
        found.append(
            [out.logits, *(t for layer in cache.layers for t in (layer.keys, layer.values))]
        )
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)
    graph = compiled_graphs()[-1]
    assert bytes_moved(graph) < sum(cached.nbytes for cached in found[0][1:]) / 3
    assert all(graph.plan.inputs[copy.target.at].nbytes <= 8 for copy in graph.plan.copies)
