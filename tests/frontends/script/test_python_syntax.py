"""Python's statements and expressions: each means what it means in Python, or is refused."""

import ast
from pathlib import Path

import pytest
import torch

import hidet
from hidet.frontends.script.statements import Statements
from hidet.frontends.script.syntax_analysis import REFUSED, refusal
from hidet.lang import attrs, f32, i32
from hidet.lang.cuda import threadIdx
from hidet.testing.numeric import poison

MISTAKES = Path(__file__).with_name("mistakes.txt").read_text()

INSIDE = {ast.Starred}
"""What is looked at by the rule of the syntax around it."""

NEEDS_ASYNC = {ast.AsyncFor, ast.AsyncWith, ast.Await}
"""What Python takes inside of 'async def' only, which is refused."""


def syntax(base):
    """Return the classes of Python's statements or expressions; old names of constants are none."""
    return [
        kind
        for kind in vars(ast).values()
        if isinstance(kind, type) and issubclass(kind, base) and kind is not base
        if not issubclass(kind, ast.Constant)
    ]


@pytest.mark.parametrize(
    "kind", [*syntax(ast.stmt), *syntax(ast.expr)], ids=lambda kind: kind.__name__
)
def test_every_syntax_has_a_rule_or_a_refusal(kind):
    """There is a rule, or a case in the catalogue of mistakes."""
    if kind in INSIDE | NEEDS_ASYNC:
        return
    ruled = hasattr(Statements, f"visit_{kind.__name__}")
    assert ruled != (kind in REFUSED)
    if not ruled:
        assert f"# {refusal(kind())[0]}" in MISTAKES


N = 32


def test_assignments():
    """Chains, swaps, nested tuples, stars and `:=` assign as in Python."""
    with hidet.script_module() as module:

        @hidet.script
        def assign(x: i32[N], y: i32[N, 12], n: i32):
            """A docstring says nothing to the kernel."""
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = N
            i = threadIdx.x
            a = b = x[i]
            a += 1
            y[i, 0] = a * 100 + b
            a, b = b, a
            y[i, 1] = a * 100 + b
            (p, q), [r, s] = (a, 1), [b, 2]
            y[i, 2] = p + 10 * q + 100 * r + 1000 * s
            first, *middle, last = [n, 1, 2, 3, i]
            y[i, 3] = first + sum(middle) * 10 + last * 1000
            *some, _ = middle
            y[i, 4] = len(some)
            if (k := x[i] * 2) > 20:
                k -= 20
            y[i, 5] = k
            y[i, 6], y[i, 7] = x[i], (j := i + 1)
            y[i, 6], y[i, 7] = y[i, 7], y[i, 6]
            y[i, 8] = j
            count = 0
            while (count := count + 3) < n:
                pass
            y[i, 9] = count
            for a, *others in [(1, 2, 3), (4, 5, 6)]:
                y[i, 10] += a * others[0] + others[1]
            c: i32
            c = n in (3, x[i], 7)
            y[i, 11] = c + 2 * (n not in [1, 2])

    x = torch.randint(0, 30, (N,), dtype=torch.int32)
    y = poison(torch.empty(N, 12).int())
    y[:, 10] = 0
    module.build()(x, y, 10)
    a, i = x, torch.arange(N)
    k = 2 * x
    wanted = [
        (a + 1) * 100 + a, a * 100 + a + 1, a + 10 + (a + 1) * 100 + 2000, 10 + 60 + i * 1000,
        torch.full((N,), 2), torch.where(k > 20, k - 20, k), i + 1, x, i + 1,
        torch.full((N,), 12), torch.full((N,), 5 + 26), (x == 10) + 2,
    ]  # fmt: skip
    for column, each in enumerate(wanted):
        assert torch.equal(y[:, column].long(), each.long()), column


def test_functions():
    """Nested functions, with defaults, closures and early exits; lambdas."""
    with hidet.script_module() as module:

        @hidet.script
        def functions(x: f32[N], y: f32[N, 8]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = N
            i = threadIdx.x
            scale = 2.0
            value = 1.0

            def clamp(value, low=0.0, high=1.0):
                if value < low:
                    return low
                if value > high:
                    return high
                return value

            def first_above(limit: f32) -> i32:
                for k in range(N):
                    if x[k] * scale > limit:
                        return k
                return -1

            def note(column, value):
                y[i, column] = value
                i_plus = i + 1  # a name of this function only
                return i_plus * 1

            scale *= 2
            value += 1
            y[i, 0] = clamp(x[i])
            y[i, 1] = clamp(x[i], 0.25) + clamp(x[i], -1.0, 0.5)
            y[i, 2] = first_above(2.5)
            y[i, 3] = note(4, value) + value
            add = lambda a, b=10.0: a + b * value  # noqa: E731
            y[i, 5] = add(x[i]) + add(x[i], 1)
            table = {"a": add, **{"b": clamp}}
            y[i, 6] = table["b"](table["a"](x[i], 0))
            y[i, 7] = (
                sum({k: 2 * k for k in (1, 2)}.values()) + len({3, 4}) + sum({k for k in (5,)})
            )

    x, y = torch.rand(N), poison(torch.empty(N, 8))
    module.build()(x, y)
    i = torch.arange(N)
    above = (x * 4 > 2.5).nonzero()
    wanted = [
        x.clamp(0, 1), x.clamp(0.25, 1) + x.clamp(-1, 0.5),
        torch.full((N,), int(above[0]) if len(above) else -1), i + 3, torch.full((N,), 2.0),
        x + 20 + x + 2, x.clamp(0, 1), torch.full((N,), 13),
    ]  # fmt: skip
    for column, each in enumerate(wanted):
        assert torch.allclose(y[:, column], each.float(), atol=1e-5), column
