"""Products of matrices as the benchmarks of the tuner know them, and what tunes them here."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager

import torch
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from hidet.arch.chips import Arch
from hidet.context import make_context
from hidet.driver.options import CompileOptions
from hidet.driver.target import Target
from hidet.driver.tuning import make_tuner
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.tuning.tuner import Tuner

Sizes = tuple[int, int, int]
"""m, n and k."""

DEVICE = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")


def program(products: list[Sizes], dtype: str) -> str:
    """Return a program of products of inputs with weights, which have nothing in common."""
    arguments: list[str] = []
    lines: list[str] = []
    results: list[tuple[str, str]] = []
    for number, (m, n, k) in enumerate(products):
        x, w, y = (f"tensor<{a}x{b}x{dtype}>" for a, b in ((m, k), (k, n), (m, n)))
        arguments.append(f"%x{number}: {x}")
        lines.append(f'%w{number} = graph.constant "p{number}" : {w}')
        lines.append(f"%y{number} = graph.matmul %x{number}, %w{number} : ({x}, {w}) -> {y}")
        results.append((f"%y{number}", y))
    names, types = (", ".join(each) for each in zip(*results, strict=True))
    body = "\n  ".join([*lines, f"func.return {names} : {types}"])
    return f"func.func @forward({', '.join(arguments)}) -> ({types}) {{\n  {body}\n}}"


def fusions(text: str, arch: Arch) -> ModuleOp:
    """Return a program as fusions."""
    module = Parser(make_context(), text).parse_module()
    for pipeline in ("graph-pipeline", "compute-pipeline"):
        run_pipeline(module, make_context(), PassOptions(str(arch)), pipeline=pipeline)
    return module


@contextmanager
def fresh_tuner(space: int, *, cold: bool) -> Generator[tuple[Tuner, Arch]]:
    """Return a tuner that knows no winners, and the machine here."""
    with tempfile.TemporaryDirectory() as folder:
        options = CompileOptions.current({"search_space": space, "cache_dir": folder})
        target = Target.of(DEVICE, options)
        yield make_tuner(target, cold=cold), target.arch
