"""No pass makes a long program of a chain of views, and the numbers stay right."""

import random

import pytest
import torch
from compute_interpreter import evaluate
from functorch.compile import aot_function, make_boxed_func
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional

from hidet.context import make_context
from hidet.frontends.torch.backend import hidet_backend
from hidet.frontends.torch.decompositions import decompositions
from hidet.frontends.torch.importer import import_graph
from hidet.lowering.pipelines import PassOptions, passes_of
from hidet.testing.numeric import assert_close

MAX_GROWTH = 4
"""How much longer the text of a program may be after a pass."""

SIZE = 12


def part(r):
    """Draw a range that is not empty."""
    first, stop = sorted(r.sample(range(SIZE + 1), 2))
    return slice(first, stop)


def assign(x, r):
    """One number for a rectangle, as attention masks of shifted windows are made."""
    x = x.clone()
    x[part(r), part(r)] = r.randrange(9)
    return x


def assign_own(x, r):
    """A part of the tensor itself, from its other end."""
    x, rows = x.clone(), part(r)
    x[rows] = x[SIZE - rows.stop : SIZE - rows.start].clone()
    return x


def slices(x, r):
    """Halves that overlap, added and put side by side."""
    middle = r.randrange(1, SIZE)
    return torch.cat([x[1:], x[:1]]) - torch.cat([x[middle:], x[:middle]])


def concat(x, r):
    """The parts of the tensor in another order."""
    dim, middle = r.randrange(2), r.randrange(1, SIZE)
    return torch.cat([x.narrow(dim, middle, SIZE - middle), x.narrow(dim, 0, middle)], dim)


def roll(x, r):
    """Every element at another place."""
    return torch.roll(x, (r.randrange(1, SIZE), r.randrange(1, SIZE)), (0, 1))


def pad(x, r):
    """A border on one side, and a part less on the other."""
    return functional.pad(x, (1, 0, 0, 1), value=r.randrange(9))[1:, :-1]


def reshape(x, r):
    """Rows and columns of other lengths, exchanged."""
    rows = r.choice([2, 3, 4, 6, 8, 9])
    return x.reshape(rows, -1).t().reshape(SIZE, SIZE)


def twice(x, r):
    """The last tensor, and the same one rolled."""
    return x * 0.5 + torch.roll(x, r.randrange(1, SIZE), r.randrange(2)) * 0.5


VIEWS = (assign, assign_own, slices, concat, roll, pad, reshape, twice)
CHAINS = {**{link.__name__: (link,) for link in VIEWS}, "mixed": VIEWS}


def chain_of(links, depth):
    """Return a function that applies as many links, each with other numbers."""

    def chain(x):
        r = random.Random(depth)
        for _ in range(depth):
            x = r.choice(links)(x, r)
        return x.exp()

    return chain


def program_of(function, x):
    """Import a function as `torch.compile` does."""
    modules = []

    def keep(graph, _):
        modules.append(import_graph(graph, []).module)
        return make_boxed_func(graph.forward)

    with torch.no_grad():
        aot_function(function, keep, inference_compiler=keep, decompositions=decompositions())(x)
    return modules[0]


def check(name, depth):
    """Run all passes; compare what comes out of `fuse` with torch, and lengths with each other."""
    x = torch.randn(SIZE, SIZE)
    function = chain_of(CHAINS[name], depth)
    module = program_of(function, x)

    context = make_context()
    for each in passes_of("hidet-pipeline", PassOptions(arch="cpu")):
        before = len(str(module))
        each.apply(context, module)
        growth = len(str(module)) / before
        assert growth <= MAX_GROWTH, f"{each.name} makes the program {growth:.1f} times as long"
        if each.name == "fuse":
            (actual,) = evaluate(module, [x.numpy()])
            assert_close(torch.tensor(actual), function(x.double()), 1e-5)


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.sample(3)
def test_chain(name):
    check(name, 12)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [5, 9, 20, 30, 40])
@pytest.mark.parametrize("name", CHAINS)
def test_long_chain(name, depth):
    check(name, depth)


@pytest.mark.parametrize(
    ("name", "depth"),
    [
        ("mixed", 9),
        *(pytest.param(n, d, marks=pytest.mark.slow) for n in CHAINS for d in (5, 20, 40)),
    ],
)
def test_kernels(name, depth):
    """What the kernels of a chain compute."""
    x = torch.randn(SIZE, SIZE)
    function = chain_of(CHAINS[name], depth)
    with torch.no_grad():
        graph = make_fx(lambda x: (function(x),))(x)  # Dynamo would trace the choices, too
        (actual,) = hidet_backend(graph, [x])(x)
    assert_close(actual, function(x.double()), 1e-5)
