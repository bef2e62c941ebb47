"""Random ways to write attention compute the same once they are raised."""

import random

import pytest
import torch
from xdsl.parser import Parser

from hidet.context import make_context
from hidet.driver import compile_graph
from hidet.lowering.graph.raise_attention import RaiseAttentionPass
from hidet.testing.numeric import assert_close

LENGTH, WIDTH = 6, 4
BATCHES = (2, 3, 2), (6, 2), (2, 6), (12,), (1, 12), (3, 4)
"""Batches of as many matrices."""


class Program:
    """A program of attention that is written step by step, with the tensors that it takes."""

    def __init__(self, batch: tuple[int, ...]) -> None:
        self.batch, self.element, self.value = batch, "f16", ""
        self.inputs: dict[str, torch.Tensor] = {}
        self.lines: list[str] = []

    def kind(self, *sizes: int, element: str = "") -> str:
        """Return a type of a tensor."""
        return f"tensor<{'x'.join(map(str, (*sizes, element or self.element)))}>"

    @property
    def scores(self) -> str:
        """The type of the scores."""
        return self.kind(*self.batch, LENGTH, LENGTH)

    def argument(self, x: torch.Tensor) -> tuple[str, str]:
        """Return the name and the type of a new argument."""
        name = f"%a{len(self.inputs)}"
        self.inputs[name] = x
        return name, self.kind(*x.shape, element="i1" if x.dtype == torch.bool else "f16")

    def emit(self, text: str) -> None:
        """Append an operation on the scores."""
        self.lines.append(f"%v{len(self.lines)} = {text}")
        self.value = f"%v{len(self.lines) - 1}"

    def number(self, value: float) -> str:
        """Return a constant."""
        self.lines.append(
            f"%v{len(self.lines)} = graph.fill {value} : {self.element} : {self.kind()}"
        )
        return f"%v{len(self.lines) - 1}"

    def scale(self) -> None:
        """Multiply or divide by a number."""
        factor, value = self.number(random.choice((0.5, 2.0, 0.75))), self.value
        name = random.choice(("mul", "div"))
        self.emit(
            f"graph.{name} {value}, {factor} : ({self.scores}, {self.kind()}) -> {self.scores}"
        )

    def mask_sizes(self) -> list[int]:
        """Return the shape of a mask: of some dimensions."""
        sizes = [random.choice((1, size)) for size in (*self.batch, LENGTH, LENGTH)]
        return sizes[random.randrange(len(sizes) - 1) :]

    def add(self) -> None:
        """Add a tensor, of f16 or widened."""
        name, kind = self.argument(torch.randn(self.mask_sizes()).half())
        value, wide = self.value, kind.replace("f16", self.element)
        if wide != kind:
            self.emit(f"graph.cast {name} : ({kind}) -> {wide}")
            name = self.value
        one, other = random.sample(((value, self.scores), (name, wide)), 2)
        self.emit(f"graph.add {one[0]}, {other[0]} : ({one[1]}, {other[1]}) -> {self.scores}")

    def hide(self) -> None:
        """Put a number in the place of some scores."""
        name, kind = self.argument(torch.rand(self.mask_sizes()) < 0.7)
        low = "0xfc00" if self.element == "f16" else "0xff800000"
        fill, value = self.number(random.choice((low, -3.0))), self.value
        sides = random.sample(((value, self.scores), (fill, self.kind())), 2)
        values, kinds = (", ".join(each) for each in zip(*sides, strict=True))
        self.emit(f"graph.where {name}, {values} : ({kind}, {kinds}) -> {self.scores}")

    def reshape(self) -> None:
        """Merge or split dimensions of the batch."""
        before, self.batch = self.scores, random.choice(BATCHES)
        if before != self.scores:
            self.emit(f"graph.reshape {self.value} : ({before}) -> {self.scores}")

    def cast(self) -> None:
        """Widen the scores, or round them."""
        before, self.element = self.scores, {"f16": "f32", "f32": "f16"}[self.element]
        self.emit(f"graph.cast {self.value} : ({before}) -> {self.scores}")


def random_program() -> Program:
    """Return a program; its last value is attention."""
    p = Program(random.choice(BATCHES))
    q, kind = p.argument(torch.randn(*p.batch, LENGTH, WIDTH).half())
    k, keys = p.argument(torch.randn(*p.batch, WIDTH, LENGTH).half())
    p.emit(f"graph.matmul {q}, {k} : ({kind}, {keys}) -> {p.scores}")
    for _ in range(random.randrange(2, 8)):
        random.choice((p.scale, p.add, p.hide, p.reshape, p.cast))()
    p.emit(f"graph.softmax {p.value} {{axis = {len(p.batch) + 1} : i64}} : {p.scores}")
    if p.element == "f32":
        p.cast()
    p.reshape()
    v, values = p.argument(torch.randn(*p.batch, LENGTH, WIDTH).half())
    p.emit(f"graph.matmul {p.value}, {v} : ({p.scores}, {values}) -> {values}")
    arguments = ", ".join(
        f"{name}: {p.kind(*x.shape, element='i1' if x.dtype == torch.bool else 'f16')}"
        for name, x in p.inputs.items()
    )
    p.lines.insert(0, f"func.func @forward({arguments}) -> {values} {{")
    p.lines.append(f"func.return {p.value} : {values}\n}}")
    return p


def is_raised(seed: int) -> bool:
    """Check the numbers of a random program; return whether it has been raised."""
    random.seed(seed)
    torch.manual_seed(seed)
    program = random_program()
    results: list[torch.Tensor] = []
    for raises in (False, True):
        module = Parser(make_context(), "\n".join(program.lines)).parse_module()
        if raises:
            RaiseAttentionPass().apply(make_context(), module)
            module.verify()
        raised = "scaled_dot_product_attention" in str(module)
        graph = compile_graph(module, device=torch.device("cpu"))
        results += graph.run(list(program.inputs.values()), [])
    plain, attention = (result.double() for result in results)
    # A query without keys has no weights, or zeros.
    assert_close(attention, plain.where(~plain.isnan(), attention), 2e-2)
    return raised


@pytest.mark.parametrize("seeds", [(0, 2, 40), pytest.param(range(150), marks=pytest.mark.slow)])
def test_random_programs(seeds):
    """Most programs become one operator, with the same numbers."""
    raised = [is_raised(seed) for seed in seeds]
    assert sum(raised) > len(raised) / 3
