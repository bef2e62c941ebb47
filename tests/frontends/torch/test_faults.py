"""Compiled programs at the edges: what eager torch refuses is refused, and numbers are its own."""

import pytest
import torch
from torch.nn import functional as F

import hidet
from hidet.errors import DivisionByZeroError, IndexOutOfRangeError

inf, nan = float("inf"), float("nan")


def compiled(function, **options):
    torch._dynamo.reset()
    return torch.compile(function, backend="hidet", fullgraph=True, options=options)


def look_up(x, ids, at, along, picked, target):
    """Look-ups of each kind; x is [5, 4]."""
    return (
        F.embedding(ids, x) + 1,
        x[at, :2] * 2,
        x.gather(0, along),
        x.index_select(1, picked),
        torch.ones(5)[at],
        F.nll_loss(x, target),
    )


GOOD = {
    "ids": [4, 0, 2],
    "at": [-5, 4],
    "along": [[0, 1, 2, 4]],
    "picked": [3, 0],
    "target": [0, 3, -100, 1, 2],
}
BAD = [
    ("ids", [1, 5, 2], "index 5 .* of size 5\n.*aten.embedding .*test_faults.py:"),
    ("ids", [1, -1, 2], "index -1 .* of size 5\n.*aten.embedding"),
    ("ids", [1, 1 << 40, 2], f"index {1 << 40} .* of size 5\n.*aten.embedding"),
    ("at", [-6, 4], "index -6 .* of size 5\n.*aten.index "),
    ("along", [[0, 1, 7, -4]], "index (7|-4) .* of size 5\n.*aten.gather"),
    ("picked", [3, 4], "index 4 .* of size 4\n.*aten.index_select"),
    ("target", [0, 4, -100, 1, 2], "index 4 .* of size 4\n.*aten.gather"),
]


@pytest.fixture(scope="module")
def x():
    return torch.randn(5, 4)


@pytest.fixture(scope="module")
def look_up_compiled():
    return compiled(look_up)


def positions(**changes):
    return [torch.tensor(value) for value in (GOOD | changes).values()]


@pytest.mark.parametrize(("name", "value", "message"), BAD)
def test_bad_index(look_up_compiled, x, name, value, message):
    """A look-up out of bounds is an error that eager torch raises, too; then all goes on."""
    with pytest.raises((IndexError, RuntimeError)) as eager:
        look_up(x, *positions(**{name: value}))
    with pytest.raises(IndexOutOfRangeError, match=message) as found:
        look_up_compiled(x, *positions(**{name: value}))
    assert isinstance(found.value, eager.type)
    for actual, expected in zip(
        look_up_compiled(x, *positions()), look_up(x, *positions()), strict=True
    ):
        torch.testing.assert_close(actual, expected)


def test_bad_index_ahead():
    """Launches check positions that a kernel would check repeatedly, with its own message."""
    ids, table = torch.randint(0, 500, (64, 16)), torch.randn(500, 256)
    summed = compiled(lambda ids, table: F.embedding(ids, table).sum(1))
    torch.testing.assert_close(summed(ids, table), F.embedding(ids, table).sum(1))
    for bad in (500, -1, 1 << 40):
        ids[-1, -1] = bad
        with pytest.raises(IndexOutOfRangeError, match=f"index {bad} .* of size 500\n.*embedding"):
            summed(ids, table)
    ids[-1, -1] = 499
    torch.testing.assert_close(summed(ids, table), F.embedding(ids, table).sum(1))
    program = hidet.compile(torch.nn.Embedding(500, 256).eval(), ids).program
    assert len(program.runnable.plan.kernels) == 1


def bags(x, offsets):
    """Sums of three rows, in bags that begin at offsets; the last offset is their end."""
    rows = torch.tensor([0, 1, 2])
    return F.embedding_bag(rows, x, offsets, mode="sum", include_last_offset=True)


WRITES = {
    "index_add": lambda x, at: x.index_add(0, at, torch.ones(2, 4)),
    "index_copy": lambda x, at: x.index_copy(0, at, torch.ones(2, 4)),
    "index_put": lambda x, at: x.index_put((at,), torch.tensor(1.0)),
    "index_reduce": lambda x, at: x.index_reduce(0, at, torch.ones(2, 4), "amax"),
    "put": lambda x, at: x.put(at * 4, torch.ones(2)),
    "scatter": lambda x, at: x.scatter(0, at[None], 1.0),
    "scatter_add": lambda x, at: x.scatter_add(0, at[None], torch.ones(1, 2)),
    "maximum": lambda x, at: x.scatter_reduce(0, at[None], torch.ones(1, 2), "amax"),
    "mean": lambda x, at: x.scatter_reduce(0, at[None], torch.ones(1, 2), "mean"),
    "product": lambda x, at: x.scatter(0, at[None], torch.ones(1, 2), reduce="multiply"),
    "bags": lambda x, at: bags(x, torch.cat([torch.tensor([0]), at - 1])),
}


@pytest.mark.filterwarnings("ignore:.*reduce:UserWarning")  # torch's, of what it calls beta
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.sample(4)
def test_bad_place(x, write):
    """What is written, or counted, at places that are not there is refused as well."""
    write = WRITES[write]
    run = compiled(write)
    good = torch.tensor([3, 4])
    torch.testing.assert_close(run(x, good), write(x, good))
    for bad in ([0, 5], [-6, 0]):
        if write is not WRITES["bags"]:  # eager torch checks the offsets of bags on some CPUs only
            with pytest.raises((IndexError, RuntimeError)):
                write(x, torch.tensor(bad))
        with pytest.raises(IndexOutOfRangeError, match=r"index -?\d+ .* of size \d"):
            run(x, torch.tensor(bad))


