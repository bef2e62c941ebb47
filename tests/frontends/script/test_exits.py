"""Ways out of loops and functions: random programs mean in a kernel what they mean in Python."""

import importlib.util
import random
import textwrap

import pytest
import torch

import hidet
from hidet import option
from hidet.errors import LegalityError
from hidet.lang import attrs, f32, shared_tensor, spatial
from hidet.lang.cuda import syncthreads, threadIdx
from hidet.testing.numeric import poison

LANES = 32

HEAD = """
import hidet
from hidet.lang import attrs, grid, i32, spatial
from hidet.lang.cuda import threadIdx

MAPS = [spatial(32).repeat(3), spatial(32), spatial(8, 4).repeat(2, 2)]
"""


class Programs:
    """Writes random functions of one integer; `loops` are around what is being written."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0

    def function(self, name):
        """Return the source of a function with several exits."""
        body = ["t = a + 1", *self.block(3, loops=0), "return t"]
        return "\n".join([f"def {name}(a: i32, lane: i32) -> i32:", *map("    {}".format, body)])

    def block(self, depth, loops):
        """Return the lines of some statements."""
        count = self.random.randint(1, 3)
        return [line for _ in range(count) for line in self.statement(depth, loops)]

    def statement(self, depth, loops):
        """Return the lines of a statement."""
        kinds = ["change", "leave"] + [
            "if",
            "if",
            "for",
            "list",
            "once",
            "tasks",
            "while",
            "twice",
            "ever",
        ] * (depth > 0)
        kind = self.random.choice(kinds)
        inner = (
            ["    " + line for line in self.block(depth - 1, loops + (kind[0] != "i"))]
            if (kind not in ("change", "leave"))
            else []
        )
        number = self.random.randint(2, 9)
        self.names += 1
        k = f"k{self.names}"
        match kind:
            case "change":
                return [f"t = (t * {number} + a) % 1009"]
            case "leave":
                return self.leave(loops)
            case "if":
                lines = [f"if t % {number} < {self.random.randint(1, number - 1)}:", *inner]
                if self.random.random() < 0.5:
                    other = self.block(depth - 1, loops)
                    lines += ["else:", *("    " + line for line in other)]
                return lines
            case "for":
                return [f"for {k} in range({number} - 2, 1, -2):", f"    t += {k}", *inner]
            case "list":
                return [f"for {k} in [1, 4, 2]:", f"    t += {k}", *inner]
            case "once":
                return [f"for {k} in range(1):", f"    t += {k} + 1", *inner]
            case "tasks":
                target, value = self.random.choice([("0", k), ("1", k), ("2", f"{k}, j{k}")])
                return [f"for {value} in MAPS[{target}].on(lane):", f"    t += {k} % 7", *inner]
            case "twice":
                hints = self.random.choice(["..", "u.", "u+.", ".u+", "u+u+"])
                head = f"for {k}, j{k} in grid(2, 3, attrs='{hints}'):"
                return [head, f"    t += {k} * 2 + j{k}", *inner]
            case "ever":
                last = self.random.choice(["break", "return t + 1"])
                lines = [f"{k} += 1", f"if {k} > {number}:", f"    {last}"]
                return [f"{k} = 0", "while True:", *map("    {}".format, lines), *inner]
            case _:
                return [f"{k} = 0", f"while {k} < {number}:", f"    {k} += 1", "    t += a", *inner]

    def leave(self, loops):
        """Return the lines of a statement that leaves something."""
        words = ["return t", "return a * 2"] + ["break", "continue"] * (2 * (loops > 0))
        word = self.random.choice(words)
        return [f"if (t + a) % {self.random.randint(2, 5)} == 1:", f"    {word}"]


class Numbers:
    """A mapping of one dimension, with tasks as numbers."""

    def __init__(self, mapping):
        self.mapping = mapping

    def on(self, worker):
        """Return the tasks of a worker."""
        return [task for (task,) in self.mapping.on(worker)]


MAPS = [Numbers(spatial(32).repeat(3)), Numbers(spatial(32)), spatial(8, 4).repeat(2, 2)]


def in_python(extents):
    """Go through what `grid` goes through."""
    return [(i, j) for i in range(extents[0]) for j in range(extents[1])]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))]
)
def test_random_programs(seed, tmp_path):
    """Functions with nested loops of all kinds and exits, against Python."""
    programs = Programs(seed)
    functions = [programs.function(f"f{number}") for number in range(12)]
    calls = [f"y[i, {number}] = f{number}(x[i], i)" for number in range(len(functions))]
    kernel = ["def kernel(x: i32[32], y: i32[32, 12]):", "    attrs.cuda.grid_dim = 1"]
    kernel += ["    attrs.cuda.block_dim = 32", "    i = threadIdx.x", *map("    {}".format, calls)]
    scripts = [f"@hidet.script\n{text}" for text in [*functions, "\n".join(kernel)]]
    text = f"{HEAD}\nwith hidet.script_module() as module:\n" + textwrap.indent(
        "\n\n".join(scripts), "    "
    )
    path = tmp_path / "program.py"
    path.write_text(text)
    specification = importlib.util.spec_from_file_location("program", path)
    python = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(python)
    x, y = torch.randint(0, 50, (LANES,), dtype=torch.int32), torch.zeros(LANES, 12).int()
    with option.context(verify_level=True):
        python.module.build()(x, poison(y))
    names = {"MAPS": MAPS, "grid": lambda *extents, attrs: in_python(extents)}
    for number, function in enumerate(functions):
        exec(compile(function.replace(": i32", "").replace(" -> i32", ""), "f", "exec"), names)
        wanted = [names[f"f{number}"](a, lane) for lane, a in enumerate(x.tolist())]
        assert y[:, number].tolist() == wanted, function


def scan(*, together):
    """Return a kernel that exits a loop with a barrier, all threads at once or one by one."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[64], y: f32[32]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            i = threadIdx.x
            tile = shared_tensor("f32", [32])
            total = 0.0
            for k in range(64):
                tile[i] = x[k] * i
                syncthreads()
                total += tile[31 - i]
                syncthreads()
                if x[k if together else i] > 0.9:
                    break
            y[i] = total

    return module.build()


def test_barriers_in_a_loop_that_is_left():
    """All threads may leave a loop with a barrier together; that some leave alone is found."""
    with option.context(verify_level=True):
        built = scan(together=True)
        with pytest.raises(LegalityError, match="under divergent control flow"):
            scan(together=False)
    x, y = torch.rand(64) * 0.8, poison(torch.empty(32))
    x[40] = 1.0
    built(x, y)
    wanted = x[:41].double().sum() * (31 - torch.arange(32))
    assert torch.allclose(y.double(), wanted, atol=1e-3)
