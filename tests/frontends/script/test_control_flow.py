"""Random functions of integers, full of control flow, mean in a kernel what they mean in Python."""

import importlib.util
import random
import textwrap

import pytest
import torch

from hidet import option
from hidet.testing.numeric import poison

LANES = 32
TOGETHER = 20
"""So many functions are one kernel."""

HEAD = """
import hidet
from hidet.lang import attrs, i32
from hidet.lang.cuda import threadIdx

with hidet.script_module() as module:
"""


class Functions:
    """Writes random functions; numbers stay small: whatever is assigned is cut off to 11 bits."""

    def __init__(self, seed, depth):
        self.random = random.Random(seed)
        self.depth = depth
        self.names = 0
        self.functions = []

    def function(self):
        """Return the source of one more function of `a` and `b`; it may call those before it."""
        self.names = 0
        self.numbers, self.flags = ["a", "b", "t", "u"], ["p", "q"]
        body = ["t = a + 1", "u = 0", "p = a < b", "q = False"]
        body += [*self.block(self.depth, loops=0), f"return {self.value()}"]
        text = f"def f{len(self.functions)}(a: i32, b: i32) -> i32:\n"
        self.functions.append(text + textwrap.indent("\n".join(body), "    "))
        return self.functions[-1]

    def one_of(self, *choices):
        """Return the result of one of several functions."""
        return self.random.choice(choices)()

    def atom(self):
        """Return a variable or a number."""
        return self.one_of(
            lambda: self.random.choice(self.numbers), lambda: str(self.random.randint(-9, 9))
        )

    def value(self):
        """Return an expression of integers."""
        return self.one_of(
            self.atom,
            lambda: f"{self.atom()} {self.random.choice('+-*&|^')} {self.atom()}",
            lambda: f"({self.atom()} {self.random.choice('+-*')} {self.atom()}) ^ {self.atom()}",
            lambda: f"({self.atom()} if {self.condition(1)} else {self.atom()})",
        )

    def comparison(self):
        """Return a comparison."""
        return (
            f"{self.atom()} {self.random.choice(['<', '<=', '>', '>=', '==', '!='])} {self.atom()}"
        )

    def condition(self, depth=2):
        """Return a condition; `and`, `or` and `not` group as they like."""
        if depth == 0:
            return self.one_of(self.comparison, self.comparison, self.called, self.flag)
        return self.one_of(
            lambda: self.condition(0),
            lambda: f"{self.comparison()} < {self.atom()}",
            lambda: f"not {self.condition(depth - 1)}",
            lambda: f"not ({self.condition(depth - 1)})",
            lambda: f"{self.condition(depth - 1)} and {self.condition(depth - 1)}",
            lambda: f"{self.condition(depth - 1)} or {self.condition(depth - 1)}",
            lambda: f"({self.condition(depth - 1)} or {self.condition(0)}) and {self.condition(0)}",
        )

    def flag(self):
        """Return a boolean variable."""
        return self.random.choice(self.flags)

    def called(self):
        """Return a comparison of what one of the last functions returns."""
        if len(self.functions) < 3 or self.random.random() < 0.7:
            return self.comparison()
        number = self.random.randrange(3)
        return f"f{number}({self.atom()} & 7, {self.atom()} & 7) > {self.atom()}"

    def block(self, depth, loops):
        """Return the lines of some statements."""
        count = self.random.randint(1, 3)
        return [line for _ in range(count) for line in self.statement(depth, loops)]

    def inner(self, depth, loops):
        """Return the lines of a block below a head."""
        return ["    " + line for line in self.block(depth - 1, loops)]

    def statement(self, depth, loops):
        """Return the lines of a statement."""
        simple = [self.assign, self.assign, self.augment, self.set_flag]
        nested = [self.branch, self.branch, self.count, self.loop, self.over_list]
        if self.random.random() < 0.15 + 0.1 * (loops > 0):
            return self.leave(loops)
        if depth == 0 or self.random.random() < 0.4:
            return self.random.choice(simple)()
        return self.random.choice(nested)(depth, loops)

    def assign(self):
        """Assign to a variable."""
        return [f"{self.random.choice('tu')} = ({self.value()}) & 2047"]

    def augment(self):
        """Change a variable; no sum of these is large before it is cut off."""
        name = self.random.choice("tu")
        return [f"{name} {self.random.choice('+-*&|^')}= {self.value()}", f"{name} &= 2047"]

    def set_flag(self):
        """Assign to a boolean variable."""
        return [f"{self.flag()} = {self.condition(1)}"]

    def leave(self, loops):
        """Leave something, always or under a condition."""
        words = [f"return {self.value()}"] + ["break", "continue"] * 2 * (loops > 0)
        word = self.random.choice(words)
        return [word] if self.random.random() < 0.1 else [f"if {self.condition()}:", f"    {word}"]

    def branch(self, depth, loops):
        """Return an `if` with any number of `elif`, and perhaps an `else`."""
        lines = [f"if {self.condition()}:", *self.inner(depth, loops)]
        for _ in range(self.random.choice([0, 0, 1, 2])):
            lines += [f"elif {self.condition()}:", *self.inner(depth, loops)]
        if self.random.random() < 0.5:
            lines += ["else:", *self.inner(depth, loops)]
        return lines

    def count(self, depth, loops):
        """Return a loop over a range."""
        name = self.fresh("k")
        bounds = self.random.choice(
            [
                "4",
                "0",
                "2, 9, 3",
                "5, -2, -2",
                f"({self.atom()}) & 7",
                f"1, ({self.atom()} & 3) + 3",
            ]
        )
        self.numbers.append(name)
        lines = [f"for {name} in range({bounds}):", *self.inner(depth, loops + 1)]
        self.numbers.remove(name)
        return lines

    def over_list(self, depth, loops):
        """Return a loop over a list, which is unrolled."""
        name = self.fresh("e")
        values = ", ".join(self.atom() for _ in range(2))
        self.numbers.append(name)
        lines = [f"for {name} in [{values}]:", *self.inner(min(depth, 2), loops + 1)]
        self.numbers.remove(name)
        return lines

    def loop(self, depth, loops):
        """Return a `while` that ends."""
        name = self.fresh("w")
        end = self.random.randint(1, 6)
        head = self.random.choice([f"{name} < {end}", f"{name} < {end} and ({self.condition()})"])
        lines = [f"{name} = 0", f"while {head}:", f"    {name} += 1", *self.inner(depth, loops + 1)]
        if self.random.random() < 0.2:
            lines[1] = "while True:"
            lines[3:3] = [f"    if {name} > {end}:", "        break"]
        return lines

    def fresh(self, letter):
        """Return a name that the function does not have yet."""
        self.names += 1
        return f"{letter}{self.names}"