def test_checks_can_be_turned_off(x):
    """The option reaches the kernels, and negative positions still count from the end."""
    at = torch.tensor([-1, 2, -5])
    looked_up = compiled(lambda x, at: x[at] + 1, checks=False)
    assert torch.equal(looked_up(x, at), x[at] + 1)


def quotients(a, b):
    remainders = a % b, torch.fmod(a, b)
    return (a // b, *remainders, torch.div(a, b, rounding_mode="trunc"))


def test_zero_divisor():
    """Integers are not divided by zero, on the CPU."""
    divided = compiled(quotients)
    a, b = torch.tensor([7, -7, 5]), torch.tensor([2, 2, -3])
    for actual, expected in zip(divided(a, b), quotients(a, b), strict=True):
        assert torch.equal(actual, expected)
    # The smallest integer has no opposite; eager torch ends the process at some of these.
    smallest = torch.full_like(a, torch.iinfo(a.dtype).min)
    expected = smallest, smallest * 0, smallest * 0, smallest
    assert all(map(torch.equal, divided(smallest, -torch.ones_like(a)), expected))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        quotients(a, b * 0)
    with pytest.raises(DivisionByZeroError, match=r"ZeroDivisionError.*\n.*aten\.\w+"):
        divided(a, torch.tensor([2, 0, 3]))


def same(actual, expected):
    """Tell whether two tensors have the same numbers, with NaN and the signs of zeros."""
    assert actual.dtype is expected.dtype
    one, other = actual.double(), expected.double()
    equal = (one == other) & (torch.signbit(one) == torch.signbit(other))
    return bool((equal | (one.isnan() & other.isnan())).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_quotients_of_floats(dtype):
    """Quotients and what they leave are those of eager torch, to the last bit.

    Of halves they are those of eager torch in float32: it rounds 10000 / 7 to a half, 1429, ahead
    of cutting off the fraction.
    """
    edges = torch.tensor([0.0, -0.0, 1, -1, 2.5, -2.5, 7, -7, 0.3, 1e3, -3e-5, inf, -inf, nan])
    a, b = (part.flatten().to(dtype) for part in torch.meshgrid(edges, edges, indexing="ij"))
    a = torch.cat([a, torch.randn(64).to(dtype)])
    b = torch.cat([b, torch.randn(64).to(dtype)])
    wide = (part if dtype is torch.float64 else part.float() for part in (a, b))
    for actual, expected in zip(compiled(quotients)(a, b), quotients(*wide), strict=True):
        assert same(actual, expected.to(dtype))


def activations(x):
    plain = (F.relu, F.relu6, F.silu, F.mish, F.softplus, F.logsigmoid, torch.sigmoid, torch.tanh)
    others = (F.elu, F.selu, F.celu, F.hardtanh, F.hardswish, F.hardsigmoid, F.leaky_relu)
    clamped = x.clamp(0, 1), x.clamp_min(-0.0), torch.erfc(x)
    gelu = F.gelu(x), F.gelu(x, approximate="tanh")
    return (*gelu, *clamped, *(function(x) for function in (*plain, *others)))


@pytest.mark.parametrize(
    "dtype", [torch.float32, pytest.param(torch.float64, marks=pytest.mark.slow)]
)
def test_activations_at_the_edges(dtype):
    """Infinities, NaN, large numbers and zeros with signs give what eager torch gives."""
    large = torch.finfo(dtype).max / 4  # more, and GELU of oneDNN overflows
    edges = [0.0, -0.0, inf, -inf, nan, large, -large, 1e-30, 104, -104, 20.5, -20.5, 6, -3, 3]
    x = torch.tensor(edges, dtype=dtype)
    # Strides keep eager torch from oneDNN, whose GELU loses the signs of zeros on some CPUs.
    strided = activations(torch.stack([x, x], dim=1)[:, 0])
    for actual, expected, signed in zip(
        compiled(activations)(x), activations(x), strided, strict=True
    ):
        torch.testing.assert_close(actual, expected, equal_nan=True, rtol=2e-4, atol=1e-6)
        zeros = expected == 0
        assert torch.equal(torch.signbit(actual[zeros]), torch.signbit(signed[zeros]))


def powers(x):
    exponents = (0.5, -0.5, -1, -2, 2, 3, 1.5)
    tensors = [torch.full_like(x, exponent) for exponent in exponents]
    return [x**exponent for exponent in (*exponents, *tensors)]


@pytest.mark.parametrize(
    "dtype",
    [
        torch.float16,
        torch.float32,
        *(pytest.param(each, marks=pytest.mark.slow) for each in (torch.bfloat16, torch.float64)),
    ],
)
def test_powers_at_the_edges(dtype):
    """Roots of -inf are NaN only where eager torch takes roots: not of halves, nor of tensors."""
    x = torch.tensor([0.0, -0.0, inf, -inf, nan, 1, -1, 4, -4], dtype=dtype)
    for actual, expected in zip(compiled(powers)(x), powers(x), strict=True):
        torch.testing.assert_close(actual, expected, equal_nan=True)
        assert torch.equal(torch.signbit(actual[:2]), torch.signbit(expected[:2]))


def test_bytes_of_booleans():
    """Every byte but 0 is true."""

    def ask(a, b):
        found = (a == b, a ^ b, ~a, torch.where(a, 1, 0), a.float(), a.sum(), a < b)
        return (*found, a.view(4, 8).any(1), a.view(8, 4).t().int())

    a = torch.tensor([2, 0, 255, 1] * 8, dtype=torch.uint8).view(torch.bool)
    b = torch.tensor([True, True, False, False] * 8)
    for actual, expected in zip(compiled(ask)(a, b), ask(a, b), strict=True):
        assert torch.equal(actual, expected)