def check(seed, folder, *, depth, strict=False):
    """Compare the functions of a seed with Python."""
    functions = Functions(seed, depth)
    texts = [functions.function() for _ in range(TOGETHER)]
    calls = [f"y[i, {number}] = f{number}(x[i, 0], x[i, 1])" for number in range(TOGETHER)]
    head = f"def kernel(x: i32[{LANES}, 2], y: i32[{LANES}, {TOGETHER}]):\n"
    body = ["attrs.cuda.grid_dim = 1", f"attrs.cuda.block_dim = {LANES}", "i = threadIdx.x", *calls]
    kernel = head + textwrap.indent("\n".join(body), "    ")
    scripts = "\n\n".join(f"@hidet.script\n{text}" for text in [*texts, kernel])
    path = folder / f"program{seed}.py"
    path.write_text(HEAD + textwrap.indent(scripts, "    "))
    specification = importlib.util.spec_from_file_location("program", path)
    program = importlib.util.module_from_spec(specification)
    x = torch.randint(-9, 50, (LANES, 2), dtype=torch.int32)
    y = poison(torch.zeros(LANES, TOGETHER).int())
    with option.context(strict=strict):
        specification.loader.exec_module(program)
        program.module.build()(x, y)
    names = {"i32": int}
    for number, text in enumerate(texts):
        exec(text, names)
        wanted = [names[f"f{number}"](a, b) for a, b in x.tolist()]
        assert y[:, number].tolist() == wanted, f"seed {seed}:\n{text}"


@pytest.mark.parametrize("seed", range(5))
def test_random_functions(seed, tmp_path):
    """A hundred functions, twenty of them in strict mode."""
    check(seed, tmp_path, depth=2, strict=seed == 0)


@pytest.mark.slow
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("_run", range(100))
def test_more_random_functions(_run, strict, tmp_path):
    """Two thousand functions, plain and in strict mode, others each time."""
    check(random.randrange(1 << 32), tmp_path, depth=3, strict=strict)
